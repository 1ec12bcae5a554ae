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
#include "net/decoding.h"
#include "net/resp.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/history.h"
#include "repl/link_handshake.h"
#include "repl/repl_settings.h"

#define NAME_MAX_LOGGED 128

static struct {
    struct client *client; /* NULL: there is none */
    sds transaction;       /* the bytes since MULTI; NULL: none is open */
    sds unknown;           /* command that this server lacks and that was reported last; NULL: none */
    bool acks, broken;
    bool ack_due, acks_paused;
    uint64_t ack_offset;  /* the offset when it became due */
    bool fsync_behind;    /* the last acknowledgement had more applied than on disk... */
    uint64_t fsync_acked; /* ...which was up to here */
} stream;

/* The relation between both streams: at `propagated` bytes of the append-only file's stream we had applied
 * `offset` bytes of the primary's. */
static struct { uint64_t propagated, offset, synced; } disk;

/* ---- Acknowledgements ---- */

/* Returns the offset up to which a loss of power would leave what we have applied. It is updated when it is
 * asked for: what was applied at that moment is on disk once the file has been synced as far. */
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

static void linkStreamSendAck(uint64_t offset) {
    struct client *c = stream.client;
    char digits[2][LONG_STR_SIZE], text[128];
    struct str argv[] = {
        STR("REPLCONF"), STR("ACK"), strN(digits[0], ull2string(digits[0], offset)), STR("FACK"), {0}};
    int argc = 3;
    if (persistenceAofOn()) {
        stream.fsync_acked = linkStreamSyncedOffset();
        stream.fsync_behind = stream.fsync_acked < offset;
        argv[4] = strN(digits[1], ull2string(digits[1], stream.fsync_acked));
        argc = 5;
    }
    char *end = respWriteRequest(text, argc, argv);
    c->flags &= ~(uint32_t)CLIENT_REPLY_OFF;
    replyRaw(c, text, (size_t)(end - text));
    c->flags |= CLIENT_REPLY_OFF;
}

void linkStreamAck(void) {
    if (!stream.client || !stream.acks) return;
    stream.ack_due = true;
    stream.ack_offset = historyOffset();
}

/* An acknowledgement that the primary requested in this turn is enough: it covers what came before. */
void linkStreamAckUnlessPending(void) {
    if (!stream.ack_due) linkStreamAck();
}

void linkStreamPauseAcks(bool pause) {
    stream.acks_paused = pause;
    if (!pause) linkStreamAck();
}

/* Sends acknowledgements when this turn's commands are in the append-only file, and again when the disk has
 * them, as a client may be waiting for that. */
static __attribute__((noinline)) void linkStreamSendDueAck(void) {
    if (stream.acks_paused) {
        stream.ack_due = false;
        return;
    }
    if (stream.fsync_behind && stream.client && linkStreamSyncedOffset() > stream.fsync_acked)
        linkStreamAckUnlessPending();
    if (!stream.ack_due) return;
    stream.ack_due = false;
    if (stream.client) linkStreamSendAck(stream.ack_offset);
}

static void linkStreamAckBeforeSleep(void) {
    if (__builtin_expect(stream.ack_due || stream.fsync_behind, 0)) linkStreamSendDueAck();
}

/* ---- Applying ---- */

/* A request with big arguments did not come in one piece, so it is written anew. */
static void linkStreamFeedHistory(const struct request *r) {
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

static bool linkStreamIsGetAck(const struct request *r) {
    return r->cmd && r->cmd->spec->proc == replconfCommand && r->argc >= 2 && strIs(r->argv[1], "getack");
}

static void linkStreamAbort(struct client *c, const char *why) {
    serverLog(LL_WARNING, "%s", why);
    stream.broken = true;
    clientClose(c);
}

static void linkStreamApply(struct client *c, struct request *r) {
    if (c != stream.client) return; /* it has just stopped being our primary */
    if (r->raw.ptr && r->raw.ptr[0] != '*') {
        linkStreamAbort(
            c, "WARNING: Receiving inline protocol from primary, primary stream corruption? Closing the "
               "primary connection and discarding the cached primary.");
        return;
    }
    if (linkStreamIsGetAck(r)) linkStreamAck();
    c->lastcmd = r->cmd;
    commandRun(c, r, ORIGIN_PRIMARY);
    if (c != stream.client) return; /* a command can change the role */
    if (c->flags & CLIENT_MULTI && !stream.transaction) stream.transaction = sdsempty();
    linkStreamFeedHistory(r);
    history_primary_db = c->db->id;
}

static void linkStreamOnProtocolError(struct client *c, const char *error) {
    sds why = sdscatprintf(sdsempty(), "Protocol error (%s) from primary: %s", error, clientPeerName(c));
    linkStreamAbort(c, why);
    sdsfree(why);
}

/* ---- Errors ---- */

/* Logs once that the primary sends a command that this server lacks, and what to do. */
static void linkStreamReportUnknown(struct str name) {
    if (name.len > NAME_MAX_LOGGED) name.len = NAME_MAX_LOGGED;
    if (stream.unknown && strIs(name, stream.unknown)) return;
    sdsfree(stream.unknown);
    stream.unknown = sdsnewstr(name);
    sds shown = sdscatrepr(sdsempty(), name.ptr, name.len);
    serverLog(
        LL_WARNING,
        "The primary has sent the command %s, which this server does not know and has not applied, so "
        "its keys differ from the primary's now. Do not make it a primary before it has been "
        "synchronized again with a primary that has no such keys, or with a module loaded here that has "
        "the command (see docs/migration.md). With propagation-error-behavior panic, the server stops "
        "instead.",
        shown);
    sdsfree(shown);
}

/* The data here differ from what the primary expects: some users prefer a stop to serving them. */
static void linkStreamOnErrorReply(const struct client *c, struct str msg) {
    if (c != stream.client) return;
    callstats.unexpected_errors++;
    const char *name = c->cmd ? c->cmd->fullname : "<unknown>";
    sds text = clientLogError(msg, sdsempty());
    serverLog(LL_WARNING,
              "== CRITICAL == This replica is sending an error to its primary: '%s' after processing the "
              "command '%s'",
              text, name);
    sdsfree(text);
    if (!c->cmd) linkStreamReportUnknown(c->argv[0]);
    /* A writable replica has data of its own, so such errors are to be expected. */
    if (role_propagation_errors != PROPAGATION_ERRORS_IGNORE && replica_read_only)
        serverPanic("This server is configured to panic on errors of the replication stream");
}

/* ---- Opening and closing ---- */

struct client *linkStreamOpen(struct connection *conn, int dbid, struct str input, bool acks) {
    serverAssert(!stream.client);
    serverAssert(conn && !conn->read_handler && !stream.transaction);
    struct client *c = clientCreate(conn);
    clientResumeReading(c);
    c->flags |= CLIENT_PRIMARY | CLIENT_AUTHENTICATED | CLIENT_REPLY_OFF | CLIENT_DENY_BLOCKING;
    if (dbid >= 0 && dbGet(dbid)) c->db = dbGet(dbid);
    stream.client = c;
    stream.acks = acks;
    stream.broken = false;
    disk.propagated = propagateOffset();
    disk.offset = disk.synced = historyOffset();
    history_primary_db = dbid;
    if (handshakeAnnouncedCodec() != STREAM_PLAIN) {
        connDecode(conn, STREAM_KIND_REPLICATION, input);
    } else if (input.len) {
        c->querybuf = sdsnewstr(input);
        turnQueueClient(c);
    }
    return c;
}

bool linkStreamClose(struct client *c) {
    serverAssert(c == stream.client);
    const char *refused = c->conn ? connDecodingError(c->conn) : NULL;
    if (refused) serverLog(LL_WARNING, "The compressed stream of the primary is refused: %s", refused);
    stream.client = NULL;
    stream.ack_due = stream.fsync_behind = false;
    sdsfree(stream.transaction);
    sdsfree(stream.unknown);
    stream.transaction = stream.unknown = NULL;
    clientClose(c);
    return !stream.broken;
}

static size_t linkStreamMemory(const struct client *c) {
    return c == stream.client && c->conn ? connDecodingMemory(c->conn) : 0;
}

void linkStreamInit(void) {
    static const struct turnPrimary primary = {linkStreamApply, linkStreamOnProtocolError};
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
    clientOnMemory(linkStreamMemory);
    reply_error_unread = linkStreamOnErrorReply;
    beforeSleepRegister(linkStreamAckBeforeSleep);
}
