/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_block.h - what an output chain is made of: blocks, and bytes that many chains share.
 *
 *     own bytes:     [next used cap buf shared | room .......]     buf points at room
 *     shared bytes:  [next used cap buf shared]                    buf points into a replyShared; cap == used
 *
 *     a message:     [refs len bytes | room .......]               bytes points at room
 *     a value:       [refs len bytes] -> sds                       so a key's text needs not be copied
 *
 * Invariant: used <= cap, and bytes that somebody else refers to are only read. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/sds.h"

/* Bytes that several hold, each with a reference: chains, whoever composes a message for many clients, and
 * the key whose value they are (types/string/string_commands.c). The last one frees them. Only the main
 * thread takes references; it is also the one that gives them back, but for keys that are freed lazily, hence
 * the atomic.
 */
struct replyShared {
    _Atomic uint32_t refs;
    size_t len; /* of bytes; the creator sets it when it has written them */
    char *bytes;
    char room[];
};
struct replyShared *replySharedCreate(size_t room); /* with one reference */
struct replyShared *replySharedOfText(sds text);    /* the same; takes the text over */
struct replyShared *replySharedRetain(struct replyShared *s);
void replySharedRelease(struct replyShared *s);
/* Somebody else refers to them. */
static inline bool replySharedInUse(const struct replyShared *s) {
    return atomic_load_explicit(&s->refs, memory_order_acquire) > 1;
}
/* Gives back a reference to what replySharedOfText made, for the text, to be changed: itself, or a copy while
 * somebody else refers to it. */
sds replySharedTakeText(struct replyShared *s);

struct replyBlock {
    struct replyBlock *next;
    size_t used, cap;
    char *buf;
    struct replyShared *shared; /* NULL: the bytes are in `room` */
    char room[];
};
#define REPLY_BLOCK_ROOM (16 * 1024 - sizeof(struct replyBlock))

struct replyBlock *replyBlockNew(size_t room); /* of the standard size, or larger where it has to be */
struct replyBlock *replyBlockOf(size_t cap);   /* of that size */
/* len bytes of it, from `from` on. */
struct replyBlock *replyBlockSharing(struct replyShared *s, size_t from, size_t len);
void replyBlockFree(struct replyBlock *b);
void replyBlocksFree(struct replyBlock *first); /* and all behind it; NULL is fine */
/* The first pieces of a chain, of which `sent` bytes of the first block are not among them; how many. */
int replyBlocksPieces(const struct replyBlock *first, size_t sent, struct iovec *iov, int room);

/* All of this is the main thread's. But blocks of bytes that nobody shares may be freed by any thread. */
static inline bool replyBlockIsPlain(const struct replyBlock *b) {
    return !b->shared;
}
void replyBlockFreePlain(struct replyBlock *b);
void replyPoolTrim(void); /* frees blocks in the pool that nobody has needed since the last time */
