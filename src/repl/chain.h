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
 * position, or `end` when there is none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/str.h"

#define CHAIN_BLOCK_MIN (16 * 1024)

struct chainBlock;
struct chain {
    struct chainBlock *first, *last; /* NULL: nothing is kept */
    uint64_t start, end;
    size_t keep;   /* bytes of history that are wanted */
    size_t memory; /* of all blocks */
    size_t blocks;
};
struct chainReader {
    struct chainBlock *block; /* NULL: `at` is the chain's end, and nothing was kept when it came there */
    uint64_t at;              /* the next byte to read */
};

void chainInit(struct chain *c, size_t keep);
/* Drops all bytes; the next is at position `at`. Nobody may be reading. */
void chainRestart(struct chain *c, uint64_t at);
/* Appends all pieces. O(bytes). Returns whether a block was added: then it is time to trim, and to look who
 * is too slow. */
bool chainAppend(struct chain *c, const struct str *pieces, int count);
/* Gives back at most so many blocks. */
void chainTrim(struct chain *c, int blocks);

/* A reader from position `at` on. False: that byte is not kept any more, or is yet to come beyond the end. */
bool chainReaderStart(struct chainReader *r, struct chain *c, uint64_t at);
void chainReaderStop(struct chainReader *r); /* also one that was zeroed */
/* At the same place as another one, which may lie before `start`'s history. */
void chainReaderCopy(struct chainReader *r, const struct chainReader *from);
/* What is to be read next, up to max pieces; the number of them. */
int chainReaderView(struct chainReader *r, struct chain *c, struct iovec *iov, int max);
void chainReaderAdvance(struct chainReader *r, struct chain *c, size_t n);
static inline uint64_t chainReaderPending(const struct chainReader *r, const struct chain *c) {
    return c->end - r->at;
}
/* Bytes of the blocks that this reader needs. */
size_t chainReaderMemory(const struct chainReader *r, const struct chain *c);
/* Of the blocks, those beyond the wanted history: what slow readers cost. */
size_t chainMemoryBeyondHistory(const struct chain *c);
