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
 * HOTKEYS START, as Redis 8.6 has it, opens a session: one window with a size and a sampling of its own,
 * which stays open until STOP or the end of its duration, and which HOTKEYS GET shows meanwhile.
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
#include "commands/cmd_server.h"
#include "data/keyspace/hooks.h"
#include "data/keyspace/keyspace.h"
#include "ds/top_keys.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define COUNTERS_PER_KEY     8
#define COUNTERS_LEAST       64
#define TICK_MS              100
#define NEVER                (INT64_MAX / 2) /* requests */
#define SESSION_KEYS         10              /* COUNT's default */
#define SESSION_KEYS_MAX     64
#define SESSION_DURATION_MAX 1000000 /* seconds */

static int64_t top_k, sampling_percentage, window_seconds; /* the directives */

/* Redis's START; zeroed: there is none. */
struct hotkeysSession {
    int64_t top_k, ratio;
    int64_t duration_us; /* 0: until STOP */
    bool by_slot;
    uint8_t slots[KEY_SLOTS / 8]; /* with by_slot */
};
static struct hotkeysSession session;

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
    bool of_session;
} finished;

int64_t hotkeys_until_sample = NEVER;
static struct client *sampled; /* NULL: no sampled request runs */

static int64_t hotkeysTopK(void) {
    return session.top_k ? session.top_k : top_k;
}

/* ---- Sampling ---- */

/* Draws from the geometric distribution: each request is sampled with the same probability. */
int64_t hotkeysNextGap(void) {
    if (!window.keys.capacity) return NEVER;
    if (window.rate >= 1) return 0;
    double gap = log1p(-randomDouble()) / window.log_of_unsampled;
    return gap < (double)NEVER ? (int64_t)gap : NEVER;
}

static void hotkeysCountKey(struct str key, uint64_t hash, const struct db *db) {
    if (session.by_slot) {
        int slot = keySlot(key);
        if (!(session.slots[slot >> 3] >> (slot & 7) & 1)) return;
    }
    topKeysCount(&window.keys, (struct topKeyId){hash, (uint32_t)db->id, (uint32_t)key.len}, key);
    window.samples++;
}

/* Scripts only declare their keys: what they use is counted by the commands that they call. */
static bool hotkeysSkipsCommand(const struct serverCommand *cmd) {
    return cmd->acl & ACL_SCRIPTING || (cmd->parent && strcmp(cmd->parent->fullname, "object") == 0);
}

static void hotkeysAfterCall(struct client *c) {
    const struct request *r = c->request;
    const struct serverCommand *cmd = r->cmd;
    if (callOwner() != sampled || !window.keys.capacity || hotkeysSkipsCommand(cmd)) return;
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
    if (sampled || !c || c->flags & CLIENT_PRIMARY || !window.keys.capacity) return false;
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
    if (!hotkeysTopK()) return;
    topKeysInit(&window.keys, (int)hotkeysTopK() * COUNTERS_PER_KEY + COUNTERS_LEAST);
    window.began_us = monotonicUs();
    window.rate = session.top_k ? 1 / (double)session.ratio : (double)sampling_percentage / 100;
    window.log_of_unsampled = log1p(-window.rate);
    hotkeys_until_sample = hotkeysNextGap();
}

static void hotkeysDropFinished(void) {
    for (int i = 0; i < finished.count; i++) sdsfree(finished.keys[i].name);
    zfree(finished.keys);
    memset(&finished, 0, sizeof finished);
}

/* Returns the name of a key to show. Of a long key it says how many bytes are left out. */
static sds hotkeysNameOf(const struct topKey *k) {
    sds name = sdsdup(k->name);
    size_t rest = k->id.length - sdslen(name);
    return rest ? sdscatprintf(name, "... (%zu more bytes)", rest) : name;
}

/* Makes the window's keys the finished ones. The window stays as it is. */
static void hotkeysFinish(void) {
    int64_t elapsed_us = monotonicUs() - window.began_us;
    const struct topKey **ranked = zmalloc((size_t)window.keys.used * sizeof *ranked + 1);
    topKeysRank(&window.keys, ranked);
    hotkeysDropFinished();
    finished.duration_ms = (elapsed_us + 999) / 1000;
    finished.samples = window.samples;
    finished.of_session = session.top_k != 0;
    finished.count = window.keys.used < hotkeysTopK() ? window.keys.used : (int)hotkeysTopK();
    finished.keys = zmalloc((size_t)finished.count * sizeof *finished.keys + 1);
    double seconds = (double)finished.duration_ms / 1000;
    for (int i = 0; i < finished.count; i++) {
        double uses = (double)(ranked[i]->count - ranked[i]->error) / window.rate;
        finished.keys[i] = (struct hotkey){.name = hotkeysNameOf(ranked[i]),
                                           .db = (int)ranked[i]->id.db,
                                           .qps = seconds > 0 ? llround(uses / seconds) : 0};
    }
    zfree(ranked);
}

static void hotkeysStopSession(void) {
    hotkeysFinish();
    memset(&session, 0, sizeof session);
    hotkeysOpenWindow();
}

/* Closes the window when its time is over. One that could not be closed in time says nothing about a known
 * time, so it is dropped. */
static void hotkeysTick(void) {
    if (!window.keys.capacity) {
        if (hotkeysTopK()) hotkeysOpenWindow();
        return;
    }
    int64_t elapsed_us = monotonicUs() - window.began_us, window_us = window_seconds * 1000000;
    if (session.top_k) {
        if (session.duration_us && elapsed_us >= session.duration_us) hotkeysStopSession();
        return;
    }
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

/* Keys are shown while they are counted; those of a session until they are reset or replaced. */
void hotkeysGetCommand(struct client *c) {
    if (session.top_k) hotkeysFinish();
    int64_t most = finished.of_session ? finished.count : top_k;
    int count = finished.count < most ? finished.count : (int)most;
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
    hotkeysForget();
    replyOk(c);
}

void hotkeysStopCommand(struct client *c) {
    if (!session.top_k) {
        replyNull(c);
        return;
    }
    hotkeysStopSession();
    replyOk(c);
}

/* Parses METRICS count [CPU] [NET] from argv[2] on. As in Redis, unknown words among `count` are skipped.
 * Returns the index behind it, or 0 after replying an error. */
static int hotkeysParseMetrics(struct client *c) {
    int64_t count;
    int cpu = 0, net = 0;
    if (c->argc < 4 || !strIs(c->argv[2], "metrics"))
        return replyError(c, "ERR METRICS parameter is required");
    if (!string2ll(c->argv[3], &count) || count < 1 || count > 2)
        return replyError(c, "ERR METRICS count must be > 0 and <= 2");
    if (c->argc < 4 + count)
        return replyError(c, "ERR METRICS count does not match number of metric types provided");
    for (int i = 4; i < 4 + count; i++) {
        if (strIs(c->argv[i], "cpu") && cpu++)
            return replyError(c, "ERR METRICS CPU defined more than once!");
        if (strIs(c->argv[i], "net") && net++)
            return replyError(c, "ERR METRICS NET defined more than once!");
    }
    if (!cpu && !net) return replyError(c, "ERR METRICS no valid metrics passed. Supported: CPU|NET");
    return 4 + (int)count;
}

/* Parses SLOTS count slot... at argv[i]. Returns the index behind it, or 0 after replying an error. */
static int hotkeysParseSlots(struct client *c, int i, struct hotkeysSession *s) {
    int64_t count, slot;
    if (!keys_by_slot) return replyError(c, "ERR SLOTS parameter cannot be used in non-cluster mode");
    if (s->by_slot) return replyError(c, "ERR SLOTS parameter already specified");
    if (!string2ll(c->argv[i + 1], &count) || count < 1 || count > KEY_SLOTS)
        return replyError(c, "ERR SLOTS count must be between 1 and 16384");
    if (c->argc - i - 2 < count) return replyError(c, "ERR not enough slot numbers provided");
    s->by_slot = true;
    for (int at = i + 2; at < i + 2 + count; at++) {
        if (!string2ll(c->argv[at], &slot) || slot < 0 || slot >= KEY_SLOTS)
            return replyError(c, "ERR Invalid or out of range slot");
        if (s->slots[slot >> 3] >> (slot & 7) & 1) return replyError(c, "ERR duplicate slot number");
        s->slots[slot >> 3] |= (uint8_t)(1 << (slot & 7));
    }
    return i + 2 + (int)count;
}

/* Parses the option at argv[i]. Returns the index behind it, or 0 after replying an error. */
static int hotkeysParseOption(struct client *c, int i, struct hotkeysSession *s) {
    int64_t n;
    if (i + 1 >= c->argc) return replySyntaxError(c);
    bool is_number = string2ll(c->argv[i + 1], &n);
    if (strIs(c->argv[i], "count")) {
        if (!is_number || n < 1 || n > SESSION_KEYS_MAX)
            return replyError(c, "ERR COUNT must be between 1 and 64");
        s->top_k = n;
    } else if (strIs(c->argv[i], "duration")) {
        if (!is_number || n < 1 || n > SESSION_DURATION_MAX)
            return replyError(c, "ERR DURATION must be between 1 and 1000000");
        s->duration_us = n * 1000000;
    } else if (strIs(c->argv[i], "sample")) {
        if (!is_number || n < 1 || n > INT32_MAX) return replyError(c, "ERR SAMPLE ratio must be positive");
        s->ratio = n;
    } else if (strIs(c->argv[i], "slots")) {
        return hotkeysParseSlots(c, i, s);
    } else {
        return replySyntaxError(c);
    }
    return i + 2;
}

void hotkeysStartCommand(struct client *c) {
    if (session.top_k) {
        replyError(c, "ERR hotkey tracking session already in progress");
        return;
    }
    struct hotkeysSession s = {.top_k = SESSION_KEYS, .ratio = 1};
    int i = hotkeysParseMetrics(c);
    while (i && i < c->argc) i = hotkeysParseOption(c, i, &s);
    if (!i) return;
    session = s;
    hotkeysDropFinished();
    hotkeysOpenWindow();
    replyOk(c);
}

void hotkeysHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "GET",
                     "    The keys that clients used most in the last window of hotkeys-window-seconds,",
                     "    at most hotkeys-top-k, each with its database and its uses per second.",
                     "RESET",
                     "    Forget all keys, and begin a new window.",
                     "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
                     "    [SLOTS <count> <slot> ...]",
                     "    Count keys until STOP, whatever the directives say. Keys are ranked by their uses.",
                     "STOP",
                     "    End what START has begun. GET shows its keys until RESET.",
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
    if (!session.top_k) hotkeysOpenWindow();
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
    cronRegister(hotkeysTick, TICK_MS);
}
