/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_hello.c - hello messages, by which Sentinels of the same primary find each other and announce
 * its address.
 *
 *     ip,port,run id,current epoch,  primary's name,ip,port,config epoch
 *     └── the sender ────────────┘   └── its view of the primary ──────┘
 *
 * They are published on every watched server, and sent to every known Sentinel. The greater config epoch is
 * right: no agreement is needed, and in the end all Sentinels announce the same. */
#include <stdio.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

enum {
    HELLO_IP,
    HELLO_PORT,
    HELLO_ID,
    HELLO_EPOCH,
    HELLO_NAME,
    HELLO_HOST,
    HELLO_HOST_PORT,
    HELLO_CONFIG,
    HELLO_FIELDS
};

struct hello {
    sds *field; /* HELLO_FIELDS of them */
    int port, primary_port;
    uint64_t epoch, config_epoch;
};

/* ---- Sending ---- */

bool helloSend(struct supervisor *s, struct instance *i) {
    char own_ip[HOST_IP_LEN];
    const struct supervisorSettings *set = &s->settings;
    const struct instance *primary = instancePrimary(i);
    const struct hostAddress *address = supervisorCurrentAddress(primary);
    if (instanceIsDisconnected(i)) return false;
    if (!set->announce_ip && !s->env->ownIp(s->ctx, i->link, own_ip)) return false;
    sds text =
        sdscatprintf(sdsempty(), "%s,%d,%s,%llu,%s,%s,%d,%llu", set->announce_ip ? set->announce_ip : own_ip,
                     set->announce_port ? set->announce_port : set->own_port, s->my_id,
                     (unsigned long long)s->current_epoch, primary->name, hostAddressText(s, address),
                     address->port, (unsigned long long)primary->config_epoch);
    instanceSend(s, i, REQ_PUBLISH, 3, (struct str[]){STR("PUBLISH"), STR(HELLO_CHANNEL), sdsview(text)});
    sdsfree(text);
    return true;
}

static void supervisorHelloMakeDue(struct supervisor *s, struct instance *i) {
    i->hello_sent_ms = minTime(i->hello_sent_ms, s->now_ms - s->timers.publish_period - 1);
}

void helloForceUpdate(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas, *sentinels = &primary->p.sentinels;
    supervisorHelloMakeDue(s, primary);
    for (int n = 0; n < replicas->count; n++) supervisorHelloMakeDue(s, replicas->items[n]);
    for (int n = 0; n < sentinels->count; n++) supervisorHelloMakeDue(s, sentinels->items[n]);
}

/* ---- Parsing ---- */

static bool supervisorHelloParsePort(sds text, int *port) {
    int64_t n;
    if (!string2ll(sdsview(text), &n) || n < 1 || n > UINT16_MAX) return false;
    *port = (int)n;
    return true;
}

static bool supervisorHelloParseEpoch(sds text, uint64_t *epoch) {
    return string2ull(sdsview(text), epoch) && *epoch <= EPOCH_MAX;
}

/* Parses the text. The caller frees the *count elements of h->field with
 * sdsfreesplitres, also after a failure. */
static bool supervisorHelloParse(struct hello *h, struct str text, int *count) {
    h->field = sdssplitlen(text.ptr, text.len, ",", 1, count);
    return *count == HELLO_FIELDS && !memchr(text.ptr, '\0', text.len) &&
           supervisorHelloParsePort(h->field[HELLO_PORT], &h->port) &&
           supervisorHelloParsePort(h->field[HELLO_HOST_PORT], &h->primary_port) &&
           supervisorHelloParseEpoch(h->field[HELLO_EPOCH], &h->epoch) &&
           supervisorHelloParseEpoch(h->field[HELLO_CONFIG], &h->config_epoch) &&
           runIdIsValid(sdsview(h->field[HELLO_ID]));
}

/* ---- The sender ---- */

/* Copies the new address of a run id to all primaries for which that Sentinel is known. */
static void supervisorHelloSpreadAddress(struct supervisor *s, struct instance *sentinel) {
    int others = 0;
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *same =
            instancesFindSentinel(&s->primaries.items[n]->p.sentinels, NULL, sentinel->run_id);
        if (!same) continue;
        linkClose(s, same->link, CHANNEL_COMMAND); /* it was connected to the old address */
        if (same == sentinel) continue;
        hostAddressFree(&same->address);
        hostAddressCopy(&same->address, &sentinel->address);
        others++;
    }
    if (others)
        supervisorEvent(s, EVENT_NOTICE, "+sentinel-address-update", sentinel,
                        " %d additional matching instances", others);
}

static void supervisorHelloForgetSentinel(struct supervisor *s, const char *run_id) {
    char id[RUN_ID_LEN + 1]; /* run_id may be part of what is removed */
    snprintf(id, sizeof id, "%s", run_id);
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *same = instancesFindSentinel(&s->primaries.items[n]->p.sentinels, NULL, id);
        if (same) instanceRemove(s, same);
    }
}

/* Adds a Sentinel that was unknown, or known at another address. */
static struct instance *supervisorHelloAddSentinel(struct supervisor *s, struct instance *primary,
                                                   const struct hostAddress *address, const char *run_id) {
    struct instances *sentinels = &primary->p.sentinels;
    struct instance *moved = instancesFindSentinel(sentinels, NULL, run_id);
    struct instance *was_there = moved ? NULL : instancesFindAddress(sentinels, address);
    if (moved) {
        supervisorEvent(s, EVENT_NOTICE, "+sentinel-address-switch", primary, " ip %s port %d for %s",
                        hostAddressText(s, address), address->port, run_id);
        instanceRemove(s, moved);
    } else if (was_there) {
        supervisorEvent(s, EVENT_NOTICE, "+sentinel-invalid-addr", was_there, "%s", "");
        supervisorHelloForgetSentinel(s, was_there->run_id);
    }
    struct instance *sentinel = instanceCreate(s, KIND_SENTINEL, run_id, address, primary);
    if (!moved) supervisorEvent(s, EVENT_NOTICE, "+sentinel", sentinel, "%s", "");
    linkShare(s, sentinel);
    if (moved) supervisorHelloSpreadAddress(s, sentinel);
    supervisorSave(s);
    return sentinel;
}

/* Returns the sending Sentinel, or NULL if it is unknown and cannot be added. */
static struct instance *supervisorHelloFindSender(struct supervisor *s, struct instance *primary,
                                                  const struct hello *h) {
    const char *run_id = h->field[HELLO_ID];
    struct hostAddress address;
    struct instance *sentinel;
    if (hostAddressInit(s, &address, h->field[HELLO_IP], h->port, false)) {
        sentinel = instancesFindSentinel(&primary->p.sentinels, &address, run_id);
        if (!sentinel) sentinel = supervisorHelloAddSentinel(s, primary, &address, run_id);
    } else {
        sentinel = instancesFindSentinel(&primary->p.sentinels, NULL, run_id);
    }
    hostAddressFree(&address);
    return sentinel;
}

/* ---- Its view of the primary ---- */

static void supervisorHelloMoveTo(struct supervisor *s, struct instance *primary, struct instance *sentinel,
                                  const struct hostAddress *to) {
    const struct hostAddress *from = supervisorCurrentAddress(primary);
    supervisorEvent(s, EVENT_WARNING, "+config-update-from", sentinel, "%s", "");
    supervisorEventText(s, EVENT_WARNING, "+switch-master", primary, "%s %s %d %s %d", primary->name,
                        hostAddressText(s, from), from->port, hostAddressText(s, to), to->port);
    failoverRunReconfigScript(s, primary, "observer", from, to);
    primarySwitchAddress(s, primary, to);
}

/* Takes a newer configuration. The address is compared with the one announced last: during a failover of this
 * Sentinel that is the promoted replica's, and the newer configuration may well have the old primary's. */
static void supervisorHelloTakeConfig(struct supervisor *s, struct instance *primary,
                                      struct instance *sentinel, const struct hello *h) {
    if (h->config_epoch <= primary->config_epoch) return;
    struct hostAddress to;
    if (hostAddressInit(s, &to, h->field[HELLO_HOST], h->primary_port, false)) {
        primary->config_epoch = h->config_epoch;
        if (hostAddressIsSame(&to, supervisorCurrentAddress(primary)))
            supervisorSave(s);
        else
            supervisorHelloMoveTo(s, primary, sentinel, &to);
    }
    hostAddressFree(&to);
}

static void supervisorHelloProcess(struct supervisor *s, const struct hello *h) {
    struct instance *primary = supervisorFindPrimary(s, h->field[HELLO_NAME]);
    if (!primary || strcmp(h->field[HELLO_ID], s->my_id) == 0) return;
    struct instance *sentinel = supervisorHelloFindSender(s, primary, h);
    supervisorTakeEpoch(s, primary, h->epoch);
    if (!sentinel) return;
    supervisorHelloTakeConfig(s, primary, sentinel, h);
    sentinel->s.hello_ms = s->now_ms;
}

void supervisorProcessHello(struct supervisor *s, struct str hello, int64_t now_ms) {
    s->now_ms = now_ms;
    struct hello h;
    int count;
    if (supervisorHelloParse(&h, hello, &count)) supervisorHelloProcess(s, &h);
    sdsfreesplitres(h.field, count);
}
