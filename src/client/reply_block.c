/* reply_block.c - see reply_block.h. Blocks of the standard size come from a pool, so that the few in use
 * stay warm in the cache. */
#include "client/reply_block.h"

#include "base/assert.h"
#include "base/zmalloc.h"

#define POOL_MAX 256

/* ---- Bytes for many ---- */

struct replyShared *replySharedCreate(size_t room) {
    struct replyShared *s = zmalloc(sizeof *s + room);
    *s = (struct replyShared){.refs = 1};
    return s;
}

struct replyShared *replySharedRetain(struct replyShared *s) {
    s->refs++;
    return s;
}

void replySharedRelease(struct replyShared *s) {
    serverAssert(s->refs > 0);
    if (--s->refs == 0) zfree(s);
}

/* ---- Blocks ---- */

static struct replyBlock *pool;
static int pool_size;

struct replyBlock *replyBlockOf(size_t cap) {
    struct replyBlock *b = zmalloc(sizeof *b + cap);
    *b = (struct replyBlock){.cap = cap, .buf = b->room};
    return b;
}

struct replyBlock *replyBlockNew(size_t room) {
    if (room > REPLY_BLOCK_ROOM) return replyBlockOf(room);
    if (!pool) return replyBlockOf(REPLY_BLOCK_ROOM);
    struct replyBlock *b = pool;
    pool = b->next;
    pool_size--;
    b->next = NULL;
    b->used = 0;
    return b;
}

struct replyBlock *replyBlockSharing(struct replyShared *s) {
    struct replyBlock *b = zmalloc(sizeof *b);
    *b = (struct replyBlock){.used = s->len, .cap = s->len, .buf = s->bytes, .shared = replySharedRetain(s)};
    return b;
}

void replyBlockFree(struct replyBlock *b) {
    serverAssert(b->used <= b->cap);
    if (b->shared) {
        replySharedRelease(b->shared);
        zfree(b);
    } else if (b->cap == REPLY_BLOCK_ROOM && pool_size < POOL_MAX) {
        b->next = pool;
        pool = b;
        pool_size++;
    } else {
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
