/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c - see call.h. */
#include "command/call.h"

#include <string.h>

#include "base/assert.h"
#include "base/ticks.h"
#include "client/push.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/command.h"
#include "command/commandlog.h"
#include "command/declared_keys.h"
#include "command/latency_histogram.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/latency.h"

#define HOOKS_AT_POINT    8
#define REFUSAL_HOOKS_MAX 8

struct call *call_running;
struct request *call_replacement;
struct callStats callstats;
unsigned call_points;
bool call_file_replayed;

/* clang-format off */
/* The differences between origins once a request has been admitted. */
enum {
    /* A client's own request: the client is busy, and push messages wait for the end of the reply. */
    TOP        = 1,
    COUNTED    = 2, /* counted in the statistics of the command */
    PROPAGATED = 4,
    OWN_TIME   = 8, /* its time is not part of an outer call's */
};
static const uint8_t origin_flags[ORIGINS] = {
    [ORIGIN_CLIENT]    = TOP | COUNTED | PROPAGATED | OWN_TIME,
    [ORIGIN_UNBLOCKED] = TOP | COUNTED | PROPAGATED | OWN_TIME,
    [ORIGIN_RESUMED]   = TOP | COUNTED | PROPAGATED | OWN_TIME,
    [ORIGIN_EXEC]      =       COUNTED | PROPAGATED,
    [ORIGIN_SCRIPT]    =       COUNTED | PROPAGATED,
    [ORIGIN_MODULE]    =       COUNTED | PROPAGATED,
    [ORIGIN_PRIMARY]   = TOP | COUNTED | PROPAGATED | OWN_TIME,
    [ORIGIN_AOF]       =                              OWN_TIME,
    [ORIGIN_DEBUG]     = 0,
};
/* clang-format on */

bool callReplays(void) {
    for (const struct call *call = call_running; call && call->origin != ORIGIN_CLIENT; call = call->outer) {
        if (call->origin == ORIGIN_AOF || call->origin == ORIGIN_PRIMARY) return true;
    }
    return false;
}

/* ---- Hooks ---- */

static struct hook {
    callHook *fn;
    bool idle;
} hooks[CALL_POINTS][HOOKS_AT_POINT]; /* in order of registration; fn NULL: none */
static int refusal_count;
static callHook *refusal_hooks[REFUSAL_HOOKS_MAX];
static callHook *active[CALL_POINTS][HOOKS_AT_POINT + 1]; /* active hooks, each list ended by NULL */

static void callListHooks(enum callPoint at) {
    int count = 0;
    for (const struct hook *h = hooks[at]; h < hooks[at] + HOOKS_AT_POINT && h->fn; h++) {
        if (!h->idle) active[at][count++] = h->fn;
    }
    active[at][count] = NULL;
    call_points = (call_points & ~(1u << at)) | (unsigned)(count > 0) << at;
}

void callAddHook(enum callPoint at, callHook *fn, bool idle) {
    int i = 0;
    while (i < HOOKS_AT_POINT && hooks[at][i].fn) i++;
    serverAssert(i < HOOKS_AT_POINT);
    hooks[at][i] = (struct hook){fn, idle};
    callListHooks(at);
}

void callHookIdle(callHook *fn, bool idle) {
    for (int at = 0; at < CALL_POINTS; at++) {
        for (struct hook *h = hooks[at]; h < hooks[at] + HOOKS_AT_POINT && h->fn; h++) {
            if (h->fn != fn) continue;
            h->idle = idle;
            callListHooks((enum callPoint)at);
            return;
        }
    }
    serverPanic("this hook is not registered");
}

/* Runs a copy of the list, as hooks may become idle meanwhile. */
void callRunActiveHooks(enum callPoint at, struct client *c) {
    callHook *fns[HOOKS_AT_POINT + 1];
    memcpy(fns, active[at], sizeof fns);
    for (int i = 0; fns[i]; i++) fns[i](c);
}

void callOnRefused(callHook *fn) {
    serverAssert(refusal_count < REFUSAL_HOOKS_MAX);
    refusal_hooks[refusal_count++] = fn;
}

/* ---- Statistics ---- */

__attribute__((noinline, cold)) void callNoteUnusual(struct client *c, uint64_t ticks, int64_t reply_bytes) {
    uint64_t us = ticks / ticks_per_us;
    latencyAddSampleIfNeeded(c->cmd->flags & CMD_FAST ? "fast-command" : "command", (int64_t)(us / 1000));
    struct client *owner = c->flags & CLIENT_SCRIPT && callOwner() ? callOwner() : c;
    commandlogRecord(c, owner, us, reply_bytes < 0 ? 0 : (uint64_t)reply_bytes);
}

/* Counts a command that has ended. */
static inline void callCountEnd(struct client *c, struct request *r, uint64_t ticks, int64_t reply_bytes) {
    r->cmd->calls++;
    callstats.processed++;
    c->commands++;
    latencyRecord(&r->cmd->latency, ticks);
    if (__builtin_expect(callMayBeUnusual(r, ticks, reply_bytes), 0)) callNoteUnusual(c, ticks, reply_bytes);
}

/* Counts a command, unless it blocks: then the time so far is counted when it ends. */
static inline void callCount(struct call *call, struct client *c, struct request *r, uint64_t ticks,
                             int64_t reply_bytes) {
    r->cmd->ticks += ticks;
    if (c->flags & CLIENT_ERROR) r->cmd->failed++;
    if (__builtin_expect(!(c->flags & CLIENT_BLOCKED), 1))
        callCountEnd(c, r, r->ticks + ticks, reply_bytes);
    else
        (call->waits ? call->waits : r)->ticks += ticks;
}

void callCountReplayed(const struct client *c, struct request *r) {
    callstats.processed++;
    if (c->flags & CLIENT_ERROR) r->cmd->failed++;
}

/* ---- Running ---- */

static inline void callMirror(struct client *c, struct request *r) {
    c->request = r;
    c->argv = r->argv;
    c->argc = r->argc;
    c->cmd = r->cmd;
}

static inline void callBegin(struct call *call, struct client *c, struct request *r) {
    call_running = call;
    callMirror(c, r);
    dbSetKeyHashes(r->key_hashes, r->key_hash_count);
}

static inline void callEnd(const struct call *call, struct client *c, struct call *outer) {
    (void)call; /* only used by the assertion */
    debugAssert(call_running == call);
    call_running = outer;
    c->request = NULL;
    c->argv = NULL;
    c->argc = 0;
    if (__builtin_expect(!outer, 1)) {
        dbSetKeyHashes(NULL, 0);
        return;
    }
    dbSetKeyHashes(outer->request->key_hashes, outer->request->key_hash_count);
    if (outer->client == c) callMirror(c, outer->request);
}

void callCountEnded(struct client *c, struct request *r, bool rejected) {
    struct call call = {
        .client = c, .owner = c, .request = r, .origin = ORIGIN_UNBLOCKED, .outer = call_running};
    callBegin(&call, c, r);
    if (rejected)
        r->cmd->rejected++;
    else if (c->flags & CLIENT_ERROR)
        r->cmd->failed++;
    callCountEnd(c, r, r->ticks, 0);
    callEnd(&call, c, call.outer);
}

/* Excludes sinks as a module or script has requested. */
static void callExcludeSinks(struct client *c, const struct request *r, bool dirty) {
    if (r->exclude == PROPAGATED_TO_NOBODY) propagateSuppress(c);
    propagation.exclude = r->exclude;
    propagateAfterCommand(c, dirty);
    propagation.exclude = 0;
    if (r->unpropagated) propagateMute(false);
}

static inline __attribute__((always_inline)) void
callRunHandler(struct call *call, struct client *c, struct request *r, enum requestOrigin origin) {
    unsigned traits = origin_flags[origin];
    /* Ensured by admission, or by the creator of the request. */
    debugAssert(r->cmd && commandArityOk(r->cmd, r->argc));
    callRunHooks(CALL_BEFORE, c);
    size_t output = c->out.bytes; /* output is only sent while it runs in nested turns */
    uint64_t dirty = dbstats.dirty, start = ticksNow();
    c->flags &= ~(uint32_t)CLIENT_ERROR;
    propagateBegin();
    if (origin == ORIGIN_SCRIPT && r->unpropagated) propagateSuppress(c);
    /* Applies to commands that it calls, too. */
    if (origin == ORIGIN_MODULE && r->unpropagated) propagateMute(true);
    struct declaredKeys declared;
    declaredKeysBegin(&declared, c);
    r->cmd->spec->proc(c);
    declaredKeysEnd(&declared);
    debugAssert(call_running == call && c->request == r);
    uint64_t ticks = ticksNow() - start;
    if (traits & OWN_TIME) callstats.ticks += ticks;
    if (traits & COUNTED && (traits & TOP || !call_file_replayed))
        callCount(call, c, r, ticks, (int64_t)(c->out.bytes - output));
    else if (traits & COUNTED)
        callCountReplayed(c, r);
    callRunHooks(CALL_AFTER, c);
    if (origin == ORIGIN_MODULE || (origin == ORIGIN_SCRIPT && r->exclude))
        callExcludeSinks(c, r, dbstats.dirty != dirty);
    else if (traits & PROPAGATED)
        propagateAfterCommand(c, dbstats.dirty != dirty);
    propagateEnd();
    callRunHooks(CALL_DONE, c);
    /* Within EXEC, a script or a module's call time does not advance. */
    if (ticks > SLOW_ENOUGH_TO_TICK * ticks_per_us && traits & OWN_TIME) clockRefresh();
}

/* Notes a refused request. A command of a file that cannot run is an error of the file, and not counted. */
static void callNoteRefusal(struct client *c, struct request *r, enum requestOrigin origin) {
    if (r->cmd && origin != ORIGIN_AOF) r->cmd->rejected++;
    for (int i = 0; i < refusal_count; i++) refusal_hooks[i](c);
}

/* Takes the flag of CLIENT REPLY SKIP, which applies to the next command that is not deferred. */
static inline void callTakeReplySkip(struct client *c) {
    c->flags &= ~(uint32_t)CLIENT_REPLY_SKIP;
    if (__builtin_expect(!(c->flags & CLIENT_REPLY_SKIP_NEXT), 1)) return;
    c->flags = (c->flags & ~(uint32_t)CLIENT_REPLY_SKIP_NEXT) | CLIENT_REPLY_SKIP;
}

static inline void callRestoreReplySkip(struct client *c) {
    if (c->flags & CLIENT_PAUSED && c->flags & CLIENT_REPLY_SKIP) c->flags |= CLIENT_REPLY_SKIP_NEXT;
}

static __attribute__((noinline, cold)) enum admission callRunReplacement(struct call *call, struct client *c,
                                                                         enum requestOrigin origin) {
    struct request *original = call->request, *r = call_replacement;
    call->request = r;
    callMirror(c, r);
    dbSetKeyHashes(NULL, 0);
    if (origin == ORIGIN_CLIENT) c->lastcmd = r->cmd;
    enum admission verdict = admissionApplyAll(c, r, origin);
    call_replacement = NULL;
    if (verdict == ADMITTED)
        callRunHandler(call, c, r, origin);
    else if (verdict == REFUSED)
        callNoteRefusal(c, r, origin);
    else
        callRestoreReplySkip(c);
    call->request = original;
    callMirror(c, original);
    requestRelease(r);
    return verdict;
}

static inline __attribute__((always_inline)) bool callRun(struct client *c, struct request *r,
                                                          enum requestOrigin origin) {
    unsigned traits = origin_flags[origin];
    struct call *outer = call_running;
    struct call call = {
        .client = c, .request = r, .origin = origin, .slot = CALL_SLOT_NONE_YET, .outer = outer};
    call.owner = traits & TOP ? c : outer ? outer->owner : NULL;
    callBegin(&call, c, r);
    if (traits & TOP) {
        c->flags |= CLIENT_EXECUTING;
        pushBeginCommand(c);
    }
    if (origin == ORIGIN_CLIENT) {
        callTakeReplySkip(c);
        c->lastcmd = r->cmd;
    }
    enum admission verdict = admissionApply(c, r, origin);
    if (__builtin_expect(verdict == ADMITTED, 1))
        callRunHandler(&call, c, r, origin);
    else if (verdict == REFUSED)
        callNoteRefusal(c, r, origin);
    else if (verdict == REPLACED)
        verdict = callRunReplacement(&call, c, origin);
    else
        callRestoreReplySkip(c);
    if (traits & TOP) {
        c->flags &= ~(uint32_t)CLIENT_EXECUTING;
        if (origin == ORIGIN_CLIENT) callRunHooks(REQUEST_DONE, c);
        pushEndCommand();
    }
    callEnd(&call, c, outer);
    return verdict == ADMITTED;
}

/* The most frequent origin has its own copy of callRun, in which tests of the origin are constants. */
bool commandRun(struct client *c, struct request *r, enum requestOrigin origin) {
    if (__builtin_expect(origin == ORIGIN_CLIENT, 1)) return callRun(c, r, ORIGIN_CLIENT);
    return callRun(c, r, origin);
}

/* ---- Registration ---- */

static sds callInfo(sds s) {
    s = infoField(s, "total_commands_processed:%llu", (unsigned long long)callstats.processed);
    s = infoField(s, "unexpected_error_replies:%llu", (unsigned long long)callstats.unexpected_errors);
    return infoField(s, "total_error_replies:%llu", (unsigned long long)errorStatsTotal());
}

static void callResetStats(void) {
    callstats = (struct callStats){0};
    errorStatsReset();
}

void callInit(void) {
    infoRegister("stats", callInfo);
    configOnResetStat(callResetStats);
}
