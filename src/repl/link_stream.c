/* SPDX-License-Identifier: BSD-3-Clause */
/* link_stream.c - see link_stream.h. */
#include "repl/link_stream.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client_log.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "command/turn.h"
#include "commands/cmd_replication.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "net/resp.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/history.h"
#include "repl/repl_settings.h"

static struct {
    struct client *client; /* NULL: there is none */
    sds transaction;       /* the bytes since MULTI; NULL: none is open */
    bool acks, broken;
    bool ack_wanted;
    uint64_t ack_offset; /* when it was wanted */
    bool sync_owed;      /* the last acknowledgement told of more than is on disk... */
    uint64_t sync_told;  /* ...which was up to there */
} stream;

/* What was on disk when: behind `propagated` bytes of the append-only file's stream we had applied `offset`
 * of the primary's. */
static struct { uint64_t propagated, offset, synced; } disk;

/* ---- Acknowledgements ---- */

/* Up to where would a loss of power leave what we have applied? It is looked at when somebody asks: what was
 * applied by then is synced when the file is as far. */
static uint64_t linkStreamSyncedOffset(void) {
    uint64_t synced = persistence.aofSyncedOffset();
    if (disk.propagated <= synced) disk.synced = disk.offset;
    if (disk.synced == disk.offset) {
        disk.propagated = propagateOffset();
        disk.offset = historyOffset();
        if (disk.propagated <= synced) disk.synced = disk.offset;
    }
    return disk.synced;
}

static void linkStreamSend(uint64_t offset) {
    struct client *c = stream.client;
    char digits[2][LONG_STR_SIZE], text[128];
    struct str argv[] = {
        STR("REPLCONF"), STR("ACK"), strN(digits[0], ull2string(digits[0], offset)), STR("FACK"), {0}};
    int argc = 3;
    if (persistenceAofOn()) {
        stream.sync_told = linkStreamSyncedOffset();
        stream.sync_owed = stream.sync_told < offset;
        argv[4] = strN(digits[1], ull2string(digits[1], stream.sync_told));
        argc = 5;
    }
    char *end = respWriteRequest(text, argc, argv);
    c->flags &= ~(uint32_t)CLIENT_REPLY_OFF;
    replyRaw(c, text, (size_t)(end - text));
    c->flags |= CLIENT_REPLY_OFF;
}

void linkStreamAck(void) {
    if (!stream.client || !stream.acks) return;
    stream.ack_wanted = true;
    stream.ack_offset = historyOffset();
}

/* An answer to who has asked in this turn says enough: what stood before the question. */
void linkStreamAckNowAndThen(void) {
    if (!stream.ack_wanted) linkStreamAck();
}

/* When what was applied in this turn is in the append-only file; and when the disk has it, as somebody may be
 * waiting for that. */
static __attribute__((noinline)) void linkStreamSendWanted(void) {
    if (stream.sync_owed && stream.client && linkStreamSyncedOffset() > stream.sync_told)
        linkStreamAckNowAndThen();
    if (!stream.ack_wanted) return;
    stream.ack_wanted = false;
    if (stream.client) linkStreamSend(stream.ack_offset);
}

static void linkStreamAckBeforeSleep(void) {
    if (__builtin_expect(stream.ack_wanted || stream.sync_owed, 0)) linkStreamSendWanted();
}

/* ---- Applied ---- */

/* A request with big arguments did not come in one piece. */
static void linkStreamFeed(const struct request *r) {
    if (r->raw.ptr && !stream.transaction) {
        replstats.net_in += r->raw.len;
        historyFeed(&r->raw, 1);
        return;
    }
    sds bytes = requestAppend(stream.transaction ? stream.transaction : sdsempty(), r);
    if (stream.client->flags & CLIENT_MULTI) {
        stream.transaction = bytes;
        return;
    }
    stream.transaction = NULL;
    struct str all = sdsview(bytes);
    replstats.net_in += all.len;
    historyFeed(&all, 1);
    sdsfree(bytes);
}

static bool linkStreamAsksForAck(const struct request *r) {
    return r->cmd && r->cmd->spec->proc == replconfCommand && r->argc >= 2 && strIs(r->argv[1], "getack");
}

static void linkStreamBreakOff(struct client *c, const char *why) {
    serverLog(LL_WARNING, "%s", why);
    stream.broken = true;
    clientClose(c);
}

static void linkStreamApply(struct client *c, struct request *r) {
    if (c != stream.client) return; /* it was our primary until a moment ago */
    if (r->raw.ptr && r->raw.ptr[0] != '*') {
        linkStreamBreakOff(
            c, "WARNING: Receiving inline protocol from primary, primary stream corruption? Closing the "
               "primary connection and discarding the cached primary.");
        return;
    }
    if (linkStreamAsksForAck(r)) linkStreamAck();
    c->lastcmd = r->cmd;
    commandRun(c, r, ORIGIN_PRIMARY);
    if (c != stream.client) return; /* a role can change from within */
    if (c->flags & CLIENT_MULTI && !stream.transaction) stream.transaction = sdsempty();
    linkStreamFeed(r);
    history_primary_db = c->db->id;
}

static void linkStreamInputBroken(struct client *c, const char *error) {
    sds why = sdscatprintf(sdsempty(), "Protocol error (%s) from primary: %s", error, clientPeerName(c));
    linkStreamBreakOff(c, why);
    sdsfree(why);
}

/* ---- Errors ---- */

/* The data here is not what the primary thinks it is: some would rather stop than serve it. */
static void linkStreamErrorUnread(const struct client *c, struct str msg) {
    if (c != stream.client) return;
    callstats.unexpected_errors++;
    const char *name = c->cmd ? c->cmd->fullname : "<unknown>";
    sds text = clientLogError(msg, sdsempty());
    serverLog(LL_WARNING,
              "== CRITICAL == This replica is sending an error to its primary: '%s' after processing the "
              "command '%s'",
              text, name);
    sdsfree(text);
    /* One that takes writes of others has data of its own, and such errors are to be expected. */
    if (role_propagation_errors != PROPAGATION_ERRORS_IGNORE && replica_read_only)
        serverPanic("This server is configured to panic on errors of the replication stream");
}

/* ---- Life ---- */

struct client *linkStreamOpen(struct connection *conn, int dbid, struct str input, bool acks) {
    serverAssert(!stream.client);
    serverAssert(conn && !conn->read_handler && !stream.transaction);
    struct client *c = clientCreate(conn);
    clientReadOn(c);
    c->flags |= CLIENT_PRIMARY | CLIENT_AUTHENTICATED | CLIENT_REPLY_OFF | CLIENT_DENY_BLOCKING;
    if (dbid >= 0 && dbGet(dbid)) c->db = dbGet(dbid);
    stream.client = c;
    stream.acks = acks;
    stream.broken = false;
    disk.propagated = propagateOffset();
    disk.offset = disk.synced = historyOffset();
    history_primary_db = dbid;
    if (input.len) {
        c->querybuf = sdsnewstr(input);
        turnQueueClient(c);
    }
    return c;
}

bool linkStreamClose(struct client *c) {
    serverAssert(c == stream.client);
    stream.client = NULL;
    stream.ack_wanted = stream.sync_owed = false;
    sdsfree(stream.transaction);
    stream.transaction = NULL;
    clientClose(c);
    return !stream.broken;
}

void linkStreamInit(void) {
    static const struct turnPrimary primary = {linkStreamApply, linkStreamInputBroken};
    static const struct configEnum names[] = {{"ignore", PROPAGATION_ERRORS_IGNORE},
                                              {"panic", PROPAGATION_ERRORS_PANIC},
                                              {"panic-on-replicas", PROPAGATION_ERRORS_PANIC_ON_REPLICAS},
                                              {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_ENUM("propagation-error-behavior", NULL, CONFIG_MODIFIABLE, &role_propagation_errors,
                    PROPAGATION_ERRORS_IGNORE, names, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    turnSetPrimary(&primary);
    reply_error_unread = linkStreamErrorUnread;
    beforeSleepRegister(linkStreamAckBeforeSleep);
}
