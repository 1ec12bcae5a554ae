/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_idmp_kept.c - which streams of a keyspace have state of idempotence, and the job that drops old
 * records (part of stream_idmp.h).
 *
 *     keyspace->kept      list of the streams that have state; NULL: there are none
 *
 * A stream is listed when it gets state. The job takes it off the list when its records are gone and its
 * limits are those of the directives: then it is saved like a plain stream.
 *
 * Adding a record drops old ones of the same stream. The job is for streams to which nothing is added any
 * more: it goes round the lists, for at most a millisecond at each tick, and waits while a snapshot is made,
 * which must not find a stream changed. Dropping a record is no change of
 * the data: it is neither propagated nor notified, and each replica does it by itself. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "types/stream/stream_idmp.h"
#include "types/types.h"

#define SLICE_US 1000
#define BATCH    64 /* records between two readings of the clock */

struct value idmpValue(struct idmpStream *x) {
    return valuePtr(OBJ_STREAM, STREAM_ENCODING_IDMP, x);
}

static struct list *idmpListOf(const struct keyspace *ks) {
    return ks->kept[OBJ_STREAM];
}

void idmpKeep(struct keyspace *ks, struct idmpStream *x) {
    if (listLinked(&x->node) || !idmpHasState(x)) return;
    if (!idmpListOf(ks)) listInit(ks->kept[OBJ_STREAM] = zmalloc(sizeof(struct list)));
    listAddTail(idmpListOf(ks), &x->node);
}

static void idmpForget(struct keyspace *ks, struct idmpStream *x) {
    listRemove(idmpListOf(ks), &x->node);
    if (!idmpListOf(ks)->length) idmpOnAllRemoved(ks);
}

void idmpOnAdded(struct keyspace *ks, const struct object *o) {
    struct idmpStream *x = idmpOpen(o);
    if (x) idmpKeep(ks, x);
}

void idmpOnRemoved(struct keyspace *ks, const struct object *o) {
    struct idmpStream *x = idmpOpen(o);
    if (x && listLinked(&x->node)) idmpForget(ks, x);
}

/* The streams may be freed on another thread, and nothing is linked to them any more. */
void idmpOnAllRemoved(struct keyspace *ks) {
    zfree(ks->kept[OBJ_STREAM]);
    ks->kept[OBJ_STREAM] = NULL;
}

int idmpRdbVersionNeeded(const struct keyspace *ks) {
    return idmpListOf(ks) ? RDB_VERSION_OWN : RDB_VERSION;
}

struct idmpStream *idmpOpenFor(struct object *o) {
    struct idmpStream *x = idmpOpen(o);
    if (x) return x;
    void *plain = streamOpen(o);
    x = idmpFromPlain(plain);
    objectSetPtr(o, STREAM_ENCODING_IDMP, x);
    largeValueMoved(plain, x);
    struct largeValue *v = largeValueFind(x);
    if (v) v->encoding = STREAM_ENCODING_IDMP;
    return x;
}

/* ---- The job ---- */

/* Drops old records of all streams of a keyspace. Returns false when the time is up. */
static bool idmpExpireKept(struct keyspace *ks, int64_t stop_us) {
    if (keyspaceIsWalked(ks)) return true;
    for (size_t left = idmpListOf(ks) ? idmpListOf(ks)->length : 0; left; left--) {
        struct idmpStream *x = listEntry(listFirst(idmpListOf(ks)), struct idmpStream, node);
        while (idmpExpire(x, cmd_time_ms, BATCH) == BATCH)
            if (monotonicUs() >= stop_us) return false;
        idmpForget(ks, x);
        idmpKeep(ks, x); /* at the end of the list, if it has state */
        if (left % BATCH == 0 && monotonicUs() >= stop_us) return false;
    }
    return true;
}

/* The next call continues where the time was up. */
static void idmpExpireCron(void) {
    static int next_db;
    int64_t stop_us = monotonicUs() + SLICE_US;
    for (int i = 0; i < dbCount(); i++, next_db++) {
        if (!idmpExpireKept(&dbs[next_db % dbCount()].keyspace, stop_us)) return;
    }
    next_db %= dbCount();
}

void idmpInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("stream-idmp-duration", NULL, CONFIG_MODIFIABLE, &idmp_duration_s, 100, 1,
                   IDMP_DURATION_MAX_S, NULL),
        CONFIG_INT("stream-idmp-maxsize", NULL, CONFIG_MODIFIABLE, &idmp_maxsize, 100, 1, IDMP_MAXSIZE_MAX,
                   NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(idmpExpireCron, 0);
}
