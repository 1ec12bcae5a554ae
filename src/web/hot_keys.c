/* SPDX-License-Identifier: BSD-3-Clause */
/* hot_keys.c - see hot_keys.h. */
#include "web/hot_keys.h"

#include "base/hash_function.h"
#include "base/random.h"
#include "command/call.h"
#include "command/command.h"
#include "web/watch.h"

#define SKIP_BITS 5 /* bits of a random number: one of about 2^(SKIP_BITS-1) commands is sampled */
#define TICK_MS   1000
#define HALF      5 /* ticks until counts are halved */

static struct topKeys keys;
static uint64_t seen;
static unsigned skip, ticks;
static uint64_t
    random_state; /* state of xorshift, which is random enough not to follow the rhythm of pipelines */
static struct watch watch;

static unsigned hotKeysNextSkip(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 20) & ((1u << SKIP_BITS) - 1);
}

/* Keys whose names would be cut are left out: rights are checked by the whole name. */
static void hotKeysCount(struct str key, int db) {
    if (key.len > TOP_KEYS_NAME_MAX) return;
    topKeysCount(&keys, (struct topKeyId){hashBytes(key.ptr, key.len), (uint32_t)db, (uint32_t)key.len}, key,
                 1);
    seen++;
}

/* Samples the keys of a call: keys that were hashed ahead, or the only key of the command. */
static void hotKeysOnCall(struct client *c) {
    if (skip) {
        skip--;
        return;
    }
    skip = hotKeysNextSkip();
    const struct request *r = c->request;
    for (int i = 0; r->key_hashes && i < r->key_count; i++) hotKeysCount(r->key_hashes[i].key, c->db->id);
    int pos = r->key_hashes ? 0 : r->cmd->only_key.pos;
    if (pos > 0 && pos < r->argc) hotKeysCount(r->argv[pos], c->db->id);
}

static void hotKeysTick(void) {
    if (++ticks % HALF) return;
    topKeysHalve(&keys);
    seen /= 2;
}

static void hotKeysStart(void) {
    randomBytes(&random_state, sizeof random_state);
    random_state |= 1;
    topKeysInit(&keys, HOT_KEYS);
    callHookIdle(hotKeysOnCall, false);
}

static void hotKeysStop(void) {
    callHookIdle(hotKeysOnCall, true);
    topKeysFree(&keys);
    seen = 0;
}

void hotKeysInit(void) {
    callAddHook(CALL_AFTER, hotKeysOnCall, true);
    watch =
        (struct watch){.period_ms = TICK_MS, .start = hotKeysStart, .tick = hotKeysTick, .stop = hotKeysStop};
}

void hotKeysWatch(void) {
    watchKeepRunning(&watch);
}

const struct topKeys *hotKeysCurrent(uint64_t *count) {
    *count = seen;
    return &keys;
}
