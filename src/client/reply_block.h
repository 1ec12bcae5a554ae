/* reply_block.h - what an output chain is made of: blocks, and bytes that many chains share.
 *
 *     own bytes:     [next used cap buf shared | room .......]     buf points at room
 *     shared bytes:  [next used cap buf shared]                    buf points into a replyShared; cap == used
 *
 * Invariant: used <= cap, and shared bytes are only read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Bytes for many clients, composed once: small ones are copied into each chain (replyAppendShared), larger
 * ones are linked into it and live until the last of them is sent. */
struct replyShared {
    uint32_t refs;
    size_t len; /* of bytes; the creator sets it when it has written them */
    char bytes[];
};
struct replyShared *replySharedCreate(size_t room); /* with one reference */
struct replyShared *replySharedRetain(struct replyShared *s);
void replySharedRelease(struct replyShared *s);

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
struct replyBlock *replyBlockSharing(struct replyShared *s);
void replyBlockFree(struct replyBlock *b);
void replyBlocksFree(struct replyBlock *first); /* and all behind it; NULL is fine */
/* The first pieces of a chain, of which `sent` bytes of the first block are not among them; how many. */
int replyBlocksPieces(const struct replyBlock *first, size_t sent, struct iovec *iov, int room);

/* All of this is the main thread's. But blocks of bytes that nobody shares may be freed by any thread. */
static inline bool replyBlockIsPlain(const struct replyBlock *b) {
    return !b->shared;
}
void replyBlockFreePlain(struct replyBlock *b);
