/* loading.c - see loading.h. */
#include "command/loading.h"

#include <time.h>

#include "base/clock.h"
#include "client/client.h"
#include "command/admission.h"
#include "command/call.h"
#include "registry/config.h"
#include "data/db.h"
#include "data/rdb_dataset.h"
#include "registry/info.h"
#include "client/reply.h"
#include "command/round.h"

const char err_loading[] = "LOADING Valkey is loading the dataset in memory";

static int64_t events_interval_bytes;

static struct {
    bool from_aof;
    int64_t start_us; /* wall clock */
    uint64_t total, loaded, served_at, used_memory;
} state;

bool loadingActive(void) {
    return db_loading;
}
bool loadingFromAof(void) {
    return state.from_aof;
}

static enum admission checkLoading(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (commandFlags(c, r->cmd) & CMD_LOADING) return ADMITTED;
    replyError(c, err_loading);
    return REFUSED;
}

void loadingStart(uint64_t total_bytes, bool from_aof) {
    db_loading = true;
    admissionIdle(RULE_LOADING, false);
    state.from_aof = from_aof;
    state.start_us = ustime();
    state.total = total_bytes;
    state.loaded = state.served_at = state.used_memory = 0;
}

static void noteUsedMemory(uint64_t bytes) {
    state.used_memory = bytes;
}

/* At start no round holds clients, so those that have gone can be freed. */
static void serveClients(void) {
    roundNested();
    if (!callOwner()) clientFreeClosed();
}

void loadingProgress(uint64_t bytes) {
    state.loaded = bytes;
    if (bytes - state.served_at < (uint64_t)events_interval_bytes) return;
    state.served_at = bytes;
    serveClients();
}

void loadingStop(bool success) {
    (void)success;
    db_loading = false;
    admissionIdle(RULE_LOADING, true);
}

static sds loadingInfo(sds s) {
    s = infoField(s, "loading:%d", db_loading);
    s = infoField(s, "async_loading:0");
    if (!db_loading) return s;
    int64_t elapsed_s = (ustime() - state.start_us) / 1000000;
    double share = state.total ? (double)state.loaded / (double)state.total : 0;
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
    admissionFill(RULE_LOADING, checkLoading);
    admissionIdle(RULE_LOADING, true);
    dbAddExpiryVeto(loadingActive);
    rdb_load_used_memory = noteUsedMemory;
}
