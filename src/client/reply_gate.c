/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_gate.c - see reply_gate.h. */
#include "client/reply_gate.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "registry/config.h"
#include "registry/info.h"

enum replyHoldState { HOLD_SEAL, HOLD_CLOSED, HOLD_OPEN };

/* Stands in the room of its block, whose capacity is 0. */
struct replyHold {
    struct listNode node; /* while closed: in the list of its kind */
    struct replyBlock *block;
    struct client *client;
    struct replyGatePositions wanted;
    int64_t since_ms;
    enum replyHoldState state;
};

bool reply_gate_active;

static replyGateAsk *asks[GATE_SOURCES]; /* NULL: not in use */
static struct replyGatePositions made, covered;
/* Closed holds: those that wait for all sources, and those of exempt clients, which wait for the disk. */
enum { WAIT_FOR_ALL, WAIT_FOR_DISK, HOLD_KINDS };
static struct list closed[HOLD_KINDS];
static size_t hold_count; /* in all chains, closed or not */
static bool (*is_exempt)(const struct client *c);
static void (*on_use)(bool used);
static uint64_t waits, given_up;

bool replyGateIsCovered(const struct replyGatePositions *wanted, const struct replyGatePositions *have) {
    for (int i = 0; i < GATE_SOURCES; i++)
        if (wanted->at[i] > have->at[i]) return false;
    return true;
}

/* ---- Holds ---- */

static struct replyHold *replyHoldOf(const struct replyBlock *b) {
    serverAssert(!b->cap && !b->shared);
    return (struct replyHold *)b->room;
}

static void replyGateReview(void) {
    reply_gate_active = hold_count || asks[GATE_DISK] || asks[GATE_REPLICAS];
}

static struct replyBlock *replyGateNewSeal(struct client *c) {
    struct replyBlock *b = zmalloc(sizeof *b + sizeof(struct replyHold));
    *b = (struct replyBlock){.buf = b->room};
    *replyHoldOf(b) = (struct replyHold){.block = b, .client = c, .state = HOLD_SEAL};
    c->out.mem += sizeof *b;
    hold_count++;
    reply_gate_active = true;
    return b;
}

void replyGateForgetHold(struct replyBlock *b) {
    struct replyHold *h = replyHoldOf(b);
    if (listLinked(&h->node)) listRemove(&closed[h->wanted.at[GATE_REPLICAS] ? WAIT_FOR_ALL : WAIT_FOR_DISK], &h->node);
    hold_count--;
    replyGateReview();
}

bool replyGateIsClosed(const struct replyBlock *b) {
    return replyHoldOf(b)->state != HOLD_OPEN;
}

bool replyGateStops(const struct replyBlock *b) {
    return b && !b->cap && replyGateIsClosed(b);
}

bool replyGateIsSeal(const struct replyBlock *b) {
    return replyHoldOf(b)->state == HOLD_SEAL;
}

void replyGateSeal(struct client *c) {
    if (!c->out.tail || !c->out.tail->cap) return;
    c->out.tail = c->out.tail->next = replyGateNewSeal(c);
}

/* Returns the seal behind which the undecided output begins; NULL: all of the chain is undecided. */
static struct replyHold *replyGateFindSeal(const struct client *c) {
    for (struct replyBlock *b = c->out.head; b; b = b->next)
        if (!b->cap && replyGateIsSeal(b)) return replyHoldOf(b);
    return NULL;
}

void replyGateSealFront(struct client *c) {
    bool decided = c->out.tail && !c->out.tail->cap;
    if (decided || replyGateFindSeal(c)) return;
    serverAssert(!c->out.sent);
    struct replyBlock *b = replyGateNewSeal(c);
    b->next = c->out.head;
    c->out.head = b;
    if (!c->out.tail) c->out.tail = b;
}

/* ---- Positions ---- */

/* What the output of a client that was made up to now waits for. */
static struct replyGatePositions replyGateWanted(bool exempt) {
    struct replyGatePositions wanted = made;
    if (exempt) wanted.at[GATE_REPLICAS] = 0;
    return wanted;
}

static void replyGateAskAll(void) {
    for (int i = 0; i < GATE_SOURCES; i++) {
        if (!asks[i]) continue;
        struct replyGatePositions before = {{made.at[i], covered.at[i]}};
        asks[i](&made.at[i], &covered.at[i]);
        serverAssert(made.at[i] >= before.at[0] && covered.at[i] >= before.at[1]);
    }
}

void replyGateUpdate(void (*opened)(struct client *c)) {
    replyGateAskAll();
    for (int kind = 0; kind < HOLD_KINDS; kind++) {
        while (closed[kind].length) {
            struct replyHold *h = listEntry(listFirst(&closed[kind]), struct replyHold, node);
            if (!replyGateIsCovered(&h->wanted, &covered)) break;
            listRemove(&closed[kind], &h->node);
            h->state = HOLD_OPEN;
            opened(h->client);
        }
    }
}

bool replyGateSourceIsOpen(enum replyGateSource source) {
    return made.at[source] <= covered.at[source];
}

bool replyGateIsOpen(void) {
    return !closed[WAIT_FOR_ALL].length && !closed[WAIT_FOR_DISK].length && replyGateIsCovered(&made, &covered);
}

void replyGateHold(struct client *c) {
    if (!c->out.tail || !c->out.tail->cap) return; /* it has got nothing */
    bool exempt = !asks[GATE_REPLICAS] || (is_exempt && is_exempt(c));
    struct replyGatePositions wanted = replyGateWanted(exempt);
    struct replyHold *h = replyGateFindSeal(c);
    if (c->flags & CLIENT_REPLICA || replyGateIsCovered(&wanted, &covered)) {
        if (h) h->state = HOLD_OPEN;
        return;
    }
    if (!h) {
        replyGateSealFront(c);
        h = replyHoldOf(c->out.head);
    }
    h->state = HOLD_CLOSED;
    h->wanted = wanted;
    h->since_ms = mstime();
    listAddTail(&closed[wanted.at[GATE_REPLICAS] ? WAIT_FOR_ALL : WAIT_FOR_DISK], &h->node);
    waits++;
    replyGateSeal(c);
}

/* ---- Sources ---- */

/* What clients have not been sent yet has been approved so far. */
static void replyGateSealAll(void) {
    listForEach(&clients, it) replyGateSeal(listEntry(it, struct client, node));
}

void replyGateUse(enum replyGateSource source, replyGateAsk *ask) {
    if (ask == asks[source]) return;
    if (ask && !reply_gate_active) replyGateSealAll();
    asks[source] = ask;
    made.at[source] = 0;
    covered.at[source] = ask ? 0 : UINT64_MAX;
    replyGateReview();
    if (on_use) on_use(asks[GATE_DISK] || asks[GATE_REPLICAS]);
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
    while (*at && !replyGateStops(*at)) {
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
        if (h->wanted.at[GATE_REPLICAS] > covered.at[GATE_REPLICAS]) return h;
    }
    return NULL;
}

size_t replyGateGiveUp(int64_t before_ms, const char *error) {
    size_t count = 0;
    for (struct replyHold *h; (h = replyGateFirstUncovered()) && h->since_ms <= before_ms;) {
        struct client *c = h->client;
        serverAssert(!(c->flags & CLIENT_EXECUTING));
        replyGateDropHeld(c);
        if (!(c->flags & CLIENT_REPLY_OFF)) replyError(c, error);
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
            while (b->cap || !replyGateIsClosed(b)) b = b->next;
            count += b == h->block;
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
    for (int i = 0; i < GATE_SOURCES; i++) covered.at[i] = UINT64_MAX;
    infoRegister("clients", replyGateClientsInfo);
    infoRegister("stats", replyGateStatsInfo);
    configOnResetStat(replyGateResetStats);
}
