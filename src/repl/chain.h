/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.h - the bytes of a replication stream, kept once for the backlog and all replicas. The chain
 * knows nothing of clients.
 *
 *     first                                               last
 *     [block]──▶[block]──▶[block]──▶ ... ──▶[block]──▶[block ....room]
 *     ▲                    ▲                    ▲             ▲
 *     start                a slow reader        another       end
 *
 * A position counts the bytes since the stream began: byte n lies between the positions n and n + 1. The
 * protocol's offset of a byte counts from 1, so it is the position after that byte.
 *
 * A block is filled once and is only read afterwards. Blocks are freed from the front when neither the
 * wanted history (`keep` bytes) nor a reader needs them, so several slow readers cost no more memory
 * than the slowest of them.
 *
 * Invariants, checked by chainCheck: blocks are without gaps; every reader's block is in the chain; `start`
 * is the position of the first block, or `end` when there is no block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "base/str.h"

#define CHAIN_BLOCK_MIN (16 * 1024)

struct chainBlock;
struct chain {
    struct chainBlock *first, *last; /* NULL: nothing is kept */
    uint64_t start, end;
    char *room; /* in the last block: where the next byte goes */
    size_t room_left;
    size_t keep;             /* bytes of history to keep */
    size_t memory;           /* bytes of all blocks */
    uint64_t allocated_ever; /* bytes of all blocks that have ever existed */
    size_t blocks;
};
struct chainReader {
    struct chainBlock *block; /* NULL: it is not reading */
    uint64_t at;              /* the next byte to read */
};

void chainInit(struct chain *c, size_t keep);
/* Drops all bytes; the next one is at position `at`. There must be no readers. */
void chainRestart(struct chain *c, uint64_t at);
/* Appends all pieces. O(bytes). Returns whether a block was added, which is the time to trim and to look for
 * readers that are too slow. */
bool chainAppendSlow(struct chain *c, const struct str *pieces, int count);
static inline bool chainAppend(struct chain *c, const struct str *pieces, int count) {
    if (__builtin_expect(count != 1 || pieces->len - 1 >= c->room_left, 0)) /* an empty piece, too */
        return chainAppendSlow(c, pieces, count);
    memcpy(c->room, pieces->ptr, pieces->len);
    c->room += pieces->len;
    c->room_left -= pieces->len;
    c->end += pieces->len;
    return false;
}
/* Frees at most `blocks` blocks that are not needed. */
void chainTrim(struct chain *c, int blocks);

/* Starts a reader at position `at`. Returns false when that byte is not kept any more or is beyond the end.
 * O(blocks between `at` and the nearer end). */
bool chainReaderStart(struct chainReader *r, struct chain *c, uint64_t at);
void chainReaderStop(struct chainReader *r); /* a zeroed reader may be stopped, too */
/* Fills iov with what is to be read next, at most max pieces, and returns how many there are. */
int chainReaderView(struct chainReader *r, struct chain *c, struct iovec *iov, int max);
void chainReaderAdvance(struct chainReader *r, struct chain *c, size_t n);
static inline uint64_t chainReaderPending(const struct chainReader *r, const struct chain *c) {
    return c->end - r->at;
}
/* Return the bytes and the number of the blocks that this reader needs. The number takes O(result). */
size_t chainReaderMemory(const struct chainReader *r, const struct chain *c);
size_t chainReaderBlocks(const struct chainReader *r);
/* Returns the bytes of the blocks beyond the wanted history, which is what slow readers cost. */
size_t chainMemoryBeyondHistory(const struct chain *c);

/* For assertions: checks the invariants, and that the blocks have `readers` readers. O(blocks). */
bool chainCheck(const struct chain *c, size_t readers);
