/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_defrag.c - part of stream.h: defragmentation of streams, some entries of one tree at a time.
 *
 *     at[0]       what        at[1], at[2]: the last ID that was done
 *     0           the stream itself and the tree of its nodes
 *     1           the tree of groups, and the groups
 *     2           idempotence records; at[1] is a cursor over the producers
 *     3 + i       the i-th group by name: its pending entries, with their pointers in their consumers' trees;
 *                 at the end its consumers
 *
 * There usually are few groups. When one is added or dropped meanwhile, another one is done twice or
 * not at all. */
#include "types/defrag_hooks.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"

#define KEYS_PER_CALL 128
#define MANY_PENDING  1000 /* each of them has a pointer to its consumer that would change */

enum { IN_NODES, IN_GROUPS, IN_RECORDS, IN_PENDING };

/* ---- Trees by ID, in pieces ---- */

struct streamDefragPiece {
    struct defragCursor *at;
    raxValueFn *value;
};

static void *streamDefragPieceValue(void *priv, struct str key, void *value) {
    struct streamDefragPiece *piece = priv;
    struct streamID id = streamKeyID(key);
    piece->at->at[1] = id.ms;
    piece->at->at[2] = id.seq;
    return piece->value(NULL, key, value);
}

/* Returns true when there is more. No ID is 0-0. */
static bool streamDefragMovePiece(struct rax *r, struct defragCursor *at, raxValueFn *value) {
    struct streamDefragPiece piece = {at, value};
    struct streamID last = {at->at[1], at->at[2]};
    struct streamKey key = streamKeyOf(last);
    const char *op = streamIDIsZero(last) ? "^" : ">";
    return raxMove(r, op, streamKeyView(&key), KEYS_PER_CALL, defragMove, streamDefragPieceValue, &piece);
}

static void streamDefragNextStage(struct defragCursor *at) {
    *at = (struct defragCursor){.at = {at->at[0] + 1}};
}

/* ---- Values ---- */

static void *streamDefragMoveValue(void *priv, struct str key, void *value) {
    (void)priv, (void)key;
    defragPointer(&value);
    return value;
}

static void *streamDefragKnownPlace(void *priv, struct str key, void *value) {
    (void)key, (void)value;
    return priv;
}

static void *streamDefragMoveNack(void *priv, struct str key, void *value) {
    (void)priv;
    defragPointer(&value);
    struct streamNack *nack = value;
    raxMove(&nack->consumer->pending, "=", key, 1, defragMove, streamDefragKnownPlace, nack);
    return nack;
}

static void *streamDefragUpdateConsumer(void *priv, struct str key, void *value) {
    (void)key;
    ((struct streamNack *)value)->consumer = priv;
    return value;
}

static void *streamDefragKeepInPlace(void *priv, void *ptr) {
    (void)priv, (void)ptr;
    return NULL;
}

static void *streamDefragMoveConsumer(void *priv, struct str key, void *value) {
    (void)priv, (void)key;
    struct streamConsumer *consumer = value;
    if (consumer->pending.size <= MANY_PENDING) defragPointer(&consumer);
    sds name = sdsMove(consumer->name, defragMove, NULL);
    if (name) consumer->name = name;
    if (consumer != value)
        raxMove(&consumer->pending, "^", STR(""), SIZE_MAX, streamDefragKeepInPlace,
                streamDefragUpdateConsumer, consumer);
    return consumer;
}

/* ---- Stages ---- */

static bool streamDefragMoveNodes(struct object *o, struct defragCursor *at) {
    if (!at->at[1] && !at->at[2]) {
        defragContainer(o);
        if (idmpOpen(o) && listLinked(&idmpOpen(o)->node)) listNodeMoved(&idmpOpen(o)->node);
        defragPointer(&streamOpen(o)->tail);
    }
    return streamDefragMovePiece(&streamOpen(o)->nodes, at, streamDefragMoveValue);
}

/* Moves a piece of the group with this number. Returns false when there is none. */
static bool streamDefragMoveGroup(struct stream *s, uint64_t number, struct defragCursor *at) {
    struct raxIterator it;
    raxStart(&it, &s->groups);
    bool found = raxSeek(&it, "^", STR(""));
    while (found && number--) found = raxNext(&it);
    struct streamGroup *g = it.value;
    raxStop(&it);
    if (!found) return false;
    if (streamDefragMovePiece(&g->pending, at, streamDefragMoveNack)) return true;
    raxMove(&g->consumers, "^", STR(""), SIZE_MAX, defragMove, streamDefragMoveConsumer, NULL);
    if (g->due) defragPointer(&g->due);
    streamDefragNextStage(at);
    return true;
}

bool streamDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    struct stream *s;
    switch (at->at[0]) {
    case IN_NODES:
        if (!streamDefragMoveNodes(o, at)) streamDefragNextStage(at);
        return true;
    case IN_GROUPS:
        s = streamOpen(o);
        raxMove(&s->groups, "^", STR(""), SIZE_MAX, defragMove, streamDefragMoveValue, NULL);
        streamDefragNextStage(at);
        return s->groups.size > 0 || idmpOpen(o);
    case IN_RECORDS:
        if (idmpOpen(o)) at->at[1] = idmpMove(idmpOpen(o), at->at[1], defragMove, NULL);
        if (!idmpOpen(o) || !at->at[1]) streamDefragNextStage(at);
        return at->at[0] == IN_RECORDS || streamOpen(o)->groups.size > 0;
    default: return streamDefragMoveGroup(streamOpen(o), at->at[0] - IN_PENDING, at);
    }
}
