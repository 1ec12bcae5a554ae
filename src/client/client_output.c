/* SPDX-License-Identifier: BSD-3-Clause */
/* client_output.c - see client_output.h.
 *
 *     writing    clients that have been given output since the last turn; one list for all
 *
 * A reply is not sent when it is written but at the end of the turn, each client's with one call, so that the
 * replies to a pipeline are sent together. While the gate is active (reply_gate.h), a chain may contain
 * holds, and is sent up to the first that is closed. */
#include "client/client_output.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "client/client_session.h"
#include "client/client_stream.h"
#include "client/reply_block.h"
#include "client/reply_gate.h"
#include "client/write_turn.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define OUTPUT_FREE  (16 * 1024) /* bytes */
#define POOL_TRIM_MS 200
#define CLASS_WORDS  4 /* words per class in client-output-buffer-limit: name hard soft seconds */

static struct list writing;
const struct clientStream *client_stream;
const struct clientOffload *client_offload;
void (*client_on_opened)(struct client *c);
/* `writing` contains clients that sent no request (subscribers): a PUBLISH need not wait for thousands. */
static bool unsolicited_pending;

/* Limits of a class; 0: none. */
struct outputLimit {
    uint64_t hard, soft;
    int64_t soft_s;
};
#define DEFAULT_LIMITS                                                                                       \
    { [CLIENT_CLASS_REPLICA] = {256 << 20, 64 << 20, 60}, [CLIENT_CLASS_PUBSUB] = {32 << 20, 8 << 20, 60}, }
static struct outputLimit limits[CLIENT_CLASSES] = DEFAULT_LIMITS;
static const struct outputLimit default_limits[CLIENT_CLASSES] = DEFAULT_LIMITS;
static const char *const class_names[CLIENT_CLASSES] = {"normal", "slave", "pubsub"};
bool (*client_soft_excuse)(const struct client *c);
bool client_output_limited;
static size_t over_soft; /* clients whose output is above the soft limit */

/* ---- Limits ---- */

static int64_t clientOutputSoftSince(const struct client *c) {
    return c->limits ? c->limits->over_soft_since_s : 0;
}

static void clientOutputNoteSoft(struct client *c, int64_t since_s) {
    over_soft += (since_s != 0) - (size_t)(clientOutputSoftSince(c) != 0);
    clientLimits(c)->over_soft_since_s = since_s;
}

uint64_t clientOutputHardLimit(enum clientClass class) {
    return limits[class].hard;
}

uint64_t clientOutputSoftLimit(enum clientClass class) {
    return limits[class].soft;
}

bool clientOutputIsTooMuch(enum clientClass class, uint64_t bytes, int64_t *soft_since_s) {
    const struct outputLimit *l = &limits[class];
    uint64_t least = class == CLIENT_CLASS_REPLICA ? client_stream->least_limit() : 0;
    int64_t now_s = cmd_time_ms / 1000;
    if (l->hard && bytes >= l->hard && bytes >= least) return true;
    bool soft = l->soft && bytes >= l->soft && bytes >= least;
    if (!soft)
        *soft_since_s = 0;
    else if (!*soft_since_s)
        *soft_since_s = now_s;
    return soft && now_s - *soft_since_s > l->soft_s;
}

/* Called for a client over its limits. since_s: since when it has been above the soft one; 0: it is not. */
static bool clientOutputIsExcused(const struct client *c, size_t bytes, int64_t since_s) {
    enum clientClass class = clientClassOf(c);
    uint64_t hard = limits[class].hard;
    if (class != CLIENT_CLASS_REPLICA || !client_soft_excuse || !since_s || (hard && bytes >= hard))
        return false;
    return cmd_time_ms / 1000 - since_s <= limits[class].soft_s + SOFT_EXCUSE_S && client_soft_excuse(c);
}

/* As in Redis, output that fits into a reply buffer does not count, so a client gets short replies with any
 * limit. More than that counts in full. A client that still has to log in gets no more than that. */
static bool clientOverLimit(struct client *c, size_t pending) {
    size_t bytes = pending > OUTPUT_FREE ? pending : 0;
    if (bytes && clientAuthMissing(c)) return true;
    int64_t since_s = clientOutputSoftSince(c), before_s = since_s;
    bool over = clientOutputIsTooMuch(clientClassOf(c), bytes, &since_s);
    if (__builtin_expect(since_s != before_s, 0)) clientOutputNoteSoft(c, since_s);
    return over && !clientOutputIsExcused(c, bytes, since_s);
}

static __attribute__((noinline)) void clientOutputCheckLimits(struct client *c, size_t pending) {
    if (read_context.reads) {
        if (client_output_limited && (pending > OUTPUT_FREE || clientOutputSoftSince(c)))
            clientRefusesRead(c);
        return;
    }
    if (!c->conn || c->flags & CLIENT_CLOSE_ASAP || !clientOverLimit(c, pending)) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_WARNING, "Client %s scheduled to be closed ASAP for overcoming of output buffer limits.",
              info);
    sdsfree(info);
    clientstats.output_limit_disconnects++;
    clientClose(c);
}

void clientCheckOutput(struct client *c, size_t more) {
    if (__builtin_expect(client_accounting, 0)) clientAccountMemory(c);
    size_t pending = c->out.bytes - c->out.sent + more;
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0)) pending += client_offload->at_most(c);
    if (__builtin_expect(c->flags & CLIENT_REPLICA, 0)) pending += client_stream->pending(c);
    if (pending > OUTPUT_FREE || __builtin_expect(over_soft != 0, 0)) clientOutputCheckLimits(c, pending);
}

/* Closes clients above the soft limit whose time has passed without further output. */
static void clientOutputCheckSoftLimits(void) {
    if (!over_soft) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (clientOutputSoftSince(c)) clientCheckOutput(c, 0);
    }
}

static int clientOutputClassByName(struct str name) {
    if (strIs(name, "replica")) return CLIENT_CLASS_REPLICA;
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        if (strIs(name, class_names[i])) return i;
    }
    return -1;
}

static bool clientOutputSetLimits(const struct configDirective *d, int argc, const struct str *argv,
                                  const char **err) {
    (void)d;
    if (argc == 1 && argv[0].len == 0) return true;
    struct outputLimit now[CLIENT_CLASSES];
    memcpy(now, limits, sizeof now);
    if (argc % CLASS_WORDS) {
        *err = "Wrong number of arguments in buffer limit configuration.";
        return false;
    }
    for (int i = 0; i < argc; i += CLASS_WORDS) {
        int class = clientOutputClassByName(argv[i]);
        if (class < 0) {
            *err = "Invalid client class specified in buffer limit configuration.";
            return false;
        }
        struct outputLimit *l = &now[class];
        if (!memtoull(argv[i + 1], &l->hard) || !memtoull(argv[i + 2], &l->soft) ||
            !string2ll(argv[i + 3], &l->soft_s) || l->soft_s < 0) {
            *err = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            return false;
        }
    }
    memcpy(limits, now, sizeof limits);
    client_output_limited = limits[CLIENT_CLASS_NORMAL].hard || limits[CLIENT_CLASS_NORMAL].soft;
    return true;
}

static sds clientOutputGetLimits(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        s = sdscatprintf(s, "%s%s %llu %llu %lld", i ? " " : "", class_names[i],
                         (unsigned long long)limits[i].hard, (unsigned long long)limits[i].soft,
                         (long long)limits[i].soft_s);
    }
    return s;
}

/* Lines for a file: the classes that were changed, or all of them when none was. */
static sds clientOutputLimitLines(const struct configDirective *d) {
    (void)d;
    bool changed = memcmp(limits, default_limits, sizeof limits) != 0;
    sds s = sdsempty();
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        if (changed && memcmp(&limits[i], &default_limits[i], sizeof limits[i]) == 0) continue;
        s = sdscatprintf(s, "%s%s ", sdslen(s) ? "\n" : "",
                         i == CLIENT_CLASS_REPLICA ? "replica" : class_names[i]);
        s = sdscat(configAppendMemory(s, (int64_t)limits[i].hard), " ");
        s = sdscatprintf(configAppendMemory(s, (int64_t)limits[i].soft), " %lld",
                         (long long)limits[i].soft_s);
    }
    return s;
}

/* ---- Sending ---- */

void clientWriteLater(struct client *c) {
    if (!c->conn || listLinked(&c->out.write_node)) return;
    bool executing = c->flags & CLIENT_EXECUTING;
    if (executing && unsolicited_pending)
        listAddHead(&writing, &c->out.write_node);
    else
        listAddTail(&writing, &c->out.write_node);
    unsolicited_pending |= !executing;
}

/* Removes a seal that nothing precedes and nothing follows. */
static __attribute__((noinline, cold)) void clientOutputDropSeal(struct client *c) {
    struct replyBlock *b = c->out.head;
    if (b->next || replyHoldOf(b)->state != HOLD_SEAL) return;
    c->out.mem -= sizeof *b;
    c->out.head = c->out.tail = NULL;
    replyBlockFree(b);
}

static void clientOutputDropSent(struct client *c, size_t n) {
    n += c->out.sent;
    while (c->out.head && n >= c->out.head->used && !replyBlockStops(c->out.head)) {
        struct replyBlock *b = c->out.head;
        n -= b->used;
        c->out.bytes -= b->used;
        c->out.mem -= sizeof *b + b->cap;
        c->out.head = b->next;
        replyBlockFree(b);
    }
    if (c->out.head) {
        c->out.sent = n;
        if (replyBlockIsHold(c->out.head)) clientOutputDropSeal(c);
        return;
    }
    serverAssert(n == 0 && c->out.bytes == 0);
    c->out.tail = NULL;
    c->out.sent = 0;
}

enum sent { SENT_WHOLE, SENT_SOME, SENT_BROKEN }; /* SOME: the socket is full */

/* Called when the write of the first pieces has ended. */
static enum sent clientOutputOnWritten(struct client *c, const struct connWrite *w) {
    if (w->result < 0) return w->error == EAGAIN || w->error == EINTR ? SENT_SOME : SENT_BROKEN;
    size_t expected = 0, n = (size_t)w->result;
    for (int i = 0; i < w->count; i++) expected += w->iov[i].iov_len;
    clientNoteSent(c, n);
    clientOutputDropSent(c, n);
    return n < expected ? SENT_SOME : SENT_WHOLE;
}

static inline bool clientOutputMaySendChain(const struct client *c) {
    return c->out.head && !replyBlockStops(c->out.head);
}

bool clientSendNow(struct client *c) {
    enum sent sent = SENT_WHOLE;
    while (clientOutputMaySendChain(c) && sent == SENT_WHOLE) {
        struct iovec iov[WRITE_IOV_MAX];
        int pieces = replyBlocksPieces(c->out.head, c->out.sent, iov, WRITE_IOV_MAX);
        struct connWrite w = {c->conn, iov, pieces, 0, 0};
        connWriteMany(&w, 1);
        sent = clientOutputOnWritten(c, &w);
    }
    return sent != SENT_BROKEN;
}

static bool clientOutputMaySend(const struct client *c) {
    return clientOutputMaySendChain(c) ||
           (__builtin_expect(c->flags & CLIENT_REPLICA, 0) && client_stream->waits(c));
}

static bool clientOutputSendAll(struct client *c) {
    bool well = clientSendNow(c);
    if (__builtin_expect(c->flags & CLIENT_REPLICA, 0) && well && !c->out.head)
        well = client_stream->write(c);
    if (__builtin_expect(client_accounting, 0)) clientAccountMemory(c);
    return well;
}

static void clientOutputWriteHandler(struct connection *conn) {
    struct client *c = conn->data;
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    if (!clientOutputSendAll(c)) {
        clientClose(c);
    } else if (!clientOutputMaySend(c)) {
        connSetWriteHandler(conn, NULL);
        if (c->flags & CLIENT_CLOSE_AFTER_REPLY && !c->out.head) clientClose(c);
    }
}

/* Called when a client has been written to in this turn; well: without an error. */
static void clientOutputTurnEnded(struct client *c, bool well) {
    if (!well)
        clientClose(c);
    else if (clientOutputMaySend(c))
        connSetWriteHandler(c->conn, clientOutputWriteHandler);
    else if (c->flags & CLIENT_CLOSE_AFTER_REPLY && !c->out.head)
        clientClose(c);
    if (replyGateIsActive()) replyGateSeal(c);
    serverAssert(!clientOutputMaySend(c) || c->conn->write_handler || c->flags & CLIENT_CLOSE_ASAP);
}

static struct writeTurn turn;

static void clientOutputTurnWrote(const struct connWrite *w) {
    struct client *c = w->conn->data;
    enum sent sent = clientOutputOnWritten(c, w);
    if (__builtin_expect(client_accounting, 0)) clientAccountMemory(c);
    clientOutputTurnEnded(c, sent == SENT_WHOLE ? clientOutputSendAll(c) : sent == SENT_SOME);
}

/* Passes what precedes the first closed hold to the client's thread, which never sees a hold. */
static __attribute__((noinline, cold)) void clientOutputOffloadApproved(struct client *c) {
    struct clientOutput rest = {0};
    struct replyBlock **at = &c->out.head;
    c->out.tail = NULL;
    while (*at && !replyBlockStops(*at)) {
        struct replyBlock *b = *at;
        if (!replyBlockIsHold(b)) {
            c->out.tail = b;
            at = &b->next;
            continue;
        }
        c->out.mem -= sizeof *b;
        *at = b->next;
        replyBlockFree(b);
    }
    rest.head = *at;
    *at = NULL;
    for (struct replyBlock *b = rest.head; b; b = b->next) {
        rest.bytes += b->used;
        rest.mem += sizeof *b + b->cap;
        rest.tail = b;
    }
    c->out.bytes -= rest.bytes;
    c->out.mem -= rest.mem;
    if (c->out.head) client_offload->send(c);
    if (!rest.head) {
        replyGateSeal(c);
        return;
    }
    if (c->out.tail)
        c->out.tail->next = rest.head;
    else
        c->out.head = rest.head;
    c->out.tail = rest.tail;
    c->out.bytes += rest.bytes;
    c->out.mem += rest.mem;
    clientOutputDropSent(c, 0);
}

static inline void clientOutputOffload(struct client *c) {
    if (replyGateIsActive())
        clientOutputOffloadApproved(c);
    else
        client_offload->send(c);
}

static inline void clientOutputAddToTurn(struct client *c) {
    listRemove(&writing, &c->out.write_node);
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    if (c->out.bytes > clientstats.max_output_buffer) clientstats.max_output_buffer = c->out.bytes;
    clientCheckOutput(c, 0);
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0))
        clientOutputOffload(c);
    else if (clientOutputMaySendChain(c))
        writeTurnAdd(&turn, c->conn, c->out.head, c->out.sent, clientOutputTurnWrote);
    else
        clientOutputTurnEnded(c, clientOutputSendAll(c));
}

bool clientsHavePriorityOutput(void) {
    listForEach(&writing, it) {
        if (listEntry(it, struct client, out.write_node)->priority) return true;
    }
    return false;
}

size_t clientsAwaitReply(void) {
    return writing.length + replyGateHeldCount();
}

/* Called when a hold has opened: what it held may be sent. */
static void clientOutputOnOpened(struct client *c) {
    clientOutputDropSent(c, 0);
    clientWriteLater(c);
    if (client_on_opened) client_on_opened(c);
}

/* Decides which output may be sent. */
static __attribute__((noinline, cold)) void clientsPassGate(bool priority_only) {
    replyGateUpdate(clientOutputOnOpened);
    listForEach(&writing, it) {
        struct client *c = listEntry(it, struct client, out.write_node);
        if (priority_only && !c->priority) continue;
        replyGateHold(c);
        if (c->out.head) clientOutputDropSent(c, 0);
    }
}

void clientsWritePriority(void) {
    if (replyGateIsActive()) clientsPassGate(true);
    listForEach(&writing, it) {
        struct client *c = listEntry(it, struct client, out.write_node);
        if (c->priority) clientOutputAddToTurn(c);
    }
    writeTurnSend(&turn, clientOutputTurnWrote);
}

void clientsWritePending(void) {
    unsolicited_pending = false;
    if (replyGateIsActive()) clientsPassGate(false);
    listForEach(&writing, it) clientOutputAddToTurn(listEntry(it, struct client, out.write_node));
    writeTurnSend(&turn, clientOutputTurnWrote);
    if (client_offload) client_offload->flush();
}

/* ---- The end of a client, and registration ---- */

static void clientOutputFree(struct client *c) {
    if (clientOutputSoftSince(c)) clientOutputNoteSoft(c, 0);
    if (listLinked(&c->out.write_node)) listRemove(&writing, &c->out.write_node);
    replyBlocksFree(c->out.head);
    c->out = (struct clientOutput){0};
}

static sds clientOutputStatsInfo(sds s) {
    return infoField(s, "client_output_buffer_limit_disconnections:%llu",
                     (unsigned long long)clientstats.output_limit_disconnects);
}

void clientOutputInit(void) {
    listInit(&writing);
    clientOnFree(clientOutputFree);
    cronRegister(clientOutputCheckSoftLimits, 1000);
    cronRegister(replyPoolTrim, POOL_TRIM_MS);
    infoRegister("stats", clientOutputStatsInfo);
    static struct configDirective directives[] = {
        {.name = "client-output-buffer-limit",
         .type = CONFIG_TYPE_SPECIAL,
         .flags = CONFIG_MODIFIABLE | CONFIG_MULTI_ARG,
         .set = clientOutputSetLimits,
         .get = clientOutputGetLimits,
         .lines = clientOutputLimitLines},
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
