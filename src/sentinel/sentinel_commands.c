/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_commands.c - the table of SENTINEL's subcommands, and the handlers of those that make the Sentinel
 * do something; see sentinel_commands.h. Each checks all arguments before it changes anything. */
#include "sentinel/sentinel_commands.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_sentinel.h"
#include "sentinel/supervisor_private.h"

/* ---- Watched primaries ---- */

/* Converts to int; a port out of range stays out of range. */
static int sentinelClampPort(int64_t port) {
    return port < 0 ? -1 : port > UINT16_MAX ? UINT16_MAX + 1 : (int)port;
}

/* Returns the text for users of an error that has another text in the configuration file. */
static const char *sentinelMonitorErrorText(const char *err) {
    return strcmp(err, "Can't resolve instance hostname.") == 0 ? "Invalid IP address or hostname specified"
                                                                : err;
}

static void sentinelMonitorCommand(struct client *c) {
    int64_t port, quorum;
    if (sentinelRefuseControls(c, 2, "SENTINEL MONITOR")) return;
    if (!argRange(c, c->argv[5], INT_MIN, INT_MAX, &quorum, "ERR Invalid quorum")) return;
    if (!argLongLong(c, c->argv[4], &port, "ERR Invalid port")) return;
    sds name = sdsnewstr(c->argv[2]), host = sdsnewstr(c->argv[3]);
    const char *err;
    struct instance *primary =
        supervisorMonitor(&sentinel, name, host, sentinelClampPort(port), (int)quorum, &err);
    if (primary) {
        bool saved = sentinelSaveOrReply(c);
        supervisorMonitorEvent(&sentinel, primary);
        if (saved) replyOk(c);
    } else {
        replyErrorFmt(c, "ERR %s", sentinelMonitorErrorText(err));
    }
    sdsfree(host);
    sdsfree(name);
}

static void sentinelRemoveCommand(struct client *c) {
    struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (!primary) return;
    supervisorRemove(&sentinel, primary);
    if (sentinelSaveOrReply(c)) replyOk(c);
}

static void sentinelResetCommand(struct client *c) {
    replyLongLong(c, supervisorResetMatching(&sentinel, c->argv[2], mstime()));
}

static void sentinelFlushconfigCommand(struct client *c) {
    if (sentinelSaveOrReply(c)) replyOk(c);
}

/* ---- Failover ---- */

static void sentinelFailoverCommand(struct client *c) {
    bool coordinated = c->argc == 4;
    if (c->argc > 4) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
        return;
    }
    struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (!primary) return;
    if (coordinated && !strIs(c->argv[3], "coordinated")) {
        replyError(c, "ERR Unknown failover option specified");
        return;
    }
    switch (supervisorFailover(&sentinel, primary, coordinated, mstime())) {
    case MANUAL_OK: replyOk(c); break;
    case MANUAL_NO_PRIMARY: replyError(c, "NOGOODPRIMARY Primary does not support FAILOVER command"); break;
    case MANUAL_IN_PROGRESS: replyError(c, "INPROG Failover already in progress"); break;
    case MANUAL_NO_REPLICA: replyError(c, "NOGOODSLAVE No suitable replica to promote"); break;
    }
}

/* Answers another Sentinel: is the primary down, and, with a run id in place of `*`, which Sentinel gets this
 * one's vote. A negative epoch, which would exhaust all epochs, is refused; an invalid id counts as `*`. */
static void sentinelIsPrimaryDownCommand(struct client *c) {
    int64_t port, epoch;
    struct str id = c->argv[5];
    if (!argLongLong(c, c->argv[3], &port, NULL)) return;
    if (!argRange(c, c->argv[4], 0, INT64_MAX, &epoch, err_notint)) return;
    char run_id[RUN_ID_LEN + 1] = "";
    bool requests_vote = runIdIsValid(id);
    if (requests_vote) memcpy(run_id, id.ptr, id.len);
    sds host = sdsnewstr(c->argv[2]);
    struct downAnswer answer = supervisorAnswerDown(&sentinel, host, sentinelClampPort(port), (uint64_t)epoch,
                                                    requests_vote ? run_id : NULL, mstime());
    sdsfree(host);
    replyArrayLen(c, 3);
    replyLongLong(c, answer.down);
    replyBulkCstr(c, *answer.leader ? answer.leader : "*");
    replyLongLong(c, (int64_t)answer.leader_epoch);
}

#define NO_QUORUM   "Not enough available Sentinels to reach the specified quorum for this master"
#define NO_MAJORITY "Not enough available Sentinels to reach the majority and authorize a failover"

static void sentinelCkquorumCommand(struct client *c) {
    struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (!primary) return;
    struct quorumCheck check = supervisorCheckQuorum(primary);
    if (!check.quorum || !check.majority) {
        replyErrorFmt(c, "NOQUORUM %d usable Sentinels. %s%s%s", check.usable, check.quorum ? "" : NO_QUORUM,
                      check.quorum || check.majority ? "" : ". ", check.majority ? "" : NO_MAJORITY);
        return;
    }
    sds text = sdscatprintf(
        sdsempty(), "OK %d usable Sentinels. Quorum and failover authorization can be reached", check.usable);
    replyStatus(c, text);
    sdsfree(text);
}

/* The failures replace those set before, up to an unknown word. */
static void sentinelSimulateFailureCommand(struct client *c) {
    static const char *const names[] = {"crash-after-election", "crash-after-promotion"};
    static const unsigned failures[] = {FAIL_AFTER_ELECTION, FAIL_AFTER_PROMOTION};
    sentinel.simulate_failure = 0;
    for (int i = 2; i < c->argc; i++) {
        if (strIs(c->argv[i], "help")) {
            replyArrayLen(c, 2);
            for (int k = 0; k < 2; k++) replyBulkCstr(c, names[k]);
            return;
        }
        int k = 0;
        while (k < 2 && !strIs(c->argv[i], names[k])) k++;
        if (k == 2) {
            replyError(c, "ERR Unknown failure simulation specified");
            return;
        }
        sentinel.simulate_failure |= failures[k];
    }
    replyOk(c);
}

/* ---- The Sentinel itself ---- */

static void sentinelMyidCommand(struct client *c) {
    replyBulkCstr(c, sentinel.my_id);
}

static void sentinelHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "CKQUORUM <primary-name>",
                     "    Whether enough Sentinels can be reached to agree that the primary is down, and to",
                     "    elect the one that replaces it.",
                     "CONFIG GET <pattern> [<pattern> ...]",
                     "    Return settings of this Sentinel itself.",
                     "CONFIG SET <parameter> <value> [<parameter> <value> ...]",
                     "    Change these settings.",
                     "DEBUG [<parameter> <milliseconds> ...]",
                     "    Show or change the time limits of this Sentinel.",
                     "FAILOVER <primary-name> [COORDINATED]",
                     "    Replace the primary by one of its replicas at once, without votes; or, with votes,",
                     "    by FAILOVER of the servers, which loses no writes.",
                     "FLUSHCONFIG",
                     "    Rewrite the configuration file with everything that is known.",
                     "GET-PRIMARY-ADDR-BY-NAME <primary-name>",
                     "    IP and port of the primary, for clients.",
                     "INFO-CACHE <primary-name> [<primary-name> ...]",
                     "    The last INFO of these primaries and their replicas, and its age.",
                     "IS-PRIMARY-DOWN-BY-ADDR <ip> <port> <current-epoch> <run-id>|*",
                     "    Other Sentinels ask: is it down, and (with a run id) which one gets the vote?",
                     "MONITOR <name> <ip> <port> <quorum>",
                     "    Watch another primary.",
                     "MYID",
                     "    The id of this Sentinel.",
                     "PENDING-SCRIPTS",
                     "    Scripts that run or wait.",
                     "PRIMARIES",
                     "    All watched primaries.",
                     "PRIMARY <primary-name>",
                     "    The state of a watched primary.",
                     "REMOVE <primary-name>",
                     "    Stop watching the primary.",
                     "REPLICAS <primary-name>",
                     "    The replicas of the primary.",
                     "RESET <pattern>",
                     "    Remove replicas, Sentinels and failovers of the primaries whose names match.",
                     "SENTINELS <primary-name>",
                     "    The other Sentinels that watch the primary.",
                     "SET <primary-name> <option> <value> [<option> <value> ...]",
                     "    Change how the primary is watched.",
                     "SIMULATE-FAILURE [CRASH-AFTER-ELECTION] [CRASH-AFTER-PROMOTION] [HELP]",
                     "    Crash in the middle of the next failover.",
                     NULL,
                 });
}

static const struct {
    const char *name;
    sentinelHandler *handler;
} handlers[] = {
    {"ckquorum", sentinelCkquorumCommand},
    {"config", sentinelConfigCommand},
    {"debug", sentinelDebugCommand},
    {"failover", sentinelFailoverCommand},
    {"flushconfig", sentinelFlushconfigCommand},
    {"get-master-addr-by-name", sentinelAddressCommand},
    {"get-primary-addr-by-name", sentinelAddressCommand},
    {"help", sentinelHelpCommand},
    {"info-cache", sentinelInfoCacheCommand},
    {"is-master-down-by-addr", sentinelIsPrimaryDownCommand},
    {"is-primary-down-by-addr", sentinelIsPrimaryDownCommand},
    {"master", sentinelPrimaryCommand},
    {"masters", sentinelPrimariesCommand},
    {"monitor", sentinelMonitorCommand},
    {"myid", sentinelMyidCommand},
    {"pending-scripts", sentinelPendingScriptsCommand},
    {"primaries", sentinelPrimariesCommand},
    {"primary", sentinelPrimaryCommand},
    {"remove", sentinelRemoveCommand},
    {"replicas", sentinelReplicasCommand},
    {"reset", sentinelResetCommand},
    {"sentinels", sentinelSentinelsCommand},
    {"set", sentinelSetCommand},
    {"simulate-failure", sentinelSimulateFailureCommand},
    {"slaves", sentinelReplicasCommand},
};

void sentinelCommand(struct client *c) {
    size_t i = 0;
    while (strcmp(handlers[i].name, c->cmd->spec->name) != 0) i++;
    handlers[i].handler(c);
}

void sentinelCommandsInit(void) {
    commandRegister(commandsSentinel);
}
