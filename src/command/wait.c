/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - see wait.h.
 *
 * Who waits is blocked (blocking.h) and noted in a list. When something has moved, the list is looked through
 * once, before the loop sleeps. Nothing is synced earlier because somebody waits: with `appendfsync everysec`
 * that takes up to a second, with `no` it does not come. */
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

/* A client waits in the command that is its `commands`-th; when that is over, so is its note. */
struct waitEntry {
    uint64_t id, commands;
    int64_t replicas;
    bool aof, local;                             /* of WAITAOF; on our disk, too */
    void (*then)(struct client *c, bool enough); /* of waitForReplicas */
};
static struct waitEntry *list;
static size_t count, room; /* in the list; some may have ceased to wait */
static size_t local_count; /* of those: with `local` */
static bool recheck;

/* ---- Who has it ---- */

/* What the client has written so far, and the script that runs for it. */
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

static void waitReplyWhere(struct client *c) {
    replyArrayLen(c, 2);
    replyLongLong(c, waitIsLocal(c));
    replyLongLong(c, waitReplicasWith(c, true));
}

static void waitReplySwitchedOff(struct client *c) {
    replyError(c, "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
}

static void waitReplyWhereAndLocal(struct client *c) {
    if (persistenceAofOn())
        waitReplyWhere(c);
    else
        waitReplySwitchedOff(c);
}

/* ---- Waiting ---- */

static bool waitStillWaits(const struct waitEntry *w) {
    const struct client *c = clientById(w->id);
    return c && c->blocked && c->commands == w->commands && !(c->flags & CLIENT_CLOSE_ASAP);
}

/* Of the notes those that fn wants to keep stay. */
static void waitKeepThose(bool (*fn)(const struct waitEntry *w)) {
    size_t left = 0;
    local_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fn(&list[i])) continue;
        local_count += list[i].local;
        list[left++] = list[i];
    }
    count = left;
}

static void waitNote(struct waitEntry w) {
    if (count == room) waitKeepThose(waitStillWaits); /* nothing may have moved for a long time */
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

/* The reply, at once or later. */
static void commandWaitWaitFor(struct client *c, struct waitEntry w, int64_t deadline_ms,
                               void (*reply)(struct client *c)) {
    if (c->flags & CLIENT_DENY_BLOCKING || waitEnough(c, &w)) {
        reply(c);
        return;
    }
    w.id = c->id;
    w.commands = c->commands;
    blockForKeys(c, NULL, 0, 0, deadline_ms, reply, false);
    waitNote(w);
    if (w.replicas > 0 && wait_sources.askReplicas) wait_sources.askReplicas();
}

static void waitReplyThen(struct client *c) {
    for (size_t i = 0; i < count; i++) {
        const struct waitEntry *w = &list[i];
        if (w->id != c->id || w->commands != c->commands || !w->then) continue;
        w->then(c, waitEnough(c, w));
        return;
    }
}

void waitForReplicas(struct client *c, int replicas, int64_t deadline_ms,
                     void (*then)(struct client *c, bool enough)) {
    blockForKeys(c, NULL, 0, 0, deadline_ms, waitReplyThen, false);
    waitNote((struct waitEntry){.id = c->id, .commands = c->commands, .replicas = replicas, .then = then});
    if (wait_sources.askReplicas) wait_sources.askReplicas();
}

void waitRecheck(void) {
    recheck = true;
}

/* Our own file is looked at, as a thread syncs it; being switched off is a change, too. */
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

static void waitLookThrough(void) {
    if (!count || (!recheck && !(local_count && waitFileMoved()))) return;
    recheck = false;
    waitKeepThose(waitWaitsOn);
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
    commandWaitWaitFor(c, (struct waitEntry){.replicas = replicas}, deadline_ms, waitReplyReplicas);
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
        commandWaitWaitFor(c, (struct waitEntry){.replicas = replicas, .aof = true, .local = local},
                           deadline_ms, local ? waitReplyWhereAndLocal : waitReplyWhere);
}

void waitInit(void) {
    beforeSleepRegister(waitLookThrough);
}
