/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_commands.c - LATENCY LATEST, HISTORY, RESET and HELP; see latency_commands.h. */
#include "metrics/latency_commands.h"

#include "base/num.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/commandlog.h"
#include "commands/cmd_server.h"
#include "registry/config.h"
#include "registry/latency.h"

static void latencyReplyLatest(void *priv, struct latencyEvent *e) {
    struct client *c = priv;
    const struct latencySample *last = latencySampleAt(e, LATENCY_SAMPLES - 1);
    replyArrayLen(c, 6);
    replyBulkCstr(c, e->name);
    replyLongLong(c, last->time_s);
    replyLongLong(c, last->ms);
    replyLongLong(c, e->worst_ms);
    replyLongLong(c, (int64_t)e->sum_ms);
    replyLongLong(c, (int64_t)e->count);
}

void latencyLatestCommand(struct client *c) {
    replyArrayLen(c, (int64_t)latencyEventCount());
    latencyForEach(latencyReplyLatest, c);
}

void latencyHistoryCommand(struct client *c) {
    const struct latencyEvent *e = latencyFind(c->argv[2]);
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    for (int i = 0; e && i < LATENCY_SAMPLES; i++) {
        const struct latencySample *sample = latencySampleAt(e, i);
        if (!sample->time_s) continue;
        replyArrayLen(c, 2);
        replyLongLong(c, sample->time_s);
        replyLongLong(c, sample->ms);
        n++;
    }
    replySetArrayLen(c, mark, n);
}

static bool latencyIsNamed(void *priv, const char *event) {
    const struct client *c = priv;
    for (int i = 2; i < c->argc; i++) {
        if (strEq(c->argv[i], strOf(event))) return true;
    }
    return c->argc == 2;
}

void latencyResetCommand(struct client *c) {
    replyLongLong(c, (int64_t)latencyForget(latencyIsNamed, c));
}

void latencyHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "DOCTOR",
                     "    A report on possible causes of the spikes.",
                     "GRAPH <event>",
                     "    The spikes of an event as a drawing.",
                     "HISTOGRAM [<command> ...]",
                     "    Times of calls, for all commands or the given ones: calls that took up to 1, 2,",
                     "    4 ... microseconds.",
                     "HISTORY <event>",
                     "    Time and milliseconds of an event's spikes.",
                     "LATEST",
                     "    The last and the worst spike of every event, the sum and the number of all.",
                     "RESET [<event> ...]",
                     "    Delete the spikes of these events, or of all; replies the number of events.",
                     NULL,
                 });
}

static bool latencyApplyThreshold(const char **err) {
    (void)err;
    commandlogRefreshLimits(); /* the call path uses the lower limit of this and of the slow log */
    return true;
}

void latencyInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("latency-monitor-threshold", NULL, CONFIG_MODIFIABLE, &latency_threshold_ms, 0, 0,
                   INT64_MAX, latencyApplyThreshold),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    latencyStatsInit();
}
