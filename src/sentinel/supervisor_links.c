/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_links.c - the channels to those that are watched: opened, given up when nothing is heard, and
 * what goes over them by the clock. What a command channel is asked, it answers in that order: `pending` of
 * its link is what is still to come, and for whom.
 *
 *     command   AUTH, CLIENT SETNAME, PING;  then  INFO and hellos (PUBLISH) by their periods, questions,
 *               transactions
 *     pub/sub   AUTH, CLIENT SETNAME, SUBSCRIBE;  then only hellos come in
 *
 * Sentinels that are known to several primaries have one link, whose state (PINGs, answers) is then that of
 * all of them. */
#include <stdio.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define PENDING_MAX         100 /* answers that are waited for, per owner: no more is asked by the clock */
#define INFO_PERIOD_PRESSED 1000
#define HELLOS_MISSED       3 /* periods without any message: a pub/sub channel is dead */
#define WORDS_MAX           16

/* ---- Life of a link ---- */

static void supervisorLinksLinkAddOwner(struct peerLink *link, struct instance *owner) {
    link->owners = zrealloc(link->owners, sizeof *link->owners * (size_t)(link->owner_count + 1));
    link->owners[link->owner_count++] = owner;
}

struct peerLink *linkCreate(struct supervisor *s, struct instance *owner) {
    struct peerLink *link = zcalloc(1, sizeof *link);
    /* As if a PING had been sent: who never answers is down, too. */
    link->ping_ms = link->good_pong_ms = link->pong_ms = s->now_ms;
    supervisorLinksLinkAddOwner(link, owner);
    return link;
}

void linkClose(struct supervisor *s, struct peerLink *link, enum channel ch) {
    if (!link->channel[ch]) return;
    s->env->close(s->w, link, ch);
    serverAssert(!link->channel[ch]);
    if (ch == CHANNEL_COMMAND) link->pending_count = 0;
}

static void supervisorLinksCloseBoth(struct supervisor *s, struct peerLink *link) {
    linkClose(s, link, CHANNEL_COMMAND);
    linkClose(s, link, CHANNEL_PUBSUB);
}

void linkRelease(struct supervisor *s, struct peerLink *link, struct instance *owner) {
    int at = 0;
    while (link->owners[at] != owner) at++;
    serverAssert(at < link->owner_count);
    if (link->owner_count > 1) {
        link->owners[at] = link->owners[--link->owner_count];
        return;
    }
    supervisorLinksCloseBoth(s, link); /* which may still look at its owner */
    zfree(link->owners);
    zfree(link->pending);
    zfree(link);
}

void linkShare(struct supervisor *s, struct instance *sentinel) {
    serverAssert(sentinel->kind == KIND_SENTINEL);
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *primary = s->primaries.items[n];
        struct instance *same = instancesFindSentinel(&primary->p.sentinels, NULL, sentinel->run_id);
        if (!same || same->link == sentinel->link) continue;
        linkRelease(s, sentinel->link, sentinel);
        sentinel->link = same->link;
        supervisorLinksLinkAddOwner(sentinel->link, sentinel);
        return;
    }
}

void supervisorDropLinks(struct supervisor *s, struct instance *primary) {
    supervisorLinksCloseBoth(s, primary->link);
    const struct instances *replicas = &primary->p.replicas;
    for (int n = 0; n < replicas->count; n++) supervisorLinksCloseBoth(s, replicas->items[n]->link);
}

void supervisorDropSentinelLinks(struct supervisor *s) {
    for (int n = 0; n < s->primaries.count; n++) {
        const struct instances *sentinels = &s->primaries.items[n]->p.sentinels;
        for (int m = 0; m < sentinels->count; m++) supervisorLinksCloseBoth(s, sentinels->items[m]->link);
    }
}

/* ---- Sending ---- */

/* The name under which the servers of that primary know `command` (see renamed). */
static struct str supervisorCommandName(const struct instance *primary, const char *command) {
    const struct primaryState *p = &primary->p;
    for (int n = 0; n < p->renamed_count; n++)
        if (strcasecmp(p->renamed[n].from, command) == 0) return sdsview(p->renamed[n].to);
    return strOf(command);
}

static void supervisorLinksChannelSend(struct supervisor *s, struct instance *i, enum channel ch, int argc,
                                       const struct str *argv) {
    struct str words[WORDS_MAX];
    char command[32];
    serverAssert(argc > 0 && argc <= WORDS_MAX && argv[0].len < sizeof command);
    memcpy(words, argv, sizeof *words * (size_t)argc);
    snprintf(command, sizeof command, "%.*s", (int)argv[0].len, argv[0].ptr);
    words[0] = supervisorCommandName(instancePrimary(i), command);
    s->env->send(s->w, i->link, ch, argc, words);
}

static void supervisorLinksPendingAdd(struct peerLink *link, struct pendingReply pending) {
    if (link->pending_count == link->pending_capacity) {
        link->pending_capacity = link->pending_capacity ? 2 * link->pending_capacity : 8;
        link->pending = zrealloc(link->pending, sizeof *link->pending * (size_t)link->pending_capacity);
    }
    link->pending[link->pending_count++] = pending;
}

void instanceSend(struct supervisor *s, struct instance *i, enum peerRequest what, int argc,
                  const struct str *argv) {
    serverAssert(i->link->channel[CHANNEL_COMMAND]);
    supervisorLinksPendingAdd(i->link, (struct pendingReply){.what = what, .instance = i->id});
    supervisorLinksChannelSend(s, i, CHANNEL_COMMAND, argc, argv);
}

bool instanceMaySend(const struct instance *i) {
    return !instanceDisconnected(i) && i->link->pending_count < PENDING_MAX * i->link->owner_count;
}

static void supervisorLinksSendPing(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    instanceSend(s, i, ASKED_PING, 1, (struct str[]){STR("PING")});
    link->last_ping_ms = s->now_ms;
    if (!link->ping_ms) link->ping_ms = s->now_ms;
}

/* ---- Connecting ---- */

/* Of which nothing is expected, on either channel. */
static void supervisorLinksSendSilently(struct supervisor *s, struct instance *i, enum channel ch, int argc,
                                        const struct str *argv) {
    if (ch == CHANNEL_COMMAND)
        instanceSend(s, i, ASKED_NOTHING, argc, argv);
    else
        supervisorLinksChannelSend(s, i, ch, argc, argv);
}

static void supervisorLinksSendCredentials(struct supervisor *s, struct instance *i, enum channel ch) {
    const struct supervisorSettings *set = &s->settings;
    const char *user = primaryOf(i)->auth_user, *pass = primaryOf(i)->auth_pass;
    if (i->kind == KIND_SENTINEL) {
        user = set->sentinel_pass ? set->sentinel_user : NULL;
        pass = set->sentinel_pass ? set->sentinel_pass : set->own_password;
    }
    if (!pass) return;
    struct str words[3] = {STR("AUTH")};
    int argc = 1;
    if (user) words[argc++] = sdsview(user);
    words[argc++] = sdsview(pass);
    supervisorLinksSendSilently(s, i, ch, argc, words);
}

static void supervisorLinksSendName(struct supervisor *s, struct instance *i, enum channel ch) {
    char name[32];
    snprintf(name, sizeof name, "sentinel-%.8s-%s", s->my_id, ch == CHANNEL_COMMAND ? "cmd" : "pubsub");
    supervisorLinksSendSilently(s, i, ch, 3, (struct str[]){STR("CLIENT"), STR("SETNAME"), strOf(name)});
}

static void supervisorLinksOpenChannel(struct supervisor *s, struct instance *i, enum channel ch) {
    static const char *const failures[] = {"-cmd-link-reconnection", "-pubsub-link-reconnection"};
    struct peerLink *link = i->link;
    char err[256];
    if (!s->env->connect(s->w, link, ch, &i->address, err, sizeof err)) {
        supervisorEvent(s, EVENT_DEBUG, failures[ch], i, " #%s", err);
        return;
    }
    serverAssert(link->channel[ch]);
    link->since_ms[ch] = s->now_ms;
    supervisorLinksSendCredentials(s, i, ch);
    supervisorLinksSendName(s, i, ch);
    if (ch == CHANNEL_COMMAND)
        supervisorLinksSendPing(s, i);
    else
        supervisorLinksChannelSend(s, i, ch, 2, (struct str[]){STR("SUBSCRIBE"), STR(HELLO_CHANNEL)});
}

static void supervisorLinksDropStale(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    const struct supervisorTimers *t = &s->timers;
    int64_t now = s->now_ms, patience = i->down_after_ms / 2;
    if (now - link->since_ms[CHANNEL_COMMAND] > t->min_link_reconnect_period && link->ping_ms &&
        now - link->ping_ms > patience && now - link->pong_ms > patience)
        linkClose(s, link, CHANNEL_COMMAND);
    if (now - link->since_ms[CHANNEL_PUBSUB] > t->min_link_reconnect_period &&
        now - link->pubsub_received_ms > HELLOS_MISSED * t->publish_period)
        linkClose(s, link, CHANNEL_PUBSUB);
}

void peerLinkTick(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    /* After a pause of this process what it has not heard may only wait to be read. */
    if (!s->tilt) supervisorLinksDropStale(s, i);
    if (!instanceDisconnected(i) || i->address.port == 0) return;
    if (s->now_ms - link->reconnect_ms < s->timers.ping_period) return;
    link->reconnect_ms = s->now_ms;
    if (s->settings.resolve_hostnames) hostAddressResolve(s, &i->address); /* else its last IP */
    if (!*i->address.ip) return;
    if (!link->channel[CHANNEL_COMMAND]) supervisorLinksOpenChannel(s, i, CHANNEL_COMMAND);
    if (i->kind != KIND_SENTINEL && !link->channel[CHANNEL_PUBSUB])
        supervisorLinksOpenChannel(s, i, CHANNEL_PUBSUB);
}

/* ---- By the clock ---- */

static int64_t supervisorLinksInfoPeriod(const struct supervisor *s, const struct instance *i) {
    bool pressed = i->kind == KIND_REPLICA &&
                   ((i->primary->flags & (FLAG_O_DOWN | FLAG_FAILOVER_IN_PROGRESS)) || i->r.link_down_ms);
    return pressed ? INFO_PERIOD_PRESSED : s->timers.info_period;
}

/* A hello is a command that a server in the middle of its FAILOVER would have to hold up. */
static bool supervisorLinksHelloHeldBack(const struct instance *i) {
    if (i->failing_over) return true;
    return i->kind == KIND_PRIMARY && (i->flags & FLAG_FAILOVER_IN_PROGRESS) && i->p.handing_over &&
           i->p.failover_state <= FAILOVER_WAIT_PROMOTION;
}

void periodicTick(struct supervisor *s, struct instance *i) {
    if (!instanceMaySend(i)) return;
    int64_t now = s->now_ms, ping_period = minTime(i->down_after_ms, s->timers.ping_period);
    if (i->kind != KIND_SENTINEL && (!i->info_ms || now - i->info_ms > supervisorLinksInfoPeriod(s, i)))
        instanceSend(s, i, ASKED_INFO, 1, (struct str[]){STR("INFO")});
    if (now - i->link->pong_ms > ping_period && now - i->link->last_ping_ms > ping_period / 2)
        supervisorLinksSendPing(s, i);
    if (now - i->hello_sent_ms > s->timers.publish_period && !supervisorLinksHelloHeldBack(i))
        helloSend(s, i);
}

/* ---- What comes back ---- */

void supervisorChannelUp(struct supervisor *s, struct peerLink *link, enum channel ch, int64_t now_ms) {
    serverAssert(link->channel[ch]);
    s->now_ms = now_ms;
}

void supervisorChannelDown(struct supervisor *s, struct peerLink *link, enum channel ch, const char *why,
                           int64_t now_ms) {
    (void)why; /* who cannot be reached is told by +sdown */
    s->now_ms = now_ms;
    link->channel[ch] = NULL;
    if (ch == CHANNEL_COMMAND) link->pending_count = 0;
}

static void supervisorLinksPingAnswered(struct supervisor *s, struct instance *i,
                                        const struct respReply *reply) {
    struct peerLink *link = i->link;
    link->pong_ms = s->now_ms;
    if (reply->type != RESP_T_STATUS && reply->type != RESP_T_ERROR) return;
    bool pong = strStarts(reply->str, STR("PONG"));
    if (pong || strStarts(reply->str, STR("LOADING")) || strStarts(reply->str, STR("MASTERDOWN"))) {
        link->good_pong_ms = s->now_ms;
        link->ping_ms = 0;
        if (pong) i->flags &= ~(unsigned)FLAG_REBOOT;
    } else if (strStarts(reply->str, STR("BUSY")) && (i->flags & FLAG_S_DOWN) &&
               !(i->flags & FLAG_SCRIPT_KILL_SENT)) {
        i->flags |= FLAG_SCRIPT_KILL_SENT;
        instanceSend(s, i, ASKED_NOTHING, 2, (struct str[]){STR("SCRIPT"), STR("KILL")});
    }
}

void supervisorReply(struct supervisor *s, struct peerLink *link, const struct respReply *reply,
                     int64_t now_ms) {
    s->now_ms = now_ms;
    if (link->pending_count == 0) return; /* nobody has asked */
    struct pendingReply asked = link->pending[0];
    link->pending_count--;
    memmove(link->pending, link->pending + 1, sizeof asked * (size_t)link->pending_count);
    struct instance *i = NULL;
    for (int n = 0; n < link->owner_count; n++)
        if (link->owners[n]->id == asked.instance) i = link->owners[n];
    if (!i) return;
    switch (asked.what) {
    case ASKED_NOTHING: return;
    case ASKED_PING: supervisorLinksPingAnswered(s, i, reply); return;
    case ASKED_INFO:
        if (reply->type == RESP_T_STRING || reply->type == RESP_T_VERBATIM) infoReceived(s, i, reply->str);
        return;
    case ASKED_PUBLISH: /* until one has gone out, another is tried at each tick */
        if (reply->type != RESP_T_ERROR) i->hello_sent_ms = s->now_ms;
        return;
    case ASKED_DOWN: downAnswered(s, i, reply); return;
    }
}

void supervisorMessage(struct supervisor *s, struct peerLink *link, const struct respReply *message,
                       int64_t now_ms) {
    s->now_ms = now_ms;
    link->pubsub_received_ms = now_ms;
    if (message->type != RESP_T_ARRAY || message->elements != 3) return;
    const struct respReply *word = message->element;
    for (int n = 0; n < 3; n++)
        if (word[n].type != RESP_T_STRING) return;
    if (!strIs(word[0].str, "message")) return;
    supervisorHello(s, word[2].str, now_ms); /* may free the link */
}
