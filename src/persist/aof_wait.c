/* aof_wait.c - WAITAOF: clients that wait until what they have written is on the disk. Part of aof.h.
 *
 * Nothing is synced earlier because somebody waits: with `appendfsync everysec` that takes up to a second,
 * with `no` it does not come. After each turn of the loop those who wait are looked through by their numbers;
 * they are few, and none as a rule. */
#include "persist/aof_private.h"

#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/replication.h"
#include "command/blocking.h"
#include "registry/cron.h"
#include "command/propagate.h"
#include "client/reply.h"

static uint64_t *waiting; /* ids; some may have ceased to wait */
static size_t waiting_count, waiting_room;

/* A script has no place of its own in the stream: it has what all have. */
static bool hasLocally(const struct client *c) {
    return aofHasSynced(c->flags & CLIENT_SCRIPT ? propagateOffset() : c->wrote_at);
}

static void replyWhere(struct client *c) {
    replyArrayLen(c, 2);
    replyLongLong(c, hasLocally(c));
    replyLongLong(c, 0); /* replicas */
}

static void replySwitchedOff(struct client *c) {
    replyError(c, "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
}

static void onTimeout(struct client *c) {
    if (aof.state == AOF_OFF)
        replySwitchedOff(c);
    else
        replyWhere(c);
}

static void addWaiting(const struct client *c) {
    if (waiting_count == waiting_room) {
        waiting_room = waiting_room ? 2 * waiting_room : 8;
        waiting = zrealloc(waiting, waiting_room * sizeof *waiting);
    }
    waiting[waiting_count++] = c->id;
}

void waitaofCommand(struct client *c) {
    int64_t local, replicas, deadline_ms;
    if (!argRange(c, c->argv[1], 0, 1, &local, NULL)) return;
    if (!argPositive(c, c->argv[2], &replicas, NULL)) return;
    if (!argTimeout(c, c->argv[3], true, &deadline_ms)) return;
    if (local && aof.state == AOF_OFF) {
        replySwitchedOff(c);
        return;
    }
    bool enough = replicas == 0 && (!local || hasLocally(c));
    if (enough || c->flags & CLIENT_DENY_BLOCKING) {
        replyWhere(c);
        return;
    }
    blockForKeys(c, NULL, 0, 0, deadline_ms, local ? onTimeout : replyWhere, false);
    if (replicas == 0) addWaiting(c);
}

static bool waits(const struct client *c) {
    return c && c->blocked && c->lastcmd && c->lastcmd->spec->proc == waitaofCommand;
}

static void lookThrough(void) {
    size_t left = 0;
    for (size_t i = 0; i < waiting_count; i++) {
        struct client *c = clientById(waiting[i]);
        if (!waits(c)) continue;
        if (aof.state == AOF_OFF || hasLocally(c))
            unblockWithTimeout(c);
        else
            waiting[left++] = c->id;
    }
    waiting_count = left;
}

void aofWaitInit(void) {
    beforeSleepRegister(lookThrough);
}
