/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c - see monitor.h.
 *
 *     +1795298087.135202 [0 127.0.0.1:54216] "set" "k" "v\n"
 *
 * A line is composed once and linked into, or copied to, each monitor's output. For a monitor whose own
 * command runs it waits until its reply is complete, as a reply may have several parts. */
#include "command/monitor.h"

#include "base/clock.h"
#include "base/zmalloc.h"
#include "client/client_session.h"
#include "client/push.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "command/redact.h"
#include "commands/cmd_server.h"
#include "data/keyspace/db.h"

struct monitorWatcher {
    struct listNode node;
    struct client *client;
};

static size_t monitors;
static struct list watchers;

/* Appends the origin of the command: an address, a Unix socket or a script. */
static sds monitorCatOrigin(sds s, struct client *c) {
    if (c->flags & CLIENT_SCRIPT) return sdscat(s, "lua");
    if (c->flags & CLIENT_UNIX_SOCKET) return sdscatprintf(s, "unix:%s", clientSockName(c));
    return sdscat(s, clientPeerName(c));
}

static void monitorFeed(struct client *c) {
    int64_t now_us = ustime();
    sds line = sdscatprintf(sdsempty(), "+%lld.%06lld [%d ", (long long)now_us / 1000000,
                            (long long)now_us % 1000000, c->db->id);
    line = sdscat(monitorCatOrigin(line, c), "]");
    for (int i = 0; i < c->argc; i++) {
        struct str arg = redactedArg(c, i);
        line = sdscatrepr(sdscat(line, " "), arg.ptr, arg.len);
    }
    line = sdscat(line, "\r\n");
    struct replyShared *shared = replySharedCreate(sdslen(line));
    memcpy(shared->bytes, line, sdslen(line));
    shared->len = sdslen(line);
    sdsfree(line);
    listForEach(&watchers, it) {
        struct client *watcher = listEntry(it, struct monitorWatcher, node)->client;
        if (!(watcher->flags & CLIENT_REPLY_OFF)) pushShared(watcher, shared);
    }
    replySharedRelease(shared);
}

/* Skips commands that would show too much (administration), or that show themselves, as their flags say. */
static void monitorFeedAfter(struct client *c) {
    if (c->flags & CLIENT_FAKE) return;
    if (c->cmd->flags & (CMD_SKIP_MONITOR | CMD_ADMIN) || c->flags & CLIENT_REEXECUTING) return;
    monitorFeed(c);
}

/* Shows scripts before they run, so that their commands follow them. */
static void monitorFeedBefore(struct client *c) {
    if (c->conn && c->cmd->flags & CMD_SKIP_MONITOR) monitorFeed(c);
}

/* A monitor counts as a replica for clients: it may not touch the data. */
static enum admission monitorCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(c->flags & (CLIENT_MONITOR | CLIENT_REPLICA))) return ADMITTED;
    if (!(commandFlags(c, r->cmd) & (CMD_READONLY | CMD_WRITE | CMD_MAY_REPLICATE))) return ADMITTED;
    replyError(c, "ERR Replica can't interact with the keyspace");
    return REFUSED;
}

static bool have_replicas;

void monitorSetHasReplicas(bool any) {
    have_replicas = any;
    admissionIdle(RULE_MONITOR, !monitors && !any);
}

/* Sets the number of monitors. */
static void monitorSetMonitors(size_t count) {
    monitors = count;
    monitorSetHasReplicas(have_replicas);
    callHookIdle(monitorFeedBefore, !count);
    callHookIdle(monitorFeedAfter, !count);
}

void monitorStop(struct client *c) {
    if (!(c->flags & CLIENT_MONITOR)) return;
    c->flags &= ~(uint32_t)CLIENT_MONITOR;
    monitorSetMonitors(monitors - 1);
    listForEach(&watchers, it) {
        struct monitorWatcher *w = listEntry(it, struct monitorWatcher, node);
        if (w->client != c) continue;
        listRemove(&watchers, it);
        zfree(w);
    }
}

/* A second MONITOR has no reply. */
void monitorCommand(struct client *c) {
    if (c->flags & CLIENT_DENY_BLOCKING) {
        replyError(c, "ERR MONITOR isn't allowed for DENY BLOCKING client");
        return;
    }
    if (c->flags & CLIENT_MONITOR) return;
    struct monitorWatcher *w = zmalloc(sizeof *w);
    *w = (struct monitorWatcher){.client = c};
    listAddTail(&watchers, &w->node);
    c->flags |= CLIENT_MONITOR;
    monitorSetMonitors(monitors + 1);
    replyOk(c);
}

void monitorInit(void) {
    listInit(&watchers);
    callAddHook(CALL_BEFORE, monitorFeedBefore, true);
    callAddHook(CALL_AFTER, monitorFeedAfter, true);
    admissionFill(RULE_MONITOR, monitorCheck);
    admissionIdle(RULE_MONITOR, true);
    clientOnFree(monitorStop);
}
