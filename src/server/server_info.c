/* SPDX-License-Identifier: BSD-3-Clause */
/* server_info.c - INFO about the process: its version, its CPU time, its rates. Also TIME and ROLE. */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include "server/server_info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/ticks.h"
#include "base/version.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "commands/cmd_server.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/info.h"
#include "registry/product.h"
#include "registry/rate.h"
#include "server/listen.h"

#define RUN_ID_LEN 40

static char run_id[RUN_ID_LEN + 1], clock_name[64];
static int64_t started_us;

/* ---- Rates ---- */

static struct rate ops_rate, in_rate, out_rate, cycle_rate;

/* ---- The event loop: a cycle lasts from waking up to going to sleep ---- */

static struct {
    uint64_t cycles, ticks;                                        /* reset with the statistics */
    uint64_t woken_at, active_ticks;                               /* since the start */
    uint64_t cron_ticks, longest_ticks, calls_at_wake, most_calls; /* reset with the statistics */
    uint64_t sample_cycles, sample_ticks;                          /* at the last sample */
    uint64_t mean_us[RATE_SAMPLES];                                /* mean duration of a cycle, per sample */
    int next;
} loop;

void serverInfoWake(void) {
    loop.woken_at = ticksNow();
    loop.calls_at_wake = callstats.processed;
}

void serverInfoCron(uint64_t ticks) {
    loop.cron_ticks += ticks;
}

void serverInfoSleep(void) {
    if (!loop.woken_at) return;
    uint64_t ticks = ticksNow() - loop.woken_at, calls = callstats.processed - loop.calls_at_wake;
    loop.cycles++;
    loop.ticks += ticks;
    loop.active_ticks += ticks;
    if (ticks > loop.longest_ticks) loop.longest_ticks = ticks;
    if (callstats.processed >= loop.calls_at_wake && calls > loop.most_calls) loop.most_calls = calls;
    loop.woken_at = 0;
}

static void serverInfoSampleLoop(void) {
    uint64_t cycles = loop.cycles - loop.sample_cycles, ticks = loop.ticks - loop.sample_ticks;
    loop.mean_us[loop.next++ % RATE_SAMPLES] = cycles ? ticks / ticks_per_us / cycles : 0;
    loop.sample_cycles = loop.cycles;
    loop.sample_ticks = loop.ticks;
}

static uint64_t serverInfoLoopMeanUs(void) {
    uint64_t sum = 0;
    for (int i = 0; i < RATE_SAMPLES; i++) sum += loop.mean_us[i];
    return sum / RATE_SAMPLES;
}

static void serverInfoResetLoop(void) {
    loop.cycles = loop.ticks = loop.sample_cycles = loop.sample_ticks = 0;
    loop.cron_ticks = loop.longest_ticks = loop.most_calls = 0;
}

/* ---- Sampling ---- */

static void serverInfoResetRates(void) {
    struct rate *rates[] = {&ops_rate, &in_rate, &out_rate, &cycle_rate};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) rateReset(rates[i]);
    memset(loop.mean_us, 0, sizeof loop.mean_us);
}

static void serverInfoSampleRates(void) {
    rateSample(&ops_rate, callstats.processed);
    rateSample(&in_rate, clientstats.net_in);
    rateSample(&out_rate, clientstats.net_out);
    rateSample(&cycle_rate, loop.cycles);
    serverInfoSampleLoop();
}

/* ---- Sections ---- */

const char *serverClockName(void) {
    if (ticks_per_us > 1)
        snprintf(clock_name, sizeof clock_name, "X86 TSC @ %llu ticks/us", (unsigned long long)ticks_per_us);
    else
        snprintf(clock_name, sizeof clock_name, "POSIX clock_gettime");
    return clock_name;
}

/* Facts that do not change after the start. */
static struct utsname system_name;
static char executable[PATH_MAX];

static void serverInfoReadSystem(void) {
    uname(&system_name);
    ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[n < 0 ? 0 : n] = 0;
}

static sds serverInfoProcessServerInfo(sds s) {
    int64_t now_us = ustime(), up_s = (now_us - started_us) / 1000000;
    s = infoField(s, "redis_version:%s", productRedisVersion());
    s = infoField(s, "server_name:%s", SERVER_NAME);
    s = infoField(s, "valkey_version:%s", VALKEY_VERSION);
    s = infoField(s, "valkey_release_stage:%s", VALKEY_RELEASE_STAGE);
    s = infoField(s, "skipstone_version:%s", PRODUCT_VERSION);
    s = infoField(s, "redis_git_sha1:%s", build_commit);
    s = infoField(s, "redis_git_dirty:%d", build_modified);
    s = infoField(s, "redis_build_id:%s", build_id);
    s = infoField(s, productIsRedis() ? "redis_mode:%s" : "server_mode:%s", roleModeText());
    s = infoField(s, "os:%s %s %s", system_name.sysname, system_name.release, system_name.machine);
    s = infoField(s, "arch_bits:%d", (int)sizeof(long) * 8);
    s = infoField(s, "monotonic_clock:%s", serverClockName());
    s = infoField(s, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    s = infoField(s, "process_id:%d", (int)getpid());
    s = infoField(s, "run_id:%s", run_id);
    s = infoField(s, "tcp_port:%d", listenPort());
    s = infoField(s, "server_time_usec:%lld", (long long)now_us);
    s = infoField(s, "uptime_in_seconds:%lld", (long long)up_s);
    s = infoField(s, "uptime_in_days:%lld", (long long)up_s / 86400);
    s = infoField(s, "hz:%lld", (long long)server_hz);
    s = infoField(s, "configured_hz:%lld", (long long)server_hz);
    s = infoField(s, "clients_hz:%lld", (long long)server_hz);
    s = infoField(s, "lru_clock:%u", lruClock());
    s = infoField(s, "executable:%s", executable);
    return infoField(s, "config_file:%s", configFilePath());
}

/* Fields that are always 0: reply buffers have a fixed size here. */
static sds serverInfoUnusedFields(sds s) {
    s = infoField(s, "reply_buffer_shrinks:0");
    return infoField(s, "reply_buffer_expands:0");
}

static sds serverStatsInfo(sds s) {
    s = infoField(s, "instantaneous_ops_per_sec:%llu", (unsigned long long)ratePerSecond(&ops_rate));
    s = infoField(s, "instantaneous_input_kbps:%.2f", (double)ratePerSecond(&in_rate) / 1024);
    s = infoField(s, "instantaneous_output_kbps:%.2f", (double)ratePerSecond(&out_rate) / 1024);
    s = infoField(s, "eventloop_cycles:%llu", (unsigned long long)loop.cycles);
    s = infoField(s, "eventloop_duration_sum:%llu", (unsigned long long)(loop.ticks / ticks_per_us));
    s = infoField(s, "eventloop_duration_cmd_sum:%llu", (unsigned long long)(callstats.ticks / ticks_per_us));
    s = infoField(s, "instantaneous_eventloop_cycles_per_sec:%llu",
                  (unsigned long long)ratePerSecond(&cycle_rate));
    s = infoField(s, "instantaneous_eventloop_duration_usec:%llu",
                  (unsigned long long)serverInfoLoopMeanUs());
    return serverInfoUnusedFields(s);
}

static sds serverInfoCpuFields(sds s, const char *prefix, const char *suffix, int who) {
    struct rusage ru;
    if (getrusage(who, &ru) != 0) return s;
    s = infoField(s, "%s_sys%s:%ld.%06ld", prefix, suffix, (long)ru.ru_stime.tv_sec,
                  (long)ru.ru_stime.tv_usec);
    return infoField(s, "%s_user%s:%ld.%06ld", prefix, suffix, (long)ru.ru_utime.tv_sec,
                     (long)ru.ru_utime.tv_usec);
}

static sds serverInfoCpuInfo(sds s) {
    s = serverInfoCpuFields(s, "used_cpu", "", RUSAGE_SELF);
    s = serverInfoCpuFields(s, "used_cpu", "_children", RUSAGE_CHILDREN);
    s = serverInfoCpuFields(s, "used_cpu", "_main_thread", RUSAGE_THREAD);
    uint64_t us = loop.active_ticks / ticks_per_us;
    return infoField(s, "used_active_time_main_thread:%llu.%06llu", (unsigned long long)us / 1000000,
                     (unsigned long long)us % 1000000);
}

static sds serverDebugInfo(sds s) {
    s = infoField(s, "eventloop_duration_cron_sum:%llu",
                  (unsigned long long)(loop.cron_ticks / ticks_per_us));
    s = infoField(s, "eventloop_duration_max:%llu", (unsigned long long)(loop.longest_ticks / ticks_per_us));
    return infoField(s, "eventloop_cmd_per_cycle_max:%llu", (unsigned long long)loop.most_calls);
}

/* The time stands still within EXEC, a script or a module's call, as it does for expiry. */
void timeCommand(struct client *c) {
    int64_t now_us = call_running->outer ? cmd_time_us : ustime();
    replyArrayLen(c, 2);
    replyBulkLongLong(c, now_us / 1000000);
    replyBulkLongLong(c, now_us % 1000000);
}

void serverInfoRegister(void) {
    static struct configDirective directives[] = {
        {.name = "hz",
         .type = CONFIG_TYPE_INT,
         .flags = CONFIG_MODIFIABLE,
         .var.i = &server_hz,
         .def = 10,
         .max = INT32_MAX,
         .clamp_min = 1,
         .clamp_max = 500},
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    started_us = ustime();
    serverInfoReadSystem();
    randomHexChars(run_id, RUN_ID_LEN);
    infoRegister("server", serverInfoProcessServerInfo);
    infoRegister("stats", serverStatsInfo);
    infoRegister("cpu", serverInfoCpuInfo);
    infoRegister("debug", serverDebugInfo);
    cronRegister(serverInfoSampleRates, 100);
    configOnResetStat(serverInfoResetLoop);
    configOnResetStat(serverInfoResetRates);
}
