/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_gate.c - see reply_gate.h. */
#include "client/reply_gate.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/linked_list.h"
#include "registry/config.h"
#include "registry/info.h"

bool reply_gate_used;

_Static_assert(sizeof((struct replyHold){0}.wanted) == GATE_SOURCES * sizeof(uint64_t),
               "a position for each source");

static replyGateAsk *asks[GATE_SOURCES]; /* NULL: not in use */
static uint64_t made[GATE_SOURCES], covered[GATE_SOURCES];
/* Closed holds: those that wait for all sources, and those of exempt clients, which wait for the disk. */
enum { WAIT_FOR_ALL, WAIT_FOR_DISK, HOLD_KINDS };
static struct list closed[HOLD_KINDS];
static bool (*is_exempt)(const struct client *c);
static void (*on_use)(bool used);
static uint64_t waits, given_up;

bool replyGateIsCovered(const uint64_t wanted[GATE_SOURCES], const uint64_t have[GATE_SOURCES]) {
    for (int i = 0; i < GATE_SOURCES; i++)
        if (wanted[i] > have[i]) return false;
    return true;
}

/* ---- Seals ---- */

static struct replyBlock *replyGateNewSeal(struct client *c) {
    struct replyBlock *b = replyHoldNew(c);
    c->out.mem += sizeof *b;
    return b;
}

void replyGateSeal(struct client *c) {
    if (!c->out.tail || replyBlockIsHold(c->out.tail)) return;
    c->out.tail = c->out.tail->next = replyGateNewSeal(c);
}

/* Returns the seal behind which the undecided output begins; NULL: all of the chain is undecided. */
static struct replyHold *replyGateFindSeal(const struct client *c) {
    for (struct replyBlock *b = c->out.head; b; b = b->next)
        if (replyBlockIsHold(b) && replyHoldOf(b)->state == HOLD_SEAL) return replyHoldOf(b);
    return NULL;
}

void replyGateSealFront(struct client *c) {
    bool decided = c->out.tail && replyBlockIsHold(c->out.tail);
    if (decided || replyGateFindSeal(c)) return;
    serverAssert(!c->out.sent);
    struct replyBlock *b = replyGateNewSeal(c);
    b->next = c->out.head;
    c->out.head = b;
    if (!c->out.tail) c->out.tail = b;
}

/* ---- Positions ---- */

static void replyGateAskAll(void) {
    for (int i = 0; i < GATE_SOURCES; i++) {
        if (!asks[i]) continue;
        uint64_t made_before = made[i], covered_before = covered[i];
        asks[i](&made[i], &covered[i]);
        serverAssert(made[i] >= made_before && covered[i] >= covered_before);
    }
}

void replyGateUpdate(void (*opened)(struct client *c)) {
    replyGateAskAll();
    for (int kind = 0; kind < HOLD_KINDS; kind++) {
        while (closed[kind].length) {
            struct replyHold *h = listEntry(listFirst(&closed[kind]), struct replyHold, node);
            if (!replyGateIsCovered(h->wanted, covered)) break;
            listRemove(&closed[kind], &h->node);
            h->state = HOLD_OPEN;
            opened(h->client);
        }
    }
}

bool replyGateSourceIsOpen(enum replyGateSource source) {
    return made[source] <= covered[source];
}

size_t replyGateHeldCount(void) {
    return closed[WAIT_FOR_ALL].length + closed[WAIT_FOR_DISK].length;
}

bool replyGateIsOpen(void) {
    return !replyGateHeldCount() && replyGateIsCovered(made, covered);
}

static void replyGateClose(struct replyHold *h, const uint64_t wanted[GATE_SOURCES]) {
    memcpy(h->wanted, wanted, sizeof h->wanted);
    h->state = HOLD_CLOSED;
    h->since_ms = mstime();
    h->list = &closed[wanted[GATE_REPLICAS] ? WAIT_FOR_ALL : WAIT_FOR_DISK];
    listAddTail(h->list, &h->node);
    waits++;
}

void replyGateHold(struct client *c) {
    if (!c->out.tail || replyBlockIsHold(c->out.tail)) return; /* it has got nothing */
    bool exempt = is_exempt && is_exempt(c);
    const uint64_t wanted[GATE_SOURCES] = {made[GATE_DISK], exempt ? 0 : made[GATE_REPLICAS]};
    struct replyHold *seal = replyGateFindSeal(c);
    if (c->flags & CLIENT_REPLICA || replyGateIsCovered(wanted, covered)) {
        if (seal) seal->state = HOLD_OPEN;
        return;
    }
    if (!seal) {
        replyGateSealFront(c);
        seal = replyHoldOf(c->out.head);
    }
    replyGateClose(seal, wanted);
    replyGateSeal(c);
}

/* ---- Sources ---- */

/* All that clients have not been sent so far is approved. */
static void replyGateSealAll(void) {
    listForEach(&clients, it) replyGateSeal(listEntry(it, struct client, node));
}

void replyGateUse(enum replyGateSource source, replyGateAsk *ask) {
    if (ask == asks[source]) return;
    if (ask && !replyGateIsActive()) replyGateSealAll();
    asks[source] = ask;
    made[source] = 0;
    covered[source] = ask ? 0 : UINT64_MAX;
    reply_gate_used = asks[GATE_DISK] || asks[GATE_REPLICAS];
    if (on_use) on_use(reply_gate_used);
}

void replyGateOnUse(void (*fn)(bool used)) {
    on_use = fn;
}

void replyGateExempt(bool (*fn)(const struct client *c)) {
    is_exempt = fn;
}

int64_t replyGateOldest(void) {
    if (!closed[WAIT_FOR_ALL].length) return 0;
    return listEntry(listFirst(&closed[WAIT_FOR_ALL]), struct replyHold, node)->since_ms;
}

/* Frees the output from the first closed hold on. */
static void replyGateDropHeld(struct client *c) {
    struct replyBlock **at = &c->out.head;
    c->out.tail = NULL;
    while (*at && !replyBlockStops(*at)) {
        c->out.tail = *at;
        at = &(*at)->next;
    }
    for (const struct replyBlock *b = *at; b; b = b->next) {
        c->out.bytes -= b->used;
        c->out.mem -= sizeof *b + b->cap;
    }
    replyBlocksFree(*at);
    *at = NULL;
}

/* Returns the first hold that waits for replicas, behind those that are covered and about to be opened. */
static struct replyHold *replyGateFirstUncovered(void) {
    listForEach(&closed[WAIT_FOR_ALL], it) {
        struct replyHold *h = listEntry(it, struct replyHold, node);
        if (h->wanted[GATE_REPLICAS] > covered[GATE_REPLICAS]) return h;
    }
    return NULL;
}

size_t replyGateGiveUp(int64_t before_ms, void (*reply)(struct client *c)) {
    size_t count = 0;
    for (struct replyHold *h; (h = replyGateFirstUncovered()) && h->since_ms <= before_ms;) {
        struct client *c = h->client;
        serverAssert(!(c->flags & CLIENT_EXECUTING));
        replyGateDropHeld(c);
        reply(c);
        replyGateSeal(c);
        clientCloseAfterReply(c);
        count++;
    }
    given_up += count;
    return count;
}

/* ---- INFO ---- */

/* O(closed holds) */
static size_t replyGateCountClients(void) {
    size_t count = 0;
    for (int kind = 0; kind < HOLD_KINDS; kind++) {
        listForEach(&closed[kind], it) {
            const struct replyHold *h = listEntry(it, struct replyHold, node);
            const struct replyBlock *b = h->client->out.head;
            while (!replyBlockStops(b)) b = b->next;
            count += replyHoldOf(b) == h;
        }
    }
    return count;
}

static sds replyGateClientsInfo(sds s) {
    return infoField(s, "reply_held_clients:%zu", replyGateCountClients());
}

static sds replyGateStatsInfo(sds s) {
    s = infoField(s, "reply_gate_waits:%llu", (unsigned long long)waits);
    return infoField(s, "reply_gate_given_up:%llu", (unsigned long long)given_up);
}

static void replyGateResetStats(void) {
    waits = given_up = 0;
}

void replyGateInit(void) {
    for (int i = 0; i < HOLD_KINDS; i++) listInit(&closed[i]);
    for (int i = 0; i < GATE_SOURCES; i++) covered[i] = UINT64_MAX;
    infoRegister("clients", replyGateClientsInfo);
    infoRegister("stats", replyGateStatsInfo);
    configOnResetStat(replyGateResetStats);
}
