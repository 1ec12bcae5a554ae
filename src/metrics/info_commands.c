/* SPDX-License-Identifier: BSD-3-Clause */
/* info_commands.c - INFO, on top of the registry of its fields (registry/info.h), and the sections
 * commandstats and errorstats. */
#include "metrics/info_commands.h"

#include "base/ticks.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_server.h"
#include "data/server_state/role.h"
#include "registry/info.h"

void infoCommand(struct client *c) {
    sds text = infoText(c->argv + 1, c->argc - 1);
    if (sentinel_mode) /* clients of Sentinel expect a bulk string */
        replyBulk(c, sdsview(text));
    else
        replyVerbatim(c, sdsview(text), "txt");
    sdsfree(text);
}

static void infoAppendCommandStat(void *priv, struct serverCommand *cmd) {
    sds *s = priv;
    if (!cmd->calls && !cmd->rejected && !cmd->failed) return;
    uint64_t us = cmd->ticks / ticks_per_us;
    double us_per_call = cmd->calls ? (double)us / (double)cmd->calls : 0;
    *s = infoField(*s,
                   "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,failed_calls=%llu",
                   cmd->fullname, (unsigned long long)cmd->calls, (unsigned long long)us, us_per_call,
                   (unsigned long long)cmd->rejected, (unsigned long long)cmd->failed);
}

static sds infoCommandStats(sds s) {
    commandForEach(infoAppendCommandStat, &s);
    return s;
}

static void infoAppendErrorStat(void *priv, const char *prefix, uint64_t count) {
    sds *s = priv, name = infoAppendName(sdsempty(), prefix);
    *s = infoField(*s, "errorstat_%s:count=%llu", name, (unsigned long long)count);
    sdsfree(name);
}

static sds infoErrorStats(sds s) {
    errorStatsForEach(infoAppendErrorStat, &s);
    return s;
}

void infoCommandsInit(void) {
    infoRegister("commandstats", infoCommandStats);
    infoRegister("errorstats", infoErrorStats);
}
