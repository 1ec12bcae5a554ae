/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_versus.c - a fair comparison of servers under the same load.
 *
 * The speed of a machine varies over time, so servers are measured in rounds instead of one after the
 * other; in a round each server runs the whole test once, alone, and the order rotates every round:
 *
 *     round 0   A B C
 *     round 1   B C A
 *     round 2   C A B
 *
 * Medians over the rounds are compared. CPU time is what the server itself reports (INFO), which other
 * load on the machine hardly changes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/zmalloc.h"
#include "tools/benchmark/benchmark.h"

struct samples { /* measurements of one server, one per round */
    double *rps, *cpu, *p99_ms;
    int count;
};

static int benchVersusCompareDoubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double benchVersusMedian(double *values, int count) {
    qsort(values, (size_t)count, sizeof(values[0]), benchVersusCompareDoubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool benchVersusFailed(const struct benchServer *server, const char *title, const char *why) {
    fprintf(stderr, "%s: %s: failed: %s\n", title, server->label, why);
    return false;
}

/* Measures one server in one round. */
static bool benchVersusMeasure(const struct benchOptions *o, const struct benchServer *server,
                               const struct benchTest *test, struct samples *s) {
    sds err = NULL;
    double before, after;
    if (!benchPrepare(o, server, test, &err)) goto refused;
    if (!benchServerCpu(o, server, &before, &err)) goto refused;
    struct benchResult r;
    sds shown = sdscatprintf(sdsempty(), "%s, round %d of %d, %s", test->title, s->count + 1, o->rounds,
                             server->label);
    bool ok = benchRun(o, server, test->request, shown, &r);
    sdsfree(shown);
    benchEndProgress(o);
    if (r.failure) benchVersusFailed(server, test->title, r.failure);
    double rps = benchRps(&r), replies = (double)r.replies;
    double p99_ms = (double)latenciesPercentile(r.latency, 99) / 1000;
    ok = ok && r.error_replies == 0;
    benchResultFree(&r);
    if (!ok) return false;
    if (!benchServerCpu(o, server, &after, &err)) goto refused;
    s->rps[s->count] = rps;
    s->cpu[s->count] = (after - before) / replies * 1e6;
    s->p99_ms[s->count++] = p99_ms;
    return true;

refused:
    benchVersusFailed(server, test->title, err);
    sdsfree(err);
    return false;
}

static bool benchVersusRunRounds(const struct benchOptions *o, const struct benchTest *test,
                                 struct samples *samples) {
    for (int round = 0; round < o->rounds; round++) {
        for (int i = 0; i < o->server_count; i++) {
            int server = (round + i) % o->server_count;
            if (!benchVersusMeasure(o, &o->servers[server], test, &samples[server])) return false;
        }
    }
    return true;
}

static void benchVersusPrintHeader(const struct benchOptions *o) {
    if (o->json) return;
    if (o->csv) {
        printf("\"test\",\"server\",\"rps_median\",\"rps_ratio\",\"rps_min\",\"rps_max\",\"p99_ms_median\","
               "\"cpu_s_per_million\",\"cpu_ratio\"\n");
        return;
    }
    printf("%lld requests, %d clients, pipeline %d, %d client threads; medians of %d interleaved rounds.\n"
           "Ratios are %s / %s.\n\n",
           (long long)o->requests, o->clients, o->pipeline, o->threads, o->rounds, o->servers[0].label,
           o->server_count == 2 ? o->servers[1].label : "the server of the row");
    printf("| test | server | requests/s | ratio | min .. max | p99 ms | CPU s per 1M | CPU ratio |\n");
    printf("|---|---|---:|---:|---:|---:|---:|---:|\n");
}

/* Writes a ratio, or nothing when the divisor is too small to be measured. */
static void benchVersusRatioText(char *buf, size_t size, double main_value, double other) {
    snprintf(buf, size, "%s", "");
    if (other > 0) snprintf(buf, size, "%.3f", main_value / other);
}

static void benchVersusPrintRow(const struct benchOptions *o, const char *title, int server,
                                const struct benchRow *main_row, const struct benchRow *r) {
    char rps_ratio[32], cpu_ratio[32];
    benchVersusRatioText(rps_ratio, sizeof(rps_ratio), main_row->rps, r->rps);
    benchVersusRatioText(cpu_ratio, sizeof(cpu_ratio), main_row->cpu, r->cpu);
    if (o->csv) {
        benchPrintCsvString(title);
        putchar(',');
        benchPrintCsvString(o->servers[server].label);
        printf(",%.2f,%s,%.2f,%.2f,%.3f,%.4f,%s\n", r->rps, rps_ratio, r->rps_min, r->rps_max, r->p99_ms,
               r->cpu, cpu_ratio);
        return;
    }
    printf("| %s | %s | %.0f | %s | %.0f .. %.0f | %.3f | %.3f | %s |\n", title, o->servers[server].label,
           r->rps, server ? rps_ratio : "", r->rps_min, r->rps_max, r->p99_ms, r->cpu,
           server ? cpu_ratio : "");
}

static void benchVersusPrintTest(const struct benchOptions *o, const char *title, struct samples *samples) {
    struct benchRow rows[BENCH_MAX_SERVERS];
    for (int i = 0; i < o->server_count; i++) {
        struct samples *s = &samples[i];
        rows[i].rps = benchVersusMedian(s->rps, s->count); /* sorts the samples */
        rows[i].rps_min = s->rps[0];
        rows[i].rps_max = s->rps[s->count - 1];
        rows[i].cpu = benchVersusMedian(s->cpu, s->count);
        rows[i].p99_ms = benchVersusMedian(s->p99_ms, s->count);
        if (!o->json) benchVersusPrintRow(o, title, i, &rows[0], &rows[i]);
    }
    if (o->json) benchJsonComparison(o, title, rows);
    fflush(stdout);
}

static bool benchVersusCompareOn(const struct benchOptions *o, const struct benchTest *test) {
    struct samples samples[BENCH_MAX_SERVERS] = {0};
    double *values = zcalloc((size_t)(3 * o->server_count * o->rounds), sizeof(double));
    for (int i = 0; i < o->server_count; i++) {
        samples[i].rps = values + (3 * i) * o->rounds;
        samples[i].cpu = values + (3 * i + 1) * o->rounds;
        samples[i].p99_ms = values + (3 * i + 2) * o->rounds;
    }
    bool ok = benchVersusRunRounds(o, test, samples);
    if (ok) benchVersusPrintTest(o, test->title, samples);
    zfree(values);
    return ok;
}

int benchVersus(const struct benchOptions *o, struct benchTest *tests, int count) {
    int status = 0;
    if (o->json) benchJsonStart(o);
    benchVersusPrintHeader(o);
    for (int i = 0; i < count; i++) {
        if (!benchVersusCompareOn(o, &tests[i])) status = 1;
    }
    if (o->json) benchJsonEnd();
    return status;
}
