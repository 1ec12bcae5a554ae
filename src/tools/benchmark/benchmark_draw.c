/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_draw.c - see benchmark_draw.h.
 *
 * Zipf numbers by rejection-inversion (Hoermann and Derflinger 1996, "Rejection-inversion to generate
 * variates from monotone discrete distributions"): x is drawn under the continuous curve x^-s between
 * 1/2 and n + 1/2 and rounded, and rejected where the rounded number would come too often. This needs no
 * table, and rarely a second try. */
#include "tools/benchmark/benchmark_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define ZIPF_EXPONENT 0.99 /* the default of other tools, too */
#define GAUSS_SHARE   (1.0 / 6)
#define PARAMETER_MAX 20

bool benchDrawParse(struct benchDraw *d, const char *text) {
    static const struct {
        const char *name;
        enum benchDistribution kind;
        double parameter;
    } known[] = {{"uniform", BENCH_UNIFORM, 0},
                 {"zipf", BENCH_ZIPF, ZIPF_EXPONENT},
                 {"gauss", BENCH_GAUSS, GAUSS_SHARE}};
    size_t len = strcspn(text, ":");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != len || memcmp(text, known[i].name, len) != 0) continue;
        *d = (struct benchDraw){.kind = known[i].kind, .parameter = known[i].parameter};
        if (!text[len]) return true;
        char *end;
        d->parameter = strtod(text + len + 1, &end);
        return !*end && end > text + len + 1 && d->kind != BENCH_UNIFORM && d->parameter > 0 &&
               d->parameter <= PARAMETER_MAX;
    }
    return false;
}

/* Computes the area under x^-s from 1 to x; benchDrawAreaInverse is its inverse. */
static double benchDrawArea(double s, double x) {
    double t = 1 - s;
    return fabs(t) < 1e-9 ? log(x) : expm1(t * log(x)) / t;
}

static double benchDrawAreaInverse(double s, double a) {
    double t = 1 - s;
    return fabs(t) < 1e-9 ? exp(a) : exp(log1p(a * t > -1 ? a * t : -1 + 1e-16) / t);
}

void benchDrawPrepare(struct benchDraw *d, int64_t range) {
    double s = d->parameter;
    if (d->kind != BENCH_ZIPF) return;
    d->low = benchDrawArea(s, 1.5) - 1;
    d->high = benchDrawArea(s, (double)range + 0.5);
    d->near = 2 - benchDrawAreaInverse(s, benchDrawArea(s, 2.5) -
                                              pow(2, -s)); /* a number this close is accepted at once */
}

static int64_t benchDrawZipf(const struct benchDraw *d, int64_t range) {
    double s = d->parameter;
    for (;;) {
        double a = d->high + randomDouble() * (d->low - d->high), x = benchDrawAreaInverse(s, a),
               k = floor(x + 0.5);
        if (k < 1) k = 1;
        if (k > (double)range) k = (double)range;
        if (k - x <= d->near || a >= benchDrawArea(s, k + 0.5) - pow(k, -s)) return (int64_t)k - 1;
    }
}

/* Draws a normal number by the polar form of the Box-Muller method; repeats while it is out of range. */
static int64_t benchDrawGauss(const struct benchDraw *d, int64_t range) {
    for (;;) {
        double u = 2 * randomDouble() - 1, v = 2 * randomDouble() - 1, q = u * u + v * v;
        if (q >= 1 || q == 0) continue;
        double x = ((double)range - 1) / 2 + u * sqrt(-2 * log(q) / q) * d->parameter * (double)range;
        if (x > -0.5 && x < (double)range - 0.5) return (int64_t)(x + 0.5);
    }
}

int64_t benchDraw(const struct benchDraw *d, int64_t range) {
    if (d->kind == BENCH_ZIPF) return benchDrawZipf(d, range);
    if (d->kind == BENCH_GAUSS) return benchDrawGauss(d, range);
    return (int64_t)randomBelow((uint64_t)range);
}
