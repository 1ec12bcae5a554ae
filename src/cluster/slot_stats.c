/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_stats.c - see slot_stats.h.
 *
 * Figures are kept while cluster-slot-stats-enabled is on; before that there is neither a table nor a hook
 * that runs. A client's own request counts for the slot of its first key (a transaction: of its first
 * command): the time of the handler, the bytes of request and reply, and the bytes that replicas got of it.
 * What the request runs in turn (scripts, queued commands) is included in its figures. A reply within a
 * transaction counts once more from the start of the transaction, as in Valkey. */
#include "cluster/slot_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/key_slot.h"
#include "base/num.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/slot_keys.h"
#include "command/call.h"
#include "command/command.h"
#include "command/multi.h"
#include "commands/cmd_grammar.h"
#include "commands/cmd_transactions.h"
#include "data/server_state/role.h"
#include "registry/config.h"

enum metric { KEY_COUNT, CPU_USEC, BYTES_IN, BYTES_OUT, METRICS };
static const char *const metric_names[METRICS] = {"key-count", "cpu-usec", "network-bytes-in",
                                                  "network-bytes-out"};

static struct slotFigures { uint64_t ticks, in, out; } * figures; /* of all slots; NULL: never enabled */
static bool counting;
static struct slotSet owned; /* slots of this shard at the last check */

/* ---- The request that is being counted ---- */

static struct {
    struct call *call; /* NULL: none */
    int slot;
    uint64_t start, offset;
    size_t in, out;
} counted;

/* Shard channels have slots, too. */
static int slotStatsSlotOfRequest(const struct request *r) {
    const struct keyRef *only = &r->cmd->only_key;
    const struct commandSpec *spec = r->cmd->spec;
    if (only->pos > 0 && only->pos < r->argc) return keySlot(r->argv[only->pos]);
    if (spec->key_spec_count && spec->key_specs[0].flags & KEY_NOT_KEY && r->argc > 1)
        return keySlot(r->argv[1]);
    struct keyRef *keys = NULL;
    int slot = commandGetKeyRefs(r->cmd, r->argv, r->argc, &keys) > 0 ? keySlot(r->argv[keys[0].pos]) : -1;
    zfree(keys);
    return slot;
}

/* Returns the slot of a request; EXEC has the slot of its conditions and of its queue. */
static int slotStatsSlotOfCall(struct client *c, const struct request *r) {
    int slot = slotStatsSlotOfRequest(r);
    const struct request *queued;
    if (r->cmd->spec->proc != execCommand) return slot;
    for (int i = 0; slot < 0 && (queued = multiQueued(c, i)); i++) slot = slotStatsSlotOfRequest(queued);
    return slot;
}

/* Returns the request's length in the protocol. EXEC includes MULTI, whose slot
 * was not known when it came. */
static size_t slotStatsRequestBytes(const struct request *r) {
    size_t bytes = r->cmd->spec->proc == execCommand ? sizeof "*1\r\n$5\r\nMULTI\r\n" - 1 : 0;
    return bytes + requestLength(r);
}

static void slotStatsBeforeCall(struct client *c) {
    struct call *call = call_running;
    if (counted.call ||
        (call->origin != ORIGIN_CLIENT && call->origin != ORIGIN_UNBLOCKED && call->origin != ORIGIN_RESUMED))
        return;
    int slot = slotStatsSlotOfCall(c, call->request);
    if (slot < 0) return;
    counted.call = call;
    counted.slot = slot;
    counted.in = slotStatsRequestBytes(call->request);
    counted.out = c->out.bytes;
    counted.offset = replication_control.offset();
    counted.start = ticksNow();
}

static void slotStatsAfterCall(struct client *c) {
    const struct call *call = call_running;
    if (!counted.call ||
        (call != counted.call && (call->outer != counted.call || call->origin != ORIGIN_EXEC)))
        return;
    struct slotFigures *f = &figures[counted.slot];
    if (call == counted.call && c->flags & CLIENT_BLOCKED) return; /* it counts when it ends */
    if (call == counted.call && c->flags & CLIENT_ERROR && c->cmd->spec->proc == execCommand) return;
    f->out += c->out.bytes - counted.out;
    if (call != counted.call) return;
    f->in += counted.in;
    f->ticks += ticksNow() - counted.start + call->request->ticks;
}

static void slotStatsCallDone(struct client *c) {
    (void)c;
    if (call_running != counted.call) return;
    uint64_t sent = replication_control.offset() - counted.offset;
    figures[counted.slot].out += sent * (uint64_t)replication_control.replicas();
    counted.call = NULL;
}

/* Counts a request that has been queued. Its reply has no slot. */
static void slotStatsRequestDone(struct client *c) {
    const struct request *queued = c->flags & CLIENT_MULTI ? multiLastQueued(c) : NULL, *r = c->request;
    if (!queued || queued->cmd != r->cmd || queued->argc != r->argc) return;
    int slot = slotStatsSlotOfRequest(r);
    if (slot >= 0) figures[slot].in += slotStatsRequestBytes(r);
}

/* ---- Enabling and resetting ---- */

void slotStatsRecheck(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    if (cluster_settings.slot_stats && !figures) figures = zcalloc(KEY_SLOTS, sizeof *figures);
    if (counting != cluster_settings.slot_stats) {
        counting = cluster_settings.slot_stats;
        callHookIdle(slotStatsBeforeCall, !counting);
        callHookIdle(slotStatsAfterCall, !counting);
        callHookIdle(slotStatsCallDone, !counting);
        callHookIdle(slotStatsRequestDone, !counting);
        counted.call = NULL;
    }
    if (!figures) return;
    const struct clusterNode *primary = nodeShardPrimary(clusterMyself());
    struct slotSet before = owned;
    owned = primary ? primary->slots : (struct slotSet){{0}};
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&before, slot) != slotSetHas(&owned, slot)) figures[slot] = (struct slotFigures){0};
    }
}

static void slotStatsResetStats(void) {
    if (figures) memset(figures, 0, KEY_SLOTS * sizeof *figures);
}

void slotStatsInit(void) {
    callAddHook(CALL_BEFORE, slotStatsBeforeCall, true);
    callAddHook(CALL_AFTER, slotStatsAfterCall, true);
    callAddHook(CALL_DONE, slotStatsCallDone, true);
    callAddHook(REQUEST_DONE, slotStatsRequestDone, true);
    configOnResetStat(slotStatsResetStats);
    configOnChange(slotStatsRecheck);
}

/* ---- CLUSTER SLOT-STATS ---- */

static uint64_t slotStatsFigure(int slot, enum metric metric) {
    switch (metric) {
    case KEY_COUNT: return slotCountKeys(slot);
    case CPU_USEC: return figures[slot].ticks / ticks_per_us;
    case BYTES_IN: return figures[slot].in;
    default: return figures[slot].out;
    }
}

static int slotStatsMetricsShown(void) {
    return counting ? METRICS : CPU_USEC;
}

static void slotStatsReplySlot(struct client *c, int slot) {
    replyArrayLen(c, 2);
    replyLongLong(c, slot);
    replyMapLen(c, slotStatsMetricsShown());
    for (int m = 0; m < slotStatsMetricsShown(); m++) {
        replyBulkCstr(c, metric_names[m]);
        replyLongLong(c, (int64_t)slotStatsFigure(slot, (enum metric)m));
    }
}

static bool slotStatsIsShown(int slot) {
    const struct clusterNode *primary = nodeShardPrimary(clusterMyself());
    return primary && slotSetHas(&primary->slots, slot);
}

static void slotStatsReplyRange(struct client *c) {
    int first, last;
    if (!clusterParseSlotArg(c, c->argv[3], &first) || !clusterParseSlotArg(c, c->argv[4], &last)) return;
    if (first > last) {
        replyErrorFmt(c, "ERR Start slot number %d is greater than end slot number %d", first, last);
        return;
    }
    struct replyMark mark = replyDeferLen(c);
    int count = 0;
    for (int slot = first; slot <= last; slot++) {
        if (slotStatsIsShown(slot)) count++, slotStatsReplySlot(c, slot);
    }
    replySetArrayLen(c, mark, count);
}

struct slotStatsOrder {
    enum metric by;
    bool ascending;
    int limit;
};

static bool slotStatsReadOrder(struct client *c, struct slotStatsOrder *order) {
    bool limited = false, directed = false;
    int m = 0;
    while (m < slotStatsMetricsShown() && !strIs(c->argv[3], metric_names[m])) m++;
    if (m == slotStatsMetricsShown()) return replyError(c, "ERR Unrecognized sort metric for ORDERBY.");
    *order = (struct slotStatsOrder){.by = (enum metric)m, .limit = KEY_SLOTS};
    for (int i = 4; i < c->argc; i++) {
        bool limit = strIs(c->argv[i], "limit") && i + 1 < c->argc, ascending = strIs(c->argv[i], "asc");
        if (!limit && !ascending && !strIs(c->argv[i], "desc")) return replySyntaxError(c);
        if (limit ? limited : directed)
            return replyError(c, "ERR Multiple filters of the same type are disallowed.");
        if (limit) {
            int64_t n;
            limited = true;
            if (!string2ll(c->argv[++i], &n) || n < 1 || n > KEY_SLOTS)
                return replyError(c,
                                  "ERR Limit has to lie in between 1 and 16384 (maximum number of slots).");
            order->limit = (int)n;
        } else {
            directed = true;
            order->ascending = ascending;
        }
    }
    return true;
}

struct ranked {
    int slot;
    uint64_t value;
};
static int slotStatsCompareSlots(const struct ranked *a, const struct ranked *b) {
    return (a->slot > b->slot) - (a->slot < b->slot);
}
static int slotStatsCompareAscending(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    return a->value != b->value ? (a->value > b->value ? 1 : -1) : slotStatsCompareSlots(a, b);
}
static int slotStatsCompareDescending(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    return a->value != b->value ? (a->value < b->value ? 1 : -1) : slotStatsCompareSlots(a, b);
}

static void slotStatsReplyOrdered(struct client *c) {
    struct slotStatsOrder order;
    if (!slotStatsReadOrder(c, &order)) return;
    struct ranked *ranked = zmalloc(KEY_SLOTS * sizeof *ranked);
    int count = 0;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotStatsIsShown(slot)) ranked[count++] = (struct ranked){slot, slotStatsFigure(slot, order.by)};
    }
    qsort(ranked, (size_t)count, sizeof *ranked,
          order.ascending ? slotStatsCompareAscending : slotStatsCompareDescending);
    if (count > order.limit) count = order.limit;
    replyArrayLen(c, count);
    for (int i = 0; i < count; i++) slotStatsReplySlot(c, ranked[i].slot);
    zfree(ranked);
}

void clusterSlotStatsCommand(struct client *c) {
    if (c->argc == 5 && strIs(c->argv[2], "slotsrange"))
        slotStatsReplyRange(c);
    else if (c->argc >= 4 && strIs(c->argv[2], "orderby"))
        slotStatsReplyOrdered(c);
    else
        replySubcommandError(c);
}
