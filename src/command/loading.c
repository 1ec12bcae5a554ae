/* SPDX-License-Identifier: BSD-3-Clause */
/* loading.c - see loading.h. */
#include "command/loading.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/pause.h"
#include "command/turn.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb_dataset.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/product.h"

static int64_t events_interval_bytes;

static struct {
    bool active;
    bool serving;     /* from what was there before */
    bool aof;         /* what is read */
    int64_t start_us; /* wall clock */
    int64_t told_ms;  /* when modules last heard how far it is */
    uint64_t total, loaded, served_at, used_memory;
} state;

void loadingReply(struct client *c) {
    replyErrorFmt(c, "LOADING %s is loading the dataset in memory", productTitle());
}

bool loadingActive(void) {
    return state.active;
}

/* While the old data is served, what is written to it would be lost with it. Scripts and transactions as such
 * are not refused for what may be in them: their commands are asked one by one. */
static bool loadingGoesOn(const struct client *c, const struct request *r, enum requestOrigin origin) {
    if (state.serving) return !(r->cmd->flags & (CMD_NO_ASYNC_LOADING | CMD_WRITE));
    return origin != ORIGIN_CLIENT || commandFlags(c, r->cmd) & CMD_LOADING;
}

static enum admission loadingCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    if (loadingGoesOn(c, r, origin)) return ADMITTED;
    loadingReply(c);
    return REFUSED;
}

static void commandLoadingStart(enum eventLoading what, uint64_t total_bytes) {
    admissionIdle(RULE_LOADING, false);
    memset(&state, 0, sizeof state);
    state.active = true;
    state.start_us = ustime();
    state.total = total_bytes;
    state.aof = what == EVENT_LOADS_AOF;
    serverEvent(SERVER_LOADING, what, NULL);
}

void loadingStart(enum eventLoading what, uint64_t total_bytes) {
    db_loading = true;
    commandLoadingStart(what, total_bytes);
}

void loadingStartBeside(uint64_t total_bytes, bool serving) {
    db_loading = !serving;
    commandLoadingStart(EVENT_LOADS_PRIMARY, total_bytes);
    state.serving = serving;
}

static void loadingNoteUsedMemory(uint64_t bytes) {
    state.used_memory = bytes;
}

/* At start no round holds clients, so those that have gone can be freed. */
static void loadingServeClients(void) {
    pauseEndOverdue();
    turnNested();
    if (!callOwner()) clientFreeClosed();
}

/* At most hz times a second. */
static void loadingTellModules(void) {
    int64_t now_ms = mstime();
    if (!serverEventWanted(SERVER_LOADING_PROGRESS) || now_ms - state.told_ms < 1000 / server_hz) return;
    state.told_ms = now_ms;
    int progress = state.total ? (int)(1024 * state.loaded / state.total) : -1;
    serverEvent(SERVER_LOADING_PROGRESS, state.aof, &progress);
}

void loadingProgress(uint64_t bytes) {
    state.loaded = bytes;
    if (bytes - state.served_at < (uint64_t)events_interval_bytes) return;
    state.served_at = bytes;
    loadingServeClients();
    loadingTellModules();
}

void loadingBegun(uint64_t bytes) {
    state.loaded = bytes;
    loadingTellModules();
}

void loadingWait(int64_t max_ms) {
    loadingServeClients();
    if (!turnPending() && !connHasPending(server_el)) aeWaitForEvent(server_el, max_ms);
}

void loadingStop(bool success) {
    db_loading = state.active = state.serving = false;
    admissionIdle(RULE_LOADING, true);
    serverEvent(SERVER_LOADING, success ? EVENT_LOADED : EVENT_NOT_LOADED, NULL);
}

static sds loadingInfo(sds s) {
    s = infoField(s, "loading:%d", state.active && !state.serving);
    s = infoField(s, "async_loading:%d", state.serving);
    if (!state.active) return s;
    int64_t elapsed_s = (ustime() - state.start_us) / 1000000;
    /* A stream whose length nobody knows is about as long as the memory that it came from is large. */
    uint64_t whole = state.total ? state.total : state.used_memory;
    double share = whole ? (double)state.loaded / (double)whole : 0;
    if (share > 1) share = 1;
    /* The rest takes as long, byte for byte; 1 while nothing can be said yet. */
    int64_t eta_s = elapsed_s == 0 || share <= 0 ? 1 : (int64_t)((double)elapsed_s * (1 - share) / share);
    s = infoField(s, "loading_start_time:%lld", (long long)(state.start_us / 1000000));
    s = infoField(s, "loading_total_bytes:%llu", (unsigned long long)state.total);
    s = infoField(s, "loading_rdb_used_mem:%llu", (unsigned long long)state.used_memory);
    s = infoField(s, "loading_loaded_bytes:%llu", (unsigned long long)state.loaded);
    s = infoField(s, "loading_loaded_perc:%.2f", share * 100);
    return infoField(s, "loading_eta_seconds:%lld", (long long)eta_s);
}

void loadingInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("loading-process-events-interval-bytes", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN,
                   &events_interval_bytes, 2 * 1024 * 1024, 1024, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("persistence", loadingInfo);
    admissionFill(RULE_LOADING, loadingCheck);
    admissionIdle(RULE_LOADING, true);
    dbAddExpiryVeto(loadingActive);
    rdb_load_used_memory = loadingNoteUsedMemory;
}
