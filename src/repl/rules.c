/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.c - see rules.h.
 *
 * Each rule of admission is idle unless the role and the directives make it refuse something. rulesUpdate
 * decides that whenever one of them changes. */
#include "repl/rules.h"

#include "base/assert.h"
#include "base/log.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/link.h"
#include "repl/own_expiry.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"
#include "repl/sync_gate.h"

#define SET CONFIG_MODIFIABLE
#define DISK_ERROR_LOG_PERIOD_MS                                                                             \
    10000 /* how often it is logged that the primary's commands cannot be written to disk */

static bool ignore_maxmemory, ignore_disk_errors;

/* ---- Rules of admission ----
 *
 * Commands of our primary, and those read from the append-only file, are always run, even when they would be
 * refused to others. This includes all that scripts among them call (callReplays). */

/* min-replicas-max-lag 0 counts all that are online. */
static int rulesCountReplicas(void) {
    return repl_max_lag_s ? replicasCountGood() : replicasCountAcked(0, false);
}

static enum admission rulesCheckMinReplicas(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    int64_t wanted =
        repl_max_lag_s && repl_min_replicas > sync_gate_replicas ? repl_min_replicas : sync_gate_replicas;
    if (!(commandFlags(c, r->cmd) & CMD_WRITE) || rulesCountReplicas() >= wanted || callReplays())
        return ADMITTED;
    replyError(c, "NOREPLICAS Not enough good replicas to write.");
    return REFUSED;
}

static enum admission rulesCheckReadonly(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(commandFlags(c, r->cmd) & CMD_WRITE) || callReplays()) return ADMITTED;
    replyError(c, "READONLY You can't write against a read only replica.");
    return REFUSED;
}

static enum admission rulesCheckStale(struct client *c, struct request *r, enum requestOrigin origin) {
    if (!linkIsDown() || commandFlags(c, r->cmd) & CMD_STALE || callReplays()) return ADMITTED;
    replyError(c, origin == ORIGIN_SCRIPT ? "ERR Can not execute the command on a stale replica"
                                          : err_masterdown);
    return REFUSED;
}

static bool rulesIsStale(void) {
    return !replica_serve_stale_data && linkIsDown() && !callReplays();
}

/* Returns whether this client is redirected to our primary: it understands REDIRECT, and the command writes,
 * or reads while the client has not sent READONLY. */
static bool rulesBelongsToPrimary(const struct client *c, uint64_t flags) {
    if (!(c->flags & CLIENT_REDIRECTABLE)) return false;
    return flags & CMD_WRITE || (flags & CMD_READONLY && !(c->flags & CLIENT_READONLY));
}

static void rulesReplyRedirect(struct client *c) {
    const char *prefix = reply_error_prefix; /* EXEC gets the bare error, too */
    reply_error_prefix = NULL;
    replyErrorFmt(c, "REDIRECT %s:%d", primary_link.host, primary_link.port);
    reply_error_prefix = prefix;
}

static enum admission rulesCheckRedirect(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!rulesBelongsToPrimary(c, commandFlags(c, r->cmd))) return ADMITTED;
    rulesReplyRedirect(c);
    return REFUSED;
}

static bool rulesStaysHere(const struct client *c, const struct request *r) {
    return !rulesBelongsToPrimary(c, r->cmd->flags);
}

static bool rulesIsFresh(const struct client *c, const struct request *r) {
    (void)c, (void)r;
    return !rulesIsStale();
}

/* ---- Disk errors ---- */

static bool rulesAllowReplayedWrite(const struct request *r) {
    static int64_t logged_ms;
    if (!callReplays()) return false;
    bool from_file = !(callOwner()->flags & CLIENT_PRIMARY);
    if (from_file || r->cmd->spec->proc == pingCommand) return true;
    if (!ignore_disk_errors) serverPanic("A command from the primary could not be written to disk.");
    if (cmd_time_ms - logged_ms >= DISK_ERROR_LOG_PERIOD_MS) {
        serverLog(LL_WARNING,
                  "A command from the primary is applied, although it cannot be written to disk.");
        logged_ms = cmd_time_ms;
    }
    return true;
}

/* ---- Keys that expire, keys that are evicted ---- */

static bool rulesPrimaryEvicts(void) {
    return roleIsReplica() && ignore_maxmemory;
}

/* ---- Blocked clients whose wait cannot end on a replica ---- */

static void rulesReplyRoleChanged(struct client *c) {
    replyError(
        c, "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)");
    clientCloseAfterReply(c);
}

static void rulesEndWait(void *priv, struct client *c) {
    (void)priv;
    const struct request *r = blockedRequest(c);
    if (!r) return;
    if (cluster_enabled && blockedForKeys(c)) return; /* cluster/redirect.c redirects these */
    uint64_t flags = r->cmd->flags;
    bool reads_here = c->flags & CLIENT_REDIRECTABLE && flags & CMD_READONLY;
    if (rulesBelongsToPrimary(c, flags))
        unblockWithReply(c, rulesReplyRedirect);
    else if (!reads_here)
        unblockWithReply(c, rulesReplyRoleChanged);
}

/* ---- The role ---- */

bool rulesUpdate(const char **err) {
    (void)err;
    bool replica = roleIsReplica();
    bool alone = replica || (!sync_gate_replicas && (!repl_min_replicas || !repl_max_lag_s));
    admissionIdle(RULE_MIN_REPLICAS, alone);
    admissionIdle(RULE_SCRIPT_REPLICAS, alone);
    role_read_only = replica_read_only;
    admissionIdle(RULE_READONLY, !replica || !replica_read_only);
    admissionIdle(RULE_STALE, !replica || replica_serve_stale_data);
    admissionIdle(RULE_REDIRECT, !replica);
    ownExpiryEnable(replica && !replica_read_only);
    return true;
}

static void rulesEndWaits(void) {
    clientForEach(rulesEndWait, NULL);
}

/* A FAILOVER may still be aborted, with no change in the end: failover.c ends the waits when it has ended. */
static void rulesOnRole(bool replica) {
    rulesUpdate(NULL);
    if (replica && !link_failover_running()) rulesEndWaits();
}

/* ---- Registration ---- */

void rulesInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("min-replicas-max-lag", "min-slaves-max-lag", SET, &repl_max_lag_s, 10, 0, INT32_MAX,
                   rulesUpdate),
        CONFIG_INT("min-replicas-to-write", "min-slaves-to-write", SET, &repl_min_replicas, 0, 0, INT32_MAX,
                   rulesUpdate),
        CONFIG_BOOL("replica-ignore-disk-write-errors", NULL, SET, &ignore_disk_errors, false, NULL),
        CONFIG_BOOL("replica-ignore-maxmemory", "slave-ignore-maxmemory", SET, &ignore_maxmemory, true, NULL),
        CONFIG_BOOL("replica-read-only", "slave-read-only", SET, &replica_read_only, true, rulesUpdate),
        CONFIG_BOOL("replica-serve-stale-data", "slave-serve-stale-data", SET, &replica_serve_stale_data,
                    true, rulesUpdate),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    ownExpiryInit();
    admissionFill(RULE_MIN_REPLICAS, rulesCheckMinReplicas);
    admissionFillRead(RULE_MIN_REPLICAS, admissionNoRead);
    admissionFill(RULE_SCRIPT_REPLICAS, rulesCheckMinReplicas);
    admissionFill(RULE_READONLY, rulesCheckReadonly);
    admissionFillRead(RULE_READONLY, admissionNoRead);
    admissionFill(RULE_STALE, rulesCheckStale);
    admissionFillRead(RULE_STALE, rulesIsFresh);
    admissionFill(RULE_REDIRECT, rulesCheckRedirect);
    admissionFillRead(RULE_REDIRECT, rulesStaysHere);
    admission_replay_writes = rulesAllowReplayedWrite;
    role_data_stale = rulesIsStale;
    evictAddVeto(rulesPrimaryEvicts);
    dbAddExpiryVeto(roleIsReplica);
    roleOnChange(rulesOnRole);
    link_on_primary_changed = rulesEndWaits;
    admissionIdle(RULE_REDIRECT, true);
}

void rulesStart(void) {
    rulesUpdate(NULL);
}
