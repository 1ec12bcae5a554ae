/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_histogram_command.c - LATENCY HISTOGRAM and INFO latencystats. Part of latency_commands.h.
 *
 * Clients see coarser data than is kept: LATENCY HISTOGRAM counts the calls of up to 1024, 2048, 4096 ...
 * nanoseconds. To be exact, it shows the edge of the bucket that holds the limit, in microseconds, hence 33
 * after 16 and 66 after 33. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/latency_histogram.h"
#include "commands/cmd_server.h"
#include "metrics/latency_commands.h"
#include "registry/config.h"
#include "registry/info.h"

#define FIRST_LEVEL_NS 1024

static double *percentiles;
static int percentile_count;

static void latencyHistogramReset(void *priv, struct serverCommand *cmd) {
    (void)priv;
    histogramFree(cmd->latency);
    cmd->latency = NULL;
}

static void latencyHistogramResetAll(void) {
    commandForEach(latencyHistogramReset, NULL);
}

/* ---- LATENCY HISTOGRAM ---- */

struct histogramReply {
    struct client *c;
    int64_t commands;
};

static void latencyHistogramReplyCommand(void *priv, struct serverCommand *cmd) {
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

/* A container command includes its subcommands. */
void latencyHistogramCommand(struct client *c) {
    struct histogramReply r = {.c = c};
    struct replyMark mark = replyDeferLen(c);
    if (c->argc == 2) commandForEach(latencyHistogramReplyCommand, &r);
    for (int i = 2; i < c->argc; i++) {
        struct serverCommand *cmd = commandLookupName(c->argv[i]);
        if (!cmd) continue;
        commandAndSubcommands(cmd, latencyHistogramReplyCommand, &r);
    }
    replySetMapLen(c, mark, r.commands);
}

/* ---- INFO latencystats ---- */

/* Returns the value at `percent` of all observations, rounded to the nearest; for 0 the
 * lowest possible value. */
static uint64_t latencyHistogramValueAt(const struct histogram *h, uint64_t total, double percent) {
    uint64_t rank = (uint64_t)(percent / 100 * (double)total + 0.5);
    int index = histogramFind(h, rank < 1 ? 1 : rank > total ? total : rank);
    return percent == 0 ? histogramLowest(h, index) : histogramHighest(h, index);
}

static void latencyHistogramAppendPercentiles(void *priv, struct serverCommand *cmd) {
    sds *s = priv;
    uint64_t total = cmd->latency ? histogramTotal(cmd->latency) : 0;
    if (!total) return;
    *s = sdscatprintf(*s, "latency_percentiles_usec_%s:", cmd->fullname);
    for (int i = 0; i < percentile_count; i++) {
        char name[DOUBLE_STR_SIZE];
        d2string(name, percentiles[i]);
        *s = sdscatprintf(*s, "%sp%s=%.3f", i ? "," : "", name,
                          (double)latencyHistogramValueAt(cmd->latency, total, percentiles[i]) / 1000);
    }
    *s = sdscat(*s, "\r\n");
}

static sds latencyHistogramStatsInfo(sds s) {
    if (latency_tracking) commandForEach(latencyHistogramAppendPercentiles, &s);
    return s;
}

/* ---- Directives ---- */

static bool latencyHistogramSetPercentiles(const struct configDirective *d, int argc, const struct str *argv,
                                           const char **err) {
    (void)d;
    if (argc == 1 && argv[0].len == 0) argc = 0;
    double *now = zmalloc(((size_t)argc + 1) * sizeof *now);
    for (int i = 0; i < argc; i++) {
        *err = NULL;
        if (memchr(argv[i].ptr, 'x', argv[i].len) || !string2d(argv[i], &now[i])) /* rejects 0x10 */
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

static sds latencyHistogramGetPercentiles(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < percentile_count; i++) {
        char text[DOUBLE_STR_SIZE];
        d2string(text, percentiles[i]);
        s = sdscatprintf(s, "%s%s", i ? " " : "", text);
    }
    return s;
}

void latencyStatsInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("latency-tracking-info-percentiles", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG,
                       latencyHistogramSetPercentiles, latencyHistogramGetPercentiles, NULL),
    };
    const char *err;
    latencyHistogramSetPercentiles(NULL, 3, (struct str[]){STR("50"), STR("99"), STR("99.9")}, &err);
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(latencyHistogramResetAll);
    infoRegister("latencystats", latencyHistogramStatsInfo);
}
