/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.c - the pipeline of one turn; see turn.h.
 *
 *     members: clients that have input in this turn, in order of arrival
 *     parsing: the member whose requests are being taken; earlier members have no whole request left
 *     batch:   parsed commands, executed in order; `executing` is the one that runs
 *
 * Requeuing. When a client must not run any more (it blocked, or a nested turn has to serve it), its requests
 * of the batch that have not run go back in front of the bytes not parsed yet. Nearly always they are still
 * there, and only the place where parsing continues moves back; requests with an argument in a buffer of its
 * own are encoded again.
 *
 * Holding. Input of a client that cannot run is kept up to HELD_INPUT_MAX bytes, less before it has logged
 * in. Then nothing more is read until it can run again, and the kernel's buffers make it wait. The end of the
 * connection is behind the bytes that are not read, so a job asks the kernel whether there is one. The kernel
 * notices a FIN only when all bytes before it have fitted into its buffers, and a reset in any case.
 *
 * Preemption. In a long turn, priority connections (net/ae.h: links of the cluster bus, priority clients) are
 * polled between two batches, every priority-preemptive-poll-interval-us. What priority clients send is
 * inserted in front of all members that wait, executed up to there (`stop_at`), and answered at once.
 *
 *     members:  P P  N N N | P  N N N N        |: parsing was here; the new P is executed, then stop_at
 *               (done)          ^ stop_at
 *
 * Invariant: while a member that is no priority client is being parsed, no priority client has a whole
 * request left, so its rest can be stashed and read on. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "command/turn.h"

#include <errno.h>
#include <poll.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/hotkeys.h"
#include "command/io_client.h"
#include "command/multi.h"
#include "command/prefetch.h"
#include "command/propagate.h"
#include "command/request.h"
#include "data/server_state/persistence.h"
#include "data/type.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define TURN_READ_SIZE        (16 * 1024)
#define TURN_READ_BULK        (128 * 1024) /* from a bulk sender (client.h) */
#define TURN_ARENA_SIZE       (1024 * 1024)
#define TURN_BATCH_LIMIT      128                    /* upper bound of prefetch-batch-max-size */
#define TURN_KEY_HASHES_TOTAL (TURN_BATCH_LIMIT * 4) /* keys of a batch that are hashed and prefetched */
#define TURN_DEPTH_MAX        3                      /* turns during loading or a busy script nest */
#define CACHE_LINE            64
/* Bytes kept for a client that cannot run; one read may exceed it. */
#define HELD_INPUT_MAX    (64 * 1024)
#define HELD_BEFORE_LOGIN (16 * 1024)
#define HELD_CHECK_MS     100
#define ARGV_KEEP         (16 * 1024) /* views; a larger array is freed after the turn */

/* A request in the batch. */
struct pending {
    struct client *c;        /* NULL: it will not run */
    struct request *request; /* in the turn, or in an input of a thread */
    size_t argv_base;        /* index of its views in turn.argv, which moves while others are parsed */
    sds error;               /* a protocol error instead of a request: reply it and close */
};

struct turn {
    struct list members;
    struct listNode *parsing;
    struct listNode
        *first_other;         /* while a priority client is parsed: the first member behind it that is none */
    struct listNode *stop_at; /* where the parsing of priority clients' input ends; NULL: of all */
    uint64_t priority_due;    /* ticks at which priority connections are polled; 0: never */

    struct pending batch[TURN_BATCH_LIMIT];
    struct request requests[TURN_BATCH_LIMIT];
    int count, executing;
    struct str *argv;
    size_t argv_cap, argv_used;

    struct keyHint key_hashes[TURN_KEY_HASHES_TOTAL]; /* of requests parsed in the turn */
    int key_hash_count;
    struct prefetchBatch prefetch;

    size_t arena_used;
    /* The kernel provides pages on first use. */
    char arena[TURN_ARENA_SIZE] __attribute__((aligned(CACHE_LINE)));
};

struct turnStats turn_stats;

static struct turn turns[TURN_DEPTH_MAX];
static struct turn *current = &turns[0];
static struct list stashed_clients; /* clients with stashed input that may run */

static int64_t batch_max, max_bulk_len, query_buffer_limit;

static const struct turnPrimary *primary;
static uint32_t nested_skip_flags; /* in a nested turn: CLIENT_PRIMARY */

static int64_t priority_interval_us; /* 0: priority connections are not polled within a turn */
static struct { uint64_t cycles, ticks, call_ticks, longest_ticks, most_commands; } priority_stats;
static void (*after_priority)(void);

void turnAfterPriority(void (*fn)(void)) {
    after_priority = fn;
}

void turnSetPrimary(const struct turnPrimary *p) {
    primary = p;
}

bool turnIsNested(void) {
    return current != &turns[0];
}

int64_t turnMaxBulk(void) {
    return max_bulk_len;
}

/* Returns whether the client may run commands. Blocked and paused clients keep their input meanwhile. */
static bool turnClientRunnable(const struct client *c) {
    return !(c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY));
}

/* ---- Membership ---- */

static bool turnParsesPriority(const struct turn *r) {
    return r->parsing && listEntry(r->parsing, struct client, turn_node)->priority;
}

/* Inserts a priority client behind those that wait already and in front of all other members that wait. */
static __attribute__((noinline, cold)) void turnInsertPriority(struct turn *r, struct client *c) {
    if (!r->parsing)
        r->first_other = NULL;
    else if (!turnParsesPriority(r))
        r->first_other = r->parsing;
    if (r->first_other)
        listInsertBefore(&r->members, r->first_other, &c->turn_node);
    else
        listAddTail(&r->members, &c->turn_node);
    if (r->parsing == r->first_other) r->parsing = &c->turn_node;
}

static void turnJoin(struct turn *r, struct client *c) {
    if (c->turn == r) return;
    serverAssert(!c->turn);
    if (listLinked(&c->turn_node)) listRemove(&stashed_clients, &c->turn_node);
    c->turn = r;
    if (__builtin_expect(c->priority, 0)) {
        turnInsertPriority(r, c);
        return;
    }
    listAddTail(&r->members, &c->turn_node);
    if (!r->parsing) r->parsing = &c->turn_node;
    if (!r->first_other) r->first_other = &c->turn_node;
}

static struct listNode *turnNextMember(const struct turn *r, const struct listNode *node) {
    return node->next == &r->members.head ? NULL : node->next;
}

static void turnAdvanceParsing(struct turn *r) {
    r->parsing = turnNextMember(r, r->parsing);
}

static void turnLeave(struct client *c) {
    struct turn *r = c->turn;
    if (r->parsing == &c->turn_node) turnAdvanceParsing(r);
    if (__builtin_expect(r->stop_at == &c->turn_node, 0)) r->stop_at = turnNextMember(r, r->stop_at);
    if (__builtin_expect(r->first_other == &c->turn_node, 0))
        r->first_other = turnNextMember(r, r->first_other);
    listRemove(&r->members, &c->turn_node);
    c->turn = NULL;
    c->in = NULL;
}

void turnQueueClient(struct client *c) {
    if (c->turn) {
        c->requeue = true;
    } else if (c->querybuf && !listLinked(&c->turn_node)) {
        listAddTail(&stashed_clients, &c->turn_node);
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

static void turnResumeReading(struct client *c) {
    turnNoteHeld(c, false);
    if (c->flags & CLIENT_OFFLOADED)
        ioClientInputDone(ioClientOf(c), ioInputNew());
    else
        clientResumeReading(c);
}

static void turnLogDisconnect(struct client *c, const char *err);

static void turnCloseIfDisconnected(void *priv, struct client *c) {
    (void)priv;
    if (!c->input_held || c->flags & CLIENT_CLOSE_ASAP) return;
    struct pollfd p = {.fd = c->conn->fd, .events = POLLRDHUP};
    if (poll(&p, 1, 0) != 1 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR))) return;
    turnLogDisconnect(c, NULL);
    clientClose(c);
}

static void turnCheckHeld(void) {
    if (held_clients) clientForEach(turnCloseIfDisconnected, NULL);
}

/* ---- Offloaded clients ---- */

static void turnOnClientLeft(struct client *c);

/* Moves an input into the client's own buffer, to be parsed again when the client may run; `front` goes
 * before the requests of the input that were not taken. */
static void turnStashInput(struct client *c, struct ioInput *in, sds front) {
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
    if (__builtin_expect(client_accounting, 0)) clientAccountMemory(c);
    if (c->querybuf && turnHasEnough(c)) {
        turnNoteHeld(c, true);
        ioClientInputHeld(ioClientOf(c), in);
    } else {
        ioClientInputDone(ioClientOf(c), in);
    }
}

/* Ends the turn's use of an input: `front` holds requests that were taken and have not run. */
static void turnStashReadyInput(struct client *c, sds front) {
    serverAssert(!c->querybuf);
    turnStashInput(c, ioClientReadyInput(ioClientOf(c)), front);
    turnLeave(c);
    turnOnClientLeft(c);
}

static void turnFinishReadyInput(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    ioClientInputDone(p, ioClientReadyInput(p));
    turnLeave(c);
    turnOnClientLeft(c);
}

/* Called when the client has left the turn: input and a recall that came meanwhile take effect. */
static void turnOnClientLeft(struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0)) {
        struct ioClient *p = ioClientOf(c);
        if (p->input_state == IO_CLIENT_INPUT_LATER) {
            turnStashInput(c, p->input, sdsempty());
            c->requeue = true;
        }
        ioClientLeftTurn(c);
    }
    if (c->requeue) {
        c->requeue = false;
        if (turnClientRunnable(c)) turnQueueClient(c);
    }
}

/* ---- Stashing and requeuing ---- */

/* Moves bytes that are not parsed from the turn into the client's own buffer; an idle client keeps none. */
static void turnStashRest(struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c))) {
        if (ioInputIsEmpty(ioClientReadyInput(ioClientOf(c))))
            turnFinishReadyInput(c);
        else
            turnStashReadyInput(c, sdsempty());
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
    turnOnClientLeft(c);
}

/* Frees what belongs to a request that will not run, or has run. */
static void turnDropRequest(struct pending *p) {
    respBigArgsFree(p->request->big);
    sdsfree(p->error);
    p->request->big = NULL;
    p->error = NULL;
    p->c = NULL;
}

/* Returns where the bytes of c's requests from batch[from] on begin if all of them are still in its input,
 * otherwise NULL. */
static const char *turnFindRawStart(const struct turn *r, int from, const struct client *c) {
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

/* Encodes the requests into a new buffer, in front of what is not parsed yet. */
static void turnReencodeRequests(struct turn *r, int from, struct client *c) {
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

static void turnRequeueReady(struct turn *r, int from, struct client *c) {
    sds front = sdsempty();
    for (int i = from; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        if (p->c != c) continue;
        if (p->error)
            ioClientReadyInput(ioClientOf(c))->error = p->error;
        else
            front = requestAppend(front, p->request);
        p->error = NULL;
        turnDropRequest(p);
    }
    turnStashReadyInput(c, front);
}

/* Puts the requests of c from batch[from] on, which have not run, back into its input. Requests that were
 * requeued earlier may follow them. */
static void turnRequeueRequests(struct turn *r, int from, struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c))) {
        turnRequeueReady(r, from, c);
        return;
    }
    const char *begin = turnFindRawStart(r, from, c);
    if (begin) {
        if (c->parse_at < c->in_pos) c->parse_at = c->in_pos;
        c->in_pos = (size_t)(begin - c->in);
    } else {
        turnReencodeRequests(r, from, c);
    }
    for (int i = from; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        if (p->c != c) continue;
        if (p->error) c->input_error = p->error;
        p->error = NULL;
        turnDropRequest(p);
    }
    turnStashRest(c);
}

static void turnDropCommands(struct turn *r, int from, const struct client *c) {
    for (int i = from; i < r->count; i++) {
        if (r->batch[i].c == c) turnDropRequest(&r->batch[i]);
    }
}

static void turnRemoveClient(struct client *c) {
    for (int i = 0; i < TURN_DEPTH_MAX; i++) turnDropCommands(&turns[i], 0, c);
    if (c->input_held) turnNoteHeld(c, false);
    if (c->turn)
        turnLeave(c);
    else if (listLinked(&c->turn_node))
        listRemove(&stashed_clients, &c->turn_node);
}

/* ---- Gather ---- */

/* Returns how many of c's next bytes can be read, to *dst; 0: none in this turn. */
static size_t turnReadTarget(struct turn *r, struct client *c, char **dst) {
    size_t n = respBigSpace(&c->parser, dst), size = c->bulk_sender ? TURN_READ_BULK : TURN_READ_SIZE;
    if (n) return n;
    if (c->querybuf || !turnClientRunnable(c) || r->stop_at) {
        if (!c->querybuf) c->querybuf = sdsempty();
        c->querybuf = sdsMakeRoomFor(c->querybuf, size);
        *dst = c->querybuf + sdslen(c->querybuf);
        return sdsavail(c->querybuf);
    }
    if (r->arena_used + size > TURN_ARENA_SIZE) return 0;
    *dst = r->arena + r->arena_used;
    return size;
}

/* Makes n bytes that were read to dst the client's input. */
static void turnAcceptInput(struct turn *r, struct client *c, char *dst, size_t n) {
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

/* Notes that n bytes have come. kept: for an offloaded client, with those that its thread kept before. */
static void turnNoteInputSize(struct client *c, size_t n, size_t kept) {
    c->last_active_ms = cmd_time_ms;
    c->net_in += n;
    clientstats.net_in += n;
    size_t buffered = kept + (c->querybuf ? sdslen(c->querybuf) : kept ? 0 : n);
    for (struct respBigArg *b = c->parser.big; b; b = b->next) buffered += sdslen(b->buf);
    if (buffered > clientstats.max_input_buffer) clientstats.max_input_buffer = buffered;
    if (c->flags & CLIENT_PRIMARY) return;
    buffered += multiQueuedBytes(c); /* queued commands count against the limit */
    if (__builtin_expect(client_accounting, 0)) clientAccountMemory(c);
    if (buffered <= (size_t)query_buffer_limit) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_WARNING, "Closing client that reached max query buffer length: %s", info);
    sdsfree(info);
    clientstats.query_limit_disconnects++;
    clientClose(c);
}

/* Logs that the peer has disconnected; err says why unless it was orderly. */
static void turnLogDisconnect(struct client *c, const char *err) {
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
    struct turn *r = current;
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_EXECUTING | nested_skip_flags))
        return;
    if (__builtin_expect(c->querybuf != NULL, 0) && turnHasEnough(c)) {
        turnNoteHeld(c, true);
        connSetReadHandler(conn, NULL);
        return;
    }
    if (__builtin_expect(r->stop_at && c->turn, 0)) turnStashRest(c);
    char *dst;
    size_t space = turnReadTarget(r, c, &dst);
    if (!space) return;
    ssize_t n = connRead(conn, dst, space);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        turnLogDisconnect(c, n < 0 ? strerror(errno) : NULL);
        clientClose(c);
        return;
    }
    clientstats.reads++;
    turnAcceptInput(r, c, dst, (size_t)n);
    turnNoteInputSize(c, (size_t)n, 0);
}

/* ---- Input from threads ---- */

static bool turnIsClosing(const struct client *c) {
    return c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY);
}

static void turnOffloadedPart(struct client *c, size_t n) {
    if (turnIsClosing(c)) return;
    clientstats.reads++;
    uint32_t partial = ioClientOf(c)->partial_bytes =
        ioClientClampCount(ioClientOf(c)->partial_bytes + (uint64_t)n);
    turnNoteInputSize(c, n, partial);
}

static void turnOffloadedInput(struct client *c, struct ioInput *in) {
    struct ioClient *p = ioClientOf(c);
    bool brief = ioInputIsShort(in);
    size_t n = ioInputRead(in);
    if (n && !turnIsClosing(c)) turnOffloadedPart(c, n);
    p->partial_bytes = brief ? 0 : ioClientClampCount(in->partial_bytes);
    p->kept = brief ? 0 : ioClientClampCount(in->kept);
    if (turnIsClosing(c) || (!in->count && !in->error)) {
        ioClientInputDone(p, in); /* nothing is held, or about as much as is kept anyway */
    } else if (c->turn) {
        ioClientInputLater(p, in);
    } else if (!turnClientRunnable(c) || c->querybuf || c->flags & CLIENT_EXECUTING) {
        turnStashInput(c, in, sdsempty());
    } else {
        ioClientInputReady(p, in);
        turnJoin(current, c);
    }
}

static void turnOffloadedGone(struct client *c, int error) {
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    turnLogDisconnect(c, error ? strerror(error) : NULL);
    clientClose(c);
}

static void turnOffloadedRecalled(struct client *c) {
    if (turnClientRunnable(c)) turnQueueClient(c);
}

/* Publishes the limits for threads, which need them while they parse. */
static void turnShareLimits(void) {
    ioReaderSetLimits(max_bulk_len, (size_t)query_buffer_limit);
}

static const struct ioClientReceiver receiver = {.begin = turnShareLimits,
                                                 .part = turnOffloadedPart,
                                                 .input = turnOffloadedInput,
                                                 .disconnected = turnOffloadedGone,
                                                 .recalled = turnOffloadedRecalled};

/* ---- Parse ---- */

/* Prepares the entry for c's next request. */
static inline struct pending *turnNextPending(struct turn *r, struct client *c) {
    struct pending *p = &r->batch[r->count];
    struct request *req = p->request = &r->requests[r->count];
    p->c = c;
    p->error = NULL;
    p->argv_base = r->argv_used;
    requestBegin(req);
    return p;
}

/* Ends the client's requests with a protocol error: bytes behind it are useless. */
static void turnTakeError(struct turn *r, struct client *c, sds error) {
    turnNextPending(r, c)->error = error;
    r->count++;
    respParserReset(&c->parser);
    c->in_len = c->in_pos;
}

/* Copies a short request into the turn, whose memory is in the cache. */
static void turnTakeShortRequest(struct turn *r, struct client *c, struct ioInput *in) {
    struct request *req = turnNextPending(r, c)->request;
    if (r->argv_cap - r->argv_used < SHORT_ARGS) {
        r->argv_cap = 2 * r->argv_cap + SHORT_ARGS;
        r->argv = zrealloc(r->argv, r->argv_cap * sizeof *r->argv);
    }
    ioInputTakeShort(in, req, r->argv + r->argv_used, r->key_hashes + r->key_hash_count);
    r->argv_used += (size_t)req->argc;
    r->key_hash_count += req->key_hash_count;
    r->count++;
}

/* Takes one request that a thread has parsed. */
static bool turnTakeParsedRequest(struct turn *r, struct client *c, struct ioInput *in) {
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

/* Parses with the parser's state, or bytes of requeued requests. */
static __attribute__((noinline)) enum respStatus turnParseAny(struct turn *r, struct client *c,
                                                              struct request *req) {
    struct respLimits limits = {.max_bulk = c->flags & CLIENT_PRIMARY ? INT64_MAX : max_bulk_len,
                                .max_args = RESP_MAX_MULTIBULK,
                                .authenticated = c->flags & CLIENT_AUTHENTICATED};
    struct respParser fresh = {0};
    bool requeued = c->in_pos < c->parse_at;
    size_t end = requeued ? c->parse_at : c->in_len, len = end - c->in_pos, consumed = 0;
    const char *error = NULL;
    enum respStatus st =
        respParseRequest(requeued ? &fresh : &c->parser, c->in + c->in_pos, &len, &limits, &r->argv,
                         &r->argv_cap, r->argv_used, &req->argc, &consumed, &req->big, &error);
    if (st == RESP_MORE) {
        serverAssert(!requeued);
        c->in_len = c->in_pos + len;
    } else if (st == RESP_ERROR) {
        turnTakeError(r, c, sdsnew(error));
    } else {
        if (!req->big) req->raw = strN(c->in + c->in_pos, consumed);
        c->in_pos += consumed;
    }
    return st;
}

static inline enum respStatus turnParseNext(struct turn *r, struct client *c, struct request *req) {
    const char *at = c->in + c->in_pos, *next = NULL;
    const struct respViews views = {&r->argv, &r->argv_cap, r->argv_used};
    if (__builtin_expect(respParserIdle(&c->parser), 1))
        next = respParseShort(at, c->in_len - c->in_pos, c->flags & CLIENT_AUTHENTICATED, &views, &req->argc);
    if (__builtin_expect(!next, 0)) return turnParseAny(r, c, req);
    req->raw = strN(at, (size_t)(next - at));
    c->in_pos += req->raw.len;
    return RESP_OK;
}

/* Takes one request of c. Returns false when it has no whole one. */
static bool turnTakeRequest(struct turn *r, struct client *c) {
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && ioClientReadyInput(ioClientOf(c)))
        return turnTakeParsedRequest(r, c, ioClientReadyInput(ioClientOf(c)));
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

static void turnFillBatch(struct turn *r) {
    int max = batch_max < 1 ? 1 : (int)batch_max;
    r->count = r->key_hash_count = 0;
    prefetchBegin(&r->prefetch);
    r->argv_used = 0;
    while (r->parsing != r->stop_at && r->count < max) {
        struct client *c = listEntry(r->parsing, struct client, turn_node);
        if (!turnClientRunnable(c) || !turnTakeRequest(r, c))
            turnAdvanceParsing(r);
        else if (!(c->flags & CLIENT_AUTHENTICATED))
            break; /* it may be AUTH, which lifts the limits for what follows */
    }
}

/* ---- Prefetch ---- */

static bool turnOwnsRequest(const struct turn *r, const struct request *req) {
    return req >= r->requests && req < r->requests + TURN_BATCH_LIMIT;
}

static void turnFindCommands(struct turn *r) {
    const struct request *prev = NULL;
    for (int i = 0; i < r->count; i++) {
        struct pending *p = &r->batch[i];
        struct request *req = p->request;
        if (p->error || !turnOwnsRequest(r, req)) continue;
        req->argv = r->argv + p->argv_base;
        if (!req->key_hashes) {
            req->cmd = prev ? commandLookupAfter(prev->cmd, prev->argv[0], req->argv, req->argc)
                            : commandLookup(req->argv, req->argc);
        }
        prev = req;
    }
}

/* Hashes the keys of a request and prefetches their buckets. */
static void turnHashKeys(struct turn *r, struct pending *p) {
    struct request *req = p->request;
    if (!req->key_hashes)
        r->key_hash_count += requestHashKeys(req, r->key_hashes + r->key_hash_count,
                                             TURN_KEY_HASHES_TOTAL - r->key_hash_count);
    if (r->count == 1) req->prefetch.parts &= ~(unsigned)PREFETCH_SCORE; /* nothing to overlap with */
    prefetchAdd(&r->prefetch, &p->c->db->keyspace, req);
}

static void turnPrefetch(struct turn *r) {
    turnFindCommands(r);
    for (int i = 0; i < r->count; i++) turnHashKeys(r, &r->batch[i]);
    if (r->prefetch.count < 2) return; /* nothing to overlap */
    prefetchRun(&r->prefetch);
    prefetch_stats.keys += (uint64_t)r->prefetch.count;
    if (!(r->batch[0].c->flags & CLIENT_OFFLOADED)) return;
    prefetch_stats.threaded_batches++;
    prefetch_stats.threaded_keys += (uint64_t)r->prefetch.count;
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

/* Recalls a client whose request needs the connection itself; the request is requeued until then. */
static void turnRecallClient(struct turn *r, struct client *c) {
    c->requeue = true;
    turnRequeueRequests(r, r->executing, c);
    if (c->flags & CLIENT_OFFLOADED) ioClientRecall(c);
}

static void turnExecuteOne(struct turn *r, struct pending *p) {
    struct client *c = p->c;
    if (__builtin_expect(p->error != NULL, 0)) {
        turnProtocolError(c, p->error);
        turnDropRequest(p);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0) && p->request->cmd &&
        p->request->cmd->flags & CMD_MAIN_THREAD) {
        turnRecallClient(r, c);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_PRIMARY, 0))
        primary->run(c, p->request);
    else
        commandRun(c, p->request, ORIGIN_CLIENT);
    if (__builtin_expect(c->flags & CLIENT_PAUSED, 0)) turnRequeueRequests(r, r->executing, c);
    /* Buffers of requests that a thread has parsed are freed by the thread. */
    if (__builtin_expect(p->c && p->request->big != NULL, 0) && turnOwnsRequest(r, p->request)) {
        respBigArgsFree(p->request->big);
        p->request->big = NULL;
    }
    callRunHooks(BETWEEN_CALLS, c);
}

static void turnExecuteRange(struct turn *r, int from, int to) {
    for (int i = from; i < to; i++) {
        struct pending *p = &r->batch[i];
        struct client *c = p->c;
        if (!c) continue; /* requeued */
        r->executing = i;
        if (turnClientRunnable(c))
            turnExecuteOne(r, p);
        else if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED))
            turnRequeueRequests(r, i, c);
        else
            turnDropCommands(r, i, c);
    }
}

/* Executes a batch in which some requests are sampled (hotkeys.h). */
static __attribute__((noinline, cold)) void turnExecuteSampled(struct turn *r) {
    int from = 0;
    int64_t at = hotkeys_until_sample + r->count;
    for (; at < r->count; from = (int)at, at += hotkeysNextGap()) {
        turnExecuteRange(r, from, (int)at);
        bool begun = hotkeysBeginSample(r->batch[at].c);
        turnExecuteRange(r, (int)at, (int)at + 1);
        if (begun) hotkeysEndSample();
        at++;
    }
    turnExecuteRange(r, from, r->count);
    hotkeys_until_sample = at - r->count;
}

static void turnExecute(struct turn *r) {
    hotkeys_until_sample -= r->count;
    if (__builtin_expect(hotkeys_until_sample < 0, 0))
        turnExecuteSampled(r);
    else
        turnExecuteRange(r, 0, r->count);
    r->count = 0;
}

static void turnServePriority(struct turn *r);

static void turnRunBatches(struct turn *r) {
    for (;;) {
        turnFillBatch(r);
        if (!r->count) break;
        turnPrefetch(r);
        turn_stats.batches++;
        turn_stats.commands += (uint64_t)r->count;
        turnExecute(r);
        if (__builtin_expect(r->priority_due != 0, 0) && ticksNow() >= r->priority_due) turnServePriority(r);
    }
}

/* Polls priority connections, executes what their clients have sent, and answers it. */
static __attribute__((noinline, cold)) void turnServePriority(struct turn *r) {
    if (!r->parsing || turnParsesPriority(r)) return;
    uint64_t start = ticksNow(), calls = callstats.ticks, commands = turn_stats.commands;
    r->priority_due = 0;
    r->stop_at = r->parsing;
    aeServePriority(server_el);
    turnRunBatches(r);
    r->stop_at = NULL;
    commands = turn_stats.commands - commands;
    if (clientsHavePriorityOutput()) { /* also of commands that the turn has executed before */
        if (persistence.aofWrite) persistence.aofWrite();
        clientsWritePriority();
    }
    if (after_priority) after_priority();
    uint64_t now = ticksNow();
    r->priority_due = now + (uint64_t)priority_interval_us * ticks_per_us;
    priority_stats.cycles++;
    priority_stats.ticks += now - start;
    priority_stats.call_ticks += callstats.ticks - calls;
    if (now - start > priority_stats.longest_ticks) priority_stats.longest_ticks = now - start;
    if (commands > priority_stats.most_commands) priority_stats.most_commands = commands;
}

void turnRun(void) {
    struct turn *r = current;
    listForEach(&stashed_clients, it) {
        struct client *c = listEntry(it, struct client, turn_node);
        if (c->flags & nested_skip_flags) continue;
        if (!turnClientRunnable(c)) {
            listRemove(&stashed_clients, it);
            continue;
        }
        if (__builtin_expect(c->input_held, 0)) turnResumeReading(c);
        turnJoin(r, c);
        c->in = c->querybuf;
        c->in_len = sdslen(c->querybuf);
        c->in_pos = 0;
    }
    if (!r->members.length) return;
    clockRefresh();
    turn_stats.turns++;
    if (__builtin_expect(ae_any_priority, 0) && priority_interval_us && !turnIsNested())
        r->priority_due = ticksNow() + (uint64_t)priority_interval_us * ticks_per_us;
    turnRunBatches(r);
    r->priority_due = 0;
    listForEach(&r->members, it) turnStashRest(listEntry(it, struct client, turn_node));
    serverAssert(!r->members.length); /* no input is left in the arena */
    r->parsing = NULL;
    r->arena_used = 0;
    if (r->argv_cap > ARGV_KEEP) {
        zfree(r->argv);
        r->argv = NULL;
        r->argv_cap = 0;
    }
}

bool turnPending(void) {
    return stashed_clients.length > 0;
}

/* Stashes the input of every client except the one whose command runs, for the nested turn to serve them. */
static void turnStashOthers(struct turn *r, struct client *running) {
    for (int i = r->executing + 1; i < r->count; i++) {
        struct client *c = r->batch[i].c;
        if (!c || c == running) continue;
        c->requeue = true;
        turnRequeueRequests(r, i, c);
    }
    listForEach(&r->members, it) {
        struct client *c = listEntry(it, struct client, turn_node);
        if (c == running) continue;
        c->requeue = true;
        turnStashRest(c);
    }
}

void turnNested(void) {
    struct turn *outer = current;
    serverAssert(outer < &turns[TURN_DEPTH_MAX - 1]);
    int64_t time_ms = cmd_time_ms, time_us = cmd_time_us;
    uint32_t skip_flags_before = nested_skip_flags;
    turnStashOthers(outer, callOwner());
    current = outer + 1;
    nested_skip_flags = CLIENT_PRIMARY;
    connServePending(server_el);
    aeProcessEvents(server_el, AE_FILE_EVENTS | AE_DONT_WAIT);
    turnRun();                                        /* clients that already had input */
    if (persistence.aofWrite) persistence.aofWrite(); /* a reply is sent when its change is in the file */
    clientsWritePending();
    current = outer;
    nested_skip_flags = skip_flags_before;
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
    prefetch_stats = (struct prefetchStats){0};
    memset(&priority_stats, 0, sizeof priority_stats);
}

static sds turnInfo(sds s) {
    s = infoField(s, "eventloop_rounds:%llu", (unsigned long long)turn_stats.turns);
    s = infoField(s, "eventloop_priority_cycles:%llu", (unsigned long long)priority_stats.cycles);
    s = infoField(s, "eventloop_priority_duration_sum:%llu",
                  (unsigned long long)(priority_stats.ticks / ticks_per_us));
    s = infoField(s, "eventloop_priority_duration_cmd_sum:%llu",
                  (unsigned long long)(priority_stats.call_ticks / ticks_per_us));
    s = infoField(s, "prefetch_batches:%llu", (unsigned long long)turn_stats.batches);
    s = infoField(s, "prefetch_batch_commands:%llu", (unsigned long long)turn_stats.commands);
    s = infoField(s, "prefetch_keys:%llu", (unsigned long long)prefetch_stats.keys);
    return infoField(s, "client_query_buffer_limit_disconnections:%llu",
                     (unsigned long long)clientstats.query_limit_disconnects);
}

static sds turnDebugInfo(sds s) {
    s = infoField(s, "eventloop_priority_duration_max:%llu",
                  (unsigned long long)(priority_stats.longest_ticks / ticks_per_us));
    return infoField(s, "eventloop_priority_cmd_per_cycle_max:%llu",
                     (unsigned long long)priority_stats.most_commands);
}

void turnInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("prefetch-batch-max-size", NULL, CONFIG_MODIFIABLE, &batch_max, 16, 0, TURN_BATCH_LIMIT,
                   NULL),
        CONFIG_INT("priority-preemptive-poll-interval-us", NULL, CONFIG_MODIFIABLE, &priority_interval_us,
                   2000, 0, INT32_MAX, NULL),
        CONFIG_INT("proto-max-bulk-len", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &max_bulk_len,
                   512ll * 1024 * 1024, 1024 * 1024, INT64_MAX, turnApplyLimits),
        CONFIG_INT("client-query-buffer-limit", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &query_buffer_limit,
                   1024ll * 1024 * 1024, 1024 * 1024, INT64_MAX, turnApplyLimits),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("stats", turnInfo);
    infoRegister("debug", turnDebugInfo);
    configOnResetStat(turnResetStats);
    clientSetReadHandler(turnReadHandler);
    ioClientSetReceiver(&receiver);
    clientOnFree(turnRemoveClient);
    cronRegister(turnCheckHeld, HELD_CHECK_MS);
    listInit(&stashed_clients);
    for (int i = 0; i < TURN_DEPTH_MAX; i++) listInit(&turns[i].members);
}
