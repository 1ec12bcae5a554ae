/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_block.c - see reply_block.h. Blocks of the standard size come from a pool, so that the few in use
 * stay in the cache. When much output is sent to many clients at once, the pool keeps what one turn needed
 * for the next: if such blocks were freed, they would join to large regions that the allocator returns to the
 * system at once, and their pages would be faulted in again one by one. Blocks that were not needed for a
 * while are freed. */
#include "client/reply_block.h"

#include "base/assert.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"

#define POOL_MAX  4096 /* 64 MiB */
#define POOL_IDLE 256  /* this many are kept, used or not */

/* ---- Shared bytes ---- */

struct replyShared *replySharedCreate(size_t room) {
    struct replyShared *s = zmalloc(sizeof *s + room);
    *s = (struct replyShared){.refs = 1, .bytes = s->room};
    return s;
}

struct replyShared *replySharedOfText(sds text) {
    struct replyShared *s = zmalloc(sizeof *s);
    *s = (struct replyShared){.refs = 1, .len = sdslen(text), .bytes = text};
    return s;
}

struct replyShared *replySharedRetain(struct replyShared *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void replySharedRelease(struct replyShared *s) {
    uint32_t refs = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    serverAssert(refs > 0);
    if (refs > 1) return;
    if (s->bytes != s->room) sdsfree(s->bytes);
    zfree(s);
}

sds replySharedTakeText(struct replyShared *s) {
    serverAssert(s->bytes != s->room);
    if (replySharedInUse(s)) {
        sds copy = sdsdup(s->bytes);
        replySharedRelease(s);
        return copy;
    }
    sds text = s->bytes;
    zfree(s);
    return text;
}

/* ---- Blocks ---- */

struct replyPool {
    struct replyBlock *blocks;
    int count, least; /* least: the minimum since replyPoolTrim */
};
/* One pool is the writer's (base/read_phase.h): the main thread uses it, and so does a module's thread while
 * it holds the lock, as such a thread may end at any time. A reader has its own, which it fills by
 * replyPoolExchange. */
static struct replyPool writer_pool;
static __thread struct replyPool reader_pool;

static inline struct replyPool *replyPoolOfThread(void) {
    return __builtin_expect(read_context.reads, 0) ? &reader_pool : &writer_pool;
}

struct replyBlock *replyBlockOf(size_t cap) {
    struct replyBlock *b = zmalloc(sizeof *b + cap);
    *b = (struct replyBlock){.cap = cap, .buf = b->room};
    return b;
}

static struct replyBlock *replyPoolTake(struct replyPool *pool) {
    struct replyBlock *b = pool->blocks;
    pool->blocks = b->next;
    if (--pool->count < pool->least) pool->least = pool->count;
    return b;
}

struct replyBlock *replyBlockNew(size_t room) {
    if (room > REPLY_BLOCK_ROOM) return replyBlockOf(room);
    struct replyPool *pool = replyPoolOfThread();
    if (!pool->blocks) return replyBlockOf(REPLY_BLOCK_ROOM);
    struct replyBlock *b = replyPoolTake(pool);
    b->next = NULL;
    b->used = 0;
    return b;
}

void replyPoolExchange(struct replyBlock **blocks, int *count) {
    struct replyPool before = reader_pool;
    reader_pool.blocks = *blocks;
    reader_pool.count = *count;
    *blocks = before.blocks;
    *count = before.count;
}

void replyPoolTrim(void) {
    struct replyPool *pool = &writer_pool;
    for (int spare = pool->least; spare > 0 && pool->count > POOL_IDLE; spare--) zfree(replyPoolTake(pool));
    pool->least = pool->count;
}

struct replyBlock *replyBlockSharing(struct replyShared *s, size_t from, size_t len) {
    debugAssert(from <= s->len && len <= s->len - from);
    struct replyBlock *b = zmalloc(sizeof *b);
    *b = (struct replyBlock){.used = len, .cap = len, .buf = s->bytes + from, .shared = replySharedRetain(s)};
    return b;
}

size_t reply_holds;

struct replyBlock *replyHoldNew(struct client *c) {
    struct replyBlock *b = zmalloc(sizeof *b + sizeof(struct replyHold));
    *b = (struct replyBlock){.buf = b->room};
    *replyHoldOf(b) = (struct replyHold){.client = c, .state = HOLD_SEAL};
    reply_holds++;
    return b;
}

static void replyHoldLeave(struct replyBlock *b) {
    struct replyHold *h = replyHoldOf(b);
    if (listLinked(&h->node)) listRemove(h->list, &h->node);
    reply_holds--;
}

void replyBlockFree(struct replyBlock *b) {
    struct replyPool *pool = replyPoolOfThread();
    serverAssert(b->used <= b->cap);
    if (b->shared) {
        replySharedRelease(b->shared);
        zfree(b);
    } else if (b->cap == REPLY_BLOCK_ROOM && pool->count < POOL_MAX) {
        b->next = pool->blocks;
        pool->blocks = b;
        pool->count++;
    } else {
        if (replyBlockIsHold(b)) replyHoldLeave(b);
        zfree(b);
    }
}

void replyBlockFreePlain(struct replyBlock *b) {
    serverAssert(replyBlockIsPlain(b));
    zfree(b);
}

int replyBlocksPieces(const struct replyBlock *b, size_t sent, struct iovec *iov, int room) {
    int count = 0;
    for (; b && count < room; b = b->next) {
        if (__builtin_expect(!b->used, 0)) {
            if (replyBlockStops(b)) break;
            continue;
        }
        iov[count].iov_base = b->buf + sent;
        iov[count++].iov_len = b->used - sent;
        sent = 0;
    }
    return count;
}

void replyBlocksFree(struct replyBlock *b) {
    for (struct replyBlock *next; b; b = next) {
        next = b->next;
        replyBlockFree(b);
    }
}
