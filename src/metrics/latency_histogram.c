/* latency_histogram.c - Part of latency.h: how long each command takes.
 *
 * What clients see is coarser than what is kept: LATENCY HISTOGRAM counts the calls up to 1024, 2048, 4096
 * ... nanoseconds, and shows such a limit in microseconds. The edge of the bucket that holds the limit is
 * shown, so that the figures are exact: hence 33 behind 16, and 66 behind 33. */
#include "registry/latency.h"

#include <math.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/server.h"
#include "registry/config.h"
#include "registry/info.h"
#include "client/reply.h"

#define MAX_NS         UINT64_C(1000000000)
#define FIRST_LEVEL_NS 1024

bool latency_tracking;
uint64_t latency_ns_per_tick;

static double *percentiles;
static int percentile_count;

void latencyFirstCall(struct serverCommand *cmd) {
    cmd->latency = histogramCreate(LATENCY_BITS, MAX_NS);
}

/* ---- All commands ---- */

static void forEach(struct hashtable *table, void (*fn)(void *priv, struct serverCommand *cmd), void *priv) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, table, false);
    while (hashtableNext(&it, &entry)) {
        struct serverCommand *cmd = entry;
        fn(priv, cmd);
        if (cmd->subcommands) forEach(cmd->subcommands, fn, priv);
    }
    hashtableStopIterator(&it);
}

static void resetOne(void *priv, struct serverCommand *cmd) {
    (void)priv;
    histogramFree(cmd->latency);
    cmd->latency = NULL;
}

void latencyResetHistograms(void) {
    forEach(&commands, resetOne, NULL);
}

/* ---- LATENCY HISTOGRAM ---- */

struct histogramReply {
    struct client *c;
    int64_t commands;
};

static void replyCommand(void *priv, struct serverCommand *cmd) {
    struct histogramReply *r = priv;
    const struct histogram *h = cmd->latency;
    if (!h) return;
    uint64_t total = histogramTotal(h), shown = 0;
    if (!total) return;
    r->commands++;
    replyBulkCstr(r->c, cmd->fullname);
    replyMapLen(r->c, 2);
    replyBulkCstr(r->c, "calls");
    replyLongLong(r->c, (int64_t)total);
    replyBulkCstr(r->c, "histogram_usec");
    struct replyMark mark = replyDeferLen(r->c);
    int64_t pairs = 0;
    for (uint64_t level = FIRST_LEVEL_NS; shown < total; level *= 2) {
        uint64_t up_to = histogramTotalUpTo(h, level);
        if (up_to == shown) continue;
        shown = up_to;
        replyLongLong(r->c, (int64_t)(histogramHighest(h, histogramIndex(h, level)) / 1000));
        replyLongLong(r->c, (int64_t)shown);
        pairs++;
    }
    replySetMapLen(r->c, mark, pairs);
}

/* A container stands for its subcommands. */
void latencyHistogramCommand(struct client *c) {
    struct histogramReply r = {.c = c};
    struct replyMark mark = replyDeferLen(c);
    if (c->argc == 2) forEach(&commands, replyCommand, &r);
    for (int i = 2; i < c->argc; i++) {
        struct serverCommand *cmd = commandLookupName(c->argv[i]);
        if (!cmd) continue;
        replyCommand(&r, cmd);
        if (cmd->subcommands) forEach(cmd->subcommands, replyCommand, &r);
    }
    replySetMapLen(c, mark, r.commands);
}

/* ---- INFO latencystats ---- */

/* The observation at `percent` of them all, rounded to the nearest. 0 is the least there can have been. */
static uint64_t valueAt(const struct histogram *h, uint64_t total, double percent) {
    uint64_t rank = (uint64_t)(percent / 100 * (double)total + 0.5);
    int index = histogramFind(h, rank < 1 ? 1 : rank > total ? total : rank);
    return percent == 0 ? histogramLowest(h, index) : histogramHighest(h, index);
}

static void appendPercentiles(void *priv, struct serverCommand *cmd) {
    sds *s = priv;
    uint64_t total = cmd->latency ? histogramTotal(cmd->latency) : 0;
    if (!total) return;
    *s = sdscatprintf(*s, "latency_percentiles_usec_%s:", cmd->fullname);
    for (int i = 0; i < percentile_count; i++) {
        char name[DOUBLE_STR_SIZE];
        d2string(name, percentiles[i]);
        *s = sdscatprintf(*s, "%sp%s=%.3f", i ? "," : "", name,
                          (double)valueAt(cmd->latency, total, percentiles[i]) / 1000);
    }
    *s = sdscat(*s, "\r\n");
}

static sds infoLatencyStats(sds s) {
    if (latency_tracking) forEach(&commands, appendPercentiles, &s);
    return s;
}

/* ---- Directives ---- */

static bool setPercentiles(const struct configDirective *d, int argc, const struct str *argv,
                           const char **err) {
    (void)d;
    if (argc == 1 && argv[0].len == 0) argc = 0;
    double *now = zmalloc(((size_t)argc + 1) * sizeof *now);
    for (int i = 0; i < argc; i++) {
        *err = NULL;
        if (memchr(argv[i].ptr, 'x', argv[i].len) || !string2d(argv[i], &now[i])) /* no 0x10 */
            *err = "Invalid latency-tracking-info-percentiles parameters";
        else if (!(now[i] >= 0 && now[i] <= 100))
            *err = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
        if (!*err) continue;
        zfree(now);
        return false;
    }
    zfree(percentiles);
    percentiles = now;
    percentile_count = argc;
    return true;
}

static sds getPercentiles(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < percentile_count; i++) {
        char text[DOUBLE_STR_SIZE];
        d2string(text, percentiles[i]);
        s = sdscatprintf(s, "%s%s", i ? " " : "", text);
    }
    return s;
}

void latencyHistogramInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("latency-tracking", NULL, CONFIG_MODIFIABLE, &latency_tracking, true, NULL),
        CONFIG_SPECIAL("latency-tracking-info-percentiles", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG,
                       setPercentiles, getPercentiles, NULL),
    };
    const char *err;
    setPercentiles(NULL, 3, (struct str[]){STR("50"), STR("99"), STR("99.9")}, &err);
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(latencyResetHistograms);
    infoRegister("latencystats", infoLatencyStats);
}

void latencyStart(void) {
    latency_ns_per_tick = (uint64_t)((1000.0 / (double)ticks_per_us) * 4294967296.0);
}
