/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_recorder.c - links are entries of one array that are never used twice, so that a test may still look
 * at one that was closed. Messages are dropped, and nothing is saved. */
#include "tests/sim/engine_recorder.h"

#include <string.h>

#include "base/assert.h"

struct engineRecord recorded_env;

static struct busLink *engineRecorderConnect(void *w, const char *ip, uint16_t port) {
    (void)w, (void)ip, (void)port;
    serverAssert(recorded_env.link_count < RECORDED_LINKS_MAX);
    return &recorded_env.links[recorded_env.link_count++];
}
static void engineRecorderClose(void *w, struct busLink *link) {
    (void)w, (void)link;
    recorded_env.closed_count++;
}
static void engineRecorderSend(void *w, struct busLink *link, const char *bytes, size_t len) {
    (void)w, (void)link, (void)bytes, (void)len;
}
static void engineRecorderSave(void *w, bool sync) {
    (void)w, (void)sync;
}
static uint64_t engineRecorderRandom(void *w) {
    static uint64_t x;
    (void)w;
    return x += 0x9e3779b97f4a7c15ULL;
}
static struct engineReplication engineRecorderReplication(void *w) {
    (void)w;
    return recorded_env.replication;
}
static void engineRecorderFollow(void *w, struct clusterNode *primary, bool full_sync) {
    (void)w;
    recorded_env.follow_count++;
    recorded_env.follows_nobody = !primary;
    recorded_env.follows_anew = full_sync;
    if (primary) memcpy(recorded_env.followed_ip, primary->ip, NODE_IP_LEN);
}
static void engineRecorderPause(void *w, int64_t until_ms) {
    (void)w, (void)until_ms;
}
static uint64_t engineRecorderKeysInSlot(void *w, int slot) {
    return (void)w, (void)slot, 0;
}
static void engineRecorderDeleteSlot(void *w, int slot) {
    (void)w, (void)slot;
}
static void engineRecorderSlotsChanged(void *w) {
    (void)w;
}
static void engineRecorderStateChanged(void *w, bool ok) {
    (void)w, (void)ok;
}
static bool engineRecorderSlotGranted(void *w, int slot, const struct clusterNode *to) {
    return (void)w, (void)slot, (void)to, false;
}
static void engineRecorderLog(void *w, int level, const char *line) {
    (void)w, (void)level, (void)line;
}

const struct engineEnv engine_recorder = {.connect = engineRecorderConnect,
                                          .close = engineRecorderClose,
                                          .send = engineRecorderSend,
                                          .save = engineRecorderSave,
                                          .random = engineRecorderRandom,
                                          .replication = engineRecorderReplication,
                                          .follow = engineRecorderFollow,
                                          .pause = engineRecorderPause,
                                          .keysInSlot = engineRecorderKeysInSlot,
                                          .deleteSlot = engineRecorderDeleteSlot,
                                          .slotsChanged = engineRecorderSlotsChanged,
                                          .stateChanged = engineRecorderStateChanged,
                                          .slotGranted = engineRecorderSlotGranted,
                                          .log = engineRecorderLog};

void engineRecorderReset(int64_t now_ms) {
    recorded_env = (struct engineRecord){
        .replication = {.offset = 100, .link_up = true, .whole = true, .data_ms = now_ms}};
}
