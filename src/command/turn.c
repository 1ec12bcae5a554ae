/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.c - the pipeline of one turn; see turn.h.
 *
 *     members: clients that have input in this round, in order of arrival
 *     parsing: the member whose requests are being taken; those before it have nothing whole left
 *     batch:   parsed commands, executed in order; `executing` is the one that runs
 *
 * Giving back. When a client must not run any more (it blocked, or a nested round has to serve it), its
 * requests of the batch that have not run go back in front of the bytes not parsed yet. Nearly always they
 * still stand there, and only the place where parsing goes on moves back; those with an argument in a buffer
 * of its own are written anew.
 *
 * Holding. What comes from a client that cannot run is kept up to HELD_INPUT_MAX bytes, less before it has
 * logged in; then nothing more is read from it until it can run again, and the kernel's buffers make it wait.
 * An end of the connection stands behind what is not read, so a job asks the kernel whether there is one. The
 * kernel knows of a FIN only when all before it has fitted into its buffers, of a reset in any case. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "command/turn.h"

#include <errno.h>
#include <poll.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/io_client.h"
#include "command/multi.h"
#include "command/propagate.h"
#include "command/request.h"
#include "data/server_state/persistence.h"
#include "data/type.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define TURN_KEY_HASHES_TOTAL (TURN_BATCH_LIMIT * 4) /* keys of a batch that are hashed and fetched ahead */
#define TURN_DEPTH_MAX        3                      /* loading, a busy script meanwhile */
#define PREFETCH_STEPS_MAX    24
#define CACHE_LINE            64
#define HELD_INPUT_MAX        (64 * 1024) /* bytes that wait for a client that cannot run; a read may go beyond */
#define HELD_BEFORE_LOGIN     (16 * 1024)
#define HELD_CHECK_MS         100
#define ARGV_KEEP             (16 * 1024) /* views; more are given back to the allocator after the round */

/* A request in the batch. */
struct pending {
    struct client *c;        /* NULL: it will not run */
    struct request *request; /* in the round, or in what a thread has read and parsed */
    size_t argv_base;        /* of its views, in the round: they may move while others are parsed */
    int fetched;             /* keys whose buckets were; 0 when too much was asked for in this batch */
    sds error;               /* instead of a request, a protocol error: reply it and close */
};

/* A value that is on its way into the cache. */
struct fetch {
    const struct object *o; /* what the bucket of a key seems to hold */
    const struct prefetchRequests *wants;
    struct prefetchState state;
};

struct round {
    struct list members;
    struct listNode *parsing;

    struct pending batch[TURN_BATCH_LIMIT];
    struct request requests[TURN_BATCH_LIMIT];
    int count, executing;
    struct str *argv;
    size_t argv_cap, argv_used;

    struct keyHint hints[TURN_KEY_HASHES_TOTAL]; /* of requests in the round */
    int hint_count;
    struct fetch fetches[TURN_KEY_HASHES_TOTAL]; /* those that have another step to go */
    int fetch_count;

    size_t arena_used;
    char arena[TURN_ARENA_SIZE]
        __attribute__((aligned(CACHE_LINE))); /* pages come when they are first used */
};

struct turnStats turn_stats;

static struct round rounds[TURN_DEPTH_MAX];
static struct round *current = &rounds[0];
static struct list waiting; /* clients with input set aside that may run */

static int64_t batch_max, max_bulk_len, query_buffer_limit;

static const struct turnPrimary *primary;
static uint32_t not_served; /* CLIENT_PRIMARY in a nested round */

void turnSetPrimary(const struct turnPrimary *p) {
    primary = p;
}

bool turnIsNested(void) {
    return current != &rounds[0];
}

int64_t turnMaxBulk(void) {
    return max_bulk_len;
}

/* Blocked, paused and closing clients keep their input, or lose it, but run nothing. */
static bool turnClientRunnable(const struct client *c) {
    return !(c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY));
}

/* ---- Membership ---- */

static void turnJoin(struct round *r, struct client *c) {
    if (c->round == r) return;
    serverAssert(!c->round);
    if (listLinked(&c->turn_node)) listRemove(&waiting, &c->turn_node);
    c->round = r;
    listAddTail(&r->members, &c->turn_node);
    if (!r->parsing) r->parsing = &c->turn_node;
}

static void turnAdvanceParsing(struct round *r) {
    r->parsing = r->parsing->next == &r->members.head ? NULL : r->parsing->next;
}

static void turnLeave(struct client *c) {
    struct round *r = c->round;
    if (r->parsing == &c->turn_node) turnAdvanceParsing(r);
    listRemove(&r->members, &c->turn_node);
    c->round = NULL;
    c->in = NULL;
}

void turnQueueClient(struct client *c) {
    if (c->round) {
        c->requeue = true;
    } else if (c->querybuf && !listLinked(&c->turn_node)) {
        listAddTail(&waiting, &c->turn_node);
    }
}

/* ---- Holding ---- */

static size_t held_clients;

static bool turnHasEnough(const struct client *c) {
    if (turnClientRunnable(c) || c->flags & CLIENT_PRIMARY) return false;
    return sdslen(c->querybuf) >= (c->flags & CLIENT_AUTHENTICATED ? HELD_INPUT_MAX : HELD_BEFORE_LOGIN);
}

static void turnNoteHeld(struct client *c, bool held) {
    serverAssert(c->input_held != held);
    c->input_held = held;
    held_clients += held ? 1 : (size_t)-1;
}

static void turnReadOn(struct client *c) {
    turnNoteHeld(c, false);
    if (c->flags & CLIENT_OFFLOADED)
        ioClientInputDone(ioClientOf(c), ioInputNew());
    else
        clientReadOn(c);
}

static void turnLogGone(struct client *c, const char *err);

static void turnCloseIfGone(void *priv, struct client *c) {
    (void)priv;
    if (!c->input_held || c->flags & CLIENT_CLOSE_ASAP) return;
    struct pollfd p = {.fd = c->conn->fd, .events = POLLRDHUP};
    if (poll(&p, 1, 0) != 1 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR))) return;
    turnLogGone(c, NULL);
    clientClose(c);
}

static void turnCheckHeld(void) {
    if (held_clients) clientForEach(turnCloseIfGone, NULL);
}

/* ---- Of clients that are away ---- */

static void turnReleased(struct client *c);

/* An input goes into the client's own buffer, to be parsed once more when the client may run; `front` stands
 * before what nobody has taken of it. */
static void turnKeepInput(struct client *c, struct ioInput *in, sds front) {
    front = ioInputAppendRest(front, in);
    if (in->error) {
        c->input_error = in->error;
        in->error = NULL;
    }
    size_t n = sdslen(front);
    if (!c->querybuf && (n || c->input_error)) {
        c->querybuf = front;
        c->parse_at = n;
    } else {
        if (n) c->querybuf = sdscatlen(c->querybuf, front, n);
        if (n) c->parse_at += n;
        sdsfree(front);
    }
    if (__builtin_expect(client_weighing, 0)) clientAccountMemory(c);
    if (c->querybuf && turnHasEnough(c)) {
        turnNoteHeld(c, true);
        ioClientInputHeld(ioClientOf(c), in);
    } else {
        ioClientInputDone(ioClientOf(c), in);
    }
}

/* The round has no more to do with what a thread has read: `front` is requests that were taken and have not
 * run. */
static void turnSetReadyAside(struct client *c, sds front) {
    serverAssert(!c->querybuf);
    turnKeepInput(c, ioClientReadyInput(ioClientOf(c)), front);
    turnLeave(c);
    turnReleased(c);
}

static void turnReadyIsDone(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    ioClientInputDone(p, ioClientReadyInput(p));
    turnLeave(c);
    turnReleased(c);
}

/* The client has left the round. What has come meanwhile of one that is away is let in. */
static void turnReleased(struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0)) {
        struct ioClient *p = ioClientOf(c);
        if (p->input_state == IO_CLIENT_INPUT_LATER) {
            turnKeepInput(c, p->input, sdsempty());
            c->requeue = true;
        }
        ioClientLeftTurn(c);
    }
    if (c->requeue) {
        c->requeue = false;
        if (turnClientRunnable(c)) turnQueueClient(c);
    }
}

/* ---- Set aside, and given back ---- */

/* Take what is not parsed out of the round, into the client's own buffer; an idle client keeps none. */
static void turnSetAside(struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c))) {
        if (ioInputIsEmpty(ioClientReadyInput(ioClientOf(c))))
            turnReadyIsDone(c);
        else
            turnSetReadyAside(c, sdsempty());
        return;
    }
    size_t rest = c->in_len - c->in_pos;
    if (c->in != c->querybuf) {
        if (rest || c->input_error) c->querybuf = sdsnewlen(c->in + c->in_pos, rest);
    } else if (!rest && !c->input_error) {
        sdsfree(c->querybuf);
        c->querybuf = NULL;
    } else {
        sdssetlen(c->querybuf, c->in_len);
        if (c->in_pos) sdsrange(c->querybuf, (ptrdiff_t)c->in_pos, -1);
    }
    c->parse_at = c->parse_at > c->in_pos ? c->parse_at - c->in_pos : 0;
    serverAssert(c->parse_at <= rest);
    c->in_pos = c->in_len = 0;
    turnLeave(c);
    turnReleased(c);
}

/* This request will not run, or has run. */
static void turnForget(struct pending *p) {
    respBigArgsFree(p->request->big);
    sdsfree(p->error);
    p->request->big = NULL;
    p->error = NULL;
    p->c = NULL;
}

/* Where the bytes of c's requests from batch[from] on begin, when all of them are still in its input. NULL:
 * they are not. */
static const char *turnRawBegin(const struct round *r, int from, const struct client *c) {
    const char *begin = c->in + c->in_pos;
    for (int i = r->count; i-- > from;) {
        const struct pending *p = &r->batch[i];
        if (p->c != c || p->error) continue;
        if (!p->request->raw.ptr) return NULL;
        begin = p->request->raw.ptr;
        serverAssert(begin >= c->in && begin < c->in + c->in_pos);
    }
    return begin;
}

/* In front of what is not parsed yet, in a buffer of its own. */
static void turnWriteAnew(struct round *r, int from, struct client *c) {
    sds s = sdsempty();
    for (int i = from; i < r->count; i++) {
        const struct pending *p = &r->batch[i];
        if (p->c == c && !p->error) s = requestAppend(s, p->request);
    }
    size_t whole = sdslen(s) + (c->parse_at > c->in_pos ? c->parse_at - c->in_pos : 0);
    s = sdscatlen(s, c->in + c->in_pos, c->in_len - c->in_pos);
    sdsfree(c->querybuf);
    c->querybuf = s;
    c->in = s;
    c->in_pos = 0;
    c->in_len = sdslen(s);
    c->parse_at = whole;
}

static void turnGiveReadyBack(struct round *r, int from, struct client *c) {
    sds front = sdsempty();
    for (int i = from; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        if (p->c != c) continue;
        if (p->error)
            ioClientReadyInput(ioClientOf(c))->error = p->error;
        else
            front = requestAppend(front, p->request);
        p->error = NULL;
        turnForget(p);
    }
    turnSetReadyAside(c, front);
}

/* The requests of c from batch[from] on have not run and will not: back into its input. Behind them there may
 * be more that were given back earlier. */
static void turnGiveBack(struct round *r, int from, struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c))) {
        turnGiveReadyBack(r, from, c);
        return;
    }
    const char *begin = turnRawBegin(r, from, c);
    if (begin) {
        if (c->parse_at < c->in_pos) c->parse_at = c->in_pos;
        c->in_pos = (size_t)(begin - c->in);
    } else {
        turnWriteAnew(r, from, c);
    }
    for (int i = from; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        if (p->c != c) continue;
        if (p->error) c->input_error = p->error;
        p->error = NULL;
        turnForget(p);
    }
    turnSetAside(c);
}

static void turnDropCommands(struct round *r, int from, const struct client *c) {
    for (int i = from; i < r->count; i++) {
        if (r->batch[i].c == c) turnForget(&r->batch[i]);
    }
}

static void turnForgetClient(struct client *c) {
    for (int i = 0; i < TURN_DEPTH_MAX; i++) turnDropCommands(&rounds[i], 0, c);
    if (c->input_held) turnNoteHeld(c, false);
    if (c->round)
        turnLeave(c);
    else if (listLinked(&c->turn_node))
        listRemove(&waiting, &c->turn_node);
}

/* ---- Gather ---- */

/* Where the next bytes of c go. 0: no room in this turn. */
static size_t turnReadTarget(struct round *r, struct client *c, char **dst) {
    size_t n = respBigSpace(&c->parser, dst), size = c->bulk_sender ? TURN_READ_BULK : TURN_READ_SIZE;
    if (n) return n;
    if (c->querybuf || !turnClientRunnable(c)) {
        if (!c->querybuf) c->querybuf = sdsempty();
        c->querybuf = sdsMakeRoomFor(c->querybuf, size);
        *dst = c->querybuf + sdslen(c->querybuf);
        return sdsavail(c->querybuf);
    }
    if (r->arena_used + size > TURN_ARENA_SIZE) return 0;
    *dst = r->arena + r->arena_used;
    return size;
}

/* n bytes have come to dst: make them the client's input. */
static void turnAcceptInput(struct round *r, struct client *c, char *dst, size_t n) {
    bool own = c->querybuf && dst >= c->querybuf && dst <= c->querybuf + sdslen(c->querybuf);
    if (own) {
        sdssetlen(c->querybuf, sdslen(c->querybuf) + n);
    } else if (dst == r->arena + r->arena_used) {
        r->arena_used += (n + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
        c->in = dst;
        c->in_len = n;
        c->in_pos = 0;
        c->parse_at = 0;
        turnJoin(r, c);
        return;
    } else {
        respBigFilled(&c->parser, n);
    }
    if (!turnClientRunnable(c)) return;
    turnJoin(r, c);
    c->in = c->querybuf;
    c->in_len = c->querybuf ? sdslen(c->querybuf) : 0;
    c->in_pos = 0;
}

/* n bytes have come; kept: of a client that is away, with those that its thread has kept before. */
static void turnNoteInputSize(struct client *c, size_t n, size_t kept) {
    c->last_active_ms = cmd_time_ms;
    c->net_in += n;
    clientstats.net_in += n;
    size_t buffered = kept + (c->querybuf ? sdslen(c->querybuf) : kept ? 0 : n);
    for (struct respBigArg *b = c->parser.big; b; b = b->next) buffered += sdslen(b->buf);
    if (buffered > clientstats.max_input_buffer) clientstats.max_input_buffer = buffered;
    if (c->flags & CLIENT_PRIMARY) return;
    buffered += multiQueuedBytes(c); /* what waits for EXEC counts against the limit */
    if (__builtin_expect(client_weighing, 0)) clientAccountMemory(c);
    if (buffered <= (size_t)query_buffer_limit) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_WARNING, "Closing client that reached max query buffer length: %s", info);
    sdsfree(info);
    clientstats.query_limit_disconnects++;
    clientClose(c);
}

/* The other side has gone; err says how when it was not in peace. */
static void turnLogGone(struct client *c, const char *err) {
    if (logGetLevel() > LL_VERBOSE) return;
    if (err) {
        serverLog(LL_VERBOSE, "Reading from a client failed: %s", err);
        return;
    }
    sds line = clientLogLine(c, sdsempty());
    serverLog(LL_VERBOSE, "A client has closed its connection: %s", line);
    sdsfree(line);
}

static void turnReadHandler(struct connection *conn) {
    struct client *c = conn->data;
    struct round *r = current;
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_EXECUTING | not_served)) return;
    if (__builtin_expect(c->querybuf != NULL, 0) && turnHasEnough(c)) {
        turnNoteHeld(c, true);
        connSetReadHandler(conn, NULL);
        return;
    }
    char *dst;
    size_t want = turnReadTarget(r, c, &dst);
    if (!want) return;
    ssize_t n = connRead(conn, dst, want);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        turnLogGone(c, n < 0 ? strerror(errno) : NULL);
        clientClose(c);
        return;
    }
    clientstats.reads++;
    turnAcceptInput(r, c, dst, (size_t)n);
    turnNoteInputSize(c, (size_t)n, 0);
}

/* ---- What threads have read ---- */

static bool turnIsClosing(const struct client *c) {
    return c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY);
}

static void turnOffloadedPart(struct client *c, size_t n) {
    if (turnIsClosing(c)) return;
    clientstats.reads++;
    uint32_t came = ioClientOf(c)->came = ioClientClampCount(ioClientOf(c)->came + (uint64_t)n);
    turnNoteInputSize(c, n, came);
}

static void turnOffloadedInput(struct client *c, struct ioInput *in) {
    struct ioClient *p = ioClientOf(c);
    bool brief = ioInputIsShort(in);
    size_t n = ioInputRead(in);
    if (n && !turnIsClosing(c)) turnOffloadedPart(c, n);
    p->came = brief ? 0 : ioClientClampCount(in->came);
    p->kept = brief ? 0 : ioClientClampCount(in->kept);
    if (turnIsClosing(c) || (!in->count && !in->error)) {
        ioClientInputDone(p, in); /* nobody asks for it, or it was about the size of what is kept */
    } else if (c->round) {
        ioClientInputLater(p, in);
    } else if (!turnClientRunnable(c) || c->querybuf || c->flags & CLIENT_EXECUTING) {
        turnKeepInput(c, in, sdsempty());
    } else {
        ioClientInputReady(p, in);
        turnJoin(current, c);
    }
}

static void turnOffloadedGone(struct client *c, int error) {
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    turnLogGone(c, error ? strerror(error) : NULL);
    clientClose(c);
}

static void turnOffloadedRecalled(struct client *c) {
    if (turnClientRunnable(c)) turnQueueClient(c);
}

/* Threads look at them while they parse. */
static void turnShareLimits(void) {
    ioReaderSetLimits(max_bulk_len, (size_t)query_buffer_limit);
}

static const struct ioClientReceiver receiver = {.begin = turnShareLimits,
                                                 .part = turnOffloadedPart,
                                                 .input = turnOffloadedInput,
                                                 .gone = turnOffloadedGone,
                                                 .home = turnOffloadedRecalled};

/* ---- Parse ---- */

/* Where c's next request goes. Field by field, as most are set later: this is done for each command. */
static inline struct pending *turnNextPending(struct round *r, struct client *c) {
    struct pending *p = &r->batch[r->count];
    struct request *req = p->request = &r->requests[r->count];
    p->c = c;
    p->error = NULL;
    p->argv_base = r->argv_used;
    req->hint_count = req->key_count = 0;
    req->hints = NULL;
    req->cmd = NULL;
    req->big = NULL;
    req->wants.member.ptr = NULL;
    req->raw.ptr = NULL;
    req->end_offset = req->ticks = 0;
    req->redacted = 0;
    req->exceeds_memory = req->unpropagated = false;
    req->but = 0;
    return p;
}

/* The requests end here, where one broke the protocol: what has come behind it is of no use. */
static void turnTakeError(struct round *r, struct client *c, sds error) {
    turnNextPending(r, c)->error = error;
    r->count++;
    respParserReset(&c->parser);
    c->in_len = c->in_pos;
}

/* It becomes one of the round's own: there it is near. */
static void turnTakeShortRequest(struct round *r, struct client *c, struct ioInput *in) {
    struct request *req = turnNextPending(r, c)->request;
    if (r->argv_cap - r->argv_used < SHORT_ARGS) {
        r->argv_cap = 2 * r->argv_cap + SHORT_ARGS;
        r->argv = zrealloc(r->argv, r->argv_cap * sizeof *r->argv);
    }
    ioInputTakeShort(in, req, r->argv + r->argv_used, r->hints + r->hint_count);
    if (req->wants.member.ptr) req->wants.score = req->argv[2];
    r->argv_used += (size_t)req->argc;
    r->hint_count += req->hint_count;
    r->count++;
}

/* Take one request that a thread has parsed. */
static bool turnTakeReady(struct round *r, struct client *c, struct ioInput *in) {
    if (in->next < in->count && ioInputIsShort(in)) {
        turnTakeShortRequest(r, c, in);
        return true;
    }
    if (in->next < in->count) {
        struct pending *p = &r->batch[r->count++];
        *p = (struct pending){.c = c, .request = &in->requests[in->next++]};
        return true;
    }
    if (ioInputIsShort(in) || !in->error) return false;
    turnTakeError(r, c, in->error);
    in->error = NULL;
    return true;
}

/* What the parser needs its memory for, or what has been in the batch before. */
static __attribute__((noinline)) enum respStatus turnParseAny(struct round *r, struct client *c,
                                                              struct request *req) {
    struct respLimits limits = {.max_bulk = c->flags & CLIENT_PRIMARY ? INT64_MAX : max_bulk_len,
                                .max_args = RESP_MAX_MULTIBULK,
                                .authenticated = c->flags & CLIENT_AUTHENTICATED};
    struct respParser fresh = {0};
    bool given_back = c->in_pos < c->parse_at;
    size_t end = given_back ? c->parse_at : c->in_len, len = end - c->in_pos, consumed = 0;
    const char *error = NULL;
    enum respStatus st =
        respParseRequest(given_back ? &fresh : &c->parser, c->in + c->in_pos, &len, &limits, &r->argv,
                         &r->argv_cap, r->argv_used, &req->argc, &consumed, &req->big, &error);
    if (st == RESP_MORE) {
        serverAssert(!given_back);
        c->in_len = c->in_pos + len;
    } else if (st == RESP_ERROR) {
        turnTakeError(r, c, sdsnew(error));
    } else {
        if (!req->big) req->raw = strN(c->in + c->in_pos, consumed);
        c->in_pos += consumed;
    }
    return st;
}

static inline enum respStatus turnParseNext(struct round *r, struct client *c, struct request *req) {
    const char *at = c->in + c->in_pos, *next = NULL;
    const struct respViews views = {&r->argv, &r->argv_cap, r->argv_used};
    if (__builtin_expect(respParserIdle(&c->parser), 1))
        next = respParseShort(at, c->in_len - c->in_pos, c->flags & CLIENT_AUTHENTICATED, &views, &req->argc);
    if (__builtin_expect(!next, 0)) return turnParseAny(r, c, req);
    req->raw = strN(at, (size_t)(next - at));
    c->in_pos += req->raw.len;
    return RESP_OK;
}

/* Take one request of c. False when it has none whole. */
static bool turnTakeRequest(struct round *r, struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c)))
        return turnTakeReady(r, c, ioClientReadyInput(ioClientOf(c)));
    if (c->input_error && c->in_pos >= c->parse_at) {
        turnTakeError(r, c, c->input_error);
        c->input_error = NULL;
        return true;
    }
    while (c->in_pos < c->in_len) {
        struct request *req = turnNextPending(r, c)->request;
        enum respStatus st = turnParseNext(r, c, req);
        if (st == RESP_EMPTY) continue;
        if (st != RESP_OK) return st == RESP_ERROR;
        r->argv_used += (size_t)req->argc;
        r->count++;
        return true;
    }
    return false;
}

static void turnFillBatch(struct round *r) {
    int max = batch_max < 1 ? 1 : (int)batch_max;
    r->count = r->hint_count = r->fetch_count = 0;
    r->argv_used = 0;
    while (r->parsing && r->count < max) {
        struct client *c = listEntry(r->parsing, struct client, turn_node);
        if (!turnClientRunnable(c) || !turnTakeRequest(r, c))
            turnAdvanceParsing(r);
        else if (!(c->flags & CLIENT_AUTHENTICATED))
            break; /* it may be AUTH, which lifts the limits for what comes behind it */
    }
}

/* ---- Prefetch ---- */

static bool turnIsIn(const struct round *r, const struct request *req) {
    return req >= r->requests && req < r->requests + TURN_BATCH_LIMIT;
}

static void turnFindCommands(struct round *r) {
    const struct request *prev = NULL;
    for (int i = 0; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        struct request *req = p->request;
        if (p->error || !turnIsIn(r, req)) continue;
        req->argv = r->argv + p->argv_base;
        bool same = prev && prev->cmd && !prev->cmd->parent && !prev->cmd->subcommands &&
                    strEq(prev->argv[0], req->argv[0]);
        if (!req->hints) req->cmd = same ? prev->cmd : commandLookup(req->argv, req->argc);
        prev = req;
    }
}

/* Fetches the buckets of its keys. */
static void turnHashKeys(struct round *r, struct pending *p) {
    struct request *req = p->request;
    if (!req->hints)
        r->hint_count +=
            requestHashKeys(req, r->hints + r->hint_count, TURN_KEY_HASHES_TOTAL - r->hint_count);
    if (r->count == 1) req->wants.parts &= ~(unsigned)PREFETCH_SCORE; /* nothing to overlap with */
    p->fetched = r->fetch_count + req->key_count <= TURN_KEY_HASHES_TOTAL ? req->key_count : 0;
    r->fetch_count += p->fetched;
    for (int k = 0; k < p->fetched; k++) keyspacePrefetch(&p->c->db->keyspace, req->hints[k].hash);
}

/* By now the buckets are here: fetch the objects they point to. How many there are. */
static int turnPrefetchObjects(struct round *r) {
    struct fetch *f = r->fetches;
    for (const struct pending *p = r->batch, *end = p + r->count; p < end; p++) {
        for (int k = 0; k < p->fetched; k++) {
            f->o = keyspacePeek(&p->c->db->keyspace, p->request->hints[k].hash);
            if (!f->o) continue;
            __builtin_prefetch(f->o);
            f->wants = &p->request->wants;
            f->state.at = NULL;
            f++;
        }
    }
    return (int)(f - r->fetches);
}

/* Pass after pass over the whole batch, each type asks for the next lines on the way to the data. */
static void turnPrefetchValues(struct fetch *fetches, int count) {
    for (int step = 0; count && step < PREFETCH_STEPS_MAX; step++) {
        struct fetch *kept = fetches;
        for (struct fetch *f = fetches, *end = f + count; f < end; f++) {
            const struct objectType *type = objectTypeOf(f->o);
            if (!type->prefetch || !type->prefetch(f->o, f->wants, step, &f->state)) continue;
            if (kept != f) *kept = *f;
            kept++;
        }
        count = (int)(kept - fetches);
    }
}

static void turnPrefetch(struct round *r) {
    turnFindCommands(r);
    for (int i = 0; i < r->count; i++) turnHashKeys(r, &r->batch[i]);
    if (r->fetch_count < 2) return; /* nothing to overlap */
    turnPrefetchValues(r->fetches, turnPrefetchObjects(r));
    turn_stats.prefetched_keys += (uint64_t)r->fetch_count;
    if (!(r->batch[0].c->flags & CLIENT_OFFLOADED)) return;
    turn_stats.threaded_batches++;
    turn_stats.threaded_keys += (uint64_t)r->fetch_count;
}

/* ---- Execute ---- */

static void turnProtocolError(struct client *c, sds error) {
    if (c->flags & CLIENT_PRIMARY) {
        primary->broken(c, error);
        return;
    }
    replyErrorFmt(c, "ERR Protocol error: %s", error);
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_VERBOSE, "Protocol error (%s) from client: %s", error, info);
    sdsfree(info);
    clientCloseAfterReply(c);
}

/* The handler will need the connection itself: the request is taken up again when that is here. */
static void turnBringHome(struct round *r, struct client *c) {
    c->requeue = true;
    turnGiveBack(r, r->executing, c);
    if (c->flags & CLIENT_OFFLOADED) ioClientRecall(c);
}

static void turnExecuteOne(struct round *r, struct pending *p) {
    struct client *c = p->c;
    if (__builtin_expect(p->error != NULL, 0)) {
        turnProtocolError(c, p->error);
        turnForget(p);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && p->request->cmd &&
        p->request->cmd->flags & CMD_MAIN_THREAD) {
        turnBringHome(r, c);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_PRIMARY, 0))
        primary->run(c, p->request);
    else
        commandRun(c, p->request, ORIGIN_CLIENT);
    if (__builtin_expect(c->flags & CLIENT_PAUSED, 0)) turnGiveBack(r, r->executing, c);
    /* What a thread has read, it frees. */
    if (__builtin_expect(p->c && p->request->big != NULL, 0) && turnIsIn(r, p->request)) {
        respBigArgsFree(p->request->big);
        p->request->big = NULL;
    }
    callReached(BETWEEN_CALLS, c);
}

static void turnExecute(struct round *r) {
    for (int i = 0; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        struct client *c = p->c;
        if (!c) continue; /* given back */
        r->executing = i;
        if (turnClientRunnable(c))
            turnExecuteOne(r, p);
        else if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED))
            turnGiveBack(r, i, c);
        else
            turnDropCommands(r, i, c);
    }
    r->count = 0;
}

void turnRun(void) {
    struct round *r = current;
    listForEach(&waiting, it) {
        struct client *c = listEntry(it, struct client, turn_node);
        if (c->flags & not_served) continue;
        if (!turnClientRunnable(c)) {
            listRemove(&waiting, it);
            continue;
        }
        if (__builtin_expect(c->input_held, 0)) turnReadOn(c);
        turnJoin(r, c);
        c->in = c->querybuf;
        c->in_len = sdslen(c->querybuf);
        c->in_pos = 0;
    }
    if (!r->members.length) return;
    clockRefresh();
    turn_stats.rounds++;
    for (;;) {
        turnFillBatch(r);
        if (!r->count) break;
        turnPrefetch(r);
        turn_stats.batches++;
        turn_stats.commands += (uint64_t)r->count;
        turnExecute(r);
    }
    listForEach(&r->members, it) turnSetAside(listEntry(it, struct client, turn_node));
    serverAssert(!r->members.length); /* nobody's input is left in the arena */
    r->parsing = NULL;
    r->arena_used = 0;
    if (r->argv_cap > ARGV_KEEP) {
        zfree(r->argv);
        r->argv = NULL;
        r->argv_cap = 0;
    }
}

bool turnPending(void) {
    return waiting.length > 0;
}

/* Every client but the one whose command runs takes its input out of the round, to be served by the nested
 * one. */
static void turnSuspend(struct round *r, struct client *running) {
    for (int i = r->executing + 1; i < r->count; i++) {
        struct client *c = r->batch[i].c;
        if (!c || c == running) continue;
        c->requeue = true;
        turnGiveBack(r, i, c);
    }
    listForEach(&r->members, it) {
        struct client *c = listEntry(it, struct client, turn_node);
        if (c == running) continue;
        c->requeue = true;
        turnSetAside(c);
    }
}

void turnNested(void) {
    struct round *outer = current;
    serverAssert(outer < &rounds[TURN_DEPTH_MAX - 1]);
    int64_t time_ms = cmd_time_ms, time_us = cmd_time_us;
    uint32_t not_served_before = not_served;
    turnSuspend(outer, callOwner());
    current = outer + 1;
    not_served = CLIENT_PRIMARY;
    connServePending(server_el);
    aeProcessEvents(server_el, AE_FILE_EVENTS | AE_DONT_WAIT);
    turnRun();                                        /* clients that had input already */
    if (persistence.aofWrite) persistence.aofWrite(); /* a reply leaves when its change is in the file */
    clientsWritePending();
    current = outer;
    not_served = not_served_before;
    cmd_time_ms = time_ms;
    cmd_time_us = time_us;
}

/* ---- Registration ---- */

static bool turnApplyLimits(const char **err) {
    (void)err;
    turnShareLimits();
    return true;
}

static void turnResetStats(void) {
    turn_stats = (struct turnStats){0};
}

static sds turnInfo(sds s) {
    s = infoField(s, "eventloop_rounds:%llu", (unsigned long long)turn_stats.rounds);
    s = infoField(s, "prefetch_batches:%llu", (unsigned long long)turn_stats.batches);
    s = infoField(s, "prefetch_batch_commands:%llu", (unsigned long long)turn_stats.commands);
    s = infoField(s, "prefetch_keys:%llu", (unsigned long long)turn_stats.prefetched_keys);
    return infoField(s, "client_query_buffer_limit_disconnections:%llu",
                     (unsigned long long)clientstats.query_limit_disconnects);
}

void turnInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("prefetch-batch-max-size", NULL, CONFIG_MODIFIABLE, &batch_max, 16, 0, TURN_BATCH_LIMIT,
                   NULL),
        CONFIG_INT("proto-max-bulk-len", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &max_bulk_len,
                   512ll * 1024 * 1024, 1024 * 1024, INT64_MAX, turnApplyLimits),
        CONFIG_INT("client-query-buffer-limit", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &query_buffer_limit,
                   1024ll * 1024 * 1024, 1024 * 1024, INT64_MAX, turnApplyLimits),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("stats", turnInfo);
    configOnResetStat(turnResetStats);
    clientSetReadHandler(turnReadHandler);
    ioClientSetReceiver(&receiver);
    clientOnFree(turnForgetClient);
    cronRegister(turnCheckHeld, HELD_CHECK_MS);
    listInit(&waiting);
    for (int i = 0; i < TURN_DEPTH_MAX; i++) listInit(&rounds[i].members);
}
