/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_report.c - results as text: a summary, one line, or comma-separated values. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/benchmark/benchmark.h"

static double benchReportMilliseconds(int64_t us) {
    return (double)us / 1000;
}

static double benchReportPercentileMs(const struct benchResult *r, double percent) {
    return benchReportMilliseconds(latenciesPercentile(r->latency, percent));
}

void benchEndProgress(const struct benchOptions *o) {
    if (benchProgressWanted(o)) printf("\r\033[K");
}

static void benchReportPrintShare(double percent, int64_t us, int64_t count) {
    printf("%.3f%% <= %.3f milliseconds (cumulative count %lld)\n", percent, benchReportMilliseconds(us),
           (long long)count);
}

/* Prints percentiles 0, 50, 75, 87.5 ...: every step halves the remainder. Steps without new
 * observations are left out. */
static void benchReportPrintPercentiles(const struct benchResult *r) {
    int64_t count = latenciesCount(r->latency), up_to = -1;
    printf("Latency by percentile distribution:\n");
    for (double rest = 100; up_to < count && rest > 1e-9; rest /= 2) {
        int64_t us = latenciesPercentile(r->latency, 100 - rest), before = up_to;
        up_to = latenciesCountUpTo(r->latency, us);
        if (up_to != before) benchReportPrintShare(100 - rest, us, up_to);
    }
    benchReportPrintShare(100, latenciesMax(r->latency), count);
}

/* Prints the distribution in steps of 0.1 ms, from 2.1 ms on of 1 ms; the edges are those of a counter
 * with a resolution of 8 us. */
static void benchReportPrintCumulative(const struct benchResult *r) {
    int64_t count = latenciesCount(r->latency), up_to = -1;
    printf("\nCumulative distribution of latencies:\n");
    for (int64_t us = 100; up_to < count; us += us < 2100 ? 100 : 1000) {
        int64_t edge = us | 7, before = up_to;
        up_to = latenciesCountUpTo(r->latency, edge);
        if (up_to != before) benchReportPrintShare((double)up_to * 100 / (double)count, edge, up_to);
    }
}

/* Prints a directive of the server; `format` takes its name and value. */
static void benchReportPrintSetting(const struct benchOptions *o, const struct benchServer *server,
                                    const char *format, const char *name, bool *readable) {
    sds value = benchServerConfig(o, server, name);
    if (value)
        printf(format, name, o->cluster && !*value ? "NONE" : value);
    else if (*readable)
        fprintf(stderr, "The configuration of the server could not be read\n");
    *readable = *readable && value;
    sdsfree(value);
}

static void benchReportPrintSettings(const struct benchOptions *o) {
    bool readable = true;
    const char *format = o->cluster ? "    %s: %s\n" : "  host configuration \"%s\": %s\n";
    const struct benchTopology *t = o->cluster ? benchClusterNow(o->nodes) : NULL;
    if (t) printf("  cluster mode: yes (%d %s)\n", t->count, benchClusterKind(o));
    for (int i = 0; i < (t ? t->count : 1); i++) {
        const struct benchServer *server = t ? &t->nodes[i].server : &o->servers[0];
        if (t) printf("  node [%d] configuration:\n", i);
        benchReportPrintSetting(o, server, format, "save", &readable);
        benchReportPrintSetting(o, server, format, "appendonly", &readable);
    }
}

static void benchReportPrintSummary(const struct benchOptions *o, const char *title,
                                    const struct benchResult *r) {
    printf("====== %s ======\n", title);
    printf("  %lld requests completed in %.2f seconds\n", (long long)r->replies, r->seconds);
    printf("  %d parallel clients\n", o->clients);
    printf("  %d bytes payload\n", o->data_size);
    printf("  keep alive: %d\n", o->keepalive);
    benchReportPrintSettings(o);
    printf("  multi-thread: %s\n", o->threads > 1 ? "yes" : "no");
    if (o->threads > 1) printf("  threads: %d\n", o->threads);
    printf("\n");
    benchReportPrintPercentiles(r);
    benchReportPrintCumulative(r);
    printf("\nSummary:\n  throughput summary: %.2f requests per second\n", benchRps(r));
    printf("  latency summary (msec):\n    %9s %9s %9s %9s %9s %9s\n", "avg", "min", "p50", "p95", "p99",
           "max");
    int d = o->precision;
    printf("    %9.*f %9.*f %9.*f %9.*f %9.*f %9.*f\n\n", d, latenciesMean(r->latency) / 1000, d,
           benchReportMilliseconds(latenciesMin(r->latency)), d, benchReportPercentileMs(r, 50), d,
           benchReportPercentileMs(r, 95), d, benchReportPercentileMs(r, 99), d,
           benchReportMilliseconds(latenciesMax(r->latency)));
}

static void benchReportPrintCsvLine(const char *title, double rps, const struct latencies *l) {
    benchPrintCsvString(title);
    printf(",\"%.2f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\"\n", rps, latenciesMean(l) / 1000,
           benchReportMilliseconds(latenciesMin(l)), benchReportMilliseconds(latenciesPercentile(l, 50)),
           benchReportMilliseconds(latenciesPercentile(l, 95)),
           benchReportMilliseconds(latenciesPercentile(l, 99)), benchReportMilliseconds(latenciesMax(l)));
}

/* Returns the rate of one part of a mix. Parts are results of their own that share the time of the run. */
static double benchReportPartRps(const struct benchResult *r, int part) {
    return r->seconds > 0 ? (double)latenciesCount(r->parts[part]) / r->seconds : 0;
}

static void benchReportPrintParts(const struct benchOptions *o, const struct benchTest *test,
                                  const struct benchResult *r) {
    int d = o->precision;
    if (r->part_count && !o->quiet) printf("  by command:\n");
    for (int i = 0; i < r->part_count; i++) {
        const struct latencies *l = r->parts[i];
        printf("%s%s: %.2f requests per second, p50=%.*f p99=%.*f max=%.*f msec\n", o->quiet ? "  " : "    ",
               test->request->parts[i].title, benchReportPartRps(r, i), d,
               benchReportMilliseconds(latenciesPercentile(l, 50)), d,
               benchReportMilliseconds(latenciesPercentile(l, 99)), d,
               benchReportMilliseconds(latenciesMax(l)));
    }
    if (r->part_count && !o->quiet) printf("\n");
}

static void benchReportPrintCsv(const struct benchTest *test, const struct benchResult *r) {
    benchReportPrintCsvLine(test->title, benchRps(r), r->latency);
    for (int i = 0; i < r->part_count; i++)
        benchReportPrintCsvLine(test->request->parts[i].title, benchReportPartRps(r, i), r->parts[i]);
}

bool benchProgressWanted(const struct benchOptions *o) {
    return !o->csv && !o->json && isatty(STDOUT_FILENO);
}

static double benchReportRatio(double a, double b) {
    return b > 0 ? a / b : 0;
}

static size_t benchReportTerminalWidth(void) {
    struct winsize size = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* The line is cut at the edge of the terminal, since only one line can be redrawn; the most important
 * comes first. */
void benchPrintProgress(const char *title, const struct benchProgress *now,
                        const struct benchProgress *before) {
    int64_t replies = now->replies - before->replies;
    double share = now->share < 1 ? now->share : 1;
    sds line = share < 0 ? sdscatprintf(sdsempty(), "%s: warming up, ", title)
                         : sdscatprintf(sdsempty(), "%s: %.0f%%, ", title, share * 100);
    line =
        sdscatprintf(line, "rps=%.1f (overall: %.1f) avg_msec=%.3f (overall: %.3f)",
                     benchReportRatio((double)replies, now->seconds - before->seconds),
                     benchReportRatio((double)now->replies, now->seconds),
                     benchReportRatio((double)(now->latency_us - before->latency_us) / 1000, (double)replies),
                     benchReportRatio((double)now->latency_us / 1000, (double)now->replies));
    printf("\r\033[K%.*s", (int)(benchReportTerminalWidth() - 1), line);
    fflush(stdout);
    sdsfree(line);
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

void benchPrintResult(const struct benchOptions *o, const struct benchTest *test,
                      const struct benchResult *r) {
    const char *title = test->title;
    benchEndProgress(o);
    if (o->json)
        benchJsonResult(o, title, test->request, r);
    else if (o->csv)
        benchReportPrintCsv(test, r);
    else if (o->quiet)
        printf("%s: %.2f requests per second, p50=%.*f msec\n", title, benchRps(r), o->precision,
               benchReportPercentileMs(r, 50));
    else
        benchReportPrintSummary(o, title, r);
    if (!o->json && !o->csv) benchReportPrintParts(o, test, r);
    fflush(stdout);
    if (r->error_replies)
        fprintf(stderr, "%s: %lld error replies, the first: %s\n", title, (long long)r->error_replies,
                r->failure);
}

void benchPrintFailure(const struct benchOptions *o, const char *title, const struct benchResult *r) {
    benchEndProgress(o);
    if (o->json) benchJsonFailure(title, r->failure);
    fflush(stdout);
    fprintf(stderr,
            o->cluster ? "Error from server %s\nThe test %s has ended.\n"
                       : "Error from server: %s\nThe test %s has ended.\n",
            r->failure, title);
}
