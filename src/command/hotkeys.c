/* SPDX-License-Identifier: BSD-3-Clause */
/* hotkeys.c - see hotkeys.h.
 *
 *     turn ──▶ sampled request ──▶ hook after each of its commands ──▶ window ──▶ finished ──▶ HOTKEYS GET
 *
 * One of 100 / hotkeys-sampling-percentage requests is sampled, at random distances, so that no rhythm of the
 * clients matters. The hook around commands is active only while a sampled request runs. The keys of its
 * commands (also of a transaction's or a script's) are counted in `window`, a Space-Saving table with more
 * counters than keys are shown (ds/top_keys.h). When the window closes, the first hotkeys-top-k keys become
 * `finished`, and the counting begins anew.
 *
 * A session of HOTKEYS START (hotkeys_session.h) is apart from the windows; GET shows it while it exists.
 *
 * Memory: a window has COUNTERS_PER_KEY counters for each key that is shown, COUNTERS_LEAST more, and keeps
 * TOP_KEYS_NAME_MAX bytes of a key: at most 12 MB with hotkeys-top-k 1000. */
#include "command/hotkeys.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/key_slot.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/hotkeys_session.h"
#include "commands/cmd_server.h"
#include "data/keyspace/hooks.h"
#include "data/keyspace/keyspace.h"
#include "ds/top_keys.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define COUNTERS_PER_KEY 8
#define COUNTERS_LEAST   64
#define TICK_MS          100
#define NEVER            (INT64_MAX / 2) /* requests */

static int64_t top_k, sampling_percentage, window_seconds; /* the directives */

static struct {
    struct topKeys keys; /* capacity 0: no window is open */
    int64_t began_us;
    uint64_t samples;
    double rate, log_of_unsampled; /* the part of requests that is sampled; log(1 - rate) */
} window;

struct hotkey {
    sds name;
    int db;
    int64_t qps;
};
static struct {
    struct hotkey *keys; /* the hottest first; NULL: none */
    int count;
    uint64_t samples;
    int64_t duration_ms;
} finished;

int64_t hotkeys_until_sample = NEVER;
static struct client *sampled; /* NULL: no sampled request runs */

/* ---- Sampling ---- */

bool hotkeysAreCounted(void) {
    return window.keys.capacity;
}

/* Draws from the geometric distribution: each request is sampled with the same probability. */
int64_t hotkeysNextGap(void) {
    if (!hotkeysAreCounted()) return NEVER;
    if (window.rate >= 1) return 0;
    double gap = log1p(-randomDouble()) / window.log_of_unsampled;
    return gap < (double)NEVER ? (int64_t)gap : NEVER;
}

static void hotkeysCountKey(struct str key, uint64_t hash, const struct db *db) {
    topKeysCount(&window.keys, (struct topKeyId){hash, (uint32_t)db->id, (uint32_t)key.len}, key, 1);
    window.samples++;
}

/* Scripts only declare their keys: what they use is counted by the commands that they call. */
static bool hotkeysSkipsCommand(const struct serverCommand *cmd) {
    return cmd->acl & ACL_SCRIPTING || (cmd->parent && strcmp(cmd->parent->fullname, "object") == 0);
}

static void hotkeysAfterCall(struct client *c) {
    const struct request *r = c->request;
    const struct serverCommand *cmd = r->cmd;
    if (callOwner() != sampled || !hotkeysAreCounted() || hotkeysSkipsCommand(cmd)) return;
    int pos = cmd->only_key.pos;
    if (pos > 0 && !(cmd->only_key.flags & KEY_NOT_KEY)) {
        bool hashed = r->key_hashes && r->key_count;
        hotkeysCountKey(r->argv[pos], hashed ? r->key_hashes[0].hash : keyHash(r->argv[pos]), c->db);
        return;
    }
    struct keyRef *keys = NULL;
    int count = commandGetKeyRefs(cmd, r->argv, r->argc, &keys);
    for (int i = 0; i < count; i++) {
        struct str key = r->argv[keys[i].pos];
        hotkeysCountKey(key, keyHash(key), c->db);
    }
    zfree(keys);
}

bool hotkeysBeginSample(struct client *c) {
    if (sampled || !c || c->flags & CLIENT_PRIMARY || !hotkeysAreCounted()) return false;
    sampled = c;
    callHookIdle(hotkeysAfterCall, false);
    return true;
}

void hotkeysEndSample(void) {
    serverAssert(sampled);
    sampled = NULL;
    callHookIdle(hotkeysAfterCall, true);
}

/* ---- Windows ---- */

static void hotkeysDropWindow(void) {
    topKeysFree(&window.keys);
    window.samples = 0;
    hotkeys_until_sample = NEVER;
}

/* Opens a window if keys are to be counted; what the last one has counted is dropped. */
static void hotkeysOpenWindow(void) {
    hotkeysDropWindow();
    if (!top_k) return;
    topKeysInit(&window.keys, (int)top_k * COUNTERS_PER_KEY + COUNTERS_LEAST);
    window.began_us = monotonicUs();
    window.rate = (double)sampling_percentage / 100;
    window.log_of_unsampled = log1p(-window.rate);
    hotkeys_until_sample = hotkeysNextGap();
}

static void hotkeysDropFinished(void) {
    for (int i = 0; i < finished.count; i++) sdsfree(finished.keys[i].name);
    zfree(finished.keys);
    memset(&finished, 0, sizeof finished);
}

/* Makes the window's keys the finished ones. The window stays as it is. */
static void hotkeysFinish(void) {
    int64_t elapsed_us = monotonicUs() - window.began_us;
    const struct topKey **ranked = zmalloc((size_t)window.keys.used * sizeof *ranked + 1);
    topKeysRank(&window.keys, ranked);
    hotkeysDropFinished();
    finished.duration_ms = (elapsed_us + 999) / 1000;
    finished.samples = window.samples;
    finished.count = window.keys.used < top_k ? window.keys.used : (int)top_k;
    finished.keys = zmalloc((size_t)finished.count * sizeof *finished.keys + 1);
    double seconds = (double)finished.duration_ms / 1000;
    for (int i = 0; i < finished.count; i++) {
        double uses = (double)(ranked[i]->count - ranked[i]->error) / window.rate;
        finished.keys[i] = (struct hotkey){.name = topKeysText(ranked[i]),
                                           .db = (int)ranked[i]->id.db,
                                           .qps = seconds > 0 ? llround(uses / seconds) : 0};
    }
    zfree(ranked);
}

/* Closes the window when its time is over. One that could not be closed in time says nothing about a known
 * time, so it is dropped. */
static void hotkeysTick(void) {
    if (!hotkeysAreCounted()) {
        if (top_k) hotkeysOpenWindow();
        return;
    }
    int64_t elapsed_us = monotonicUs() - window.began_us, window_us = window_seconds * 1000000;
    if (elapsed_us < window_us) return;
    if (elapsed_us <= 2 * window_us)
        hotkeysFinish();
    else
        hotkeysDropFinished();
    hotkeysOpenWindow();
}

/* Forgets all keys: the data has gone, or somebody wants to begin anew. */
static void hotkeysForget(void) {
    hotkeysDropFinished();
    if (window.samples)
        hotkeysOpenWindow();
    else
        window.began_us = monotonicUs();
}

/* ---- Commands ---- */

void hotkeysGetCommand(struct client *c) {
    if (hotkeysSessionExists()) {
        hotkeysSessionReply(c);
        return;
    }
    int count = finished.count < top_k ? finished.count : (int)top_k;
    replyArrayLen(c, count);
    for (int i = 0; i < count; i++) {
        replyMapLen(c, 3);
        replyBulkCstr(c, "key");
        replyBulk(c, sdsview(finished.keys[i].name));
        replyBulkCstr(c, "db");
        replyLongLong(c, finished.keys[i].db);
        replyBulkCstr(c, "qps");
        replyLongLong(c, finished.keys[i].qps);
    }
}

void hotkeysResetCommand(struct client *c) {
    if (hotkeysSessionRuns()) {
        replyError(c, "ERR hotkey tracking session in progress, stop tracking first");
        return;
    }
    hotkeysSessionForget();
    hotkeysForget();
    replyOk(c);
}

void hotkeysHelpCommand(struct client *c) {
    replyHelp(c,
              (const char *[]){
                  "GET",
                  "    The keys that clients used most in the last window of hotkeys-window-seconds,",
                  "    at most hotkeys-top-k, each with its database and its uses per second.",
                  "RESET",
                  "    Forget all keys, and begin a new window.",
                  "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
                  "    [SLOTS <count> <slot> ...]",
                  "    Begin a session: find the keys that take the most time (CPU) and bytes (NET), <k> of",
                  "    each, until STOP or for some seconds, of one in <ratio> commands. GET shows it.",
                  "STOP",
                  "    End the session. GET shows its results until RESET.",
                  NULL,
              });
}

/* ---- INFO, directives ---- */

static sds hotkeysShowInfo(sds s) {
    s = infoField(s, "hotkeys_last_window_samples:%llu", (unsigned long long)finished.samples);
    return infoField(s, "hotkeys_last_window_duration_ms:%lld", (long long)finished.duration_ms);
}

static bool hotkeysApply(const char **err) {
    (void)err;
    hotkeysOpenWindow();
    return true;
}

void hotkeysInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("hotkeys-top-k", NULL, CONFIG_MODIFIABLE, &top_k, 0, 0, 1000, hotkeysApply),
        CONFIG_INT("hotkeys-sampling-percentage", NULL, CONFIG_MODIFIABLE, &sampling_percentage, 1, 1, 100,
                   hotkeysApply),
        CONFIG_INT("hotkeys-window-seconds", NULL, CONFIG_MODIFIABLE, &window_seconds, 1, 1, 300,
                   hotkeysApply),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    callAddHook(CALL_AFTER, hotkeysAfterCall, true);
    data_hooks.keysDropped = hotkeysForget;
    infoRegister("hotkeys", hotkeysShowInfo);
    hotkeysSessionInit();
    cronRegister(hotkeysTick, TICK_MS);
}
