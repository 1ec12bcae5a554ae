/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_group_commands.c - XGROUP, and functions on groups that several commands share (part of
 * stream.h). */
#include "base/clock.h"
#include "base/num.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_stream.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/stream/stream_commands.h"
#include "types/types.h"

/* ---- Propagation ---- */

void propagateClaim(struct client *c, struct str key, struct str group, struct streamGroup *g,
                    struct streamID id, const struct streamNack *nack) {
    char id_text[STREAM_ID_TEXT], last_text[STREAM_ID_TEXT], time[LONG_STR_SIZE], count[LONG_STR_SIZE];
    if (!propagateWanted()) return;
    struct str argv[] = {STR("XCLAIM"),
                         key,
                         group,
                         sdsview(nack->consumer->name),
                         STR("0"),
                         streamIDText(id, id_text),
                         STR("TIME"),
                         strN(time, ll2string(time, nack->delivered_ms)),
                         STR("RETRYCOUNT"),
                         strN(count, ull2string(count, nack->deliveries)),
                         STR("FORCE"),
                         STR("JUSTID"),
                         STR("LASTID"),
                         streamIDText(g->last_id, last_text)};
    propagateRewrite(c, (int)(sizeof argv / sizeof *argv), argv);
}

void propagateAck(struct client *c, struct str key, struct str group, struct streamID id) {
    char text[STREAM_ID_TEXT];
    if (!propagateWanted()) return;
    struct str argv[] = {STR("XACK"), key, group, streamIDText(id, text)};
    propagateRewrite(c, 4, argv);
}

void propagateGroupID(struct client *c, struct str key, struct str group, const struct streamGroup *g) {
    char id[STREAM_ID_TEXT], read[LONG_STR_SIZE];
    if (!propagateWanted()) return;
    struct str argv[] = {STR("XGROUP"),
                         STR("SETID"),
                         key,
                         group,
                         streamIDText(g->last_id, id),
                         STR("ENTRIESREAD"),
                         strN(read, ll2string(read, g->entries_read))};
    propagateRewrite(c, 7, argv);
}

/* ---- Consumers ---- */

struct streamConsumer *streamConsumerFor(struct client *c, struct str key, struct str group,
                                         struct streamGroup *g, struct str name, int64_t now_ms) {
    struct streamConsumer *consumer = streamConsumerFind(g, name);
    if (!consumer) {
        consumer = streamConsumerCreate(g, name, now_ms);
        keyStateChanged(c->db, key, NOTIFY_STREAM, "xgroup-createconsumer", 1);
        struct str argv[] = {STR("XGROUP"), STR("CREATECONSUMER"), key, group, name};
        propagateRewrite(c, 5, argv);
    }
    consumer->seen_ms = now_ms;
    return consumer;
}

/* ---- XGROUP ---- */

void replyNoGroup(struct client *c, struct str key, struct str group) {
    replyErrorFmt(c, "NOGROUP No such consumer group '%.*s' for key name '%.*s'", (int)group.len, group.ptr,
                  (int)key.len, key.ptr);
}

/* Looks up the stream argv[2], which is NULL only when it may be missing. Returns false when an error was
 * replied. */
static bool streamGroupStream(struct client *c, bool may_miss, struct stream **s) {
    if (!lookupStreamWrite(c, c->argv[2], s)) return false;
    if (*s || may_miss) return true;
    return replyError(
        c,
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the "
        "MKSTREAM option to create an empty stream automatically.");
}

/* Returns the group argv[3] of the stream argv[2], or NULL after an error reply. */
static struct streamGroup *streamGroupOfArgs(struct client *c, struct stream **s) {
    if (!streamGroupStream(c, false, s)) return NULL;
    struct streamGroup *g = streamGroupFind(*s, c->argv[3]);
    if (!g) replyNoGroup(c, c->argv[2], c->argv[3]);
    return g;
}

static void streamGroupChanged(struct client *c, const char *event) {
    keyChanged(c, c->db, c->argv[2], NOTIFY_STREAM, event, 1);
}

static bool streamGroupParseGroupOptions(struct client *c, bool create, bool *mkstream,
                                         int64_t *entries_read) {
    *mkstream = false;
    *entries_read = STREAM_READ_UNKNOWN;
    for (int i = 5; i < c->argc; i++) {
        if (create && strIs(c->argv[i], "mkstream")) {
            *mkstream = true;
        } else if (strIs(c->argv[i], "entriesread") && i + 1 < c->argc) {
            if (!argLongLong(c, c->argv[++i], entries_read, NULL)) return false;
            if (*entries_read < 0 && *entries_read != STREAM_READ_UNKNOWN)
                return replyError(c, "ERR value for ENTRIESREAD must be positive or -1");
        } else {
            replySubcommandError(c);
            return false;
        }
    }
    if (c->argc <= (create ? 8 : 7)) return true;
    replySubcommandError(c); /* an option is repeated */
    return false;
}

/* Parses an ID, or "$" for the last one. */
static bool streamGroupStart(struct client *c, const struct stream *s, struct streamID *id) {
    if (!strEq(c->argv[4], STR("$"))) return argStreamID(c, c->argv[4], 0, id);
    *id = s ? s->last_id : STREAM_ID_MIN;
    return true;
}

void xgroupCreateCommand(struct client *c) {
    bool mkstream;
    int64_t entries_read;
    struct stream *s;
    struct streamID id;
    if (!streamGroupParseGroupOptions(c, true, &mkstream, &entries_read)) return;
    if (!streamGroupStream(c, mkstream, &s) || !streamGroupStart(c, s, &id)) return;
    if (!s) {
        s = streamNew();
        dbAdd(c->db, c->argv[2], streamValue(s));
    }
    if (!streamGroupCreate(s, c->argv[3], id, entries_read)) {
        replyError(c, "BUSYGROUP Consumer Group name already exists");
        return;
    }
    replyOk(c);
    streamGroupChanged(c, "xgroup-create");
}

void xgroupSetidCommand(struct client *c) {
    bool mkstream;
    int64_t entries_read;
    struct stream *s;
    struct streamID id;
    if (!streamGroupParseGroupOptions(c, false, &mkstream, &entries_read)) return;
    struct streamGroup *g = streamGroupOfArgs(c, &s);
    if (!g) return;
    if (strEq(c->argv[4], STR("-")) || strEq(c->argv[4], STR("+"))) /* other commands accept these here */
        id = c->argv[4].ptr[0] == '-' ? STREAM_ID_MIN : STREAM_ID_MAX;
    else if (!streamGroupStart(c, s, &id))
        return;
    g->last_id = id;
    g->entries_read = entries_read;
    replyOk(c);
    streamGroupChanged(c, "xgroup-setid");
}

void xgroupDestroyCommand(struct client *c) {
    struct stream *s;
    if (!streamGroupStream(c, false, &s)) return;
    bool destroyed = streamGroupDestroy(s, c->argv[3]);
    replyLongLong(c, destroyed);
    if (!destroyed) return;
    streamGroupChanged(c, "xgroup-destroy");
    signalKeyReady(c->db, c->argv[2]); /* for clients that wait for the group */
}

void xgroupCreateconsumerCommand(struct client *c) {
    struct stream *s;
    struct streamGroup *g = streamGroupOfArgs(c, &s);
    if (!g) return;
    bool there = streamConsumerFind(g, c->argv[4]);
    if (!there) {
        streamConsumerCreate(g, c->argv[4], mstime());
        streamGroupChanged(c, "xgroup-createconsumer");
    }
    replyLongLong(c, !there);
}

void xgroupDelconsumerCommand(struct client *c) {
    struct stream *s;
    struct streamGroup *g = streamGroupOfArgs(c, &s);
    if (!g) return;
    struct streamConsumer *consumer = streamConsumerFind(g, c->argv[4]);
    replyLongLong(c, consumer ? (int64_t)consumer->pending.size : 0);
    if (!consumer) return;
    streamConsumerDelete(g, consumer);
    streamGroupChanged(c, "xgroup-delconsumer");
}

void xgroupHelpCommand(struct client *c) {
    static const char *lines[] = {
        "CREATE <key> <group> <id|$> [MKSTREAM] [ENTRIESREAD <n>]",
        "    Create a group that reads after the ID. MKSTREAM creates the stream as well;",
        "    ENTRIESREAD is the number of entries up to the ID.",
        "CREATECONSUMER <key> <group> <consumer>",
        "    Create a consumer.",
        "DELCONSUMER <key> <group> <consumer>",
        "    Delete a consumer and its pending entries; replies the number of these.",
        "DESTROY <key> <group>",
        "    Delete a group.",
        "SETID <key> <group> <id|$> [ENTRIESREAD <n>]",
        "    Set the ID after which the group reads.",
        NULL,
    };
    replyHelp(c, lines);
}
