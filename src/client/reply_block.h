/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_block.h - what output chains consist of: blocks, and bytes that many chains share.
 *
 *     own bytes:     [next used cap buf shared | room .......]     buf points at `room`
 *     shared bytes:  [next used cap buf shared]                    buf points into a replyShared; cap == used
 *
 *     a message:     [refs len bytes | room .......]               bytes points at `room`
 *     a value:       [refs len bytes] -> sds                       so a key's text need not be copied
 *
 *     a hold:        [next used=0 cap=0 | struct replyHold]        no bytes: the gate's (reply_gate.h)
 *
 * Invariant: used <= cap, and bytes with more than one reference are only read. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/linked_list.h"
#include "base/sds.h"

/* Bytes with several owners, each with a reference: chains, code that composes a message for many clients,
 * and the key whose value they are (types/string/string_commands.c). The last reference frees them. Only the
 * main thread takes references. Other threads release some, for keys freed lazily, hence the atomic. */
struct replyShared {
    _Atomic uint32_t refs;
    size_t len; /* length of bytes; the creator sets it after writing them */
    char *bytes;
    char room[];
};
struct replyShared *replySharedCreate(size_t room); /* with one reference */
struct replyShared *replySharedOfText(sds text);    /* with one reference; takes ownership of the text */
struct replyShared *replySharedRetain(struct replyShared *s);
void replySharedRelease(struct replyShared *s);
/* Returns whether there is another reference. */
static inline bool replySharedInUse(const struct replyShared *s) {
    return atomic_load_explicit(&s->refs, memory_order_acquire) > 1;
}
/* Releases a reference to what replySharedOfText made and returns the text for modification: the text itself,
 * or a copy while there are other references. */
sds replySharedTakeText(struct replyShared *s);

struct replyBlock {
    struct replyBlock *next;
    size_t used, cap;
    char *buf;
    struct replyShared *shared; /* NULL: the bytes are in `room` */
    char room[];
};
#define REPLY_BLOCK_ROOM (16 * 1024 - sizeof(struct replyBlock))

/* A hold: nothing behind it may be sent unless it is open. A seal is one that no output stands behind yet, or
 * only output that nothing has decided about. */
enum replyHoldState { HOLD_SEAL, HOLD_CLOSED, HOLD_OPEN };
struct client;
struct replyHold {
    struct listNode node; /* while closed: in `list` */
    struct list *list;
    struct client *client;
    uint64_t wanted[2]; /* by source: the position that it waits for */
    int64_t since_ms;
    enum replyHoldState state;
};
extern size_t reply_holds; /* that exist */
struct replyBlock *replyHoldNew(struct client *c);
static inline struct replyHold *replyHoldOf(const struct replyBlock *b) {
    debugAssert(!b->cap && !b->shared);
    return (struct replyHold *)b->room;
}
static inline bool replyBlockIsHold(const struct replyBlock *b) {
    return __builtin_expect(!b->cap, 0);
}
/* Returns whether nothing behind this block may be sent. */
static inline bool replyBlockStops(const struct replyBlock *b) {
    return replyBlockIsHold(b) && replyHoldOf(b)->state != HOLD_OPEN;
}

struct replyBlock *replyBlockNew(size_t room); /* of the standard size, or larger if necessary */
struct replyBlock *replyBlockOf(size_t cap);   /* with cap bytes */
/* Creates a block that views len bytes of s, from `from` on. */
struct replyBlock *replyBlockSharing(struct replyShared *s, size_t from, size_t len);
void replyBlockFree(struct replyBlock *b);
void replyBlocksFree(struct replyBlock *first); /* frees the whole chain; NULL is fine */
/* Fills iov with the first pieces of a chain up to a closed hold, without `sent` bytes of the first block.
 * Returns how many. */
int replyBlocksPieces(const struct replyBlock *first, size_t sent, struct iovec *iov, int room);

/* Any thread may free a plain block, which is no hold and whose bytes are not shared. All else is for the
 * main thread only. */
static inline bool replyBlockIsPlain(const struct replyBlock *b) {
    return !b->shared;
}
void replyBlockFreePlain(struct replyBlock *b);
/* For a reader (base/read_phase.h): exchanges its pool for another list of blocks of the standard size, of
 * which there are *count. */
void replyPoolExchange(struct replyBlock **blocks, int *count);
void replyPoolTrim(void); /* the writer's: frees pooled blocks that were not needed since the last call */
