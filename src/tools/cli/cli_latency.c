/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_latency.c - --latency, --latency-history, --latency-dist and --intrinsic-latency. Part of cli.h.
 *
 * The first three time PING, a hundred times per second; the last one times a short computation, which
 * shows how long the machine itself keeps a process waiting. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/cli/cli.h"

#define SAMPLE_GAP_US      10000
#define RAW_DEFAULT_US     1000000
#define HISTORY_DEFAULT_US 15000000
#define DIST_DEFAULT_US    1000000

static int64_t cliLatencyPingUs(struct cli *c) {
    static const struct str ping[] = {{"PING", 4}};
    struct respReply reply;
    int64_t start_us = monotonicUs();
    cliSendWords(c, 1, ping);
    cliExpect(c, &reply);
    int64_t us = monotonicUs() - start_us;
    respReplyFree(&reply);
    return us;
}

/* ---- --latency, --latency-history ---- */

struct latencySamples { /* in milliseconds */
    int64_t min, max, sum, count;
};

static void cliLatencyAddSample(struct latencySamples *s, int64_t ms) {
    if (s->count == 0 || ms < s->min) s->min = ms;
    if (ms > s->max) s->max = ms;
    s->sum += ms;
    s->count++;
}

static void cliLatencyPrintSamples(const struct cli *c, const struct latencySamples *s) {
    long long min = s->min, max = s->max, count = s->count;
    double avg = (double)s->sum / (double)s->count;
    switch (c->output) {
    case CLI_TTY: printf("min: %lld, max: %lld, avg: %.2f (%lld samples)", min, max, avg, count); break;
    case CLI_CSV: printf("%lld,%lld,%.2f,%lld\n", min, max, avg, count); break;
    case CLI_RAW: printf("%lld %lld %.2f %lld\n", min, max, avg, count); break;
    default: printf("{\"min\": %lld, \"max\": %lld, \"avg\": %.2f, \"count\": %lld}\n", min, max, avg, count);
    }
    fflush(stdout);
}

int cliLatency(struct cli *c) {
    bool history = c->mode == CLI_LATENCY_HISTORY, live = c->output == CLI_TTY;
    int64_t default_us = history ? HISTORY_DEFAULT_US : RAW_DEFAULT_US;
    int64_t interval_us = c->interval_us ? c->interval_us : default_us;
    struct latencySamples s = {0};
    for (int64_t start_us = monotonicUs();;) {
        cliLatencyAddSample(&s, cliLatencyPingUs(c) / 1000);
        int64_t now_us = monotonicUs();
        bool over = now_us - start_us > interval_us;
        if (live) {
            printf("\033[0G\033[2K"); /* restarts the line */
            cliLatencyPrintSamples(c, &s);
        } else if (over) {
            cliLatencyPrintSamples(c, &s);
            if (!history) return 0;
        }
        if (history && over) {
            if (live) printf(" -- %.2f seconds range\n", (double)(now_us - start_us) / 1e6);
            start_us = now_us;
            s = (struct latencySamples){0};
        }
        usleep(SAMPLE_GAP_US);
    }
}

/* ---- --latency-dist ---- */

/* There is a column for each doubling of the time (a millisecond is 1,024 us), from at most 16
 * microseconds to more than half a minute. A cell shows the tenths of the samples in it, as a digit and
 * a colour from blue to red. */
#define FIRST_LOG_US 4
#define COLUMNS      23
#define CELL_WIDTH   3
#define LABEL_EVERY  3 /* columns */

static const int heat[] = {17,  18,  25,  31,  37, 71,
                           142, 178, 208, 202, 196}; /* out of the 256 colours of terminals */

static int cliLatencyColumnOf(int64_t us) {
    int column = 0;
    while (column < COLUMNS - 1 && us > (int64_t)1 << (FIRST_LOG_US + column)) column++;
    return column;
}

/* Prints the upper ends of the columns below them. */
static void cliLatencyPrintAxis(void) {
    static const char *const units[] = {"us", "ms", "s"};
    for (int i = 0; i < COLUMNS - 1; i += LABEL_EVERY) {
        int log = FIRST_LOG_US + i, unit = log / 10;
        char label[16];
        snprintf(label, sizeof(label), "<=%d%s", 1 << log % 10, units[unit]);
        printf("%-*s", LABEL_EVERY * CELL_WIDTH, label);
    }
    printf("more\n");
}

static void cliLatencyPrintSpectrum(const int64_t *counts, int64_t total) {
    for (int i = 0; i < COLUMNS; i++) {
        int tenths = (int)(counts[i] * 10 / total);
        if (!counts[i])
            printf("%*s", CELL_WIDTH, ".");
        else
            printf("\033[48;5;%d;38;5;255m%*d\033[0m", heat[tenths], CELL_WIDTH, tenths);
    }
    printf("\n");
    fflush(stdout);
}

int cliLatencySpectrum(struct cli *c) {
    enum { AXIS_EVERY = 20 };
    int64_t interval_us = c->interval_us ? c->interval_us : DIST_DEFAULT_US;
    for (int line = 0;; line = (line + 1) % AXIS_EVERY) {
        int64_t counts[COLUMNS] = {0}, total = 0, start_us = monotonicUs();
        while (total == 0 || monotonicUs() - start_us < interval_us) {
            counts[cliLatencyColumnOf(cliLatencyPingUs(c))]++;
            total++;
            usleep(SAMPLE_GAP_US);
        }
        if (line == 0) cliLatencyPrintAxis();
        cliLatencyPrintSpectrum(counts, total);
    }
}

/* ---- --intrinsic-latency ---- */

/* Computes for some tens of nanoseconds; no compiler can remove it. */
static uint64_t cliLatencyComputeABit(uint64_t x) {
    for (int i = 0; i < 16; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static volatile sig_atomic_t stop_measuring;

static void cliLatencyOnInterrupt(int sig) {
    (void)sig;
    stop_measuring = 1;
}

int cliIntrinsicLatency(struct cli *c) {
    signal(SIGINT, cliLatencyOnInterrupt); /* Ctrl-C prints the figures so far */
    volatile uint64_t state = 88172645463325252u;
    int64_t start_us = monotonicUs(), end_us = start_us + c->intrinsic_s * 1000000, now_us = start_us;
    int64_t worst_us = 0, runs = 0;
    while (now_us < end_us && !stop_measuring) {
        state = cliLatencyComputeABit(state);
        int64_t before_us = now_us;
        now_us = monotonicUs();
        runs++;
        if (now_us - before_us <= worst_us) continue;
        worst_us = now_us - before_us;
        printf("Max latency so far: %lld microseconds.\n", (long long)worst_us);
        fflush(stdout);
        now_us = monotonicUs(); /* excludes the time for printing */
    }
    double avg_us = (double)(now_us - start_us) / (double)(runs ? runs : 1);
    printf("\n%lld total runs (avg latency: %.4f microseconds / %.2f nanoseconds per run).\n",
           (long long)runs, avg_us, avg_us * 1000);
    printf("Worst run took %.0fx longer than the average latency.\n",
           avg_us > 0 ? (double)worst_us / avg_us : 0);
    return 0;
}
