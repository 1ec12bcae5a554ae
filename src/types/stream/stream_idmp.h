/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_idmp.h - the idempotence records of a stream: which ID did a producer's entry get?
 *
 * A producer that does not know whether its XADD was executed sends it again, with its own name and the id
 * that it gave the entry. While there is a record of the two, the stream replies the ID of the entry that it
 * has, and adds nothing.
 *
 * Few streams need this. Such a stream is a larger struct that begins with struct stream, and its object has
 * the encoding STREAM_ENCODING_IDMP. All other streams pay nothing.
 *
 *     struct idmpStream ── producers: table by name ──▶ struct idmpProducer ── records: table by id, if many
 *           │                                                    │
 *        oldest ──▶ record ⇄ record ⇄ record ⇄ ... ⇄ newest      oldest ──▶ record ──▶ record ──▶ newest
 *                   all of the stream                                       those of the producer
 *
 * A record is dropped when its entry's ID is older than `duration_s`, or when its producer has more than
 * `maxsize` of them: always the oldest first. A producer without records is dropped, too. So the memory is
 * bounded by the rate of additions and the duration.
 *
 * Invariants: a producer's list is the part of the stream's list that is its own, in the same order. No
 * producer is without a record or has more than `maxsize`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/linked_list.h"
#include "base/str.h"
#include "ds/hashtable.h"
#include "types/stream/stream.h"

enum { STREAM_ENCODING_PLAIN, STREAM_ENCODING_IDMP }; /* of struct object */

#define IDMP_DURATION_MAX_S 86400
#define IDMP_MAXSIZE_MAX    10000
#define IDMP_AUTO_BYTES     16                /* length of an id that is computed from the entry */
extern int64_t idmp_duration_s, idmp_maxsize; /* directives: for streams that become idempotent */

struct idmpProducer;
struct idmpRecord {
    struct idmpRecord *older, *newer; /* neighbours in the stream */
    struct idmpRecord *next;          /* the producer's next newer one */
    struct idmpProducer *producer;
    struct streamID entry;
    uint32_t len;
    char iid[];
};
struct idmpProducer {
    struct hashtable *records; /* NULL while there are few */
    struct idmpRecord *oldest, *newest;
    uint32_t count, len;
    char name[];
};
struct idmpStream {
    struct stream stream; /* first */
    int64_t duration_s, maxsize;
    uint64_t added, duplicates; /* since the stream exists */
    uint64_t count;             /* records */
    struct idmpRecord *oldest, *newest;
    struct hashtable producers;
    struct listNode node; /* among the streams with state of its keyspace */
};

/* Makes a stream idempotent, with the values of the directives and without records. It moves. */
struct idmpStream *idmpFromPlain(struct stream *s);
/* The opposite, for one without records. */
struct stream *idmpToPlain(struct idmpStream *x);
/* Frees everything but the stream that it begins with. May run in any thread. */
void idmpFreeRecords(struct idmpStream *x);
struct idmpStream *idmpDup(struct idmpStream *x);
static inline size_t idmpProducers(const struct idmpStream *x) {
    return hashtableSize(&x->producers);
}
static inline struct str idmpIid(const struct idmpRecord *r) {
    return strN(r->iid, r->len);
}
static inline struct str idmpName(const struct idmpProducer *p) {
    return strN(p->name, p->len);
}

/* Returns the record, or NULL. O(1) */
struct idmpRecord *idmpFind(struct idmpStream *x, struct str pid, struct str iid);
bool idmpIsExpired(const struct idmpStream *x, const struct idmpRecord *r, int64_t now_ms);
/* Returns the record unless it has expired; then it is dropped, and with it the producer's older ones.
 * Amortized O(1), but O(the producer's records) where one of a later entry stands before it. */
struct idmpRecord *idmpFindValid(struct idmpStream *x, struct str pid, struct str iid, int64_t now_ms);
/* Adds a record that does not exist, as the newest one. Drops the producer's oldest when it has too many.
 * Amortized O(1). */
void idmpAdd(struct idmpStream *x, struct str pid, struct str iid, struct streamID entry);
/* O(1) for the oldest of a producer, else O(its records). */
void idmpRemove(struct idmpStream *x, struct idmpRecord *r);
/* Drops up to `limit` records that have expired, the oldest ones; returns how many it dropped. */
size_t idmpExpire(struct idmpStream *x, int64_t now_ms, size_t limit);
/* Puts the records into the order of their entries' IDs. O(n log n) */
void idmpSort(struct idmpStream *x);
/* Changes the limits. Other values than before drop all records, and true is returned. */
bool idmpConfigure(struct idmpStream *x, int64_t duration_s, int64_t maxsize);

/* Computes the id of an entry from its fields and values, whatever their order. Redis 8.6 computes the same
 * one, so that its records stay valid here:
 *
 *     for each pair:  low, high = XXH3-128(field | its length: 64 bits, little endian | value)
 *     id:             sum of low ^ rotate(xor of high) | sum of high ^ rotate(xor of low)
 *
 * Sums are modulo 2^64; rotation is by one bit to the left; the halves are little endian. */
void idmpAutoIid(const struct str *pairs, size_t count, char iid[IDMP_AUTO_BYTES]);

/* Returns the bytes beyond the struct itself, estimated from `samples` producers and records (0: all). */
size_t idmpMemory(const struct idmpStream *x, size_t samples);
/* Offers the records of one home bucket of producers to `move`; returns the next cursor, 0 at the end. */
uint64_t idmpMove(struct idmpStream *x, uint64_t cursor, void *(*move)(void *priv, void *ptr), void *priv);

/* ---- Streams in keyspaces (stream_idmp_kept.c) ---- */
struct keyspace;
/* Returns NULL when the stream is a plain one. */
static inline struct idmpStream *idmpOpen(const struct object *o) {
    return o->encoding == STREAM_ENCODING_IDMP ? objectPtr(o) : NULL;
}
struct value idmpValue(struct idmpStream *x);
/* Makes the object's stream idempotent unless it is. */
struct idmpStream *idmpOpenFor(struct object *o);
/* Whether there is anything to save: the counters alone are not worth it. */
static inline bool idmpHasState(const struct idmpStream *x) {
    return x->count || x->duration_s != idmp_duration_s || x->maxsize != idmp_maxsize;
}
/* To be called when a stream in this keyspace may have got its first state. */
void idmpKeep(struct keyspace *ks, struct idmpStream *x);
/* Hooks of the type. */
void idmpOnAdded(struct keyspace *ks, const struct object *o);
void idmpOnRemoved(struct keyspace *ks, const struct object *o);
void idmpOnAllRemoved(struct keyspace *ks);
int idmpRdbVersionNeeded(const struct keyspace *ks);
void idmpInit(void); /* directives, and the job that drops records */
