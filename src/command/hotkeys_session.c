/* SPDX-License-Identifier: BSD-3-Clause */
/* hotkeys_session.c - see hotkeys_session.h.
 *
 *     before a call ──▶ counted: its time and its output so far
 *     after it ───────▶ totals ──▶ is its slot selected? ──▶ is it sampled? ──▶ a share for each of its keys
 *
 * The hooks are active only while a session runs. A request of a client or of its transaction counts if it
 * names keys; the commands that a script or a module calls are a part of it. Keys of all databases count as
 * one, as in Redis. Each metric has a Space-Saving table (ds/top_keys.h) with more counters than keys are
 * shown, whose counts are ticks or bytes. */
#include "command/hotkeys_session.h"

#include <string.h>
#include <sys/resource.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/random.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "commands/cmd_server.h"
#include "commands/cmd_transactions.h"
#include "data/keyspace/keyspace.h"
#include "ds/top_keys.h"
#include "registry/cron.h"
#include "registry/info.h"

#define COUNTERS_PER_KEY 8
#define COUNTERS_LEAST   64
#define TICK_MS          100
#define KEYS_DEFAULT     10 /* COUNT */
#define KEYS_MAX         64
#define DURATION_MAX     1000000 /* seconds */

struct tally {
    uint64_t ticks, bytes;
};

/* START's arguments. */
struct sessionPlan {
    bool cpu, net, by_slot;
    int64_t top_k, ratio;
    int64_t duration_us;          /* 0: until STOP */
    uint8_t slots[KEY_SLOTS / 8]; /* with by_slot */
};

static struct {
    struct sessionPlan plan; /* top_k 0: there is no session */
    bool runs;
    int64_t began_us, began_unix_ms;
    int64_t duration_us, user_us, system_us; /* until its end; while it runs, of the last report */
    struct rusage usage_before;
    struct topKeys by_ticks, by_bytes;
    struct tally all, selected, sampled; /* requests; those of the selected slots; those of them sampled */
    uint64_t key_bytes;                  /* shares of keys, rounded down */
} session;

static struct {
    const struct call *call; /* NULL: none */
    uint64_t start_ticks;
    size_t out;
} counted;

bool hotkeysSessionRuns(void) {
    return session.runs;
}

bool hotkeysSessionExists(void) {
    return session.plan.top_k != 0;
}

static bool sessionPlanHasSlot(const struct sessionPlan *plan, int slot) {
    return !plan->by_slot || plan->slots[slot >> 3] >> (slot & 7) & 1;
}

/* ---- Counting ---- */

static void hotkeysSessionBeforeCall(struct client *c) {
    const struct call *call = call_running;
    bool counts =
        call->origin == ORIGIN_CLIENT || call->origin == ORIGIN_EXEC || call->origin == ORIGIN_UNBLOCKED;
    if (counted.call || !counts || c->flags & CLIENT_PRIMARY || call->request->cmd->spec->proc == execCommand)
        return;
    counted.call = call;
    counted.out = c->out.bytes;
    counted.start_ticks = ticksNow();
}

static void tallyAdd(struct tally *sum, struct tally n) {
    sum->ticks += n.ticks;
    sum->bytes += n.bytes;
}

static void hotkeysSessionAddKey(struct str key, struct tally share) {
    struct topKeyId id = {keyHash(key), 0, (uint32_t)key.len};
    if (session.plan.cpu) topKeysCount(&session.by_ticks, id, key, share.ticks);
    if (session.plan.net) topKeysCount(&session.by_bytes, id, key, share.bytes);
    session.key_bytes += share.bytes;
}

static void hotkeysSessionAddRequest(const struct request *r, const struct keyRef *keys, int count,
                                     struct tally n) {
    tallyAdd(&session.all, n);
    if (keys_by_slot && !sessionPlanHasSlot(&session.plan, keySlot(r->argv[keys[0].pos]))) return;
    tallyAdd(&session.selected, n);
    if (session.plan.ratio > 1 && randomDouble() * (double)session.plan.ratio >= 1) return;
    tallyAdd(&session.sampled, n);
    struct tally share = {n.ticks / (unsigned)count, n.bytes / (unsigned)count};
    for (int i = 0; i < count; i++) hotkeysSessionAddKey(r->argv[keys[i].pos], share);
}

static void hotkeysSessionAfterCall(struct client *c) {
    if (!counted.call || counted.call != call_running) return;
    uint64_t ticks = ticksNow() - counted.start_ticks;
    counted.call = NULL;
    if (c->flags & CLIENT_BLOCKED) return;
    const struct request *r = call_running->request;
    struct keyRef *keys = NULL;
    int count = commandGetKeyRefs(r->cmd, r->argv, r->argc, &keys);
    if (count > 0 && !(keys[0].flags & KEY_NOT_KEY)) {
        size_t replied = c->out.bytes > counted.out ? c->out.bytes - counted.out : 0;
        hotkeysSessionAddRequest(r, keys, count, (struct tally){ticks, requestLength(r) + replied});
    }
    zfree(keys);
}

/* ---- Begin and end ---- */

static int64_t timevalUs(struct timeval a) {
    return (int64_t)a.tv_sec * 1000000 + a.tv_usec;
}

static void hotkeysSessionMeasure(void) {
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    session.duration_us = monotonicUs() - session.began_us;
    session.user_us = timevalUs(now.ru_utime) - timevalUs(session.usage_before.ru_utime);
    session.system_us = timevalUs(now.ru_stime) - timevalUs(session.usage_before.ru_stime);
}

static void hotkeysSessionSetRuns(bool runs) {
    session.runs = runs;
    counted.call = NULL;
    callHookIdle(hotkeysSessionBeforeCall, !runs);
    callHookIdle(hotkeysSessionAfterCall, !runs);
}

static void hotkeysSessionEnd(void) {
    hotkeysSessionMeasure();
    hotkeysSessionSetRuns(false);
}

void hotkeysSessionForget(void) {
    serverAssert(!session.runs);
    topKeysFree(&session.by_ticks);
    topKeysFree(&session.by_bytes);
    memset(&session, 0, sizeof session);
}

static void hotkeysSessionBegin(const struct sessionPlan *plan) {
    hotkeysSessionForget();
    session.plan = *plan;
    int counters = (int)plan->top_k * COUNTERS_PER_KEY + COUNTERS_LEAST;
    if (plan->cpu) topKeysInit(&session.by_ticks, counters);
    if (plan->net) topKeysInit(&session.by_bytes, counters);
    session.began_us = monotonicUs();
    session.began_unix_ms = ustime() / 1000;
    getrusage(RUSAGE_SELF, &session.usage_before);
    hotkeysSessionSetRuns(true);
}

static void hotkeysSessionTick(void) {
    if (!session.runs || !session.plan.duration_us) return;
    if (monotonicUs() - session.began_us >= session.plan.duration_us) hotkeysSessionEnd();
}

/* ---- START and STOP ---- */

/* Parses METRICS count [CPU] [NET] from argv[2] on. As in Redis, unknown words among `count` are skipped.
 * Returns the index behind it, or 0 after replying an error. */
static int sessionPlanParseMetrics(struct client *c, struct sessionPlan *plan) {
    int64_t count;
    if (c->argc < 4 || !strIs(c->argv[2], "metrics"))
        return replyError(c, "ERR METRICS parameter is required");
    if (!string2ll(c->argv[3], &count) || count < 1 || count > 2)
        return replyError(c, "ERR METRICS count must be > 0 and <= 2");
    if (c->argc < 4 + count)
        return replyError(c, "ERR METRICS count does not match number of metric types provided");
    for (int i = 4; i < 4 + count; i++) {
        bool *metric = strIs(c->argv[i], "cpu") ? &plan->cpu : strIs(c->argv[i], "net") ? &plan->net : NULL;
        if (metric && *metric)
            return replyErrorFmt(c, "ERR METRICS %s defined more than once!",
                                 metric == &plan->cpu ? "CPU" : "NET");
        if (metric) *metric = true;
    }
    if (!plan->cpu && !plan->net)
        return replyError(c, "ERR METRICS no valid metrics passed. Supported: CPU|NET");
    return 4 + (int)count;
}

/* Parses SLOTS count slot... at argv[i]. Returns the index behind it, or 0 after replying an error. */
static int sessionPlanParseSlots(struct client *c, int i, struct sessionPlan *plan) {
    int64_t count, slot;
    if (!keys_by_slot) return replyError(c, "ERR SLOTS parameter cannot be used in non-cluster mode");
    if (plan->by_slot) return replyError(c, "ERR SLOTS parameter already specified");
    if (!string2ll(c->argv[i + 1], &count) || count < 1 || count > KEY_SLOTS)
        return replyError(c, "ERR SLOTS count must be between 1 and 16384");
    if (c->argc - i - 2 < count) return replyError(c, "ERR not enough slot numbers provided");
    plan->by_slot = true;
    for (int at = i + 2; at < i + 2 + count; at++) {
        if (!string2ll(c->argv[at], &slot) || slot < 0 || slot >= KEY_SLOTS)
            return replyError(c, "ERR Invalid or out of range slot");
        if (sessionPlanHasSlot(plan, (int)slot)) return replyError(c, "ERR duplicate slot number");
        plan->slots[slot >> 3] |= (uint8_t)(1 << (slot & 7));
    }
    return i + 2 + (int)count;
}

/* Parses the option at argv[i]. Returns the index behind it, or 0 after replying an error. */
static int sessionPlanParseOption(struct client *c, int i, struct sessionPlan *plan) {
    int64_t n;
    if (i + 1 >= c->argc) return replySyntaxError(c);
    bool is_number = string2ll(c->argv[i + 1], &n);
    if (strIs(c->argv[i], "count")) {
        if (!is_number || n < 1 || n > KEYS_MAX) return replyError(c, "ERR COUNT must be between 1 and 64");
        plan->top_k = n;
    } else if (strIs(c->argv[i], "duration")) {
        if (!is_number || n < 1 || n > DURATION_MAX)
            return replyError(c, "ERR DURATION must be between 1 and 1000000");
        plan->duration_us = n * 1000000;
    } else if (strIs(c->argv[i], "sample")) {
        if (!is_number || n < 1 || n > INT32_MAX) return replyError(c, "ERR SAMPLE ratio must be positive");
        plan->ratio = n;
    } else if (strIs(c->argv[i], "slots")) {
        return sessionPlanParseSlots(c, i, plan);
    } else {
        return replySyntaxError(c);
    }
    return i + 2;
}

void hotkeysStartCommand(struct client *c) {
    if (session.runs) {
        replyError(c, "ERR hotkey tracking session already in progress");
        return;
    }
    struct sessionPlan plan = {.top_k = KEYS_DEFAULT, .ratio = 1};
    int i = sessionPlanParseMetrics(c, &plan);
    while (i && i < c->argc) i = sessionPlanParseOption(c, i, &plan);
    if (!i) return;
    hotkeysSessionBegin(&plan);
    replyOk(c);
}

void hotkeysStopCommand(struct client *c) {
    if (!session.runs) {
        replyNull(c);
        return;
    }
    hotkeysSessionEnd();
    replyOk(c);
}

/* ---- GET ---- */

static int64_t hotkeysSessionReplyNumber(struct client *c, const char *name, int64_t n) {
    replyBulkCstr(c, name);
    replyLongLong(c, n);
    return 1;
}

static int64_t hotkeysSessionReplyUs(struct client *c, const char *name, uint64_t ticks) {
    return hotkeysSessionReplyNumber(c, name, (int64_t)(ticks / ticks_per_us));
}

/* Replies the slots as ranges: [first, last], or [slot]. */
static int64_t hotkeysSessionReplySlots(struct client *c) {
    replyBulkCstr(c, "selected-slots");
    struct replyMark mark = replyDeferLen(c);
    int ranges = 0;
    for (int first = 0; first < KEY_SLOTS; first++) {
        if (!sessionPlanHasSlot(&session.plan, first)) continue;
        int last = first;
        while (last + 1 < KEY_SLOTS && sessionPlanHasSlot(&session.plan, last + 1)) last++;
        replyArrayLen(c, first == last ? 1 : 2);
        replyLongLong(c, first);
        if (first != last) replyLongLong(c, last);
        first = last;
        ranges++;
    }
    replySetArrayLen(c, mark, ranges);
    return 1;
}

/* Names of keys may be long: they are cut as those of a window are (hotkeys.c). Keys with 0 are left out. */
static int64_t hotkeysSessionReplyKeys(struct client *c, const char *name, const struct topKeys *keys,
                                       uint64_t unit) {
    const struct topKey **ranked = zmalloc((size_t)keys->used * sizeof *ranked + 1);
    topKeysRank(keys, ranked);
    replyBulkCstr(c, name);
    struct replyMark mark = replyDeferLen(c);
    int shown = 0;
    for (int i = 0; i < keys->used && i < session.plan.top_k; i++) {
        uint64_t n = (ranked[i]->count - ranked[i]->error) / unit;
        if (!n) continue;
        sds text = topKeysText(ranked[i]);
        replyBulk(c, sdsview(text));
        sdsfree(text);
        replyLongLong(c, (int64_t)n);
        shown++;
    }
    replySetArrayLen(c, mark, 2 * shown);
    zfree(ranked);
    return 1;
}

static int64_t hotkeysSessionReplyTotals(struct client *c) {
    bool selected = session.plan.by_slot, sampled = selected && session.plan.ratio > 1;
    int64_t n = 0;
    if (sampled) n += hotkeysSessionReplyUs(c, "sampled-commands-selected-slots-us", session.sampled.ticks);
    if (selected) n += hotkeysSessionReplyUs(c, "all-commands-selected-slots-us", session.selected.ticks);
    n += hotkeysSessionReplyUs(c, "all-commands-all-slots-us", session.all.ticks);
    if (sampled)
        n += hotkeysSessionReplyNumber(c, "net-bytes-sampled-commands-selected-slots",
                                       (int64_t)session.sampled.bytes);
    if (selected)
        n += hotkeysSessionReplyNumber(c, "net-bytes-all-commands-selected-slots",
                                       (int64_t)session.selected.bytes);
    return n + hotkeysSessionReplyNumber(c, "net-bytes-all-commands-all-slots", (int64_t)session.all.bytes);
}

void hotkeysSessionReply(struct client *c) {
    if (session.runs) hotkeysSessionMeasure();
    replyArrayLen(c, 1);
    struct replyMark mark = replyDeferLen(c);
    int64_t n = hotkeysSessionReplyNumber(c, "tracking-active", session.runs);
    n += hotkeysSessionReplyNumber(c, "sample-ratio", session.plan.ratio);
    n += hotkeysSessionReplySlots(c);
    n += hotkeysSessionReplyTotals(c);
    n += hotkeysSessionReplyNumber(c, "collection-start-time-unix-ms", session.began_unix_ms);
    n += hotkeysSessionReplyNumber(c, "collection-duration-ms", session.duration_us / 1000);
    if (session.plan.cpu) {
        n += hotkeysSessionReplyNumber(c, "total-cpu-time-user-ms", session.user_us / 1000);
        n += hotkeysSessionReplyNumber(c, "total-cpu-time-sys-ms", session.system_us / 1000);
    }
    if (session.plan.net) n += hotkeysSessionReplyNumber(c, "total-net-bytes", (int64_t)session.key_bytes);
    if (session.plan.cpu) n += hotkeysSessionReplyKeys(c, "by-cpu-time-us", &session.by_ticks, ticks_per_us);
    if (session.plan.net) n += hotkeysSessionReplyKeys(c, "by-net-bytes", &session.by_bytes, 1);
    replySetMapLen(c, mark, n);
}

static sds hotkeysSessionShowInfo(sds s) {
    return hotkeysSessionExists() ? infoField(s, "hotkeys-tracking-active:%d", session.runs) : s;
}

void hotkeysSessionInit(void) {
    callAddHook(CALL_BEFORE, hotkeysSessionBeforeCall, true);
    callAddHook(CALL_AFTER, hotkeysSessionAfterCall, true);
    infoRegister("hotkeys", hotkeysSessionShowInfo);
    cronRegister(hotkeysSessionTick, TICK_MS);
}
