/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_simulation_wires.h - the lower half of supervisor_simulation.h: the data, the queue of events,
 * and connections.
 *
 * A connection is one object for both ends. Bytes that are sent become an event at the other end, later than
 * all that went before them; a dead connection lets nothing pass. Its Sentinel learns of the death by another
 * event, or, when that does not get through either, by nothing but silence. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define SIM_PROCESSES_MAX 32
#define SIM_NAME          "it" /* what the primary is called */

struct simOptions {
    int sentinels, replicas, quorum, parallel_syncs;
    int64_t down_after_ms, failover_timeout_ms, reboot_down_after_ms;
    int64_t latency_ms; /* mean, one way; each message has its own */
    double breaks;      /* of messages, how many break their connection */
    bool strangers;     /* Sentinels know only the primary at first; else everybody knows everybody */
    uint64_t seed;
    bool verbose; /* the events and logs on stdout */
};

/* What FAILOVER does at a server, and whether INFO tells of it. */
enum simFailover { SIM_FAILOVER_WORKS, SIM_FAILOVER_STUCK, SIM_FAILOVER_REFUSED, SIM_FAILOVER_UNKNOWN };

#define CONNECT_FAILS_MS 20
#define TICK_MS          100
#define SYNC_MS          1000 /* at most, until a replica is in step with another primary */
#define WRITES_PER_TICK  7
#define SERVER_PORT      6379
#define SENTINEL_PORT    26379
#define START_MS         1700000000000

enum eventKind { EVENT_TICK, EVENT_CONNECTED, EVENT_REQUEST, EVENT_REPLY, EVENT_CLOSED };

struct event {
    int64_t at_ms;
    uint64_t order;
    enum eventKind kind;
    int process;      /* where it happens */
    uint64_t life;    /* of that process: it died, then the event is void */
    uint64_t channel; /* its number; likewise */
    sds bytes;
};

struct simChannel {
    uint64_t number;
    int from, to; /* a Sentinel and whom it has connected to */
    uint64_t to_life;
    struct peerLink *link;
    enum channel ch;
    bool dead; /* nothing passes any more; its Sentinel learns it, or does not */
    bool subscribed;
    bool multi;
    sds *queued; /* requests behind MULTI */
    int queued_count;
    int64_t request_ms, reply_ms; /* the newest in each direction arrives then */
};

struct votes { /* of one Sentinel, by epoch */
    char (*leader)[RUN_ID_LEN + 1];
    uint64_t room, highest;
};

struct simProcess {
    struct sim *sim;
    int index, side;
    bool alive, hung;
    uint64_t life;
    int64_t clock_off_ms;
    struct event *held; /* what came while it hung */
    int held_count;
    /* A Sentinel. */
    struct supervisor supervisor;
    sds disk, events;
    struct votes votes;
    uint64_t config_epoch; /* the highest ever */
    /* A server. */
    char run_id[RUN_ID_LEN + 1];
    int following, disk_following; /* -1: a primary */
    uint64_t offset;
    int64_t synced_ms;    /* when it will be in step with whom it follows, unless that is gone by then */
    int64_t link_lost_ms; /* 0: it is in step */
    int64_t loading_until_ms, loading_ms;
    int priority;
    bool never_syncs;
    enum simFailover failover;
    int failover_to;
    int64_t failover_until_ms; /* 0: none under way */
};

struct sim {
    struct simOptions o;
    int64_t now_ms;
    uint64_t random, order, numbers;
    struct event *heap;
    int event_count, room;
    struct simChannel **channels; /* by number, ascending */
    int channel_count;
    struct simProcess process[SIM_PROCESSES_MAX];
    int count;
    int *winner, *place; /* by epoch: which Sentinel won it, which server is its primary; -1: none yet */
    uint64_t epochs;
};

/* ---- Chance: splitmix64 (Steele, Lea and Flood 2014) ---- */

static uint64_t chance(struct sim *s) {
    uint64_t z = s->random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
static int64_t latency(struct sim *s) {
    return 1 + (int64_t)(chance(s) % (uint64_t)(2 * s->o.latency_ms));
}
static void newRunId(struct sim *s, char id[RUN_ID_LEN + 1]) {
    for (int i = 0; i < RUN_ID_LEN; i++) id[i] = "0123456789abcdef"[chance(s) % 16];
    id[RUN_ID_LEN] = '\0';
}

/* ---- Events: a binary heap ---- */

static bool earlier(const struct event *a, const struct event *b) {
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void eventAdd(struct sim *s, struct event ev) {
    ev.order = ++s->order;
    if (s->event_count == s->room) {
        s->room = s->room ? 2 * s->room : 1024;
        s->heap = zrealloc(s->heap, (size_t)s->room * sizeof *s->heap);
    }
    int i = s->event_count++;
    for (; i && earlier(&ev, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = ev;
}

static struct event eventTake(struct sim *s) {
    struct event first = s->heap[0], last = s->heap[--s->event_count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < s->event_count; i = child) {
        if (child + 1 < s->event_count && earlier(&s->heap[child + 1], &s->heap[child])) child++;
        if (!earlier(&s->heap[child], &last)) break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return first;
}

/* ---- Who and where ---- */

static bool isSentinel(const struct simProcess *p) {
    return p->index < p->sim->o.sentinels;
}
static bool reach(const struct simProcess *a, const struct simProcess *b) {
    return a->side == b->side;
}
static int64_t wallClock(const struct simProcess *p) {
    return START_MS + p->sim->now_ms + p->clock_off_ms;
}
static sds ipOf(int process) {
    return sdscatprintf(sdsempty(), "10.0.0.%d", process + 1);
}
/* -1: no such server or Sentinel. */
static int processAt(const char *ip) {
    int last;
    return sscanf(ip, "10.0.0.%d", &last) == 1 ? last - 1 : -1;
}

/* ---- Channels ---- */

static int channelPlace(const struct sim *s, uint64_t number) {
    int low = 0, high = s->channel_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->channels[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct simChannel *channelFind(struct sim *s, uint64_t number) {
    int i = channelPlace(s, number);
    return i < s->channel_count && s->channels[i]->number == number ? s->channels[i] : NULL;
}

static struct simChannel *channelAdd(struct sim *s, struct simChannel channel) {
    struct simChannel *c = zmalloc(sizeof *c);
    *c = channel;
    c->number = ++s->numbers;
    s->channels = zrealloc(s->channels, (size_t)(s->channel_count + 1) * sizeof *s->channels);
    s->channels[s->channel_count++] = c;
    return c;
}

static void dropQueued(struct simChannel *c) {
    for (int i = 0; i < c->queued_count; i++) sdsfree(c->queued[i]);
    c->queued_count = 0;
    c->multi = false;
}

static void channelFree(struct sim *s, struct simChannel *c) {
    int i = channelPlace(s, c->number);
    serverAssert(s->channels[i] == c);
    memmove(s->channels + i, s->channels + i + 1, (size_t)(--s->channel_count - i) * sizeof *s->channels);
    dropQueued(c);
    zfree(c->queued);
    zfree(c);
}

static struct event eventAt(const struct sim *s, const struct simChannel *c, int process, int64_t at_ms,
                            enum eventKind kind) {
    return (struct event){.at_ms = at_ms,
                          .kind = kind,
                          .process = process,
                          .life = s->process[process].life,
                          .channel = c->number};
}

/* From the other end; behind all that is on its way. When that is not reached, nobody learns it. */
static void channelBreak(struct sim *s, struct simChannel *c) {
    if (c->dead) return;
    c->dead = true;
    if (!reach(&s->process[c->from], &s->process[c->to])) return;
    if (c->reply_ms <= s->now_ms) c->reply_ms = s->now_ms + 1;
    eventAdd(s, eventAt(s, c, c->from, c->reply_ms, EVENT_CLOSED));
}

/* False: it does not get there. */
static bool passes(struct sim *s, struct simChannel *c) {
    if (c->dead) return false;
    if (!reach(&s->process[c->from], &s->process[c->to])) {
        c->dead = true;
        return false;
    }
    if (s->o.breaks > 0 && (double)(chance(s) >> 11) / (1ULL << 53) < s->o.breaks) {
        channelBreak(s, c);
        return false;
    }
    return true;
}

static void transmit(struct sim *s, struct simChannel *c, enum eventKind kind, sds bytes) {
    if (!passes(s, c)) {
        sdsfree(bytes);
        return;
    }
    int64_t at = s->now_ms + latency(s), *newest = kind == EVENT_REQUEST ? &c->request_ms : &c->reply_ms;
    if (at < *newest) at = *newest;
    *newest = at;
    struct event ev = eventAt(s, c, kind == EVENT_REQUEST ? c->to : c->from, at, kind);
    ev.bytes = bytes;
    eventAdd(s, ev);
}
