/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_show.c - what users and clients see of that which is watched; see sentinel_commands.h. All values
 * of maps are bulk strings, numbers too; ages are milliseconds. */
#include "sentinel/sentinel_commands.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/num.h"
#include "client/reply.h"
#include "sentinel/sentinel_scripts.h"

/* ---- The map of an instance ---- */

/* A map that is being written. */
struct shown {
    struct client *c;
    int64_t now_ms;
    int fields;
};

static void showText(struct shown *to, const char *field, const char *text) {
    replyBulkCstr(to->c, field);
    replyBulkCstr(to->c, text);
    to->fields++;
}

static void showNumber(struct shown *to, const char *field, int64_t value) {
    replyBulkCstr(to->c, field);
    replyBulkLongLong(to->c, value);
    to->fields++;
}

static void showEpoch(struct shown *to, const char *field, uint64_t epoch) {
    char text[LONG_STR_SIZE];
    ull2string(text, epoch);
    showText(to, field, text);
}

/* How long ago; 0: it has not happened. */
static int64_t age(int64_t now_ms, int64_t since_ms) {
    return since_ms ? now_ms - since_ms : 0;
}

static void showAge(struct shown *to, const char *field, int64_t since_ms) {
    showNumber(to, field, age(to->now_ms, since_ms));
}

static void showWhoAndWhere(struct shown *to, const struct instance *i) {
    showText(to, "name", i->name);
    showText(to, "ip", hostAddressText(&sentinel, &i->address));
    showNumber(to, "port", i->address.port);
    showText(to, "runid", i->run_id);
    sds flags = instanceFlagsText(i);
    showText(to, "flags", flags);
    sdsfree(flags);
}

static void showLink(struct shown *to, const struct instance *i) {
    const struct peerLink *link = i->link;
    showNumber(to, "link-pending-commands", link->pending_count);
    showNumber(to, "link-refcount", link->owner_count);
    if (i->flags & FLAG_FAILOVER_IN_PROGRESS)
        showText(to, "failover-state", failoverStateText(i->p.failover_state));
    showAge(to, "last-ping-sent", link->ping_ms);
    showAge(to, "last-ok-ping-reply", link->good_pong_ms);
    showAge(to, "last-ping-reply", link->pong_ms);
    if (i->flags & FLAG_S_DOWN) showAge(to, "s-down-time", i->s_down_ms);
    if (i->flags & FLAG_O_DOWN) showAge(to, "o-down-time", i->o_down_ms);
    showNumber(to, "down-after-milliseconds", i->down_after_ms);
}

static void showReported(struct shown *to, const struct instance *i) {
    showAge(to, "info-refresh", i->info_ms);
    showText(to, "role-reported", i->reports_replica ? "slave" : "master");
    showAge(to, "role-reported-time", i->role_reported_ms);
}

static void showPrimary(struct shown *to, const struct instance *i) {
    const struct primaryState *p = &i->p;
    showReported(to, i);
    showEpoch(to, "config-epoch", i->config_epoch);
    showNumber(to, "num-slaves", p->replicas.count);
    showNumber(to, "num-other-sentinels", p->sentinels.count);
    showNumber(to, "quorum", p->quorum);
    showNumber(to, "failover-timeout", p->failover_timeout_ms);
    showNumber(to, "parallel-syncs", p->parallel_syncs);
    if (p->notification_script) showText(to, "notification-script", p->notification_script);
    if (p->reconfig_script) showText(to, "client-reconfig-script", p->reconfig_script);
}

static void showReplica(struct shown *to, const struct instance *i) {
    const struct sentinelReplicaState *r = &i->r;
    showReported(to, i);
    showNumber(to, "master-link-down-time", r->link_down_ms);
    showText(to, "master-link-status", r->link_up ? "ok" : "err");
    showText(to, "master-host", r->primary_host ? r->primary_host : "?");
    showNumber(to, "master-port", r->primary_port);
    showNumber(to, "slave-priority", r->priority);
    showEpoch(to, "slave-repl-offset", r->repl_offset);
    showNumber(to, "replica-announced", r->announced);
}

static void showSentinel(struct shown *to, const struct instance *i) {
    showAge(to, "last-hello-message", i->s.hello_ms);
    showText(to, "voted-leader", *i->s.leader ? i->s.leader : "?");
    showEpoch(to, "voted-leader-epoch", i->s.leader_epoch);
}

static void replyInstance(struct client *c, const struct instance *i) {
    struct replyMark map = replyDeferLen(c);
    struct shown to = {.c = c, .now_ms = mstime()};
    showWhoAndWhere(&to, i);
    showLink(&to, i);
    switch (i->kind) {
    case KIND_PRIMARY: showPrimary(&to, i); break;
    case KIND_REPLICA: showReplica(&to, i); break;
    case KIND_SENTINEL: showSentinel(&to, i); break;
    }
    replySetMapLen(c, map, to.fields);
}

/* But for replicas that do not want to be seen (replica-announced no). */
static void replyInstances(struct client *c, const struct instances *all) {
    struct replyMark array = replyDeferLen(c);
    int shown = 0;
    for (int k = 0; k < all->count; k++) {
        const struct instance *i = all->items[k];
        if (i->kind == KIND_REPLICA && !i->r.announced) continue;
        replyInstance(c, i);
        shown++;
    }
    replySetArrayLen(c, array, shown);
}

/* ---- Subcommands ---- */

void sentinelPrimariesCommand(struct client *c) {
    replyInstances(c, &sentinel.primaries);
}

void sentinelPrimaryCommand(struct client *c) {
    const struct instance *primary = sentinelPrimaryArg(c, c->argv[2]);
    if (primary) replyInstance(c, primary);
}

void sentinelReplicasCommand(struct client *c) {
    const struct instance *primary = sentinelPrimaryArg(c, c->argv[2]);
    if (primary) replyInstances(c, &primary->p.replicas);
}

void sentinelSentinelsCommand(struct client *c) {
    const struct instance *primary = sentinelPrimaryArg(c, c->argv[2]);
    if (primary) replyInstances(c, &primary->p.sentinels);
}

void sentinelAddressCommand(struct client *c) {
    const struct instance *primary = sentinelPrimaryFind(c->argv[2]);
    if (!primary) {
        replyNullArray(c);
        return;
    }
    const struct hostAddress *address = supervisorCurrentAddress(primary);
    replyArrayLen(c, 2);
    replyBulkCstr(c, hostAddressText(&sentinel, address));
    replyBulkLongLong(c, address->port);
}

/* [age, text or null] */
static void replyInfo(struct client *c, const struct instance *i, int64_t now_ms) {
    replyArrayLen(c, 2);
    replyLongLong(c, age(now_ms, i->info_ms));
    if (i->info)
        replyBulk(c, sdsview(i->info));
    else
        replyNull(c);
}

static bool isNamed(const struct client *c, const struct instance *primary) {
    for (int a = 2; a < c->argc; a++) {
        if (strEq(c->argv[a], sdsview(primary->name))) return true;
    }
    return false;
}

/* Each primary that is named, once: its name, then what it and its replicas have told. */
void sentinelInfoCacheCommand(struct client *c) {
    struct replyMark array = replyDeferLen(c);
    int64_t now_ms = mstime();
    int named = 0;
    for (int k = 0; k < sentinel.primaries.count; k++) {
        const struct instance *primary = sentinel.primaries.items[k];
        if (!isNamed(c, primary)) continue;
        const struct instances *replicas = &primary->p.replicas;
        replyBulk(c, sdsview(primary->name));
        replyArrayLen(c, 1 + replicas->count);
        replyInfo(c, primary, now_ms);
        for (int r = 0; r < replicas->count; r++) replyInfo(c, replicas->items[r], now_ms);
        named++;
    }
    replySetArrayLen(c, array, 2 * named);
}

/* `priv` is what shows it. */
static void replyScript(void *priv, const struct sentinelScript *script) {
    struct shown *to = priv;
    replyMapLen(to->c, 5);
    replyBulkCstr(to->c, "argv");
    replyArrayLen(to->c, script->argc);
    for (int a = 0; a < script->argc; a++) replyBulk(to->c, sdsview(script->argv[a]));
    showText(to, "flags", script->pid ? "running" : "scheduled");
    showNumber(to, "pid", script->pid);
    if (script->pid)
        showAge(to, "run-time", script->start_ms);
    else
        showNumber(to, "run-delay", script->start_ms > to->now_ms ? script->start_ms - to->now_ms : 0);
    showNumber(to, "retry-num", script->runs);
}

void sentinelPendingScriptsCommand(struct client *c) {
    struct shown to = {.c = c, .now_ms = mstime()};
    replyArrayLen(c, scriptsQueued());
    scriptsForEach(replyScript, &to);
}
