/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_stats.c - see slot_stats.h.
 *
 * Figures are kept while cluster-slot-stats-enabled says so: until then there is neither a table nor a hook
 * that runs. What counts is a client's own request, by the slot of its first key (of a transaction: of its
 * first command): the time of its handler, the bytes of request and reply, and what replicas got of it.
 * What it runs in turn (scripts, queued commands) is within its figures; a reply within a transaction counts
 * once more from the start of the transaction, as Valkey counts it. */
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

static struct slotFigures { uint64_t ticks, in, out; } * figures; /* of all slots; NULL: never asked for */
static bool counting;
static struct slotSet owned; /* when last looked at */

/* ---- A request that is counted ---- */

static struct {
    struct call *call; /* NULL: none */
    int slot;
    uint64_t start, offset;
    size_t in, out;
} now;

/* Shard channels have slots, too. */
static int slotOfRequest(const struct request *r) {
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

/* Of EXEC it is that of the first command that has keys. */
static int slotOfCall(struct client *c, const struct request *r) {
    int slot = -1;
    const struct request *queued;
    if (r->cmd->spec->proc != execCommand) return slotOfRequest(r);
    for (int i = 0; slot < 0 && (queued = multiQueued(c, i)); i++) slot = slotOfRequest(queued);
    return slot;
}

static size_t slotStatsHeadLength(uint64_t n) { /* of "$3\r\n" */
    char digits[24];
    return 3 + ull2string(digits, n);
}

/* In the protocol. MULTI has no slot yet when it comes: EXEC counts for it. */
static size_t slotStatsRequestBytes(const struct request *r) {
    size_t bytes = r->cmd->spec->proc == execCommand ? sizeof "*1\r\n$5\r\nMULTI\r\n" - 1 : 0;
    if (r->raw.ptr) return bytes + r->raw.len;
    bytes += slotStatsHeadLength((uint64_t)r->argc);
    for (int i = 0; i < r->argc; i++) bytes += slotStatsHeadLength(r->argv[i].len) + r->argv[i].len + 2;
    return bytes;
}

static void slotStatsBeforeCall(struct client *c) {
    struct call *call = call_running;
    if (now.call ||
        (call->origin != ORIGIN_CLIENT && call->origin != ORIGIN_UNBLOCKED && call->origin != ORIGIN_RESUMED))
        return;
    int slot = slotOfCall(c, call->request);
    if (slot < 0) return;
    now.call = call;
    now.slot = slot;
    now.in = slotStatsRequestBytes(call->request);
    now.out = c->out.bytes;
    now.offset = replication_control.offset();
    now.start = ticksNow();
}

static void slotStatsAfterCall(struct client *c) {
    const struct call *call = call_running;
    if (!now.call || (call != now.call && (call->outer != now.call || call->origin != ORIGIN_EXEC))) return;
    struct slotFigures *f = &figures[now.slot];
    if (call == now.call && c->flags & CLIENT_BLOCKED) return; /* it counts when it has come to its end */
    if (call == now.call && c->flags & CLIENT_ERROR && c->cmd->spec->proc == execCommand) return;
    f->out += c->out.bytes - now.out;
    if (call != now.call) return;
    f->in += now.in;
    f->ticks += ticksNow() - now.start + call->request->ticks;
}

static void slotStatsCallDone(struct client *c) {
    (void)c;
    if (call_running != now.call) return;
    uint64_t told = replication_control.offset() - now.offset;
    figures[now.slot].out += told * (uint64_t)replication_control.replicas();
    now.call = NULL;
}

/* One that has been queued. Its reply is of no slot. */
static void slotStatsRequestDone(struct client *c) {
    const struct request *queued = c->flags & CLIENT_MULTI ? multiLastQueued(c) : NULL, *r = c->request;
    if (!queued || queued->cmd != r->cmd || queued->argc != r->argc) return;
    int slot = slotOfRequest(r);
    if (slot >= 0) figures[slot].in += slotStatsRequestBytes(r);
}

/* ---- On, off, anew ---- */

void slotStatsRecheck(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    if (cluster_settings.slot_stats && !figures) figures = zcalloc(KEY_SLOTS, sizeof *figures);
    if (counting != cluster_settings.slot_stats) {
        counting = cluster_settings.slot_stats;
        callHookIdle(slotStatsBeforeCall, !counting);
        callHookIdle(slotStatsAfterCall, !counting);
        callHookIdle(slotStatsCallDone, !counting);
        callHookIdle(slotStatsRequestDone, !counting);
        now.call = NULL;
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
    case KEY_COUNT: return slotKeys(slot);
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
    if (!clusterSlotArg(c, c->argv[3], &first) || !clusterSlotArg(c, c->argv[4], &last)) return;
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

/* How they are to be ordered. */
struct slotStatsOrder {
    enum metric by;
    bool ascending;
    int limit;
};

static bool slotStatsReadOrder(struct client *c, struct slotStatsOrder *order) {
    bool limited = false, directed = false;
    int m = 0;
    while (m < slotStatsMetricsShown() && !strIs(c->argv[3], metric_names[m])) m++;
    if (m == slotStatsMetricsShown()) {
        replyError(c, "ERR Unrecognized sort metric for ORDERBY.");
        return false;
    }
    *order = (struct slotStatsOrder){.by = (enum metric)m, .limit = KEY_SLOTS};
    for (int i = 4; i < c->argc; i++) {
        bool limit = strIs(c->argv[i], "limit") && i + 1 < c->argc, ascending = strIs(c->argv[i], "asc");
        if (!limit && !ascending && !strIs(c->argv[i], "desc")) {
            replySyntaxError(c);
            return false;
        }
        if (limit ? limited : directed) {
            replyError(c, "ERR Multiple filters of the same type are disallowed.");
            return false;
        }
        if (limit) {
            int64_t n;
            limited = true;
            if (!string2ll(c->argv[++i], &n) || n < 1 || n > KEY_SLOTS) {
                replyError(c, "ERR Limit has to lie in between 1 and 16384 (maximum number of slots).");
                return false;
            }
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
static int slotStatsBySlot(const struct ranked *a, const struct ranked *b) {
    return (a->slot > b->slot) - (a->slot < b->slot);
}
static int slotStatsAscending(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    return a->value != b->value ? (a->value > b->value ? 1 : -1) : slotStatsBySlot(a, b);
}
static int slotStatsDescending(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    return a->value != b->value ? (a->value < b->value ? 1 : -1) : slotStatsBySlot(a, b);
}

static void slotStatsReplyOrdered(struct client *c) {
    struct slotStatsOrder order;
    if (!slotStatsReadOrder(c, &order)) return;
    struct ranked *ranked = zmalloc(KEY_SLOTS * sizeof *ranked);
    int count = 0;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotStatsIsShown(slot)) ranked[count++] = (struct ranked){slot, slotStatsFigure(slot, order.by)};
    }
    qsort(ranked, (size_t)count, sizeof *ranked, order.ascending ? slotStatsAscending : slotStatsDescending);
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
