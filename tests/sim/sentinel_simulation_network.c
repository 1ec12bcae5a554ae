/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_simulation_network.c - random numbers and connections. */
#include "tests/sim/sentinel_simulation_private.h"

#define START_MS 1700000000000 /* wall clock at the start */

/* ---- Random numbers ---- */

int64_t sentinelSimLatency(struct sentinelSim *s) {
    return 1 + (int64_t)(simRandom(&s->random) % (uint64_t)(2 * s->o.latency_ms));
}
void sentinelSimNewRunId(struct sentinelSim *s, char id[RUN_ID_LEN + 1]) {
    for (int i = 0; i < RUN_ID_LEN; i++) id[i] = "0123456789abcdef"[simRandom(&s->random) % 16];
    id[RUN_ID_LEN] = '\0';
}

/* ---- Processes ---- */

int64_t sentinelSimWallClock(const struct sentinelSimProcess *p) {
    return START_MS + p->sim->now_ms + p->clock_off_ms;
}
int sentinelSimProcessAt(const char *ip) {
    int last;
    return sscanf(ip, "10.0.0.%d", &last) == 1 ? last - 1 : -1;
}

/* ---- Channels ---- */

static int sentinelSimChannelIndex(const struct sentinelSim *s, uint64_t number) {
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

struct sentinelSimChannel *sentinelSimFindChannel(struct sentinelSim *s, uint64_t number) {
    int i = sentinelSimChannelIndex(s, number);
    return i < s->channel_count && s->channels[i]->number == number ? s->channels[i] : NULL;
}

struct sentinelSimChannel *sentinelSimAddChannel(struct sentinelSim *s, struct sentinelSimChannel channel) {
    struct sentinelSimChannel *c = zmalloc(sizeof *c);
    *c = channel;
    c->number = ++s->numbers;
    s->channels = zrealloc(s->channels, (size_t)(s->channel_count + 1) * sizeof *s->channels);
    s->channels[s->channel_count++] = c;
    return c;
}

void sentinelSimDropQueued(struct sentinelSimChannel *c) {
    for (int i = 0; i < c->queued_count; i++) sdsfree(c->queued[i]);
    c->queued_count = 0;
    c->multi = false;
}

void sentinelSimFreeChannel(struct sentinelSim *s, struct sentinelSimChannel *c) {
    int i = sentinelSimChannelIndex(s, c->number);
    serverAssert(s->channels[i] == c);
    memmove(s->channels + i, s->channels + i + 1, (size_t)(--s->channel_count - i) * sizeof *s->channels);
    sentinelSimDropQueued(c);
    zfree(c->queued);
    zfree(c);
}

struct simEvent sentinelSimEventAt(const struct sentinelSim *s, const struct sentinelSimChannel *c,
                                   int process, int64_t at_ms, enum sentinelSimEventKind kind) {
    return (struct simEvent){.at_ms = at_ms,
                             .kind = kind,
                             .process = process,
                             .life = s->process[process].life,
                             .connection = c->number};
}

void sentinelSimBreakChannel(struct sentinelSim *s, struct sentinelSimChannel *c) {
    if (c->dead) return;
    c->dead = true;
    if (!sentinelSimReaches(&s->process[c->from], &s->process[c->to])) return;
    if (c->reply_ms <= s->now_ms) c->reply_ms = s->now_ms + 1;
    simQueueAdd(&s->queue, sentinelSimEventAt(s, c, c->from, c->reply_ms, SIM_CLOSED));
}

/* False: the message is lost. */
static bool sentinelSimMayPass(struct sentinelSim *s, struct sentinelSimChannel *c) {
    if (c->dead) return false;
    if (!sentinelSimReaches(&s->process[c->from], &s->process[c->to])) {
        c->dead = true;
        return false;
    }
    if (s->o.breaks > 0 && (double)(simRandom(&s->random) >> 11) / (1ULL << 53) < s->o.breaks) {
        sentinelSimBreakChannel(s, c);
        return false;
    }
    return true;
}

void sentinelSimTransmit(struct sentinelSim *s, struct sentinelSimChannel *c, enum sentinelSimEventKind kind,
                         sds bytes) {
    if (!sentinelSimMayPass(s, c)) {
        sdsfree(bytes);
        return;
    }
    int64_t at = s->now_ms + sentinelSimLatency(s),
            *newest = kind == SIM_REQUEST ? &c->request_ms : &c->reply_ms;
    if (at < *newest) at = *newest;
    *newest = at;
    struct simEvent ev = sentinelSimEventAt(s, c, kind == SIM_REQUEST ? c->to : c->from, at, kind);
    ev.bytes = bytes;
    simQueueAdd(&s->queue, ev);
}
