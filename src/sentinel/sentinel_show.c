/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_show.c - subcommands that show watched servers; see sentinel_commands.h. All values in maps are
 * bulk strings, also numbers; ages are milliseconds. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/num.h"
#include "client/reply.h"
#include "sentinel/sentinel_commands.h"
#include "sentinel/sentinel_scripts.h"

/* ---- The map of an instance ---- */

/* A map that is being written. */
struct shownMap {
    struct client *c;
    int64_t now_ms;
    int fields;
};

static void sentinelShowText(struct shownMap *to, const char *field, const char *text) {
    replyBulkCstr(to->c, field);
    replyBulkCstr(to->c, text);
    to->fields++;
}

static void sentinelShowNumber(struct shownMap *to, const char *field, int64_t value) {
    replyBulkCstr(to->c, field);
    replyBulkLongLong(to->c, value);
    to->fields++;
}

static void sentinelShowEpoch(struct shownMap *to, const char *field, uint64_t epoch) {
    char text[LONG_STR_SIZE];
    ull2string(text, epoch);
    sentinelShowText(to, field, text);
}

/* Returns how long ago it was; 0: it has not happened. */
static int64_t sentinelShowComputeAge(int64_t now_ms, int64_t since_ms) {
    return since_ms ? now_ms - since_ms : 0;
}

static void sentinelShowAgeField(struct shownMap *to, const char *field, int64_t since_ms) {
    sentinelShowNumber(to, field, sentinelShowComputeAge(to->now_ms, since_ms));
}

static void sentinelShowIdentity(struct shownMap *to, const struct instance *i) {
    sentinelShowText(to, "name", i->name);
    sentinelShowText(to, "ip", hostAddressText(&sentinel, &i->address));
    sentinelShowNumber(to, "port", i->address.port);
    sentinelShowText(to, "runid", i->run_id);
    sds flags = instanceFormatFlags(i);
    sentinelShowText(to, "flags", flags);
    sdsfree(flags);
}

static void sentinelShowLink(struct shownMap *to, const struct instance *i) {
    const struct peerLink *link = i->link;
    sentinelShowNumber(to, "link-pending-commands", link->pending_count);
    sentinelShowNumber(to, "link-refcount", link->owner_count);
    if (i->flags & FLAG_FAILOVER_IN_PROGRESS)
        sentinelShowText(to, "failover-state", failoverStateText(i->p.failover_state));
    sentinelShowAgeField(to, "last-ping-sent", link->ping_ms);
    sentinelShowAgeField(to, "last-ok-ping-reply", link->good_pong_ms);
    sentinelShowAgeField(to, "last-ping-reply", link->pong_ms);
    if (i->flags & FLAG_S_DOWN) sentinelShowAgeField(to, "s-down-time", i->s_down_ms);
    if (i->flags & FLAG_O_DOWN) sentinelShowAgeField(to, "o-down-time", i->o_down_ms);
    sentinelShowNumber(to, "down-after-milliseconds", i->down_after_ms);
}

static void sentinelShowReported(struct shownMap *to, const struct instance *i) {
    sentinelShowAgeField(to, "info-refresh", i->info_ms);
    sentinelShowText(to, "role-reported", i->reports_replica ? "slave" : "master");
    sentinelShowAgeField(to, "role-reported-time", i->role_reported_ms);
}

static void sentinelShowPrimary(struct shownMap *to, const struct instance *i) {
    const struct primaryState *p = &i->p;
    sentinelShowReported(to, i);
    sentinelShowEpoch(to, "config-epoch", i->config_epoch);
    sentinelShowNumber(to, "num-slaves", p->replicas.count);
    sentinelShowNumber(to, "num-other-sentinels", p->sentinels.count);
    sentinelShowNumber(to, "quorum", p->quorum);
    sentinelShowNumber(to, "failover-timeout", p->failover_timeout_ms);
    sentinelShowNumber(to, "parallel-syncs", p->parallel_syncs);
    if (p->notification_script) sentinelShowText(to, "notification-script", p->notification_script);
    if (p->reconfig_script) sentinelShowText(to, "client-reconfig-script", p->reconfig_script);
    if (p->unclean_failover) sentinelShowText(to, "unclean-failover", "yes"); /* else Valkey's fields only */
}

static void sentinelShowReplica(struct shownMap *to, const struct instance *i) {
    const struct sentinelReplicaState *r = &i->r;
    sentinelShowReported(to, i);
    sentinelShowNumber(to, "master-link-down-time", r->link_down_ms);
    sentinelShowText(to, "master-link-status", r->link_up ? "ok" : "err");
    sentinelShowText(to, "master-host", r->primary_host ? r->primary_host : "?");
    sentinelShowNumber(to, "master-port", r->primary_port);
    sentinelShowNumber(to, "slave-priority", r->priority);
    sentinelShowEpoch(to, "slave-repl-offset", r->repl_offset);
    sentinelShowNumber(to, "replica-announced", r->announced);
}

static void sentinelShowSentinel(struct shownMap *to, const struct instance *i) {
    sentinelShowAgeField(to, "last-hello-message", i->s.hello_ms);
    sentinelShowText(to, "voted-leader", *i->s.leader ? i->s.leader : "?");
    sentinelShowEpoch(to, "voted-leader-epoch", i->s.leader_epoch);
}

static void sentinelShowReplyInstance(struct client *c, const struct instance *i) {
    struct replyMark map = replyDeferLen(c);
    struct shownMap to = {.c = c, .now_ms = mstime()};
    sentinelShowIdentity(&to, i);
    sentinelShowLink(&to, i);
    switch (i->kind) {
    case KIND_PRIMARY: sentinelShowPrimary(&to, i); break;
    case KIND_REPLICA: sentinelShowReplica(&to, i); break;
    case KIND_SENTINEL: sentinelShowSentinel(&to, i); break;
    }
    replySetMapLen(c, map, to.fields);
}

/* Leaves out replicas with replica-announced no. */
static void sentinelShowReplyInstances(struct client *c, const struct instances *all) {
    struct replyMark array = replyDeferLen(c);
    int shown = 0;
    for (int k = 0; k < all->count; k++) {
        const struct instance *i = all->items[k];
        if (i->kind == KIND_REPLICA && !i->r.announced) continue;
        sentinelShowReplyInstance(c, i);
        shown++;
    }
    replySetArrayLen(c, array, shown);
}

/* ---- Subcommands ---- */

void sentinelPrimariesCommand(struct client *c) {
    sentinelShowReplyInstances(c, &sentinel.primaries);
}

void sentinelPrimaryCommand(struct client *c) {
    const struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (primary) sentinelShowReplyInstance(c, primary);
}

void sentinelReplicasCommand(struct client *c) {
    const struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (primary) sentinelShowReplyInstances(c, &primary->p.replicas);
}

void sentinelSentinelsCommand(struct client *c) {
    const struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (primary) sentinelShowReplyInstances(c, &primary->p.sentinels);
}

void sentinelAddressCommand(struct client *c) {
    const struct instance *primary = sentinelFindPrimary(c->argv[2]);
    if (!primary) {
        replyNullArray(c);
        return;
    }
    const struct hostAddress *address = supervisorCurrentAddress(primary);
    replyArrayLen(c, 2);
    replyBulkCstr(c, hostAddressText(&sentinel, address));
    replyBulkLongLong(c, address->port);
}

/* Replies [age, text or null]. */
static void sentinelShowReplyInfo(struct client *c, const struct instance *i, int64_t now_ms) {
    replyArrayLen(c, 2);
    replyLongLong(c, sentinelShowComputeAge(now_ms, i->info_ms));
    if (i->info)
        replyBulk(c, sdsview(i->info));
    else
        replyNull(c);
}

static bool sentinelShowIsNamed(const struct client *c, const struct instance *primary) {
    for (int a = 2; a < c->argc; a++) {
        if (strEq(c->argv[a], sdsview(primary->name))) return true;
    }
    return false;
}

/* Replies each named primary once: its name, then the last INFO of it and its replicas. */
void sentinelInfoCacheCommand(struct client *c) {
    struct replyMark array = replyDeferLen(c);
    int64_t now_ms = mstime();
    int named = 0;
    for (int k = 0; k < sentinel.primaries.count; k++) {
        const struct instance *primary = sentinel.primaries.items[k];
        if (!sentinelShowIsNamed(c, primary)) continue;
        const struct instances *replicas = &primary->p.replicas;
        replyBulk(c, sdsview(primary->name));
        replyArrayLen(c, 1 + replicas->count);
        sentinelShowReplyInfo(c, primary, now_ms);
        for (int r = 0; r < replicas->count; r++) sentinelShowReplyInfo(c, replicas->items[r], now_ms);
        named++;
    }
    replySetArrayLen(c, array, 2 * named);
}

/* `priv` is a struct shownMap. */
static void sentinelShowReplyScript(void *priv, const struct sentinelScript *script) {
    struct shownMap *to = priv;
    replyMapLen(to->c, 5);
    replyBulkCstr(to->c, "argv");
    replyArrayLen(to->c, script->argc);
    for (int a = 0; a < script->argc; a++) replyBulk(to->c, sdsview(script->argv[a]));
    sentinelShowText(to, "flags", script->pid ? "running" : "scheduled");
    sentinelShowNumber(to, "pid", script->pid);
    if (script->pid)
        sentinelShowAgeField(to, "run-time", script->start_ms);
    else
        sentinelShowNumber(to, "run-delay",
                           script->start_ms > to->now_ms ? script->start_ms - to->now_ms : 0);
    sentinelShowNumber(to, "retry-num", script->runs);
}

void sentinelPendingScriptsCommand(struct client *c) {
    struct shownMap to = {.c = c, .now_ms = mstime()};
    replyArrayLen(c, scriptsCountQueued());
    scriptsForEach(sentinelShowReplyScript, &to);
}
