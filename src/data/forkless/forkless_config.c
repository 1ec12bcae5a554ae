/* SPDX-License-Identifier: BSD-3-Clause */
/* forkless_config.c - what operators set and see of snapshots without a fork; see forkless.h. */
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "data/forkless/forkless.h"
#include "data/forkless/keyspace_walk.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/evict.h"
#include "registry/config.h"
#include "registry/info.h"
#include "registry/memory_report.h"

#define DEFAULT_BUFFER_LIMIT (256 * 1024 * 1024)
#define MB                   (1024.0 * 1024)

const char *(*forkless_module_veto)(void);
int64_t forkless_buffer_limit, forkless_spill_above;

enum saveMethod { SAVE_FORK, SAVE_FORKLESS };
static int default_method;

static enum childKind kind; /* of the running snapshot, or of the last */
static int64_t started_us;

bool forklessWanted(enum childKind wanted_for) {
    (void)wanted_for;
    if (default_method != SAVE_FORKLESS) return false;
    const char *reason = forkless_module_veto ? forkless_module_veto() : NULL;
    if (reason) serverLog(LL_NOTICE, "forkless-save: this snapshot uses a fork, as %s", reason);
    return !reason;
}

/* ---- Log ---- */

static const char *forklessKindName(void) {
    static const char *const names[CHILD_KINDS] = {
        [CHILD_RDB] = "RDB", [CHILD_AOF] = "AOF rewrite", [CHILD_SLOTS] = "slot migration"};
    serverAssert(kind > CHILD_NONE && kind < CHILD_KINDS && names[kind]);
    return names[kind];
}

void forklessLogStart(enum childKind started, uint64_t keys) {
    kind = started;
    started_us = monotonicUs();
    serverLog(LL_NOTICE, "forkless-save: %s: a snapshot of %llu keys begins", forklessKindName(),
              (unsigned long long)keys);
}

void forklessLogSpill(void) {
    serverLog(LL_NOTICE,
              "forkless-save: %s: clients change data faster than it can be written, so old values go to a "
              "temporary file meanwhile",
              forklessKindName());
}

void forklessLogSpillError(int error) {
    serverLog(
        LL_WARNING,
        "forkless-save: %s: old values can't be written to a temporary file (%s), so they wait in memory",
        forklessKindName(), strerror(error));
}

void forklessLogOverLimit(void) {
    sds limit = configAppendMemory(sdsempty(), forkless_buffer_limit);
    serverLog(LL_WARNING,
              "forkless-save: %s: clients have changed data faster than it could be written, and old values "
              "have reached forkless-buffer-limit (%s), so the snapshot fails",
              forklessKindName(), limit);
    sdsfree(limit);
}

void forklessLogEnd(int exit_code, int signal) {
    struct forklessStats stats;
    forklessGetStats(&stats);
    const char *how = signal ? "was cancelled" : exit_code ? "failed" : "is complete";
    serverLog(exit_code && !signal ? LL_WARNING : LL_NOTICE,
              "forkless-save: %s: the snapshot %s after %.3f seconds: %llu keys, %.1f MB, at most %.1f MB of "
              "old values waited to be written, %.1f MB went to a temporary file",
              forklessKindName(), how, (double)(monotonicUs() - started_us) / 1e6,
              (unsigned long long)stats.keys_processed, (double)stats.written / MB,
              (double)stats.peak_bytes / MB, (double)stats.spilled_bytes / MB);
}

/* ---- INFO ---- */

static sds forklessPersistenceInfo(sds s) {
    struct forklessStats stats;
    forklessGetStats(&stats);
    return infoField(s, "forkless_estimated_seconds_remaining:%lld", (long long)stats.seconds_left);
}

static sds forklessDebugInfo(sds s) {
    struct forklessStats stats;
    forklessGetStats(&stats);
    s = infoField(s, "forkless_current_item_ms:%lld", (long long)stats.item_ms);
    s = infoField(s, "forkless_current_queue_length:%llu", (unsigned long long)stats.queued);
    s = infoField(s, "forkless_queue_length_target:%llu", (unsigned long long)stats.target);
    s = infoField(s, "forkless_dbentries_queued:%llu", (unsigned long long)stats.keys_queued);
    s = infoField(s, "forkless_dbentries_processed:%llu", (unsigned long long)stats.keys_processed);
    return infoField(s, "forkless_spilled_bytes:%llu", (unsigned long long)stats.spilled_bytes);
}

static size_t forklessBufferMemory(void) {
    struct forklessStats stats;
    forklessGetStats(&stats);
    return stats.bytes;
}

/* Evicting keys would not free it before the end of the snapshot. */
static size_t forklessKeptMemory(void) {
    return largeValuesKeptBytes() + keyspaceWalksKeptBytes();
}

/* ---- Directives ---- */

/* There is nothing to enable: a snapshot without a fork needs no preparation. The name is accepted because
 * configuration files of Valkey 9.2 have it. */
static bool infrastructure_word;
static const struct configDirective infrastructure_values =
    CONFIG_BOOL("forkless-infrastructure-enabled", NULL, 0, &infrastructure_word, true, NULL);

static bool forklessSetInfrastructure(const struct configDirective *d, int argc, const struct str *argv,
                                      const char **err) {
    serverAssert(argc == 1);
    return configParse(d->like, argv[0], err);
}

static sds forklessGetInfrastructure(const struct configDirective *d) {
    (void)d;
    return sdsnew("yes");
}

void forklessConfigInit(void) {
    static const struct configEnum method_names[] = {
        {"fork", SAVE_FORK}, {"forkless", SAVE_FORKLESS}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_ENUM("bgsave-default-method", NULL, CONFIG_MODIFIABLE, &default_method, SAVE_FORK,
                    method_names, NULL),
        {.name = "forkless-infrastructure-enabled",
         .type = CONFIG_TYPE_SPECIAL,
         .set = forklessSetInfrastructure,
         .get = forklessGetInfrastructure,
         .like = &infrastructure_values,
         .def_string = "yes"},
        CONFIG_INT("forkless-buffer-limit", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &forkless_buffer_limit,
                   DEFAULT_BUFFER_LIMIT, 0, INT64_MAX, NULL),
        CONFIG_INT("forkless-spill-above", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY | CONFIG_HIDDEN,
                   &forkless_spill_above, 0, 0, INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("persistence", forklessPersistenceInfo);
    infoRegister("debug", forklessDebugInfo);
    memoryAddPart(MEMORY_SNAPSHOT, forklessBufferMemory);
    evictExempt(forklessBufferMemory);
    evictExempt(forklessKeptMemory);
}
