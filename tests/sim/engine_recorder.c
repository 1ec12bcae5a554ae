/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_recorder.c - links are entries of one array that are never used twice, so that a test may still look
 * at one that was closed. Messages are dropped, and nothing is saved. */
#include "tests/sim/engine_recorder.h"

#include <string.h>

#include "base/assert.h"

struct engineRecord recorded_env;

static struct busLink *engineRecorderConnect(void *ctx, const char *ip, uint16_t port) {
    (void)ctx, (void)ip, (void)port;
    serverAssert(recorded_env.link_count < RECORDED_LINKS_MAX);
    return &recorded_env.links[recorded_env.link_count++];
}
static void engineRecorderClose(void *ctx, struct busLink *link) {
    (void)ctx, (void)link;
    recorded_env.closed_count++;
}
static void engineRecorderSend(void *ctx, struct busLink *link, const char *bytes, size_t len) {
    (void)ctx, (void)link, (void)bytes, (void)len;
}
static void engineRecorderSave(void *ctx, bool sync) {
    (void)ctx, (void)sync;
}
static uint64_t engineRecorderRandom(void *ctx) {
    static uint64_t x;
    (void)ctx;
    return x += 0x9e3779b97f4a7c15ULL;
}
static struct engineReplication engineRecorderReplication(void *ctx) {
    (void)ctx;
    return recorded_env.replication;
}
static void engineRecorderFollow(void *ctx, struct clusterNode *primary, bool full_sync) {
    (void)ctx;
    recorded_env.follow_count++;
    recorded_env.follows_none = !primary;
    recorded_env.follows_full_sync = full_sync;
    if (primary) memcpy(recorded_env.followed_ip, primary->ip, NODE_IP_LEN);
}
static void engineRecorderPause(void *ctx, int64_t until_ms) {
    (void)ctx, (void)until_ms;
}
static void engineRecorderHoldAcks(void *ctx, bool hold) {
    (void)ctx;
    recorded_env.holds_acks = hold;
}
static uint64_t engineRecorderHistory(void *ctx) {
    (void)ctx;
    return recorded_env.history;
}
static uint64_t engineRecorderKeysInSlot(void *ctx, int slot) {
    return (void)ctx, (void)slot, 0;
}
static void engineRecorderDeleteSlot(void *ctx, int slot) {
    (void)ctx, (void)slot;
}
static void engineRecorderSlotsChanged(void *ctx) {
    (void)ctx;
}
static void engineRecorderStateChanged(void *ctx, bool ok) {
    (void)ctx, (void)ok;
}
static bool engineRecorderSlotGranted(void *ctx, int slot, const struct clusterNode *to) {
    return (void)ctx, (void)slot, (void)to, false;
}
static void engineRecorderLog(void *ctx, int level, const char *line) {
    (void)ctx, (void)level, (void)line;
}

const struct engineEnv engine_recorder = {.connect = engineRecorderConnect,
                                          .close = engineRecorderClose,
                                          .send = engineRecorderSend,
                                          .save = engineRecorderSave,
                                          .random = engineRecorderRandom,
                                          .replication = engineRecorderReplication,
                                          .follow = engineRecorderFollow,
                                          .pause = engineRecorderPause,
                                          .holdAcks = engineRecorderHoldAcks,
                                          .history = engineRecorderHistory,
                                          .keysInSlot = engineRecorderKeysInSlot,
                                          .deleteSlot = engineRecorderDeleteSlot,
                                          .slotsChanged = engineRecorderSlotsChanged,
                                          .stateChanged = engineRecorderStateChanged,
                                          .slotGranted = engineRecorderSlotGranted,
                                          .log = engineRecorderLog};

void engineRecorderReset(int64_t now_ms) {
    recorded_env = (struct engineRecord){
        .history = 1, .replication = {.offset = 100, .link_up = true, .whole = true, .data_ms = now_ms}};
}
