/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.h - the bytes of a replication stream, kept once for the backlog and all replicas. Knows nothing of
 * clients.
 *
 *     first                                               last
 *     [block]──▶[block]──▶[block]──▶ ... ──▶[block]──▶[block ....room]
 *     ▲                    ▲                    ▲             ▲
 *     start                a slow reader        another       end
 *
 * Positions count bytes since the stream began: byte n stands between n and n + 1. (What the protocol calls
 * an offset is that of the last byte, counted from 1: the same number as the position behind it.)
 *
 * A block is filled once and then only read. Whole blocks are given back from the front, as far as neither
 * the wanted history (`keep` bytes) nor a reader needs them: so a slow reader costs what lies between it and
 * the history, once for all of them.
 *
 * Invariant: blocks are without gaps; every reader's block is in the chain; `start` is the first block's
 * position, or `end` when there is none. chainCheck looks. */
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
    char *room; /* of the last block, where the next byte goes */
    size_t room_left;
    size_t keep;         /* bytes of history that are wanted */
    size_t memory;       /* of all blocks */
    uint64_t taken_ever; /* memory of all that have ever been */
    size_t blocks;
};
struct chainReader {
    struct chainBlock *block; /* NULL: it does not read */
    uint64_t at;              /* the next byte to read */
};

void chainInit(struct chain *c, size_t keep);
/* Drops all bytes; the next is at position `at`. Nobody may be reading. */
void chainRestart(struct chain *c, uint64_t at);
/* Appends all pieces. O(bytes). Returns whether a block was added: then it is time to trim, and to look who
 * is too slow. */
bool chainAppendSlow(struct chain *c, const struct str *pieces, int count);
static inline bool chainAppend(struct chain *c, const struct str *pieces, int count) {
    if (__builtin_expect(count != 1 || pieces->len - 1 >= c->room_left, 0)) /* also one that is empty */
        return chainAppendSlow(c, pieces, count);
    memcpy(c->room, pieces->ptr, pieces->len);
    c->room += pieces->len;
    c->room_left -= pieces->len;
    c->end += pieces->len;
    return false;
}
/* Gives back at most so many blocks. */
void chainTrim(struct chain *c, int blocks);

/* A reader from position `at` on. False: that byte is not kept any more, or is yet to come beyond the end.
 * O(blocks between it and the nearer end). */
bool chainReaderStart(struct chainReader *r, struct chain *c, uint64_t at);
void chainReaderStop(struct chainReader *r); /* also one that was zeroed */
/* What is to be read next, up to max pieces; the number of them. */
int chainReaderView(struct chainReader *r, struct chain *c, struct iovec *iov, int max);
void chainReaderAdvance(struct chainReader *r, struct chain *c, size_t n);
static inline uint64_t chainReaderPending(const struct chainReader *r, const struct chain *c) {
    return c->end - r->at;
}
/* The blocks that this reader needs: bytes of memory, and how many (O(result)). */
size_t chainReaderMemory(const struct chainReader *r, const struct chain *c);
size_t chainReaderBlocks(const struct chainReader *r);
/* Of the blocks, those beyond the wanted history: what slow readers cost. */
size_t chainMemoryBeyondHistory(const struct chain *c);

/* For assertions: the invariant, and that so many readers stand in blocks. O(blocks). */
bool chainCheck(const struct chain *c, size_t readers);
