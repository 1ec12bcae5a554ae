/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_info.c - processes INFO of a primary or a replica: its run id, its role, its replicas,
 * its primary and offset; the steps of a failover that depend on them; and repairs of replicas that
 * have been misconfigured for long. The text is not trusted: an invalid number counts as 0, and an
 * invalid address is ignored. */
#include <limits.h>
#include <stdio.h>

#include "base/num.h"
#include "sentinel/supervisor_private.h"

#define PAUSE_MS 10000 /* see supervisorInfoIsPauseForgotten */

/* The content of the lines, before they are judged together. */
struct receivedInfo {
    bool role, replica; /* whether the role was reported, and is a replica's */
    bool failover, failing_over;
    int64_t link_down_ms;
    int sync_replicas;
    bool paused;
};

/* ---- Words ---- */

/* Returns whether the line begins with `name`, and sets *value to the rest. */
static bool supervisorInfoMatchField(struct str line, struct str name, struct str *value) {
    if (!strStarts(line, name)) return false;
    *value = strN(line.ptr + name.len, line.len - name.len);
    return true;
}

static int64_t supervisorInfoParseNumber(struct str text, int64_t min, int64_t max) {
    int64_t n;
    if (!string2ll(text, &n)) return 0;
    return n < min ? min : n > max ? max : n;
}

/* Returns the text up to the byte `end`, and removes both from *rest. */
static struct str supervisorInfoCutUntil(struct str *rest, char end) {
    const char *at = memchr(rest->ptr, end, rest->len);
    struct str word = strN(rest->ptr, at ? (size_t)(at - rest->ptr) : rest->len);
    size_t used = word.len + (at != NULL);
    *rest = strN(rest->ptr + used, rest->len - used);
    return word;
}

/* ---- The replicas of a primary ---- */

/* Parses "ip=1.2.3.4,port=6379,..." in any order, or "1.2.3.4,6379,online" of old servers. */
static bool supervisorInfoParseReplica(struct str text, struct str *host, int64_t *port) {
    struct str port_text = {0};
    *host = (struct str){0};
    for (int n = 0; text.len; n++) {
        struct str word = supervisorInfoCutUntil(&text, ',');
        bool named = memchr(word.ptr, '=', word.len);
        if (named) {
            if (!supervisorInfoMatchField(word, STR("ip="), host))
                supervisorInfoMatchField(word, STR("port="), &port_text);
        } else if (n == 0) {
            *host = word;
        } else if (n == 1) {
            port_text = word;
        }
    }
    return host->len && string2ll(port_text, port) && *port >= 0 && *port <= UINT16_MAX;
}

static void supervisorInfoTakeReplica(struct supervisor *s, struct instance *primary, struct str text) {
    struct str host;
    int64_t port;
    struct hostAddress address;
    if (!supervisorInfoParseReplica(text, &host, &port)) return;
    sds name = sdsnewstr(host);
    if (hostAddressInit(s, &address, name, (int)port, false) &&
        !hostAddressIsSame(&address, &primary->address) && /* no server replicates itself */
        !instancesFindAddress(&primary->p.replicas, &address)) {
        struct instance *replica = instanceCreate(s, KIND_REPLICA, NULL, &address, primary);
        supervisorEvent(s, EVENT_NOTICE, "+slave", replica, "%s", "");
        supervisorSave(s);
    }
    hostAddressFree(&address);
    sdsfree(name);
}

/* Parses "slave0:...". */
static bool supervisorInfoMatchReplica(struct str line, struct str *value) {
    struct str rest;
    if (!supervisorInfoMatchField(line, STR("slave"), &rest) || !rest.len || rest.ptr[0] < '0' ||
        rest.ptr[0] > '9')
        return false;
    const char *colon = memchr(rest.ptr, ':', rest.len);
    if (!colon) return false;
    *value = strN(colon + 1, rest.len - (size_t)(colon + 1 - rest.ptr));
    return true;
}

/* ---- Lines ---- */

static void supervisorInfoTakeRunId(struct supervisor *s, struct instance *i, struct str id) {
    if (id.len < RUN_ID_LEN) return;
    id.len = RUN_ID_LEN;
    if (!runIdIsValid(id) || strEq(id, strOf(i->run_id))) return;
    if (*i->run_id) {
        if (i->kind == KIND_PRIMARY && i->p.reboot_down_after_ms) {
            i->flags |= FLAG_REBOOT;
            i->reboot_ms = s->now_ms;
        }
        supervisorEvent(s, EVENT_NOTICE, "+reboot", i, "%s", "");
    }
    snprintf(i->run_id, sizeof i->run_id, "%.*s", (int)id.len, id.ptr);
}

static void supervisorInfoTakeReplid(char to[RUN_ID_LEN + 1], struct str id) {
    if (id.len == RUN_ID_LEN) snprintf(to, RUN_ID_LEN + 1, "%.*s", (int)id.len, id.ptr);
}

static void supervisorInfoTakePrimaryHost(struct supervisor *s, struct sentinelReplicaState *r,
                                          struct str host) {
    if (r->primary_host && strIs(host, r->primary_host)) return;
    sdsfree(r->primary_host);
    r->primary_host = sdsnewstr(host);
    r->conf_change_ms = s->now_ms;
}

static void supervisorInfoTakePrimaryPort(struct supervisor *s, struct sentinelReplicaState *r, int port) {
    if (r->primary_port == port) return;
    r->primary_port = port;
    r->conf_change_ms = s->now_ms;
}

/* Takes a field that a replica reports after its role. */
static void supervisorInfoTakeReplicaField(struct supervisor *s, struct sentinelReplicaState *r,
                                           struct str line) {
    struct str value;
    if (supervisorInfoMatchField(line, STR("master_host:"), &value))
        supervisorInfoTakePrimaryHost(s, r, value);
    else if (supervisorInfoMatchField(line, STR("master_port:"), &value))
        supervisorInfoTakePrimaryPort(s, r, (int)supervisorInfoParseNumber(value, 0, UINT16_MAX));
    else if (supervisorInfoMatchField(line, STR("master_link_status:"), &value))
        r->link_up = strIs(value, "up");
    else if (supervisorInfoMatchField(line, STR("slave_priority:"), &value))
        r->priority = (int)supervisorInfoParseNumber(value, 0, INT_MAX);
    else if (supervisorInfoMatchField(line, STR("slave_repl_offset:"), &value))
        r->repl_offset = (uint64_t)supervisorInfoParseNumber(value, 0, INT64_MAX);
    else if (supervisorInfoMatchField(line, STR("replica_announced:"), &value))
        r->announced = supervisorInfoParseNumber(value, INT_MIN, INT_MAX) != 0;
}

static void supervisorInfoTakeLine(struct supervisor *s, struct instance *i, struct receivedInfo *reported,
                                   struct str line) {
    struct str value;
    if (supervisorInfoMatchField(line, STR("run_id:"), &value)) {
        supervisorInfoTakeRunId(s, i, value);
    } else if (i->kind == KIND_PRIMARY && supervisorInfoMatchReplica(line, &value)) {
        supervisorInfoTakeReplica(s, i, value);
    } else if (supervisorInfoMatchField(line, STR("master_link_down_since_seconds:"), &value)) {
        reported->link_down_ms = 1000 * supervisorInfoParseNumber(value, INT_MIN, INT_MAX);
    } else if (supervisorInfoMatchField(line, STR("master_replid:"), &value)) {
        supervisorInfoTakeReplid(i->replid, value);
    } else if (supervisorInfoMatchField(line, STR("master_replid2:"), &value)) {
        supervisorInfoTakeReplid(i->replid2, value);
    } else if (i->kind == KIND_REPLICA &&
               supervisorInfoMatchField(line, STR("second_repl_offset:"), &value)) {
        i->r.fork_offset = (uint64_t)supervisorInfoParseNumber(value, 0, INT64_MAX);
    } else if (supervisorInfoMatchField(line, STR("min_replicas_sync:"), &value)) {
        reported->sync_replicas = (int)supervisorInfoParseNumber(value, 0, INT_MAX);
    } else if (strStarts(line, STR("replica_acks_paused:"))) {
        reported->paused = true;
    } else if (strStarts(line, STR("role:master"))) {
        reported->role = true;
        reported->replica = false;
    } else if (strStarts(line, STR("role:slave"))) {
        reported->role = reported->replica = true;
    } else if (supervisorInfoMatchField(line, STR("master_failover_state:"), &value)) {
        reported->failover = true;
        reported->failing_over = !strIs(value, "no-failover");
    } else if (i->kind == KIND_REPLICA && reported->replica) {
        supervisorInfoTakeReplicaField(s, &i->r, line);
    }
}

static void supervisorInfoTakeAll(struct supervisor *s, struct instance *i, struct receivedInfo *reported,
                                  struct str text) {
    while (text.len) {
        struct str line = supervisorInfoCutUntil(&text, '\n');
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        supervisorInfoTakeLine(s, i, reported, line);
    }
    if (i->kind == KIND_REPLICA && i->failing_over != reported->failing_over) i->r.conf_change_ms = s->now_ms;
    i->failing_over = reported->failing_over;
    if (i->kind == KIND_PRIMARY) i->p.knows_failover = reported->failover;
    if (i->kind == KIND_PRIMARY) i->p.sync_replicas = reported->sync_replicas;
    if (i->kind == KIND_REPLICA) {
        i->r.link_down_ms = reported->link_down_ms;
        i->r.sync_replicas = reported->sync_replicas;
        i->r.paused_ms = !reported->paused ? 0 : i->r.paused_ms ? i->r.paused_ms : s->now_ms;
        pauseProcessInfo(i);
    }
    i->info_ms = s->now_ms;
}

static void supervisorInfoTakeRole(struct supervisor *s, struct instance *i, bool replica) {
    if (i->reports_replica == replica) return;
    i->reports_replica = replica;
    i->role_reported_ms = s->now_ms;
    if (i->kind == KIND_REPLICA && replica) i->r.conf_change_ms = s->now_ms;
    bool as_expected = replica == (i->kind == KIND_REPLICA);
    supervisorEvent(s, EVENT_VERBOSE, as_expected ? "+role-change" : "-role-change", i,
                    " new reported role is %s", replica ? "slave" : "master");
}

/* Returns whether a replica that reports the role of a primary now and did so before may have been a replica
 * in between: it would be demoted at once, although another Sentinel has just promoted it. */
static bool supervisorInfoMayHaveChanged(const struct supervisor *s, const struct instance *i,
                                         int64_t before_ms) {
    return i->kind == KIND_REPLICA && !i->reports_replica &&
           s->now_ms - before_ms >= 4 * s->timers.publish_period;
}

/* ---- Reactions ---- */

static bool supervisorInfoIsPrimarySane(const struct supervisor *s, const struct instance *primary) {
    return !primary->reports_replica && !(primary->flags & (FLAG_S_DOWN | FLAG_O_DOWN)) &&
           s->now_ms - primary->info_ms < 2 * s->timers.info_period;
}

/* Returns whether it was not considered down during the last `ms`. */
static bool supervisorInfoWasUpFor(const struct supervisor *s, const struct instance *i, int64_t ms) {
    int64_t newest = i->s_down_ms > i->o_down_ms ? i->s_down_ms : i->o_down_ms;
    return !newest || s->now_ms - newest > ms;
}

/* Returns whether it has been wrong for longer than `ms`, which neither its primary nor
 * its own restart explains. */
static bool supervisorInfoNeedsRepair(const struct supervisor *s, const struct instance *replica,
                                      int64_t since_ms, int64_t ms) {
    if (replica->primary->flags & FLAG_FAILOVER_IN_PROGRESS) return false; /* it gets another primary */
    return supervisorInfoIsPrimarySane(s, replica->primary) && supervisorInfoWasUpFor(s, replica, ms) &&
           s->now_ms - since_ms > ms;
}

static void supervisorInfoRepair(struct supervisor *s, struct instance *replica, const char *event) {
    if (failoverSendReplicaOf(s, replica, &replica->primary->address))
        supervisorEvent(s, EVENT_NOTICE, event, replica, "%s", "");
}

/* Returns whether it replicates the server at that address. */
static bool supervisorInfoFollows(struct supervisor *s, const struct sentinelReplicaState *r,
                                  const struct hostAddress *address) {
    struct hostAddress reported = {.name = r->primary_host, .port = r->primary_port};
    if (!reported.name || reported.port != address->port) return false;
    hostAddressResolve(s, &reported);
    return hostAddressIsSame(&reported, address);
}

static void supervisorInfoHandlePrimaryRole(struct supervisor *s, struct instance *replica) {
    const struct instance *primary = replica->primary;
    if (replica->flags & FLAG_PROMOTED) {
        if ((primary->flags & FLAG_FAILOVER_IN_PROGRESS) &&
            primary->p.failover_state == FAILOVER_WAIT_PROMOTION)
            failoverProcessPromotion(s, replica);
    } else if (supervisorInfoNeedsRepair(s, replica, replica->role_reported_ms,
                                         4 * s->timers.publish_period)) {
        supervisorInfoRepair(s, replica, "+convert-to-slave");
    }
}

/* Updates the flags of a replica that was sent the promoted one as its primary. */
static void supervisorInfoUpdateReconf(struct supervisor *s, struct instance *replica) {
    const struct instance *promoted = replica->primary->p.promoted;
    if ((replica->flags & FLAG_RECONF_SENT) && promoted &&
        supervisorInfoFollows(s, &replica->r, &promoted->address)) {
        replica->flags = (replica->flags & ~(unsigned)FLAG_RECONF_SENT) | FLAG_RECONF_INPROG;
        supervisorEvent(s, EVENT_NOTICE, "+slave-reconf-inprog", replica, "%s", "");
    }
    if ((replica->flags & FLAG_RECONF_INPROG) && replica->r.link_up) {
        replica->flags = (replica->flags & ~(unsigned)FLAG_RECONF_INPROG) | FLAG_RECONF_DONE;
        supervisorEvent(s, EVENT_NOTICE, "+slave-reconf-done", replica, "%s", "");
    }
}

/* Returns whether the Sentinel that paused the replica has died: there is no failover, and every replica
 * follows the primary, which has been up for longer than a failover takes between its steps. */
static bool supervisorInfoIsPauseForgotten(struct supervisor *s, const struct instance *replica) {
    const struct instance *primary = replica->primary;
    if (!replica->r.paused_ms || !supervisorInfoNeedsRepair(s, replica, replica->r.paused_ms, PAUSE_MS) ||
        !supervisorInfoWasUpFor(s, primary, PAUSE_MS))
        return false;
    for (int n = 0; n < primary->p.replicas.count; n++) {
        const struct instance *r = primary->p.replicas.items[n];
        bool follows = r->reports_replica && supervisorInfoFollows(s, &r->r, &primary->address);
        bool known = r->info_ms - replica->r.paused_ms > PAUSE_MS; /* it has not been promoted meanwhile */
        if (r->flags & FLAG_S_DOWN || !follows || !known) return false;
    }
    return true;
}

static void supervisorInfoHandleReplicaRole(struct supervisor *s, struct instance *replica) {
    const struct instance *primary = replica->primary;
    bool wrong = !supervisorInfoFollows(s, &replica->r, &primary->address) || replica->failing_over;
    if (wrong &&
        supervisorInfoNeedsRepair(s, replica, replica->r.conf_change_ms, primary->p.failover_timeout_ms))
        supervisorInfoRepair(s, replica, "+fix-slave-config");
    else if (!wrong && supervisorInfoIsPauseForgotten(s, replica))
        pauseEndForgotten(s, replica);
    supervisorInfoUpdateReconf(s, replica);
}

void infoProcess(struct supervisor *s, struct instance *i, struct str text) {
    struct receivedInfo reported = {0};
    int64_t before_ms = i->info_ms;
    sdsfree(i->info);
    i->info = sdsnewstr(text);
    supervisorInfoTakeAll(s, i, &reported, text);
    if (!reported.role) return;
    supervisorInfoTakeRole(s, i, reported.replica);
    if (supervisorInfoMayHaveChanged(s, i, before_ms)) i->role_reported_ms = s->now_ms;
    if (s->tilt || i->kind != KIND_REPLICA) return;
    if (reported.replica)
        supervisorInfoHandleReplicaRole(s, i);
    else
        supervisorInfoHandlePrimaryRole(s, i);
}
