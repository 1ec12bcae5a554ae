/* SPDX-License-Identifier: BSD-3-Clause */
/* forkless.c - the two sides of a snapshot without a fork; see forkless.h.
 *
 * The main thread works for it before each poll: it takes note of what the thread has finished with,
 * continues with a large value for at most SLICE_MAX_US, or gives the thread more keys, which takes about 10
 * us.
 */
#include "data/forkless/forkless.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/key_slot.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/zmalloc.h"
#include "data/forkless/item_queue.h"
#include "data/forkless/keyspace_walk.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict_marks.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "registry/latency.h"

#define SLICE_MIN_US   20
#define SLICE_MAX_US   100
#define PARTS_SHARE    20                /* a large value gets 1/20 of the time */
#define CHECK_US       10000             /* between two looks at forkless-buffer-limit */
#define MOST_PARTS     (4 * 1024 * 1024) /* bytes in the queue above which large values wait */
#define SPILL_SHARE    64 /* 1/64 of the used memory may wait in memory, and 1/64 in large values */
#define LEAST_SPILL    (4 * 1024 * 1024) /* or as many bytes as this */
#define DELAY_PIECE_US 10000
#define AHEAD          12 /* objects that the thread has claimed and fetched before their turn */
#define FETCH_VALUE    6  /* when an object's container is fetched, in objects before its turn */
#define RUN_US         30 /* that the thread encodes, about, before it offers its processor */
#define RUN_KEYS       96 /* at most, and bytes */
#define RUN_BYTES      (8 * 1024)
#define THREAD_TURN_US 20000 /* long, so that any thread that is woken interrupts this one */
#define LONG_TURN_US   500   /* the main thread does not take that long, other programs do */

static struct {
    bool running, ended;
    atomic_int failed; /* errno, when the main thread has ended it */
    int64_t checked_us, slice_end_us;
    struct forklessPlan plan;
    struct rdbSaveOptions rdb; /* of the plan */
    uint8_t slots[KEY_SLOTS / 8];
    int version;
    bool strict, packs_strings;
    struct evictClock clock;
    sds head;
    struct itemQueue *queue;
    uint64_t keys, peak_bytes, spilled_bytes;
    uint64_t spill_above;
    bool spill_failed;
    int64_t started_us;
    _Atomic(int64_t) delay_us; /* rdb-key-save-delay */
    _Atomic(uint64_t) keys_written, written;
} snapshot;

static uint64_t forklessWaitingBytes(void) {
    return snapshot.running ? itemQueueBytes(snapshot.queue) + largeValuesBytes() : 0;
}

/* ---- The thread ---- */

int forklessVersion(void) {
    return snapshot.version;
}

struct forklessOutput {
    struct rioWriter *to;
    struct rioWriter keys; /* encodes into `bytes`, while objects or batches are claimed: `to` may wait for a
                            * disk */
    sds bytes;
    int dbid;
    uint64_t count;
    uint32_t run_keys; /* that RUN_US would have held of the last run */
    int64_t next_yield_us;
};

static void forklessSelect(struct forklessOutput *out, int dbid) {
    if (out->dbid == dbid) return;
    out->dbid = dbid;
    if (snapshot.plan.rdb)
        rdbWriteSelectDb(out->to, dbid);
    else
        rewriteSelectDb(out->to, dbid);
}

static void forklessEncode(struct forklessOutput *out, struct queueKeys *keys, uint32_t i, int dbid) {
    const struct object *o = keys->objects[i];
    bool large = objectIsLarge(o);
    if (!large) {
        out->count++;
        if (snapshot.plan.rdb)
            rdbWriteKey(&out->keys, o, dbid);
        else
            rewriteKey(&out->keys, o);
    }
    itemQueueDone(keys, i, large);
}

/* Offers the processor to the main thread if that has been woken and waits for one. The scheduler lets it
 * preempt this thread, unless it has used more than its share of the processor; then only the next tick would
 * help, up to 4 ms later. An offer that is taken costs this thread a turn (THREAD_TURN_US) of its share, so
 * that the main thread nearly always has less than its own. When others take the offer for long, none is made
 * for as long as they took. */
static void forklessYield(struct forklessOutput *out) {
    int64_t before_us = monotonicUs();
    if (before_us < out->next_yield_us || !aeIsLate(server_el)) return;
    sched_yield();
    int64_t after_us = monotonicUs(), took_us = after_us - before_us;
    if (took_us > LONG_TURN_US) out->next_yield_us = after_us + took_us;
}

/* Encodes keys from `first` on, and returns the first one that has been left. Objects are claimed and fetched
 * before their turn, their values a little later; few when they take long, as the main thread may have to
 * wait for all that are claimed. */
static uint32_t forklessWriteRun(struct forklessOutput *out, struct queueItem *item, uint32_t first) {
    struct queueKeys *keys = item->keys;
    bool claimed[RUN_KEYS];
    uint32_t left = keys->count - first, count = left < out->run_keys ? left : out->run_keys;
    uint64_t most = rioWritten(&out->keys) + RUN_BYTES;
    int64_t start_us = monotonicUs();
    const struct object **objects = keys->objects + first;
    for (uint32_t i = 0; i < count + AHEAD; i++) {
        if (i < count && rioWritten(&out->keys) > most) count = i;
        if (i < count && (claimed[i] = itemQueueClaim(keys, first + i))) __builtin_prefetch(objects[i]);
        uint32_t fetch = i - (AHEAD - FETCH_VALUE), turn = i - AHEAD;
        if (i >= AHEAD - FETCH_VALUE && fetch < count && claimed[fetch] && objectHasPtr(objects[fetch]))
            __builtin_prefetch(objectPtr(objects[fetch]));
        if (i >= AHEAD && claimed[turn]) forklessEncode(out, keys, first + turn, item->dbid);
    }
    uint64_t fit = (uint64_t)RUN_US * count / (uint64_t)(monotonicUs() - start_us + 1);
    out->run_keys = fit < 1 ? 1 : fit < RUN_KEYS ? (uint32_t)fit : RUN_KEYS;
    return first + count;
}

/* Writes what has been encoded. Nothing is claimed any more. */
static void forklessPass(struct forklessOutput *out, int dbid) {
    rioFlush(&out->keys);
    if (out->keys.error) out->to->error = out->keys.error;
    forklessSelect(out, dbid);
    rioWriteStr(out->to, sdsview(out->bytes));
    sdssetlen(out->bytes, 0);
}

static void forklessWriteKeys(struct forklessOutput *out, struct queueItem *item) {
    for (uint32_t next = 0; next < item->keys->count;) {
        next = forklessWriteRun(out, item, next);
        forklessYield(out);
    }
    forklessPass(out, item->dbid);
}

/* Encodes a batch, whose entries are fetched before their turn, or writes what the main thread has made of
 * it. */
static void forklessWriteEntries(struct forklessOutput *out, struct queueItem *item) {
    struct queueEntries *batch = item->entries;
    if (!itemQueueClaimEntries(batch)) {
        forklessSelect(out, item->dbid);
        rioWriteStr(out->to, sdsview(batch->bytes));
        return;
    }
    int64_t start_us = monotonicUs();
    for (uint32_t i = 0; i < batch->count + AHEAD; i++) {
        if (i < batch->count) __builtin_prefetch(batch->entries[i]);
        if (i >= AHEAD) batch->write(&out->keys, batch->entries[i - AHEAD], &batch->form);
    }
    itemQueueDoneEntries(batch, (uint32_t)(monotonicUs() - start_us));
    forklessYield(out);
    forklessPass(out, item->dbid);
}

/* Waits in pieces, so that a cancelled snapshot ends soon. */
static void forklessDelay(uint64_t keys) {
    int64_t delay_us = snapshot.delay_us;
    if (delay_us < 0) rdbDelay(delay_us, keys);
    for (int64_t waited_us = 0; waited_us < delay_us && !childIsCancelled(); delay_us = snapshot.delay_us) {
        int64_t left_us = delay_us - waited_us;
        rdbDelay(left_us < DELAY_PIECE_US ? left_us : DELAY_PIECE_US, keys);
        waited_us += DELAY_PIECE_US;
    }
}

static void forklessWriteSpilled(struct forklessOutput *out, const struct queueItem *item) {
    uint64_t at = item->spilled.offset, end = at + item->spilled.bytes;
    int error;
    while (at < end && !out->to->error) {
        size_t wanted = end - at < RIO_BUFFER ? (size_t)(end - at) : RIO_BUFFER;
        size_t got = itemQueueReadSpilled(snapshot.queue, at, rioRoom(out->to, wanted), wanted, &error);
        rioWrote(out->to, got);
        at += got;
        if (!got && !out->to->error) out->to->error = error;
    }
}

static void forklessWriteItem(struct forklessOutput *out, struct queueItem *item) {
    uint64_t before = out->count;
    if (item->bytes || item->spilled.bytes) {
        forklessSelect(out, item->dbid);
        if (item->bytes)
            rioWriteStr(out->to, sdsview(item->bytes));
        else
            forklessWriteSpilled(out, item);
        out->count += item->bytes_keys;
    } else if (item->entries) {
        forklessWriteEntries(out, item);
    } else {
        forklessWriteKeys(out, item);
    }
    atomic_store_explicit(&snapshot.keys_written, out->count, memory_order_relaxed);
    if (__builtin_expect(snapshot.delay_us != 0, 0))
        for (uint64_t n = before; n < out->count && !childIsCancelled(); n++) forklessDelay(n + 1);
}

bool forklessWriteAll(struct rioWriter *w, void (*progress)(uint64_t keys)) {
    struct forklessOutput out = {.to = w, .bytes = sdsempty(), .dbid = -1, .run_keys = RUN_KEYS};
    bool cancelled = false;
    serverAssert(childInThread() && snapshot.running);
    threadSetSlice(THREAD_TURN_US);
    rioWriterInit(&out.keys, rioSinkSds, &out.bytes);
    out.keys.version = snapshot.version;
    out.keys.strict = snapshot.strict;
    out.keys.clock = &snapshot.clock;
    out.keys.plain_strings = w->frame || !snapshot.packs_strings;
    out.keys.packs_strings = snapshot.packs_strings;
    out.keys.lzf_learns = true;
    rioWriteStr(w, sdsview(snapshot.head));
    for (struct queueItem *item; !w->error && (item = itemQueueNext(snapshot.queue, &cancelled));) {
        forklessWriteItem(&out, item);
        if (progress) progress(out.count);
    }
    if (cancelled && !w->error) w->error = snapshot.failed ? snapshot.failed : ECANCELED;
    snapshot.written = rioWritten(w);
    rioWriterFree(&out.keys);
    sdsfree(out.bytes);
    return !w->error;
}

/* ---- The main thread: start ---- */

/* Selects each database that has keys, and says how many. */
static void forklessWriteSizes(struct rioWriter *w) {
    for (int i = 0; i < dbCount(); i++) {
        const struct keyspace *ks = &dbs[i].keyspace;
        if (!keyspaceSize(ks)) continue;
        rdbWriteSelectDb(w, i);
        rdbWriteDbSizes(w, keyspaceSize(ks), keyspaceExpiresSize(ks));
        if (keys_by_slot) rdbWriteSlotSizes(w, &dbs[i]);
    }
}

static void forklessWriteHead(struct rioWriter *w) {
    if (!snapshot.plan.rdb) {
        if (snapshot.plan.head) snapshot.plan.head(w);
        return;
    }
    rdbWriteHead(w, &snapshot.rdb);
    if (!snapshot.rdb.without_keys) forklessWriteSizes(w);
}

static void forklessCopyPlan(const struct forklessPlan *plan) {
    snapshot.plan = *plan;
    snapshot.version = plan->version;
    snapshot.strict = false;
    if (plan->rdb) {
        snapshot.rdb = *plan->rdb;
        snapshot.plan.rdb = &snapshot.rdb;
        snapshot.version = plan->rdb->version ? plan->rdb->version : rdbVersionNeeded();
        snapshot.strict = plan->rdb->version != 0;
    }
    if (plan->slots) snapshot.plan.slots = memcpy(snapshot.slots, plan->slots, sizeof snapshot.slots);
}

static uint64_t forklessCountKeys(void) {
    uint64_t n = 0;
    if (snapshot.plan.rdb && snapshot.rdb.without_keys) return 0;
    for (int i = 0; i < dbCount(); i++) n += keyspaceSize(&dbs[i].keyspace);
    return n;
}

/* Returns how many bytes of old values may wait in memory; others go to a file. */
static uint64_t forklessSpillAbove(void) {
    if (forkless_spill_above) return (uint64_t)forkless_spill_above;
    uint64_t quarter = (uint64_t)forkless_buffer_limit / 4, share = zmallocUsedMemory() / SPILL_SHARE;
    if (share < LEAST_SPILL) share = LEAST_SPILL;
    return quarter && quarter < share ? quarter : share;
}

static void forklessPrepare(void) {
    struct rioWriter w;
    snapshot.head = sdsempty();
    rioWriterInit(&w, rioSinkSds, &snapshot.head);
    w.version = snapshot.version;
    w.strict = snapshot.strict;
    w.plain_strings = true;
    w.clock = &snapshot.clock;
    snapshot.clock = evictClockNow();
    snapshot.packs_strings = rdbDirectivePacksStrings();
    forklessWriteHead(&w);
    rioFlush(&w);
    snapshot.queue = itemQueueCreate();
    snapshot.keys = forklessCountKeys();
    if (snapshot.keys) keyspaceWalksStart(snapshot.queue, snapshot.plan.slots, !snapshot.plan.rdb, &w);
    if (snapshot.keys) largeValuesStart(snapshot.queue, !snapshot.plan.rdb, &w);
    rioWriterFree(&w);
    hashtableLetReadsShrink(false);
    snapshot.running = true;
    snapshot.ended = false;
    atomic_store(&snapshot.failed, 0);
    snapshot.checked_us = snapshot.slice_end_us = 0;
    snapshot.peak_bytes = snapshot.spilled_bytes = 0;
    snapshot.spill_failed = false;
    snapshot.spill_above = forklessSpillAbove();
    itemQueueSpillAbove(snapshot.queue, snapshot.spill_above);
    snapshot.delay_us = rdb_key_save_delay_us;
    atomic_store(&snapshot.written, 0);
    snapshot.started_us = monotonicUs();
    atomic_store(&snapshot.keys_written, 0);
}

static void forklessCleanUp(void) {
    if (snapshot.keys) {
        largeValuesStop();
        keyspaceWalksStop();
    }
    itemQueueFree(snapshot.queue);
    hashtableLetReadsShrink(true);
    sdsfree(snapshot.head);
    snapshot.queue = NULL;
    snapshot.head = NULL;
    snapshot.running = false;
}

static void forklessDone(int exit_code, int sig, void *priv) {
    if (snapshot.failed) sig = 0;
    if (snapshot.plan.kind != CHILD_PROBE) forklessLogEnd(exit_code, sig);
    forklessCleanUp();
    snapshot.plan.done(exit_code, sig, priv);
}

bool forklessStart(const struct forklessPlan *plan, const char **err) {
    if (childRunning() != CHILD_NONE) {
        *err = "another child process is active";
        return false;
    }
    childEndProbe();
    serverAssert(!snapshot.running && plan->run && plan->done);
    forklessCopyPlan(plan);
    forklessPrepare();
    if (!childStartThread(plan->kind, plan->run, forklessDone, plan->priv, err)) {
        forklessCleanUp();
        return false;
    }
    if (plan->kind != CHILD_PROBE) forklessLogStart(plan->kind, snapshot.keys);
    return true;
}

/* ---- The main thread: each turn ---- */

static void forklessFail(int error) {
    if (snapshot.failed) return;
    if (error == ENOBUFS) forklessLogOverLimit();
    snapshot.failed = error;
    childStop();
}

static void forklessCheckSpill(void) {
    const struct spillFile *spill = itemQueueSpillFile(snapshot.queue);
    if (snapshot.plan.kind == CHILD_PROBE) return;
    if (!snapshot.spilled_bytes && spillFileTaken(spill)) forklessLogSpill();
    snapshot.spilled_bytes = spillFileTaken(spill);
    if (!spillFileError(spill) || snapshot.spill_failed) return;
    snapshot.spill_failed = true;
    forklessLogSpillError(spillFileError(spill));
}

/* Fails rather than letting clients' writes fill the memory when neither the disk (or the replica) nor the
 * temporary file can keep up. Adds up over all registered values, so it is not done in each turn. */
static void forklessCheckLimit(void) {
    int64_t now_us = monotonicUs();
    if (now_us - snapshot.checked_us < CHECK_US) return;
    snapshot.checked_us = now_us;
    largeValuesSpill(snapshot.spill_above);
    forklessCheckSpill();
    uint64_t bytes = forklessWaitingBytes();
    if (bytes > snapshot.peak_bytes) snapshot.peak_bytes = bytes;
    if (forkless_buffer_limit && bytes > (uint64_t)forkless_buffer_limit) forklessFail(ENOBUFS);
}

static uint64_t forklessMostParts(void) {
    uint64_t quarter = (uint64_t)forkless_buffer_limit / 4;
    return quarter && quarter < MOST_PARTS ? quarter : MOST_PARTS;
}

/* Large values get a twentieth of the main thread's time, or all that it does not need otherwise. */
static bool forklessStepParts(uint64_t most) {
    if (!large_value_count) return false;
    int64_t now_us = monotonicUs(), slice_us = (now_us - snapshot.slice_end_us) / PARTS_SHARE;
    if (slice_us < SLICE_MIN_US) slice_us = SLICE_MIN_US;
    if (slice_us > SLICE_MAX_US) slice_us = SLICE_MAX_US;
    bool left = largeValuesStep(now_us + slice_us, most);
    snapshot.slice_end_us = monotonicUs();
    return left;
}

static void forklessGive(void) {
    if (!snapshot.keys) {
        itemQueueEnd(snapshot.queue);
        snapshot.ended = true;
        return;
    }
    keyspaceWalksReap();
    uint64_t most = forklessMostParts();
    bool parts_left = forklessStepParts(most);
    bool left = parts_left || keyspaceWalksGive();
    if (parts_left ? itemQueueHasRoomForPart(snapshot.queue, most) : left && itemQueueHasRoom(snapshot.queue))
        aeWakeup(server_el);
    if (left) return;
    keyspaceWalksFlush();
    if (!itemQueueIsIdle(snapshot.queue)) return; /* a value that the thread finds large comes back */
    itemQueueGiveSpilledKeys(snapshot.queue);
    itemQueueEnd(snapshot.queue);
    snapshot.ended = true;
}

static void forklessTurn(void) {
    if (!snapshot.running || snapshot.ended || !childIsThread()) return;
    snapshot.delay_us = rdb_key_save_delay_us;
    int64_t started_us = latencyTimerStart();
    forklessGive();
    latencyTimerEnd("forkless-save", started_us);
    if (!snapshot.ended && (keyspaceWalksError() || largeValuesError())) forklessFail(EPROTO);
    if (snapshot.running) forklessCheckLimit();
}

static void forklessStopFeeding(void) {
    if (snapshot.running) itemQueueCancel(snapshot.queue);
}

/* ---- Figures ---- */

static int64_t forklessSecondsLeft(uint64_t written) {
    if (!written || !snapshot.keys) return -1;
    double elapsed = (double)(monotonicUs() - snapshot.started_us) / 1e6;
    return (int64_t)(elapsed * (double)(snapshot.keys - written) / (double)written);
}

void forklessGetStats(struct forklessStats *s) {
    uint64_t done = atomic_load_explicit(&snapshot.keys_written, memory_order_relaxed);
    bool running = snapshot.running && snapshot.plan.kind != CHILD_PROBE;
    *s = (struct forklessStats){.running = running,
                                .kind = snapshot.plan.kind,
                                .seconds_left = -1,
                                .item_ms = -1,
                                .peak_bytes = snapshot.peak_bytes,
                                .spilled_bytes = snapshot.spilled_bytes,
                                .written = snapshot.written,
                                .keys_processed = done};
    if (!running) return;
    s->seconds_left = forklessSecondsLeft(done < snapshot.keys ? done : snapshot.keys);
    s->item_ms = largeValuesActiveMs();
    s->queued = itemQueueLength(snapshot.queue);
    s->target = QUEUE_ITEMS;
    s->keys_queued = itemQueueKeysGiven(snapshot.queue);
    s->bytes = forklessWaitingBytes();
}

void forklessInit(void) {
    child_feed = forklessTurn;
    child_stop_feeding = forklessStopFeeding;
    beforeSleepRegister(forklessTurn);
}
