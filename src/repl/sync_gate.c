/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_gate.c - see sync_gate.h. The role and the directive are looked at before each sleep, so what one turn
 * changes about them takes effect before its replies leave. */
#include "repl/sync_gate.h"

#include "base/clock.h"
#include "client/reply.h"
#include "client/reply_gate.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "repl/replicas.h"

enum { SYNC_IN_MEMORY, SYNC_ON_DISK };
int64_t sync_gate_replicas;
static int64_t timeout_ms;
static int mode;
static bool used;
static uint64_t asked, covered_position; /* asked: the position of the last GETACK */

static void syncGateReplyTimeout(struct client *c) {
    if (c->flags & CLIENT_REPLY_OFF) return;
    replyError(
        c,
        "NOTSYNCED too few replicas have acknowledged in time, so it is unknown whether this will be kept");
}

static void syncGateReplyDemoted(struct client *c) {
    if (c->flags & CLIENT_REPLY_OFF) return;
    replyError(c, "NOTSYNCED this server is a replica now, so it is unknown whether this has been kept");
}

static uint64_t syncGateAcked(const struct replicaClient *r) {
    return mode == SYNC_ON_DISK ? r->fsynced : r->acked;
}

/* Returns the position that so many replicas have acknowledged. O(replicas^2); there are few. */
static uint64_t syncGatePosition(void) {
    uint64_t best = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        uint64_t offset = syncGateAcked(r);
        bool enough = replicasCountAcked(offset, mode == SYNC_ON_DISK) >= sync_gate_replicas;
        if (r->state == REPLICA_ONLINE && enough && offset + 1 > best) best = offset + 1;
    }
    return best;
}

/* A server that has become a replica covers nothing any more. */
static void syncGateAsk(uint64_t *made, uint64_t *covered) {
    if (roleIsReplica()) return;
    uint64_t now = replicasChangesEnd() + 1, acked = syncGatePosition();
    if (now > *made) *made = now;
    if (acked > *covered) *covered = acked;
    covered_position = *covered;
}

static void syncGateSwitch(bool on) {
    if (used && roleIsReplica()) replyGateGiveUp(INT64_MAX, syncGateReplyDemoted);
    used = on;
    asked = covered_position = 0;
    replyGateUse(GATE_REPLICAS, on ? syncGateAsk : NULL);
}

static __attribute__((noinline)) void syncGateReview(void) {
    bool use = sync_gate_replicas && !roleIsReplica();
    if (use != used) syncGateSwitch(use);
    if (!use) return;
    uint64_t now = replicasChangesEnd() + 1;
    if (now == asked || !replicas.length) return;
    asked = now;
    replicasRequestAck();
}

static void syncGateBeforeSleep(void) {
    if (__builtin_expect(sync_gate_replicas || used, 0)) syncGateReview();
}

static void syncGateCheckTime(void) {
    if (!used || !replyGateOldest()) return;
    int64_t before_ms = mstime() - timeout_ms;
    if (replyGateOldest() <= before_ms) replyGateGiveUp(before_ms, syncGateReplyTimeout);
}

/* Sentinels need the number of both roles. */
static sds syncGateInfo(sds s) {
    if (sync_gate_replicas) s = infoField(s, "min_replicas_sync:%lld", (long long)sync_gate_replicas);
    if (!used) return s;
    return infoField(s, "min_replicas_sync_offset:%lld", (long long)covered_position - 1);
}

void syncGateInit(bool (*changed)(const char **err)) {
    static const struct configEnum modes[] = {{"memory", SYNC_IN_MEMORY}, {"disk", SYNC_ON_DISK}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_INT("min-replicas-sync", NULL, CONFIG_MODIFIABLE, &sync_gate_replicas, 0, 0, INT32_MAX, NULL),
        CONFIG_ENUM("min-replicas-sync-mode", NULL, CONFIG_MODIFIABLE, &mode, SYNC_IN_MEMORY, modes, NULL),
        CONFIG_INT("min-replicas-sync-timeout", NULL, CONFIG_MODIFIABLE, &timeout_ms, 5000, 1, INT32_MAX,
                   NULL),
    };
    directives[0].apply = changed;
    configRegister(directives, sizeof directives / sizeof *directives);
    beforeSleepRegister(syncGateBeforeSleep);
    cronRegister(syncGateCheckTime, 0);
    infoRegister("replication", syncGateInfo);
}
