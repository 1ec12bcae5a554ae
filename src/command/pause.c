/* SPDX-License-Identifier: BSD-3-Clause */
/* pause.c - see pause.h. */
#include "command/pause.h"

#include "base/clock.h"
#include "client/client_info.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/turn.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "net/ae.h"
#include "registry/info.h"

enum pauseLevel pause_level;

static struct pause {
    enum pauseLevel level;
    int64_t end_ms;
} pauses[PAUSE_REASONS];

static struct list waiting; /* clients with CLIENT_PAUSED, in order of arrival */
static int64_t timer;       /* for the end of the next pause; 0: none */

static int64_t pauseTimer(struct aeEventLoop *el, int64_t id, void *data);

static void pauseSetTimer(void) {
    if (timer) aeDeleteTimeEvent(server_el, timer);
    timer = 0;
    int64_t next_ms = INT64_MAX;
    for (int i = 0; i < PAUSE_REASONS; i++) {
        if (pauses[i].level && pauses[i].end_ms < next_ms) next_ms = pauses[i].end_ms;
    }
    if (!pause_level) return;
    int64_t now_ms = mstime();
    timer = aeCreateTimeEvent(server_el, next_ms > now_ms ? next_ms - now_ms : 0, pauseTimer, NULL);
}

/* A client that waits for its turn (throttle.h) has the flag, too. */
static bool pauseHolds(const struct client *c) {
    return c->flags & CLIENT_PAUSED && !c->throttled;
}

static void pauseRelease(struct client *c) {
    if (!pauseHolds(c)) return;
    c->flags &= ~(uint32_t)CLIENT_PAUSED;
    listRemove(&waiting, &c->paused_node);
}

/* Wakes all clients. One that still has to wait comes back when its command is tried again. */
static void pauseWakeAll(void) {
    listForEach(&waiting, it) {
        struct client *c = listEntry(it, struct client, paused_node);
        pauseRelease(c);
        turnQueueClient(c);
    }
    for (int i = 0; i < dbCount(); i++) blockingRecheckDb(&dbs[i]);
}

static void pauseUpdate(void) {
    enum pauseLevel before = pause_level;
    pause_level = PAUSE_NOTHING;
    for (int i = 0; i < PAUSE_REASONS; i++) {
        if (pauses[i].level > pause_level) pause_level = pauses[i].level;
    }
    admissionIdle(RULE_PAUSED, pause_level == PAUSE_NOTHING);
    pauseSetTimer();
    if (pause_level < before) pauseWakeAll();
}

static bool pauseEndDue(void) {
    bool any = false;
    int64_t now_ms = mstime();
    for (int i = 0; i < PAUSE_REASONS; i++) {
        if (!pauses[i].level || pauses[i].end_ms > now_ms) continue;
        pauses[i].level = PAUSE_NOTHING;
        any = true;
    }
    return any;
}

static int64_t pauseTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    timer = 0;
    pauseEndDue();
    pauseUpdate();
    return AE_NOMORE;
}

void pauseEndOverdue(void) {
    if (pause_level && pauseEndDue()) pauseUpdate();
}

void pauseClients(enum pauseReason reason, enum pauseLevel level, int64_t end_ms) {
    struct pause *p = &pauses[reason];
    if (!p->level || end_ms > p->end_ms) p->end_ms = end_ms;
    if (level > p->level) p->level = level;
    pauseUpdate();
}

void unpauseClients(enum pauseReason reason) {
    pauses[reason].level = PAUSE_NOTHING;
    pauseUpdate();
}

bool isPausedFor(enum pauseReason reason) {
    return pauses[reason].level != PAUSE_NOTHING;
}

/* Returns whether a command with these flags has to wait. */
static bool pauseMustWait(uint64_t command_flags) {
    if (pause_level == PAUSE_WRITES) return command_flags & (CMD_WRITE | CMD_MAY_REPLICATE);
    return pause_level == PAUSE_ALL;
}

/* Replicas are not paused: they wait for what has been written already. */
static enum admission pauseCheckPaused(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!c->conn || clientClassOf(c) == CLIENT_CLASS_REPLICA) return ADMITTED;
    if (!pauseMustWait(commandFlags(c, r->cmd))) return ADMITTED;
    c->flags |= CLIENT_PAUSED;
    listAddTail(&waiting, &c->paused_node);
    return DEFERRED;
}

/* ---- CLIENT PAUSE, UNPAUSE ---- */

void clientPauseCommand(struct client *c) {
    enum pauseLevel level = PAUSE_ALL;
    int64_t timeout_ms;
    /* The mode is ignored when more arguments follow. */
    if (c->argc == 4 && strIs(c->argv[3], "write")) {
        level = PAUSE_WRITES;
    } else if (c->argc == 4 && !strIs(c->argv[3], "all")) {
        replyError(c, "ERR CLIENT PAUSE mode must be WRITE or ALL");
        return;
    }
    if (!argLongLong(c, c->argv[2], &timeout_ms, "ERR timeout is not an integer or out of range")) return;
    if (timeout_ms < 0) {
        replyError(c, "ERR timeout is negative");
        return;
    }
    int64_t now_ms = mstime();
    pauseClients(PAUSE_BY_CLIENT, level, timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms);
    replyOk(c);
}

void clientUnpauseCommand(struct client *c) {
    unpauseClients(PAUSE_BY_CLIENT);
    replyOk(c);
}

/* ---- Registration ---- */

static sds pauseClientsInfo(sds s) {
    s = infoField(s, "blocked_clients:%llu", (unsigned long long)blockedClients() + waiting.length);
    static const char *const reasons[] = {"client_pause", "shutdown_in_progress", "failover_in_progress",
                                          "slot_migration_in_progress"};
    static const char *const levels[] = {"none", "write", "all"};
    const struct pause *last = NULL; /* the pause that ends last */
    for (int i = 0; i < PAUSE_REASONS; i++) {
        if (pauses[i].level && (!last || pauses[i].end_ms > last->end_ms)) last = &pauses[i];
    }
    int64_t left_ms = last ? last->end_ms - mstime() : 0;
    s = infoField(s, "paused_reason:%s", last ? reasons[last - pauses] : "none");
    s = infoField(s, "paused_actions:%s", levels[pause_level]);
    return infoField(s, "paused_timeout_milliseconds:%lld", (long long)(left_ms > 0 ? left_ms : 0));
}

static bool pauseFreezesData(void) {
    return pause_level != PAUSE_NOTHING;
}

void pauseInit(void) {
    listInit(&waiting);
    admissionFill(RULE_PAUSED, pauseCheckPaused);
    admissionIdle(RULE_PAUSED, true);
    blockingHoldBack(pauseMustWait);
    evictAddVeto(pauseFreezesData);
    dbAddExpiryVeto(pauseFreezesData);
    clientOnFree(pauseRelease);
    clientInfoLetter('b', pauseHolds);
    infoRegister("clients", pauseClientsInfo);
}
