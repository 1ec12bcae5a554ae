/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_json.c - results as one JSON object, for programs. Part of benchmark.h.
 *
 *     {"version": "9.1.2", "options": {...}, "tests": [
 *       {"test": "SET", "requests": 100000, "seconds": 0.71, "rps": ..., "errors": 0,
 *        "latency_ms": {"avg": ..., "min": ..., "p50": ..., ..., "max": ...},
 *        "commands": [ the same of each part of a mix ]},
 *       {"test": "GET", "error": "why it ended"},
 *       {"test": "SET", "servers": [{"server": "ours", "rps": ..., ...}, ...]}     of a comparison
 *     ]}
 *
 * Latencies are in milliseconds. */
#include <stdio.h>
#include <string.h>

#include "base/json_escape.h"
#include "base/version.h"
#include "tools/benchmark/benchmark.h"

static bool any; /* a test has been written */

static void benchJsonPrintString(const char *text) {
    char piece[256];
    struct str rest = strOf(text);
    putchar('"');
    while (rest.len) {
        size_t len = jsonEscape(piece, sizeof piece, &rest);
        fwrite(piece, 1, len, stdout);
    }
    putchar('"');
}

/* Prints a member, unless the value is infinite or NaN, which JSON cannot represent. */
static void benchJsonPrintMember(const char *name, double value, bool first) {
    printf("%s\"%s\": %.6g", first ? "" : ", ", name, value == value && value < 1e300 ? value : 0);
}

static void benchJsonPrintLatencies(const struct latencies *l) {
    static const struct {
        const char *name;
        double percent;
    } shown[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};
    printf("\"latency_ms\": {");
    benchJsonPrintMember("avg", latenciesMean(l) / 1000, true);
    benchJsonPrintMember("min", (double)latenciesMin(l) / 1000, false);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        benchJsonPrintMember(shown[i].name, (double)latenciesPercentile(l, shown[i].percent) / 1000, false);
    benchJsonPrintMember("max", (double)latenciesMax(l) / 1000, false);
    putchar('}');
}

static void benchJsonPrintOptions(const struct benchOptions *o) {
    static const char *const kinds[] = {"uniform", "zipf", "gauss"};
    printf(
        "\"options\": {\"clients\": %d, \"pipeline\": %d, \"threads\": %d, \"data_size\": %d, \"range\": %lld, ",
        o->clients, o->pipeline, o->threads, o->data_size, (long long)(o->range < 0 ? 0 : o->range));
    printf(
        "\"keys\": \"%s\", \"rps\": %lld, \"duration\": %d, \"warmup\": %d, \"keepalive\": %s, \"cluster\": %s}",
        kinds[o->draw.kind], (long long)o->rps, o->duration_s, o->warmup_s, o->keepalive ? "true" : "false",
        o->cluster ? "true" : "false");
}

static void benchJsonBeginTest(const char *title) {
    printf("%s\n  {\"test\": ", any ? "," : "");
    benchJsonPrintString(title);
    any = true;
}

void benchJsonStart(const struct benchOptions *o) {
    printf("{\"version\": \"%s\", ", VALKEY_VERSION);
    benchJsonPrintOptions(o);
    printf(", \"tests\": [");
}

void benchJsonResult(const struct benchOptions *o, const char *title, const struct benchRequest *request,
                     const struct benchResult *r) {
    (void)o;
    benchJsonBeginTest(title);
    printf(", \"requests\": %lld, \"seconds\": %.6g, \"rps\": %.2f, \"errors\": %lld, ",
           (long long)r->replies, r->seconds, benchRps(r), (long long)r->error_replies);
    benchJsonPrintLatencies(r->latency);
    for (int i = 0; i < r->part_count; i++) {
        int64_t count = latenciesCount(r->parts[i]);
        printf("%s\n    {\"test\": ", i ? "," : ", \"commands\": [");
        benchJsonPrintString(request->parts[i].title);
        printf(", \"requests\": %lld, \"rps\": %.2f, ", (long long)count,
               r->seconds > 0 ? (double)count / r->seconds : 0);
        benchJsonPrintLatencies(r->parts[i]);
        putchar('}');
    }
    printf(r->part_count ? "]}" : "}");
}

void benchJsonFailure(const char *title, const char *why) {
    benchJsonBeginTest(title);
    printf(", \"error\": ");
    benchJsonPrintString(why);
    putchar('}');
}

void benchJsonComparison(const struct benchOptions *o, const char *title, const struct benchRow *rows) {
    benchJsonBeginTest(title);
    printf(", \"rounds\": %d, \"servers\": [", o->rounds);
    for (int i = 0; i < o->server_count; i++) {
        printf("%s\n    {\"server\": ", i ? "," : "");
        benchJsonPrintString(o->servers[i].label);
        benchJsonPrintMember("rps", rows[i].rps, false);
        benchJsonPrintMember("rps_min", rows[i].rps_min, false);
        benchJsonPrintMember("rps_max", rows[i].rps_max, false);
        benchJsonPrintMember("p99_ms", rows[i].p99_ms, false);
        benchJsonPrintMember("cpu_s_per_million", rows[i].cpu, false);
        putchar('}');
    }
    printf("]}");
}

void benchJsonEnd(void) {
    printf("\n]}\n");
}
