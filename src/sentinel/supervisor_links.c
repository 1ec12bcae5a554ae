/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_links.c - the channels to watched servers: opening them, closing dead ones, periodic requests,
 * replies. A command channel replies in the order of the requests: `pending` of its link lists the
 * outstanding ones and the instances that sent them.
 *
 *     command   AUTH, CLIENT SETNAME, PING;  then  INFO and hellos (PUBLISH) by their periods, questions,
 *               transactions
 *     pub/sub   AUTH, CLIENT SETNAME, SUBSCRIBE;  then only hellos come in
 *
 * A Sentinel that is known for several primaries has one link, whose state (PINGs, replies)
 * is common to all of them. */
#include <stdio.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define PENDING_MAX        100 /* outstanding replies per owner, above which nothing periodic is sent */
#define INFO_PERIOD_URGENT 1000
#define HELLOS_MISSED      3 /* a pub/sub channel without messages for so many periods is dead */
#define WORDS_MAX          16

/* ---- Links ---- */

static void supervisorLinksAddOwner(struct peerLink *link, struct instance *owner) {
    link->owners = zrealloc(link->owners, sizeof *link->owners * (size_t)(link->owner_count + 1));
    link->owners[link->owner_count++] = owner;
}

struct peerLink *linkCreate(struct supervisor *s, struct instance *owner) {
    struct peerLink *link = zcalloc(1, sizeof *link);
    /* Starts as if a PING had been sent, so that a server that never answers becomes down, too. */
    link->ping_ms = link->good_pong_ms = link->pong_ms = s->now_ms;
    supervisorLinksAddOwner(link, owner);
    return link;
}

void linkClose(struct supervisor *s, struct peerLink *link, enum channel ch) {
    if (!link->channel[ch]) return;
    s->env->close(s->ctx, link, ch);
    serverAssert(!link->channel[ch]);
    if (ch == CHANNEL_COMMAND) link->pending_count = 0;
}

bool linkAwaits(const struct peerLink *link, enum peerRequest what) {
    for (int i = 0; i < link->pending_count; i++)
        if (link->pending[i].what == what) return true;
    return false;
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
    supervisorLinksCloseBoth(s, link); /* closing may still use the owner */
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
        supervisorLinksAddOwner(sentinel->link, sentinel);
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

/* Returns the name of `command` on the servers of that primary (see renamed). */
static struct str supervisorLinksCommandName(const struct instance *primary, const char *command) {
    const struct primaryState *p = &primary->p;
    for (int n = 0; n < p->renamed_count; n++)
        if (strcasecmp(p->renamed[n].from, command) == 0) return sdsview(p->renamed[n].to);
    return strOf(command);
}

static void supervisorLinksSendOnChannel(struct supervisor *s, struct instance *i, enum channel ch, int argc,
                                         const struct str *argv) {
    struct str words[WORDS_MAX];
    char command[32];
    serverAssert(argc > 0 && argc <= WORDS_MAX && argv[0].len < sizeof command);
    memcpy(words, argv, sizeof *words * (size_t)argc);
    snprintf(command, sizeof command, "%.*s", (int)argv[0].len, argv[0].ptr);
    words[0] = supervisorLinksCommandName(instancePrimary(i), command);
    s->env->send(s->ctx, i->link, ch, argc, words);
}

static void supervisorLinksAddPending(struct peerLink *link, struct pendingReply pending) {
    if (link->pending_count == link->pending_capacity) {
        link->pending_capacity = link->pending_capacity ? 2 * link->pending_capacity : 8;
        link->pending = zrealloc(link->pending, sizeof *link->pending * (size_t)link->pending_capacity);
    }
    link->pending[link->pending_count++] = pending;
}

void instanceSend(struct supervisor *s, struct instance *i, enum peerRequest what, int argc,
                  const struct str *argv) {
    serverAssert(i->link->channel[CHANNEL_COMMAND]);
    supervisorLinksAddPending(i->link, (struct pendingReply){.what = what, .instance = i->id});
    supervisorLinksSendOnChannel(s, i, CHANNEL_COMMAND, argc, argv);
}

bool instanceMaySend(const struct instance *i) {
    return !instanceIsDisconnected(i) && i->link->pending_count < PENDING_MAX * i->link->owner_count;
}

static void supervisorLinksSendPing(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    instanceSend(s, i, REQ_PING, 1, (struct str[]){STR("PING")});
    link->last_ping_ms = s->now_ms;
    if (!link->ping_ms) link->ping_ms = s->now_ms;
}

/* ---- Connecting ---- */

/* Sends on either channel and ignores the reply. */
static void supervisorLinksSendIgnoringReply(struct supervisor *s, struct instance *i, enum channel ch,
                                             int argc, const struct str *argv) {
    if (ch == CHANNEL_COMMAND)
        instanceSend(s, i, REQ_OTHER, argc, argv);
    else
        supervisorLinksSendOnChannel(s, i, ch, argc, argv);
}

static void supervisorLinksSendCredentials(struct supervisor *s, struct instance *i, enum channel ch) {
    const struct supervisorSettings *set = &s->settings;
    const char *user = instancePrimaryState(i)->auth_user, *pass = instancePrimaryState(i)->auth_pass;
    if (i->kind == KIND_SENTINEL) {
        user = set->sentinel_pass ? set->sentinel_user : NULL;
        pass = set->sentinel_pass ? set->sentinel_pass : set->own_password;
    }
    if (!pass) return;
    struct str words[3] = {STR("AUTH")};
    int argc = 1;
    if (user) words[argc++] = sdsview(user);
    words[argc++] = sdsview(pass);
    supervisorLinksSendIgnoringReply(s, i, ch, argc, words);
}

static void supervisorLinksSendName(struct supervisor *s, struct instance *i, enum channel ch) {
    char name[32];
    snprintf(name, sizeof name, "sentinel-%.8s-%s", s->my_id, ch == CHANNEL_COMMAND ? "cmd" : "pubsub");
    supervisorLinksSendIgnoringReply(s, i, ch, 3, (struct str[]){STR("CLIENT"), STR("SETNAME"), strOf(name)});
}

static void supervisorLinksOpenChannel(struct supervisor *s, struct instance *i, enum channel ch) {
    static const char *const failures[] = {"-cmd-link-reconnection", "-pubsub-link-reconnection"};
    struct peerLink *link = i->link;
    char err[256];
    if (!s->env->connect(s->ctx, link, ch, &i->address, err, sizeof err)) {
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
        supervisorLinksSendOnChannel(s, i, ch, 2, (struct str[]){STR("SUBSCRIBE"), STR(HELLO_CHANNEL)});
}

static void supervisorLinksCloseDead(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    const struct supervisorTimers *t = &s->timers;
    int64_t now = s->now_ms, max_silence = i->down_after_ms / 2;
    if (now - link->since_ms[CHANNEL_COMMAND] > t->min_link_reconnect_period && link->ping_ms &&
        now - link->ping_ms > max_silence && now - link->pong_ms > max_silence)
        linkClose(s, link, CHANNEL_COMMAND);
    if (now - link->since_ms[CHANNEL_PUBSUB] > t->min_link_reconnect_period &&
        now - link->pubsub_received_ms > HELLOS_MISSED * t->publish_period)
        linkClose(s, link, CHANNEL_PUBSUB);
}

void peerLinkTick(struct supervisor *s, struct instance *i) {
    struct peerLink *link = i->link;
    /* After a pause of this process, input that seems missing may only wait to be read. */
    if (!s->tilt) supervisorLinksCloseDead(s, i);
    if (!instanceIsDisconnected(i) || i->address.port == 0) return;
    if (s->now_ms - link->reconnect_ms < s->timers.ping_period) return;
    link->reconnect_ms = s->now_ms;
    if (s->settings.resolve_hostnames) hostAddressResolve(s, &i->address); /* a failure keeps the last IP */
    if (!*i->address.ip) return;
    if (!link->channel[CHANNEL_COMMAND]) supervisorLinksOpenChannel(s, i, CHANNEL_COMMAND);
    if (i->kind != KIND_SENTINEL && !link->channel[CHANNEL_PUBSUB])
        supervisorLinksOpenChannel(s, i, CHANNEL_PUBSUB);
}

/* ---- Periodic requests ---- */

static int64_t supervisorLinksInfoPeriod(const struct supervisor *s, const struct instance *i) {
    bool urgent =
        i->kind == KIND_REPLICA && ((i->primary->flags & (FLAG_O_DOWN | FLAG_FAILOVER_IN_PROGRESS)) ||
                                    i->r.link_down_ms || !i->reports_replica);
    return urgent ? INFO_PERIOD_URGENT : s->timers.info_period;
}

/* A hello is a command that a server in the middle of its FAILOVER would have to delay. */
static bool supervisorLinksMustDelayHello(const struct instance *i) {
    if (i->failing_over) return true;
    return i->kind == KIND_PRIMARY && (i->flags & FLAG_FAILOVER_IN_PROGRESS) && i->p.handing_over &&
           i->p.failover_state <= FAILOVER_WAIT_PROMOTION;
}

void periodicTick(struct supervisor *s, struct instance *i) {
    if (!instanceMaySend(i)) return;
    int64_t now = s->now_ms, ping_period = minTime(i->down_after_ms, s->timers.ping_period);
    if (i->kind != KIND_SENTINEL && (!i->info_ms || now - i->info_ms > supervisorLinksInfoPeriod(s, i)))
        instanceSend(s, i, REQ_INFO, 1, (struct str[]){STR("INFO")});
    if (now - i->link->pong_ms > ping_period && now - i->link->last_ping_ms > ping_period / 2)
        supervisorLinksSendPing(s, i);
    if (now - i->hello_sent_ms > s->timers.publish_period && !supervisorLinksMustDelayHello(i))
        helloSend(s, i);
}

/* ---- Replies ---- */

void supervisorOnChannelUp(struct supervisor *s, struct peerLink *link, enum channel ch, int64_t now_ms) {
    serverAssert(link->channel[ch]);
    s->now_ms = now_ms;
}

void supervisorOnChannelDown(struct supervisor *s, struct peerLink *link, enum channel ch, const char *why,
                             int64_t now_ms) {
    (void)why; /* +sdown reports servers that cannot be reached */
    s->now_ms = now_ms;
    link->channel[ch] = NULL;
    if (ch == CHANNEL_COMMAND) link->pending_count = 0;
}

static void supervisorLinksProcessPong(struct supervisor *s, struct instance *i,
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
        instanceSend(s, i, REQ_OTHER, 2, (struct str[]){STR("SCRIPT"), STR("KILL")});
    }
}

void supervisorProcessReply(struct supervisor *s, struct peerLink *link, const struct respReply *reply,
                            int64_t now_ms) {
    s->now_ms = now_ms;
    if (link->pending_count == 0) return; /* a reply without a request */
    struct pendingReply request = link->pending[0];
    link->pending_count--;
    memmove(link->pending, link->pending + 1, sizeof request * (size_t)link->pending_count);
    struct instance *i = NULL;
    for (int n = 0; n < link->owner_count; n++)
        if (link->owners[n]->id == request.instance) i = link->owners[n];
    if (!i) return;
    switch (request.what) {
    case REQ_OTHER: return;
    case REQ_PING: supervisorLinksProcessPong(s, i, reply); return;
    case REQ_INFO:
        if (reply->type == RESP_T_STRING || reply->type == RESP_T_VERBATIM) infoProcess(s, i, reply->str);
        return;
    case REQ_PUBLISH: /* until one has been sent, each tick tries again */
        if (reply->type != RESP_T_ERROR) i->hello_sent_ms = s->now_ms;
        return;
    case REQ_DOWN: downProcessAnswer(s, i, reply); return;
    case REQ_PAUSE: pauseProcessReply(s, i, reply); return;
    }
}

void supervisorProcessMessage(struct supervisor *s, struct peerLink *link, const struct respReply *message,
                              int64_t now_ms) {
    s->now_ms = now_ms;
    link->pubsub_received_ms = now_ms;
    if (message->type != RESP_T_ARRAY || message->elements != 3) return;
    const struct respReply *word = message->element;
    for (int n = 0; n < 3; n++)
        if (word[n].type != RESP_T_STRING) return;
    if (!strIs(word[0].str, "message")) return;
    supervisorProcessHello(s, word[2].str, now_ms); /* may free the link */
}
