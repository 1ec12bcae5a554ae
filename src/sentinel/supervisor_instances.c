/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_instances.c - instances and their addresses: creating, finding, showing,
 * freeing (see instance.h). */
#include <arpa/inet.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define HOST_NAME_MAX_LEN 255

const char *failoverStateText(enum sentinelFailoverState state) {
    static const char *const texts[] = {
        "none",           "wait_start",    "select_slave", "send_slaveof_noone",
        "wait_promotion", "reconf_slaves", "update_config"};
    serverAssert((unsigned)state < sizeof texts / sizeof *texts);
    return texts[state];
}

/* ---- Addresses ---- */

/* Writes the canonical form of an IP; returns false if `host` is none. */
static bool supervisorInstancesCanonicalIp(const char *host, char ip[HOST_IP_LEN]) {
    unsigned char bytes[sizeof(struct in6_addr)];
    int family = inet_pton(AF_INET, host, bytes) == 1    ? AF_INET
                 : inet_pton(AF_INET6, host, bytes) == 1 ? AF_INET6
                                                         : AF_UNSPEC;
    return family != AF_UNSPEC && inet_ntop(family, bytes, ip, HOST_IP_LEN);
}

bool hostAddressResolve(struct supervisor *s, struct hostAddress *a) {
    char ip[HOST_IP_LEN];
    if (!supervisorInstancesCanonicalIp(a->name, ip)) {
        bool resolved = s->settings.resolve_hostnames && s->env->resolve(s->ctx, a->name, ip);
        if (!resolved) return false;
    }
    memcpy(a->ip, ip, sizeof ip);
    return true;
}

/* Returns whether hellos and lines of files can contain the host as one word. */
static bool supervisorInstancesIsOneWord(const char *host) {
    size_t len = strlen(host);
    if (len == 0 || len > HOST_NAME_MAX_LEN) return false;
    for (const char *c = host; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr(",\"'\\#", *c)) return false;
    return true;
}

bool hostAddressInit(struct supervisor *s, struct hostAddress *a, const char *host, int port,
                     bool accept_unresolved) {
    *a = (struct hostAddress){.name = sdsnew(host), .port = port};
    bool valid = supervisorInstancesIsOneWord(host);
    if (valid && hostAddressResolve(s, a)) return true;
    supervisorLog(s, LL_WARNING, "The host name '%s' could not be resolved", host);
    return valid && accept_unresolved && s->settings.resolve_hostnames;
}

void hostAddressCopy(struct hostAddress *to, const struct hostAddress *from) {
    *to = *from;
    to->name = sdsdup(from->name);
}

void hostAddressFree(struct hostAddress *a) {
    sdsfree(a->name);
    a->name = NULL;
}

bool hostAddressIsSame(const struct hostAddress *a, const struct hostAddress *b) {
    if (a->port != b->port) return false;
    return (*a->ip && strcmp(a->ip, b->ip) == 0) || strcasecmp(a->name, b->name) == 0;
}

const char *hostAddressText(const struct supervisor *s, const struct hostAddress *a) {
    return s->settings.announce_hostnames ? a->name : a->ip;
}

/* ---- Searching ---- */

struct instance *instancesFindName(const struct instances *all, const char *name) {
    for (int n = 0; n < all->count; n++)
        if (strcmp(all->items[n]->name, name) == 0) return all->items[n];
    return NULL;
}

struct instance *instancesFindAddress(const struct instances *all, const struct hostAddress *address) {
    for (int n = 0; n < all->count; n++)
        if (hostAddressIsSame(&all->items[n]->address, address)) return all->items[n];
    return NULL;
}

struct instance *instancesFindSentinel(const struct instances *all, const struct hostAddress *address,
                                       const char *run_id) {
    for (int n = 0; n < all->count; n++) {
        struct instance *i = all->items[n];
        if (address && !hostAddressIsSame(&i->address, address)) continue;
        if (run_id && strcmp(i->run_id, run_id) != 0) continue;
        return i;
    }
    return NULL;
}

bool runIdIsValid(struct str id) {
    if (id.len == 0 || id.len > RUN_ID_LEN) return false;
    for (size_t n = 0; n < id.len; n++) {
        char c = id.ptr[n], lower = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'z')) return false;
    }
    return true;
}

bool instanceIsDisconnected(const struct instance *i) {
    const struct peerLink *link = i->link;
    if (!link->channel[CHANNEL_COMMAND]) return true;
    return i->kind != KIND_SENTINEL && !link->channel[CHANNEL_PUBSUB];
}

sds instanceFormatFlags(const struct instance *i) {
    static const struct {
        unsigned flag;
        const char *text;
    } before[] = {{FLAG_S_DOWN, "s_down"}, {FLAG_O_DOWN, "o_down"}},
      after[] = {{FLAG_MASTER_DOWN, "master_down"},
                 {FLAG_FAILOVER_IN_PROGRESS, "failover_in_progress"},
                 {FLAG_PROMOTED, "promoted"},
                 {FLAG_RECONF_SENT, "reconf_sent"},
                 {FLAG_RECONF_INPROG, "reconf_inprog"},
                 {FLAG_RECONF_DONE, "reconf_done"},
                 {FLAG_FORCE_FAILOVER, "force_failover"},
                 {FLAG_COORDINATED, "coordinated_failover"},
                 {FLAG_SCRIPT_KILL_SENT, "script_kill_sent"},
                 {FLAG_REBOOT, "master_reboot"}};
    sds text = sdsempty();
    for (size_t n = 0; n < sizeof before / sizeof *before; n++)
        if (i->flags & before[n].flag) text = sdscatprintf(text, "%s,", before[n].text);
    text = sdscat(text, instanceKindText(i));
    if (instanceIsDisconnected(i)) text = sdscat(text, ",disconnected");
    for (size_t n = 0; n < sizeof after / sizeof *after; n++)
        if (i->flags & after[n].flag) text = sdscatprintf(text, ",%s", after[n].text);
    return text;
}

/* ---- Creation ---- */

static struct instances *supervisorInstancesListOf(struct supervisor *s, enum instanceKind kind,
                                                   struct instance *primary) {
    switch (kind) {
    case KIND_PRIMARY: return &s->primaries;
    case KIND_REPLICA: return &primary->p.replicas;
    case KIND_SENTINEL: return &primary->p.sentinels;
    }
    serverUnreachable();
}

static void supervisorInstancesAdd(struct instances *all, struct instance *i) {
    all->items = zrealloc(all->items, sizeof *all->items * (size_t)(all->count + 1));
    all->items[all->count++] = i;
}

static void supervisorInstancesTakeOut(struct instances *all, struct instance *i) {
    int at = 0;
    while (all->items[at] != i) at++;
    serverAssert(at < all->count);
    all->count--;
    memmove(all->items + at, all->items + at + 1, sizeof *all->items * (size_t)(all->count - at));
}

/* Returns "ip:port", with brackets around an IPv6 address. */
static sds supervisorInstancesReplicaName(const struct supervisor *s, const struct hostAddress *address) {
    const char *host = hostAddressText(s, address);
    return sdscatprintf(sdsempty(), strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, address->port);
}

static void supervisorInstancesInitPrimary(struct supervisor *s, struct primaryState *p) {
    p->quorum = 1;
    p->parallel_syncs = 1;
    p->sync_replicas = -1;
    p->failover_timeout_ms = s->timers.default_failover_timeout;
}

static void supervisorInstancesInitReplica(struct supervisor *s, struct sentinelReplicaState *r) {
    r->priority = REPLICA_PRIORITY;
    r->announced = true;
    r->conf_change_ms = s->now_ms;
}

struct instance *instanceCreate(struct supervisor *s, enum instanceKind kind, const char *name,
                                const struct hostAddress *address, struct instance *primary) {
    serverAssert((kind == KIND_PRIMARY) == !primary);
    struct instance *i = zcalloc(1, sizeof *i);
    i->id = ++s->next_instance;
    i->kind = kind;
    i->name = kind == KIND_REPLICA ? supervisorInstancesReplicaName(s, address) : sdsnew(name);
    hostAddressCopy(&i->address, address);
    i->primary = primary;
    i->hello_sent_ms = i->role_reported_ms = s->now_ms;
    i->down_after_ms = primary ? primary->down_after_ms : s->timers.default_down_after;
    i->reports_replica = kind == KIND_REPLICA;
    if (kind == KIND_PRIMARY) supervisorInstancesInitPrimary(s, &i->p);
    if (kind == KIND_REPLICA) supervisorInstancesInitReplica(s, &i->r);
    if (kind == KIND_SENTINEL) {
        serverAssert(runIdIsValid(sdsview(i->name)));
        memcpy(i->run_id, i->name, sdslen(i->name) + 1);
        i->s.hello_ms = s->now_ms;
    }
    i->link = linkCreate(s, i);
    supervisorInstancesAdd(supervisorInstancesListOf(s, kind, primary), i);
    return i;
}

static void supervisorInstancesFreePrimary(struct supervisor *s, struct primaryState *p) {
    while (p->replicas.count) instanceRemove(s, p->replicas.items[p->replicas.count - 1]);
    while (p->sentinels.count) instanceRemove(s, p->sentinels.items[p->sentinels.count - 1]);
    zfree(p->replicas.items);
    zfree(p->sentinels.items);
    sdsfree(p->auth_user);
    sdsfree(p->auth_pass);
    sdsfree(p->notification_script);
    sdsfree(p->reconfig_script);
    for (int n = 0; n < p->renamed_count; n++) {
        sdsfree(p->renamed[n].from);
        sdsfree(p->renamed[n].to);
    }
    zfree(p->renamed);
}

void instanceRemove(struct supervisor *s, struct instance *i) {
    if (i->primary && i->primary->p.promoted == i) i->primary->p.promoted = NULL;
    supervisorInstancesTakeOut(supervisorInstancesListOf(s, i->kind, i->primary), i);
    if (i->kind == KIND_PRIMARY) supervisorInstancesFreePrimary(s, &i->p);
    if (i->kind == KIND_REPLICA) sdsfree(i->r.primary_host);
    linkRelease(s, i->link, i);
    hostAddressFree(&i->address);
    sdsfree(i->name);
    sdsfree(i->info);
    zfree(i);
}
