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
    bool serving;        /* the previous data is served meanwhile */
    bool aof;            /* type of the file */
    int64_t start_us;    /* wall clock */
    int64_t notified_ms; /* when modules were last notified of the progress */
    uint64_t total, loaded, served_at, used_memory;
} state;

void loadingReply(struct client *c) {
    replyErrorFmt(c, "LOADING %s is loading the dataset in memory", productTitle());
}

bool loadingActive(void) {
    return state.active;
}

/* Returns whether the request runs during a load. While the old data is served, writes to it would be lost
 * with it. Scripts and transactions are not refused for their contents: each of their commands is checked. */
static bool loadingAllows(const struct client *c, const struct request *r, enum requestOrigin origin) {
    if (state.serving) return !(r->cmd->flags & (CMD_NO_ASYNC_LOADING | CMD_WRITE));
    return origin != ORIGIN_CLIENT || commandFlags(c, r->cmd) & CMD_LOADING;
}

static enum admission loadingCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    if (loadingAllows(c, r, origin)) return ADMITTED;
    loadingReply(c);
    return REFUSED;
}

static void loadingInitState(enum eventLoading what, uint64_t total_bytes) {
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
    loadingInitState(what, total_bytes);
}

void loadingStartBeside(uint64_t total_bytes, bool serving) {
    db_loading = !serving;
    loadingInitState(EVENT_LOADS_PRIMARY, total_bytes);
    state.serving = serving;
}

static void loadingNoteUsedMemory(uint64_t bytes) {
    state.used_memory = bytes;
}

/* At start no turn uses clients, so closed ones can be freed here. */
static void loadingServeClients(void) {
    pauseEndOverdue();
    turnNested();
    if (!callOwner()) clientFreeClosed();
}

/* Notifies modules of the progress, at most hz times a second. */
static void loadingNotifyModules(void) {
    int64_t now_ms = mstime();
    if (!serverEventWanted(SERVER_LOADING_PROGRESS) || now_ms - state.notified_ms < 1000 / server_hz) return;
    state.notified_ms = now_ms;
    int progress = state.total ? (int)(1024 * state.loaded / state.total) : -1;
    serverEvent(SERVER_LOADING_PROGRESS, state.aof, &progress);
}

void loadingProgressDecoded(uint64_t bytes, uint64_t decoded) {
    state.loaded = bytes;
    if (decoded - state.served_at < (uint64_t)events_interval_bytes) return;
    state.served_at = decoded;
    loadingServeClients();
    loadingNotifyModules();
}

void loadingProgress(uint64_t bytes) {
    loadingProgressDecoded(bytes, bytes);
}

void loadingStartCommands(uint64_t bytes) {
    state.loaded = bytes;
    loadingNotifyModules();
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
    /* A stream of unknown length is assumed to be as long as the memory it was made from. */
    uint64_t whole = state.total ? state.total : state.used_memory;
    double share = whole ? (double)state.loaded / (double)whole : 0;
    if (share > 1) share = 1;
    /* Estimated from the time per byte so far; 1 while nothing is known. */
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
