/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_report.c - LATENCY GRAPH and LATENCY DOCTOR: spikes for people to read.
 * Part of latency_commands.h. */
#include <stdio.h>

#include "client/client.h"
#include "client/reply.h"
#include "commands/cmd_server.h"
#include "registry/latency.h"

/* ---- GRAPH ----
 *
 * Each sample is a column, the oldest first. Its height shows where the value lies between the lowest and
 * the highest one shown. Its age is written below, from top to bottom. */

#define GRAPH_COLUMNS 80
#define GRAPH_ROWS    4
#define LABEL_SIZE    12

static const char tips[] = "_o#"; /* a row has three steps */
#define STEPS ((int)(GRAPH_ROWS * (sizeof tips - 1)))

struct latencyReportColumn {
    uint32_t ms;
    char label[LABEL_SIZE];
};

static void latencyReportAgeLabel(char label[LABEL_SIZE], int64_t age_s) {
    static const struct {
        int64_t below, unit;
        char letter;
    } units[] = {{60, 1, 's'}, {3600, 60, 'm'}, {86400, 3600, 'h'}, {INT64_MAX, 86400, 'd'}};
    int i = 0;
    if (age_s < 0) age_s = 0;
    while (age_s >= units[i].below) i++;
    snprintf(label, LABEL_SIZE, "%d%c", (int)(age_s / units[i].unit), units[i].letter);
}

/* Returns the character of a column at a height: empty above the tip, filled below it. */
static char latencyReportCell(const struct latencyReportColumn *col, uint32_t low, uint32_t high, int row) {
    int step = high == low ? 0 : (int)((uint64_t)(col->ms - low) * STEPS / (high - low));
    if (step >= STEPS) step = STEPS - 1;
    int tip_row = step / (int)(sizeof tips - 1);
    return row > tip_row ? ' ' : row < tip_row ? '|' : tips[step % (int)(sizeof tips - 1)];
}

static sds latencyReportDrawColumns(sds s, const struct latencyReportColumn *cols, int count, uint32_t low,
                                    uint32_t high) {
    for (int row = GRAPH_ROWS - 1; row >= 0; row--) {
        for (int i = 0; i < count; i++)
            s = sdscatlen(s, (char[]){latencyReportCell(&cols[i], low, high, row)}, 1);
        s = sdscat(s, "\n");
    }
    s = sdscatprintf(s, "%*s\n", count, "");
    size_t longest = 0;
    for (int i = 0; i < count; i++) {
        if (strlen(cols[i].label) > longest) longest = strlen(cols[i].label);
    }
    for (size_t line = 0; line < longest; line++) {
        for (int i = 0; i < count; i++) {
            char letter = line < strlen(cols[i].label) ? cols[i].label[line] : ' ';
            s = sdscatlen(s, &letter, 1);
        }
        s = sdscat(s, "\n");
    }
    return s;
}

static int latencyReportCollectColumns(const struct latencyEvent *e,
                                       struct latencyReportColumn cols[LATENCY_SAMPLES]) {
    int n = 0;
    int64_t now_s = ustime() / 1000000;
    for (int i = 0; i < LATENCY_SAMPLES; i++) {
        const struct latencySample *sample = latencySampleAt(e, i);
        if (!sample->time_s) continue;
        cols[n].ms = sample->ms;
        latencyReportAgeLabel(cols[n++].label, now_s - sample->time_s);
    }
    return n;
}

void latencyGraphCommand(struct client *c) {
    const struct latencyEvent *e = latencyFind(c->argv[2]);
    if (!e) {
        replyErrorFmt(c, "ERR No samples available for event '%.*s'", (int)c->argv[2].len, c->argv[2].ptr);
        return;
    }
    struct latencyReportColumn cols[LATENCY_SAMPLES];
    int count = latencyReportCollectColumns(e, cols);
    uint32_t low = UINT32_MAX, high = 0;
    for (int i = 0; i < count; i++) {
        if (cols[i].ms < low) low = cols[i].ms;
        if (cols[i].ms > high) high = cols[i].ms;
    }
    sds s = sdscatprintf(sdsempty(), "%s - high %u ms, low %u ms (all time high %u ms)\n", e->name, high, low,
                         e->worst_ms);
    for (int i = 0; i < GRAPH_COLUMNS; i++) s = sdscat(s, "-");
    s = sdscat(s, "\n");
    for (int i = 0; i < count; i += GRAPH_COLUMNS) {
        if (i) s = sdscat(s, "\n");
        int here = count - i < GRAPH_COLUMNS ? count - i : GRAPH_COLUMNS;
        s = latencyReportDrawColumns(s, cols + i, here, low, high);
    }
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

/* ---- DOCTOR ---- */

struct latencyReportSummary {
    int count;
    uint32_t min_ms;
    double average_ms, deviation_ms, period_s;
};

/* The deviation is the mean distance from the average, because spikes are not normally distributed. */
static void latencyReportSummarize(const struct latencyEvent *e, struct latencyReportSummary *sum) {
    *sum = (struct latencyReportSummary){.min_ms = UINT32_MAX};
    int64_t first_s = INT64_MAX, total_ms = 0;
    for (int i = 0; i < LATENCY_SAMPLES; i++) {
        const struct latencySample *sample = &e->samples[i];
        if (!sample->time_s) continue;
        sum->count++;
        total_ms += sample->ms;
        if (sample->ms < sum->min_ms) sum->min_ms = sample->ms;
        if (sample->time_s < first_s) first_s = sample->time_s;
    }
    sum->average_ms = (double)total_ms / sum->count;
    for (int i = 0; i < LATENCY_SAMPLES; i++) {
        if (!e->samples[i].time_s) continue;
        double distance = (double)e->samples[i].ms - sum->average_ms;
        sum->deviation_ms += (distance < 0 ? -distance : distance) / sum->count;
    }
    sum->period_s = (double)(ustime() / 1000000 - first_s) / sum->count;
}

enum {
    ADVICE_COMMANDS = 1,
    ADVICE_BIG_VALUES = 2,
    ADVICE_FORK = 4,
    ADVICE_DISK = 8,
    ADVICE_FSYNC = 16,
    ADVICE_EXPIRE = 32,
    ADVICE_EVICTION = 64,
    ADVICE_DEFRAG = 128,
    ADVICE_UNLINK = 256,
};

static const struct {
    const char *prefix; /* of the event's name */
    unsigned advice;
} causes[] = {
    {"command", ADVICE_COMMANDS | ADVICE_BIG_VALUES},
    {"fast-command", ADVICE_COMMANDS | ADVICE_BIG_VALUES},
    {"fork", ADVICE_FORK},
    {"aof-write", ADVICE_DISK | ADVICE_FSYNC},
    {"aof-fsync", ADVICE_DISK | ADVICE_FSYNC},
    {"aof-fstat", ADVICE_DISK},
    {"aof-rename", ADVICE_DISK},
    {"aof-rewrite", ADVICE_DISK},
    {"expire-cycle", ADVICE_EXPIRE | ADVICE_BIG_VALUES},
    {"expire-del", ADVICE_EXPIRE | ADVICE_BIG_VALUES},
    {"eviction-cycle", ADVICE_EVICTION | ADVICE_BIG_VALUES},
    {"eviction-del", ADVICE_EVICTION | ADVICE_BIG_VALUES},
    {"active-defrag-cycle", ADVICE_DEFRAG},
    {"rdb-unlink-temp-file", ADVICE_UNLINK},
};

static const struct {
    unsigned advice;
    const char *text;
} advices[] = {
    {ADVICE_COMMANDS,
     "Some commands are slow by themselves. SLOWLOG GET shows which; LATENCY HISTOGRAM shows how "
     "often. On a busy machine the server may also not get the CPU when it needs it."},
    {ADVICE_BIG_VALUES, "Reading or freeing very large values takes time. Split them, or free them in the "
                        "background: UNLINK instead of DEL, and the lazyfree-lazy-... directives."},
    {ADVICE_FORK,
     "Forking takes long when the process is large. Prefer machines whose hypervisor forks fast, and "
     "keep transparent huge pages off."},
    {ADVICE_DISK, "The disk is slow, or other processes keep it busy. Look at what else writes to it."},
    {ADVICE_FSYNC, "appendfsync everysec or no waits for the disk less often than always; "
                   "no-appendfsync-on-rewrite yes does not wait at all while a child writes."},
    {ADVICE_EXPIRE, "Many keys expire at the same time. Spread their expiry, or lower active-expire-effort."},
    {ADVICE_EVICTION, "The server has to evict keys to stay below maxmemory. Raise it, lower "
                      "maxmemory-eviction-tenacity, or add servers."},
    {ADVICE_DEFRAG,
     "Defragmentation works in slices that are too long for you: lower active-defrag-cycle-us or "
     "active-defrag-cycle-max."},
    {ADVICE_UNLINK, "Deleting a large file keeps the server waiting on this file system."},
};

struct latencyReportFindings {
    sds text;
    int events;
    unsigned advice;
};

static void latencyReportDescribeEvent(void *priv, struct latencyEvent *e) {
    struct latencyReportFindings *f = priv;
    struct latencyReportSummary sum;
    latencyReportSummarize(e, &sum);
    f->text = sdscatprintf(
        f->text,
        "%d. %s: %d latency spikes (average %.0fms, mean deviation %.0fms, period %.2f sec). "
        "Worst all time event %ums.\n",
        ++f->events, e->name, sum.count, sum.average_ms, sum.deviation_ms, sum.period_s, e->worst_ms);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (strncmp(e->name, causes[i].prefix, strlen(causes[i].prefix)) == 0) f->advice |= causes[i].advice;
    }
}

void latencyDoctorCommand(struct client *c) {
    struct latencyReportFindings f = {.text = sdsempty()};
    latencyForEach(latencyReportDescribeEvent, &f);
    if (!f.events && !latency_threshold_ms) {
        f.text = sdscat(f.text,
                        "Latency monitoring is disabled. CONFIG SET latency-monitor-threshold <milliseconds> "
                        "enables it; what takes as long is then remembered.\n");
    } else if (!f.events) {
        f.text = sdscat(f.text, "No latency spike has been observed so far.\n");
    } else {
        sds heading = sdsnew("Latency spikes have been observed:\n\n");
        sds both = sdscatstr(heading, sdsview(f.text));
        sdsfree(f.text);
        f.text = f.advice ? sdscat(both, "\nWhat may help:\n\n") : both;
        for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
            if (f.advice & advices[i].advice) f.text = sdscatprintf(f.text, "- %s\n", advices[i].text);
        }
    }
    replyVerbatim(c, sdsview(f.text), "txt");
    sdsfree(f.text);
}
