/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - see wait.h.
 *
 * A waiting client is blocked (blocking.h) and has an entry in a list. When something has changed, the list
 * is checked once, before the loop sleeps. Waiting does not make files sync earlier: with `appendfsync
 * everysec` that takes up to a second, with `no` it does not happen. */
#include "command/wait.h"

#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_replication.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "registry/cron.h"

struct waitSources wait_sources;

/* An entry is valid while the client's number of commands is `commands`: afterwards the client no longer
 * waits in this command. */
struct waitEntry {
    uint64_t id, commands;
    int64_t replicas;
    bool aof, local;                             /* for WAITAOF; local: wait for our disk, too */
    void (*then)(struct client *c, bool enough); /* for waitForReplicas */
};
static struct waitEntry *list;
static size_t count, room; /* in the list, including entries that are no longer valid */
static size_t local_count; /* entries with `local` */
static bool recheck;

/* ---- Sources ---- */

/* The offset of the last change by the client, or by the script that runs for it. */
static uint64_t waitWrittenBy(const struct client *c) {
    bool in_unit = c->flags & CLIENT_SCRIPT && (propagation.in_multi || propagation.held.len);
    return in_unit ? propagateOffset() : (c->flags & CLIENT_SCRIPT ? callOwner() : c)->wrote_at;
}

static int waitReplicasWith(const struct client *c, bool synced) {
    return wait_sources.replicas ? wait_sources.replicas(waitWrittenBy(c), synced) : 0;
}

static bool waitIsLocal(const struct client *c) {
    return persistenceAofOn() && persistence.aofHasSynced(waitWrittenBy(c));
}

/* ---- Replies ---- */

static void waitReplyReplicas(struct client *c) {
    replyLongLong(c, waitReplicasWith(c, false));
}

static void waitReplyAof(struct client *c) {
    replyArrayLen(c, 2);
    replyLongLong(c, waitIsLocal(c));
    replyLongLong(c, waitReplicasWith(c, true));
}

static void waitReplySwitchedOff(struct client *c) {
    replyError(c, "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
}

static void waitReplyAofLocal(struct client *c) {
    if (persistenceAofOn())
        waitReplyAof(c);
    else
        waitReplySwitchedOff(c);
}

/* ---- Waiting ---- */

static bool waitStillWaits(const struct waitEntry *w) {
    const struct client *c = clientById(w->id);
    return c && c->blocked && c->commands == w->commands && !(c->flags & CLIENT_CLOSE_ASAP);
}

/* Removes the entries for which fn returns false. */
static void waitFilterEntries(bool (*fn)(const struct waitEntry *w)) {
    size_t kept = 0;
    local_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fn(&list[i])) continue;
        local_count += list[i].local;
        list[kept++] = list[i];
    }
    count = kept;
}

static void waitAddEntry(struct waitEntry w) {
    if (count == room) waitFilterEntries(waitStillWaits); /* a check may not have happened for a long time */
    if (2 * count >= room) {
        room = room ? 2 * room : 8;
        list = zrealloc(list, room * sizeof *list);
    }
    list[count++] = w;
    local_count += w.local;
}

static bool waitEnough(const struct client *c, const struct waitEntry *w) {
    return (!w->local || waitIsLocal(c)) && (w->replicas <= 0 || waitReplicasWith(c, w->aof) >= w->replicas);
}

/* Replies at once, or blocks the client. */
static void waitBlockClient(struct client *c, struct waitEntry w, int64_t deadline_ms,
                            void (*reply)(struct client *c)) {
    if (c->flags & CLIENT_DENY_BLOCKING || waitEnough(c, &w)) {
        reply(c);
        return;
    }
    w.id = c->id;
    w.commands = c->commands;
    blockForKeys(c, NULL, 0, 0, deadline_ms, reply, false);
    waitAddEntry(w);
    if (w.replicas > 0 && wait_sources.askReplicas) wait_sources.askReplicas();
}

static void waitRunThen(struct client *c) {
    for (size_t i = 0; i < count; i++) {
        const struct waitEntry *w = &list[i];
        if (w->id != c->id || w->commands != c->commands || !w->then) continue;
        w->then(c, waitEnough(c, w));
        return;
    }
}

void waitForReplicas(struct client *c, int replicas, int64_t deadline_ms,
                     void (*then)(struct client *c, bool enough)) {
    blockForKeys(c, NULL, 0, 0, deadline_ms, waitRunThen, false);
    waitAddEntry(
        (struct waitEntry){.id = c->id, .commands = c->commands, .replicas = replicas, .then = then});
    if (wait_sources.askReplicas) wait_sources.askReplicas();
}

void waitRecheck(void) {
    recheck = true;
}

/* Returns whether our own file has changed: a thread syncs it. Switching it off counts as a change. */
static bool waitFileMoved(void) {
    static uint64_t seen;
    static bool in_use;
    uint64_t synced = persistenceAofOn() ? persistence.aofSyncedOffset() : 0;
    bool moved = synced != seen || in_use != persistenceAofOn();
    seen = synced;
    in_use = persistenceAofOn();
    return moved;
}

static bool waitWaitsOn(const struct waitEntry *w) {
    if (!waitStillWaits(w)) return false;
    struct client *c = clientById(w->id);
    if (!(w->local && !persistenceAofOn()) && !waitEnough(c, w)) return true;
    unblockWithTimeout(c);
    return false;
}

static void waitCheckAll(void) {
    if (!count || (!recheck && !(local_count && waitFileMoved()))) return;
    recheck = false;
    waitFilterEntries(waitWaitsOn);
}

/* ---- Commands ---- */

void waitCommand(struct client *c) {
    int64_t replicas, deadline_ms;
    if (roleIsReplica()) {
        replyError(c, "ERR WAIT cannot be used with replica instances. Please also note that if a replica is "
                      "configured to be writable (which is not the default) writes to replicas are just "
                      "local and are not propagated.");
        return;
    }
    if (!argLongLong(c, c->argv[1], &replicas, NULL)) return;
    if (!argTimeout(c, c->argv[2], true, &deadline_ms)) return;
    waitBlockClient(c, (struct waitEntry){.replicas = replicas}, deadline_ms, waitReplyReplicas);
}

void waitaofCommand(struct client *c) {
    int64_t local, replicas, deadline_ms;
    if (!argRange(c, c->argv[1], 0, 1, &local, NULL)) return;
    if (!argPositive(c, c->argv[2], &replicas, NULL)) return;
    if (!argTimeout(c, c->argv[3], true, &deadline_ms)) return;
    if (roleIsReplica())
        replyError(c, "ERR WAITAOF cannot be used with replica instances. Please also note that writes to "
                      "replicas are just local and are not propagated.");
    else if (local && !persistenceAofOn())
        waitReplySwitchedOff(c);
    else
        waitBlockClient(c, (struct waitEntry){.replicas = replicas, .aof = true, .local = local}, deadline_ms,
                        local ? waitReplyAofLocal : waitReplyAof);
}

void waitInit(void) {
    beforeSleepRegister(waitCheckAll);
}
