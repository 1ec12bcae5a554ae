/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_hello.c - hello messages: by them Sentinels of the same primary find each other, and tell where
 * it is.
 *
 *     ip,port,run id,current epoch,  primary's name,ip,port,config epoch
 *     └── who says it ───────────┘   └── and what he thinks ──────────┘
 *
 * They are published on every server that is watched, and sent to every Sentinel that is known. Who has the
 * greater config epoch is right: nobody has to be asked, and in the end all say the same. */
#include <stdio.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

enum { SAYS_IP, SAYS_PORT, SAYS_ID, SAYS_EPOCH, SAYS_NAME, SAYS_HOST, SAYS_HOST_PORT, SAYS_CONFIG, FIELDS };

struct hello {
    sds *field; /* FIELDS of them */
    int port, primary_port;
    uint64_t epoch, config_epoch;
};

/* ---- Sending ---- */

bool helloSend(struct supervisor *s, struct instance *i) {
    char own_ip[HOST_IP_LEN];
    const struct supervisorSettings *set = &s->settings;
    const struct instance *primary = instancePrimary(i);
    const struct hostAddress *address = supervisorCurrentAddress(primary);
    if (instanceDisconnected(i)) return false;
    if (!set->announce_ip && !s->env->ownIp(s->w, i->link, own_ip)) return false;
    sds text =
        sdscatprintf(sdsempty(), "%s,%d,%s,%llu,%s,%s,%d,%llu", set->announce_ip ? set->announce_ip : own_ip,
                     set->announce_port ? set->announce_port : set->own_port, s->my_id,
                     (unsigned long long)s->current_epoch, primary->name, hostAddressText(s, address),
                     address->port, (unsigned long long)primary->config_epoch);
    instanceSend(s, i, ASKED_PUBLISH, 3, (struct str[]){STR("PUBLISH"), STR(HELLO_CHANNEL), sdsview(text)});
    sdsfree(text);
    return true;
}

static void supervisorHelloForceHello(struct supervisor *s, struct instance *i) {
    i->hello_sent_ms = minTime(i->hello_sent_ms, s->now_ms - s->timers.publish_period - 1);
}

void helloForceUpdate(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas, *sentinels = &primary->p.sentinels;
    supervisorHelloForceHello(s, primary);
    for (int n = 0; n < replicas->count; n++) supervisorHelloForceHello(s, replicas->items[n]);
    for (int n = 0; n < sentinels->count; n++) supervisorHelloForceHello(s, sentinels->items[n]);
}

/* ---- What it says ---- */

static bool supervisorHelloIoClientOf(sds text, int *port) {
    int64_t n;
    if (!string2ll(sdsview(text), &n) || n < 1 || n > UINT16_MAX) return false;
    *port = (int)n;
    return true;
}

static bool supervisorHelloEpochOf(sds text, uint64_t *epoch) {
    return string2ull(sdsview(text), epoch) && *epoch <= EPOCH_MAX;
}

/* h->field is to be freed by sdsfreesplitres in any case; *count of them. */
static bool helloRead(struct hello *h, struct str text, int *count) {
    h->field = sdssplitlen(text.ptr, text.len, ",", 1, count);
    return *count == FIELDS && !memchr(text.ptr, '\0', text.len) &&
           supervisorHelloIoClientOf(h->field[SAYS_PORT], &h->port) &&
           supervisorHelloIoClientOf(h->field[SAYS_HOST_PORT], &h->primary_port) &&
           supervisorHelloEpochOf(h->field[SAYS_EPOCH], &h->epoch) &&
           supervisorHelloEpochOf(h->field[SAYS_CONFIG], &h->config_epoch) &&
           runIdValid(sdsview(h->field[SAYS_ID]));
}

/* ---- Who says it ---- */

/* That run id lives there: whoever else knows it, does so from now on, too. */
static void supervisorHelloSpreadAddress(struct supervisor *s, struct instance *sentinel) {
    int others = 0;
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *same =
            instancesFindSentinel(&s->primaries.items[n]->p.sentinels, NULL, sentinel->run_id);
        if (!same) continue;
        linkClose(s, same->link, CHANNEL_COMMAND); /* which went to where it has been */
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
    char id[RUN_ID_LEN + 1]; /* it may stand in what is removed */
    snprintf(id, sizeof id, "%s", run_id);
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *same = instancesFindSentinel(&s->primaries.items[n]->p.sentinels, NULL, id);
        if (same) instanceRemove(s, same);
    }
}

/* It has not been known, or not at this address. */
static struct instance *supervisorHelloMeet(struct supervisor *s, struct instance *primary,
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

/* NULL: nobody that is known, or could be. */
static struct instance *supervisorHelloSpeaker(struct supervisor *s, struct instance *primary,
                                               const struct hello *h) {
    const char *run_id = h->field[SAYS_ID];
    struct hostAddress address;
    struct instance *sentinel;
    if (hostAddressInit(s, &address, h->field[SAYS_IP], h->port, false)) {
        sentinel = instancesFindSentinel(&primary->p.sentinels, &address, run_id);
        if (!sentinel) sentinel = supervisorHelloMeet(s, primary, &address, run_id);
    } else {
        sentinel = instancesFindSentinel(&primary->p.sentinels, NULL, run_id);
    }
    hostAddressFree(&address);
    return sentinel;
}

/* ---- What he thinks ---- */

static void supervisorHelloMoveTo(struct supervisor *s, struct instance *primary, struct instance *sentinel,
                                  const struct hostAddress *to) {
    const struct hostAddress *from = supervisorCurrentAddress(primary);
    supervisorEvent(s, EVENT_WARNING, "+config-update-from", sentinel, "%s", "");
    supervisorEventText(s, EVENT_WARNING, "+switch-master", primary, "%s %s %d %s %d", primary->name,
                        hostAddressText(s, from), from->port, hostAddressText(s, to), to->port);
    callReconfigScript(s, primary, "observer", from, to);
    primarySwitchAddress(s, primary, to);
}

/* The address that is compared is the one that has been told last: during a failover of ours that of the
 * promoted replica, and what is newer may well name the old primary again. */
static void supervisorHelloTakeConfig(struct supervisor *s, struct instance *primary,
                                      struct instance *sentinel, const struct hello *h) {
    if (h->config_epoch <= primary->config_epoch) return;
    struct hostAddress to;
    if (hostAddressInit(s, &to, h->field[SAYS_HOST], h->primary_port, false)) {
        primary->config_epoch = h->config_epoch;
        if (hostAddressSame(&to, supervisorCurrentAddress(primary)))
            supervisorSave(s);
        else
            supervisorHelloMoveTo(s, primary, sentinel, &to);
    }
    hostAddressFree(&to);
}

static void helloReceived(struct supervisor *s, const struct hello *h) {
    struct instance *primary = supervisorFind(s, h->field[SAYS_NAME]);
    if (!primary || strcmp(h->field[SAYS_ID], s->my_id) == 0) return;
    struct instance *sentinel = supervisorHelloSpeaker(s, primary, h);
    supervisorTakeEpoch(s, primary, h->epoch);
    if (!sentinel) return;
    supervisorHelloTakeConfig(s, primary, sentinel, h);
    sentinel->s.hello_ms = s->now_ms;
}

void supervisorHello(struct supervisor *s, struct str hello, int64_t now_ms) {
    s->now_ms = now_ms;
    struct hello h;
    int count;
    if (helloRead(&h, hello, &count)) helloReceived(s, &h);
    sdsfreesplitres(h.field, count);
}
