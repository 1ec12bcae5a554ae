/* benchmark_report.c - results as text: a summary, one line, or comma separated values. */
#include "tools/benchmark.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static double milliseconds(int64_t us) {
    return (double)us / 1000;
}

static double percentileMs(const struct benchResult *r, double percent) {
    return milliseconds(latenciesPercentile(r->latency, percent));
}

/* Leave the progress line behind. */
static void endProgress(const struct benchOptions *o) {
    if (benchProgressWanted(o)) printf("\r\033[K");
}

/* Every step halves what is left above: 0, 50, 75, 87.5 ... until nothing is. */
static void printDistribution(const struct benchResult *r) {
    printf("Latency by percentile distribution:\n");
    int64_t count = latenciesCount(r->latency), up_to = -1;
    for (double rest = 100; up_to < count; rest /= 2) {
        double percent = rest < 1e-6 ? 100 : 100 - rest;
        int64_t us = latenciesPercentile(r->latency, percent);
        up_to = latenciesCountUpTo(r->latency, us);
        printf("%.3f%% <= %.3f milliseconds (cumulative count %lld)\n", percent, milliseconds(us),
               (long long)up_to);
        if (percent == 100) break;
    }
    printf("\n");
}

static void printSummary(const struct benchOptions *o, const char *title, const struct benchResult *r) {
    printf("====== %s ======\n", title);
    printf("  %lld requests completed in %.2f seconds\n", (long long)r->replies, r->seconds);
    printf("  %d parallel clients\n", o->clients);
    printf("  %d bytes payload\n", o->data_size);
    printf("  pipeline: %d, threads: %d, seed: %llu\n\n", o->pipeline, o->threads,
           (unsigned long long)o->seed);
    printDistribution(r);
    printf("Summary:\n  throughput summary: %.2f requests per second\n", benchRps(r));
    printf("  latency summary (msec):\n    %9s %9s %9s %9s %9s %9s\n", "avg", "min", "p50", "p95", "p99",
           "max");
    printf("    %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f\n\n", latenciesMean(r->latency) / 1000,
           milliseconds(latenciesMin(r->latency)), percentileMs(r, 50), percentileMs(r, 95),
           percentileMs(r, 99), milliseconds(latenciesMax(r->latency)));
}

static void printCsvLine(const char *title, const struct benchResult *r) {
    benchPrintCsvString(title);
    printf(",\"%.2f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\"\n", benchRps(r),
           latenciesMean(r->latency) / 1000, milliseconds(latenciesMin(r->latency)), percentileMs(r, 50),
           percentileMs(r, 95), percentileMs(r, 99), milliseconds(latenciesMax(r->latency)));
}

bool benchProgressWanted(const struct benchOptions *o) {
    return !o->csv && o->server_count == 1 && isatty(STDOUT_FILENO);
}

void benchPrintProgress(const char *title, int64_t replies, double seconds) {
    printf("\r\033[K%s: %lld requests, rps=%.1f", title, (long long)replies,
           seconds > 0 ? (double)replies / seconds : 0);
    fflush(stdout);
}

void benchPrintCsvString(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"') putchar('"');
        putchar(*s);
    }
    putchar('"');
}

void benchPrintCsvHeader(void) {
    printf("\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\","
           "\"p99_latency_ms\",\"max_latency_ms\"\n");
}

void benchPrintResult(const struct benchOptions *o, const char *title, const struct benchResult *r) {
    endProgress(o);
    if (o->csv)
        printCsvLine(title, r);
    else if (o->quiet)
        printf("%s: %.2f requests per second, p50=%.3f msec\n", title, benchRps(r), percentileMs(r, 50));
    else
        printSummary(o, title, r);
    fflush(stdout);
    if (r->error_replies)
        fprintf(stderr, "%s: %lld error replies, the first: %s\n", title, (long long)r->error_replies,
                r->failure);
}

void benchPrintFailure(const struct benchOptions *o, const char *title, const struct benchResult *r) {
    endProgress(o);
    fflush(stdout);
    fprintf(stderr, "%s: failed: %s\n", title, r->failure);
}
