/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_info.c - what INFO of a primary or a replica tells: its run id, its role, its replicas, whom it
 * follows and how far it is; what a failover makes of that; and repairs of replicas that have long done other
 * than they should. What a server tells is not to be trusted: a number that is none is 0, and an address that
 * is none is not there. */
#include <limits.h>
#include <stdio.h>

#include "base/num.h"
#include "sentinel/supervisor_private.h"

/* What the lines say, before it is looked at together. */
struct receivedInfo {
    bool role, replica; /* has it told its role; is it that of a replica? */
    bool failover, failing_over;
    int64_t link_down_ms;
};

/* ---- Words ---- */

/* Does the line begin so? Then the rest of it, too. */
static bool supervisorInfoField(struct str line, struct str name, struct str *value) {
    if (!strStarts(line, name)) return false;
    *value = strN(line.ptr + name.len, line.len - name.len);
    return true;
}

static int64_t supervisorInfoNumberWithin(struct str text, int64_t min, int64_t max) {
    int64_t n;
    if (!string2ll(text, &n)) return 0;
    return n < min ? min : n > max ? max : n;
}

/* All up to the byte `end`, which is taken away, too. */
static struct str supervisorInfoTakeUntil(struct str *rest, char end) {
    const char *at = memchr(rest->ptr, end, rest->len);
    struct str word = strN(rest->ptr, at ? (size_t)(at - rest->ptr) : rest->len);
    size_t used = word.len + (at != NULL);
    *rest = strN(rest->ptr + used, rest->len - used);
    return word;
}

/* ---- A primary's replicas ---- */

/* "ip=1.2.3.4,port=6379,..." in any order; of old servers "1.2.3.4,6379,online". */
static bool supervisorInfoReadReplica(struct str text, struct str *host, int64_t *port) {
    struct str port_text = {0};
    *host = (struct str){0};
    for (int n = 0; text.len; n++) {
        struct str word = supervisorInfoTakeUntil(&text, ',');
        bool named = memchr(word.ptr, '=', word.len);
        if (named) {
            if (!supervisorInfoField(word, STR("ip="), host))
                supervisorInfoField(word, STR("port="), &port_text);
        } else if (n == 0) {
            *host = word;
        } else if (n == 1) {
            port_text = word;
        }
    }
    return host->len && string2ll(port_text, port) && *port >= 0 && *port <= UINT16_MAX;
}

static void supervisorInfoReplicaTold(struct supervisor *s, struct instance *primary, struct str text) {
    struct str host;
    int64_t port;
    struct hostAddress address;
    if (!supervisorInfoReadReplica(text, &host, &port)) return;
    sds name = sdsnewstr(host);
    if (hostAddressInit(s, &address, name, (int)port, false) &&
        !hostAddressSame(&address, &primary->address) && /* nobody follows himself */
        !instancesFindAddress(&primary->p.replicas, &address)) {
        struct instance *replica = instanceCreate(s, KIND_REPLICA, NULL, &address, primary);
        supervisorEvent(s, EVENT_NOTICE, "+slave", replica, "%s", "");
        supervisorSave(s);
    }
    hostAddressFree(&address);
    sdsfree(name);
}

/* "slave0:..." */
static bool supervisorInfoReplicaLine(struct str line, struct str *value) {
    struct str rest;
    if (!supervisorInfoField(line, STR("slave"), &rest) || !rest.len || rest.ptr[0] < '0' ||
        rest.ptr[0] > '9')
        return false;
    const char *colon = memchr(rest.ptr, ':', rest.len);
    if (!colon) return false;
    *value = strN(colon + 1, rest.len - (size_t)(colon + 1 - rest.ptr));
    return true;
}

/* ---- Line by line ---- */

static void supervisorInfoRunIdTold(struct supervisor *s, struct instance *i, struct str id) {
    if (id.len < RUN_ID_LEN) return;
    id.len = RUN_ID_LEN;
    if (!runIdValid(id) || strEq(id, strOf(i->run_id))) return;
    if (*i->run_id) {
        if (i->kind == KIND_PRIMARY && i->p.reboot_down_after_ms) {
            i->flags |= FLAG_REBOOT;
            i->reboot_ms = s->now_ms;
        }
        supervisorEvent(s, EVENT_NOTICE, "+reboot", i, "%s", "");
    }
    snprintf(i->run_id, sizeof i->run_id, "%.*s", (int)id.len, id.ptr);
}

static void supervisorInfoPrimaryHostTold(struct supervisor *s, struct sentinelReplicaState *r,
                                          struct str host) {
    if (r->primary_host && strIs(host, r->primary_host)) return;
    sdsfree(r->primary_host);
    r->primary_host = sdsnewstr(host);
    r->conf_change_ms = s->now_ms;
}

static void supervisorInfoPrimaryPortTold(struct supervisor *s, struct sentinelReplicaState *r, int port) {
    if (r->primary_port == port) return;
    r->primary_port = port;
    r->conf_change_ms = s->now_ms;
}

/* What a replica says of itself, behind its role. */
static void supervisorInfoReplicaLineTold(struct supervisor *s, struct sentinelReplicaState *r,
                                          struct str line) {
    struct str value;
    if (supervisorInfoField(line, STR("master_host:"), &value))
        supervisorInfoPrimaryHostTold(s, r, value);
    else if (supervisorInfoField(line, STR("master_port:"), &value))
        supervisorInfoPrimaryPortTold(s, r, (int)supervisorInfoNumberWithin(value, 0, UINT16_MAX));
    else if (supervisorInfoField(line, STR("master_link_status:"), &value))
        r->link_up = strIs(value, "up");
    else if (supervisorInfoField(line, STR("slave_priority:"), &value))
        r->priority = (int)supervisorInfoNumberWithin(value, 0, INT_MAX);
    else if (supervisorInfoField(line, STR("slave_repl_offset:"), &value))
        r->repl_offset = (uint64_t)supervisorInfoNumberWithin(value, 0, INT64_MAX);
    else if (supervisorInfoField(line, STR("replica_announced:"), &value))
        r->announced = supervisorInfoNumberWithin(value, INT_MIN, INT_MAX) != 0;
}

static void supervisorInfoLineTold(struct supervisor *s, struct instance *i, struct receivedInfo *told,
                                   struct str line) {
    struct str value;
    if (supervisorInfoField(line, STR("run_id:"), &value)) {
        supervisorInfoRunIdTold(s, i, value);
    } else if (i->kind == KIND_PRIMARY && supervisorInfoReplicaLine(line, &value)) {
        supervisorInfoReplicaTold(s, i, value);
    } else if (supervisorInfoField(line, STR("master_link_down_since_seconds:"), &value)) {
        told->link_down_ms = 1000 * supervisorInfoNumberWithin(value, INT_MIN, INT_MAX);
    } else if (strStarts(line, STR("role:master"))) {
        told->role = true;
        told->replica = false;
    } else if (strStarts(line, STR("role:slave"))) {
        told->role = told->replica = true;
    } else if (supervisorInfoField(line, STR("master_failover_state:"), &value)) {
        told->failover = true;
        told->failing_over = !strIs(value, "no-failover");
    } else if (i->kind == KIND_REPLICA && told->replica) {
        supervisorInfoReplicaLineTold(s, &i->r, line);
    }
}

static void supervisorInfoTakeIn(struct supervisor *s, struct instance *i, struct receivedInfo *told,
                                 struct str text) {
    while (text.len) {
        struct str line = supervisorInfoTakeUntil(&text, '\n');
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        supervisorInfoLineTold(s, i, told, line);
    }
    if (i->kind == KIND_REPLICA && i->failing_over != told->failing_over) i->r.conf_change_ms = s->now_ms;
    i->failing_over = told->failing_over;
    if (i->kind == KIND_PRIMARY) i->p.knows_failover = told->failover;
    if (i->kind == KIND_REPLICA) i->r.link_down_ms = told->link_down_ms;
    i->info_ms = s->now_ms;
}

static void supervisorInfoRoleTold(struct supervisor *s, struct instance *i, bool replica) {
    if (i->reports_replica == replica) return;
    i->reports_replica = replica;
    i->role_reported_ms = s->now_ms;
    if (i->kind == KIND_REPLICA && replica) i->r.conf_change_ms = s->now_ms;
    bool as_expected = replica == (i->kind == KIND_REPLICA);
    supervisorEvent(s, EVENT_VERBOSE, as_expected ? "+role-change" : "-role-change", i,
                    " new reported role is %s", replica ? "slave" : "master");
}

/* ---- What is done about it ---- */

static bool supervisorInfoPrimaryLooksSane(const struct supervisor *s, const struct instance *primary) {
    return !primary->reports_replica && !(primary->flags & (FLAG_S_DOWN | FLAG_O_DOWN)) &&
           s->now_ms - primary->info_ms < 2 * s->timers.info_period;
}

/* Has nobody thought for that long that it is down? */
static bool supervisorInfoNotDownFor(const struct supervisor *s, const struct instance *i, int64_t ms) {
    int64_t newest = i->s_down_ms > i->o_down_ms ? i->s_down_ms : i->o_down_ms;
    return !newest || s->now_ms - newest > ms;
}

/* Has it been wrong since then for longer than `ms`, which cannot be blamed on its primary or on its own
 * coming back? */
static bool supervisorInfoToBeRepaired(const struct supervisor *s, const struct instance *replica,
                                       int64_t since_ms, int64_t ms) {
    return supervisorInfoPrimaryLooksSane(s, replica->primary) && supervisorInfoNotDownFor(s, replica, ms) &&
           s->now_ms - since_ms > ms;
}

static void supervisorInfoRepair(struct supervisor *s, struct instance *replica, const char *event) {
    if (sendReplicaOf(s, replica, &replica->primary->address))
        supervisorEvent(s, EVENT_NOTICE, event, replica, "%s", "");
}

/* Does it follow the server at that address? */
static bool supervisorInfoFollows(struct supervisor *s, const struct sentinelReplicaState *r,
                                  const struct hostAddress *address) {
    struct hostAddress told = {.name = r->primary_host, .port = r->primary_port};
    if (!told.name || told.port != address->port) return false;
    hostAddressResolve(s, &told);
    return hostAddressSame(&told, address);
}

static void supervisorInfoPrimaryRoleSeen(struct supervisor *s, struct instance *replica) {
    const struct instance *primary = replica->primary;
    if (replica->flags & FLAG_PROMOTED) {
        if ((primary->flags & FLAG_FAILOVER_IN_PROGRESS) &&
            primary->p.failover_state == FAILOVER_WAIT_PROMOTION)
            failoverPromoted(s, replica);
    } else if (supervisorInfoToBeRepaired(s, replica, replica->role_reported_ms,
                                          4 * s->timers.publish_period)) {
        supervisorInfoRepair(s, replica, "+convert-to-slave");
    }
}

/* A failover has told it to follow the promoted replica. */
static void supervisorInfoReconfSeen(struct supervisor *s, struct instance *replica) {
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

static void supervisorInfoReplicaRoleSeen(struct supervisor *s, struct instance *replica) {
    const struct instance *primary = replica->primary;
    bool wrong = !supervisorInfoFollows(s, &replica->r, &primary->address) || replica->failing_over;
    if (wrong &&
        supervisorInfoToBeRepaired(s, replica, replica->r.conf_change_ms, primary->p.failover_timeout_ms))
        supervisorInfoRepair(s, replica, "+fix-slave-config");
    supervisorInfoReconfSeen(s, replica);
}

void infoReceived(struct supervisor *s, struct instance *i, struct str text) {
    struct receivedInfo told = {0};
    sdsfree(i->info);
    i->info = sdsnewstr(text);
    supervisorInfoTakeIn(s, i, &told, text);
    if (!told.role) return;
    supervisorInfoRoleTold(s, i, told.replica);
    if (s->tilt || i->kind != KIND_REPLICA) return;
    if (told.replica)
        supervisorInfoReplicaRoleSeen(s, i);
    else
        supervisorInfoPrimaryRoleSeen(s, i);
}
