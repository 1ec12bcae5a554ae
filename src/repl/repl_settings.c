/* SPDX-License-Identifier: BSD-3-Clause */
/* repl_settings.c - see repl_settings.h. */
#include "repl/repl_settings.h"

#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/rate.h"

#define SET CONFIG_MODIFIABLE

int64_t repl_timeout_s;
bool repl_disable_tcp_nodelay, repl_dual_channel, repl_diskless_sync;
bool replica_read_only, replica_serve_stale_data;
int64_t repl_min_replicas, repl_max_lag_s;
int repl_diskless_load;
static int compression;
struct replStats replstats;

static struct rate in_rate, out_rate;

static void replSettingsSampleRates(void) {
    rateSample(&in_rate, replstats.net_in);
    rateSample(&out_rate, replstats.net_out);
}

static sds replSettingsStatsInfo(sds s) {
    s = infoField(s, "total_net_repl_input_bytes:%llu", (unsigned long long)replstats.net_in);
    s = infoField(s, "total_net_repl_output_bytes:%llu", (unsigned long long)replstats.net_out);
    s = infoField(s, "instantaneous_input_repl_kbps:%.2f", (double)ratePerSecond(&in_rate) / 1024);
    s = infoField(s, "instantaneous_output_repl_kbps:%.2f", (double)ratePerSecond(&out_rate) / 1024);
    s = infoField(s, "sync_full:%llu", (unsigned long long)replstats.full);
    s = infoField(s, "sync_partial_ok:%llu", (unsigned long long)replstats.partial_ok);
    return infoField(s, "sync_partial_err:%llu", (unsigned long long)replstats.partial_err);
}

static void replSettingsResetStats(void) {
    replstats = (struct replStats){0};
    rateReset(&in_rate);
    rateReset(&out_rate);
}

static const struct configEnum diskless_load_names[] = {{"disabled", DISKLESS_LOAD_DISABLED},
                                                        {"on-empty-db", DISKLESS_LOAD_WHEN_EMPTY},
                                                        {"swapdb", DISKLESS_LOAD_SWAPDB},
                                                        {"flush-before-load", DISKLESS_LOAD_FLUSH},
                                                        {NULL, 0}};

enum { COMPRESSION_NO, COMPRESSION_YES, COMPRESSION_LZ4, COMPRESSION_ZSTD };
static const struct configEnum compression_names[] = {{"no", COMPRESSION_NO},
                                                      {"yes", COMPRESSION_YES},
                                                      {"lz4", COMPRESSION_LZ4},
                                                      {"zstd", COMPRESSION_ZSTD},
                                                      {NULL, 0}};

enum streamCodec replCompression(void) {
    if (compression == COMPRESSION_NO) return STREAM_PLAIN;
    return compression == COMPRESSION_ZSTD ? STREAM_ZSTD : STREAM_LZ4;
}

void replSettingsInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("dual-channel-replication-enabled", NULL, SET, &repl_dual_channel, false, NULL),
        {.name = "repl-compression",
         .type = CONFIG_TYPE_ENUM,
         .flags = SET,
         .var.e = &compression,
         .def = COMPRESSION_NO,
         .names = compression_names,
         .valid = streamNameIsAvailable},
        CONFIG_BOOL("repl-disable-tcp-nodelay", NULL, SET, &repl_disable_tcp_nodelay, false, NULL),
        CONFIG_ENUM("repl-diskless-load", NULL, SET | CONFIG_NOT_LOADING, &repl_diskless_load,
                    DISKLESS_LOAD_DISABLED, diskless_load_names, NULL),
        CONFIG_BOOL("repl-diskless-sync", NULL, SET, &repl_diskless_sync, true, NULL),
        CONFIG_INT("repl-timeout", NULL, SET, &repl_timeout_s, 60, 1, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("stats", replSettingsStatsInfo);
    cronRegister(replSettingsSampleRates, RATE_PERIOD_MS);
    configOnResetStat(replSettingsResetStats);
}
