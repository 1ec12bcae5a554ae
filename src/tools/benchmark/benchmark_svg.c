/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_svg.c - charts of runs: latency (p50, p99, maximum; on a logarithmic scale) above the rate
 * of replies, over time. All charts go into one file, one below the other; light or dark as the reader's
 * system is. Part of benchmark.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/sds.h"
#include "tools/benchmark/benchmark.h"

/* Pixels. */
#define WIDTH       960
#define LEFT        72
#define RIGHT       24
#define HEAD        56
#define LATENCY     220
#define GAP         28
#define RATE        90
#define FOOT        44
#define CHART       (HEAD + LATENCY + GAP + RATE + FOOT)
#define PLOT        (WIDTH - LEFT - RIGHT)
#define LABELS_EACH 6

/* Colours are repeated in each rule, because viewers other than browsers ignore CSS variables and show
 * the light colours. The maximum is a broad pale line below the others, so that it stays visible under
 * them. */
static const char style[] =
    "<style>\n"
    "  text{font:12px system-ui,sans-serif;fill:#7b8794} .title{font-size:16px;font-weight:600;fill:#1f2933}\n"
    "  .paper{fill:#fff} .grid{stroke:#e4e7eb;stroke-width:1}\n"
    "  .line{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\n"
    "  .p50{stroke:#0b7285} .p99{stroke:#c2410c} .max{stroke:#cbd2d9;stroke-width:5} .rate{fill:#0b7285;opacity:.35}\n"
    "  @media(prefers-color-scheme:dark){\n"
    "    text{fill:#9aa5b1} .title{fill:#e4e7eb} .paper{fill:#12171c} .grid{stroke:#2a323b}\n"
    "    .p50{stroke:#4cc3d9} .p99{stroke:#ff9a5a} .max{stroke:#4b5763} .rate{fill:#4cc3d9}\n"
    "  }\n"
    "</style>\n";

static sds charts; /* charts made so far */
static int chart_count;

struct scale {
    double low, high; /* range of latencies, powers of ten of milliseconds */
    double rate_high; /* upper end of the rates */
    double seconds;
};

static sds benchSvgCatText(sds out, double x, double y, const char *attributes, const char *text) {
    out = sdscatprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    for (; *text; text++) {
        const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (entity)
            out = sdscat(out, entity);
        else if ((unsigned char)*text >= ' ')
            out = sdscatlen(out, text, 1);
    }
    return sdscat(out, "</text>\n");
}

/* Returns the smallest 1, 2 or 5 times a power of ten that is at least `value`. */
static double benchSvgRoundUp(double value) {
    double power = pow(10, floor(log10(value > 0 ? value : 1)));
    static const double steps[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++) {
        if (steps[i] * power >= value * 0.999999) return steps[i] * power;
    }
    return 10 * power;
}

static struct scale benchSvgScaleOf(const struct series *s) {
    double least = INFINITY, most = 0, rate = 0;
    for (int i = 0; i < seriesCount(s); i++) {
        struct seriesPoint p = seriesPoint(s, i);
        if (!p.count) continue;
        if (p.p50_ms < least) least = p.p50_ms;
        if (p.max_ms > most) most = p.max_ms;
        if (p.rate > rate) rate = p.rate;
    }
    if (!(least > 0.001)) least = 0.001;
    if (least > most) most = least;
    struct scale scale = {
        .low = floor(log10(least)), .high = ceil(log10(most)), .rate_high = benchSvgRoundUp(rate)};
    if (scale.high <= scale.low) scale.high = scale.low + 1;
    scale.seconds = seriesCount(s) * seriesWidth(s);
    return scale;
}

static double benchSvgXOf(const struct scale *scale, double seconds) {
    return LEFT + PLOT * (scale->seconds > 0 ? seconds / scale->seconds : 0);
}

static double benchSvgYOf(const struct scale *scale, double ms) {
    double power = log10(ms > 0.001 ? ms : 0.001);
    if (power < scale->low) power = scale->low;
    return HEAD + LATENCY * (1 - (power - scale->low) / (scale->high - scale->low));
}

/* Appends a line, which breaks at intervals without replies. Each piece begins with a point, which alone
 * is a dot. */
static sds benchSvgCatLine(sds out, const struct series *s, const struct scale *scale, const char *kind,
                           double (*value)(const struct seriesPoint *)) {
    bool open = false;
    out = sdscatprintf(out, "<path class=\"line %s\" d=\"", kind);
    for (int i = 0; i < seriesCount(s); i++) {
        struct seriesPoint p = seriesPoint(s, i);
        if (p.count)
            out = sdscatprintf(out, "%c%.1f %.1f%s", open ? 'L' : 'M',
                               benchSvgXOf(scale, p.seconds + seriesWidth(s) / 2),
                               benchSvgYOf(scale, value(&p)), open ? "" : "h0");
        open = p.count > 0;
    }
    return sdscat(out, "\"/>\n");
}

static double benchSvgP50(const struct seriesPoint *p) {
    return p->p50_ms;
}
static double benchSvgP99(const struct seriesPoint *p) {
    return p->p99_ms;
}
static double benchSvgMax(const struct seriesPoint *p) {
    return p->max_ms;
}

static sds benchSvgCatRate(sds out, const struct series *s, const struct scale *scale) {
    double base = HEAD + LATENCY + GAP + RATE;
    out = sdscat(out, "<path class=\"rate\" d=\"");
    for (int i = 0; i < seriesCount(s); i++) {
        struct seriesPoint p = seriesPoint(s, i);
        double height = RATE * p.rate / scale->rate_high;
        out = sdscatprintf(out, "M%.1f %.1fh%.1fv%.1fh%.1fz", benchSvgXOf(scale, p.seconds), base,
                           PLOT * seriesWidth(s) / scale->seconds, -height,
                           -PLOT * seriesWidth(s) / scale->seconds);
    }
    return sdscat(out, "\"/>\n");
}

static sds benchSvgCatGridLine(sds out, double y, const char *label) {
    out = sdscatprintf(out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>\n", LEFT, y, PLOT);
    return benchSvgCatText(out, LEFT - 8, y + 4, " text-anchor=\"end\"", label);
}

static sds benchSvgCatAxes(sds out, const struct scale *scale) {
    char label[64];
    for (int power = (int)scale->low; power <= (int)scale->high; power++) {
        snprintf(label, sizeof label, "%g ms", pow(10, power));
        out = benchSvgCatGridLine(out, benchSvgYOf(scale, pow(10, power)), label);
    }
    for (int i = 0; i <= 1; i++) {
        snprintf(label, sizeof label, "%.0f/s", i * scale->rate_high);
        out = benchSvgCatGridLine(out, HEAD + LATENCY + GAP + RATE - i * RATE, label);
    }
    double step = benchSvgRoundUp(scale->seconds / LABELS_EACH);
    for (double t = 0; t <= scale->seconds * 1.0001; t += step) {
        snprintf(label, sizeof label, "%g s", t);
        out =
            benchSvgCatText(out, benchSvgXOf(scale, t), CHART - FOOT + 20, " text-anchor=\"middle\"", label);
    }
    return out;
}

static sds benchSvgCatLegend(sds out) {
    static const char *const names[] = {"p50", "p99", "max"};
    for (int i = 0; i < 3; i++) {
        double x = WIDTH - RIGHT - 70 * (3 - i);
        out = sdscatprintf(out, "<path class=\"line %s\" d=\"M%.1f %dh18\"/>\n", names[i], x, HEAD - 20);
        out = benchSvgCatText(out, x + 24, HEAD - 16, "", names[i]);
    }
    return out;
}

static sds benchSvgCatChart(sds out, const char *title, const struct series *s) {
    struct scale scale = benchSvgScaleOf(s);
    out = sdscatprintf(out, "<g transform=\"translate(0 %d)\">\n", chart_count * CHART);
    out = benchSvgCatText(out, LEFT, HEAD - 16, " class=\"title\"", title);
    if (seriesCount(s) == 0) return sdscat(out, "</g>\n"); /* there are no measurements */
    out = benchSvgCatLegend(benchSvgCatAxes(out, &scale));
    out = benchSvgCatLine(out, s, &scale, "max", benchSvgMax);
    out = benchSvgCatLine(out, s, &scale, "p99", benchSvgP99);
    out = benchSvgCatLine(out, s, &scale, "p50", benchSvgP50);
    return sdscat(benchSvgCatRate(out, s, &scale), "</g>\n");
}

bool benchSvgAdd(const struct benchOptions *o, const char *title, const struct series *series) {
    if (!charts) charts = sdsempty();
    charts = benchSvgCatChart(charts, title, series);
    chart_count++;
    sds text = sdscatprintf(
        sdsempty(),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
        WIDTH, chart_count * CHART, WIDTH, chart_count * CHART);
    text = sdscatprintf(
        text,
        "<title>Latency over time</title>\n%s<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n%s</svg>\n",
        style, charts);
    bool ok = fileReplace(o->svg, sdsview(text), 0644);
    int reason = errno;
    sdsfree(text);
    errno = reason;
    return ok;
}
