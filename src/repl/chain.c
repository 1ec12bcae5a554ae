/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.c - see chain.h. */
#include "repl/chain.h"

#include "base/assert.h"
#include "base/zmalloc.h"

/* A block is at most this fraction of the history that is kept, so that blocks that are not full, or not
 * needed to their end, keep little more than was asked for. */
#define HISTORY_FRACTION 64

struct chainBlock {
    struct chainBlock *next, *prev;
    uint64_t at;
    uint64_t allocated_before; /* bytes of all earlier blocks that have ever existed */
    uint32_t readers;          /* readers whose next byte is in it */
    char bytes[];
};

void chainInit(struct chain *c, size_t keep) {
    *c = (struct chain){.keep = keep};
}

static uint64_t chainBlockEnd(const struct chain *c, const struct chainBlock *b) {
    return b->next ? b->next->at : c->end;
}

static void chainAddBlock(struct chain *c, size_t wanted) {
    size_t largest = c->keep / HISTORY_FRACTION;
    if (largest < CHAIN_BLOCK_MIN) largest = CHAIN_BLOCK_MIN;
    size_t cap = wanted < largest ? wanted : largest;
    if (cap < CHAIN_BLOCK_MIN) cap = CHAIN_BLOCK_MIN;
    struct chainBlock *b = zmalloc(sizeof *b + cap);
    *b = (struct chainBlock){.prev = c->last, .at = c->end, .allocated_before = c->allocated_ever};
    if (c->last)
        c->last->next = b;
    else
        c->first = b;
    c->last = b;
    c->room = b->bytes;
    c->room_left = zmallocSize(b) - sizeof *b;
    c->memory += zmallocSize(b);
    c->allocated_ever += zmallocSize(b);
    c->blocks++;
}

static void chainDropFirst(struct chain *c) {
    struct chainBlock *b = c->first;
    serverAssert(!b->readers);
    c->start = chainBlockEnd(c, b);
    c->first = b->next;
    if (c->first) {
        c->first->prev = NULL;
    } else {
        c->last = NULL;
        c->room = NULL;
        c->room_left = 0;
    }
    c->memory -= zmallocSize(b);
    c->blocks--;
    zfree(b);
}

void chainRestart(struct chain *c, uint64_t at) {
    while (c->first) chainDropFirst(c);
    serverAssert(!c->blocks && !c->memory);
    c->start = c->end = at;
}

bool chainAppendSlow(struct chain *c, const struct str *pieces, int count) {
    size_t left = 0, blocks = c->blocks;
    for (int i = 0; i < count; i++) left += pieces[i].len;
    for (int i = 0; i < count; i++) {
        struct str rest = pieces[i];
        while (rest.len) {
            if (!c->room_left) chainAddBlock(c, left);
            size_t n = c->room_left < rest.len ? c->room_left : rest.len;
            chainAppend(c, &(struct str){rest.ptr, n}, 1);
            rest = strN(rest.ptr + n, rest.len - n);
            left -= n;
        }
    }
    return c->blocks != blocks;
}

void chainTrim(struct chain *c, int blocks) {
    serverAssert(c->start <= c->end && blocks > 0);
    while (blocks-- > 0 && c->first && c->first != c->last && !c->first->readers &&
           c->end - c->first->next->at >= c->keep)
        chainDropFirst(c);
}

/* ---- Readers ---- */

/* Returns the last block that begins at or before `at`. */
static struct chainBlock *chainFindBlock(const struct chain *c, uint64_t at) {
    struct chainBlock *b;
    if (at - c->start < c->end - at) {
        for (b = c->first; b->next && b->next->at <= at;) b = b->next;
    } else {
        for (b = c->last; b->at > at;) b = b->prev;
    }
    return b;
}

bool chainReaderStart(struct chainReader *r, struct chain *c, uint64_t at) {
    *r = (struct chainReader){.at = at};
    if (at < c->start || at > c->end) return false;
    if (!c->last) chainAddBlock(c, 0); /* the reader keeps what comes from being freed */
    r->block = chainFindBlock(c, at);
    r->block->readers++;
    return true;
}

void chainReaderStop(struct chainReader *r) {
    if (r->block) {
        serverAssert(r->block->readers);
        r->block->readers--;
    }
    *r = (struct chainReader){0};
}

/* Moves the reader out of blocks that it has read to their end. */
static void chainReaderEnterNext(struct chainReader *r) {
    while (r->block->next && r->at == r->block->next->at) {
        r->block->readers--;
        r->block = r->block->next;
        r->block->readers++;
    }
}

int chainReaderView(struct chainReader *r, struct chain *c, struct iovec *iov, int max) {
    int count = 0;
    chainReaderEnterNext(r);
    serverAssert(max > 0 && r->at >= r->block->at && r->at <= c->end);
    size_t skip = (size_t)(r->at - r->block->at);
    for (struct chainBlock *b = r->block; b && count < max; b = b->next) {
        size_t used = (size_t)(chainBlockEnd(c, b) - b->at);
        if (used > skip) iov[count++] = (struct iovec){b->bytes + skip, used - skip};
        skip = 0;
    }
    return count;
}

void chainReaderAdvance(struct chainReader *r, struct chain *c, size_t n) {
    serverAssert(n <= chainReaderPending(r, c));
    chainReaderEnterNext(r);
    while (n) {
        size_t here = (size_t)(chainBlockEnd(c, r->block) - r->at);
        if (here > n) here = n;
        r->at += here;
        n -= here;
        chainReaderEnterNext(r);
    }
}

/* ---- Memory ---- */

size_t chainReaderMemory(const struct chainReader *r, const struct chain *c) {
    serverAssert(r->block && r->block->allocated_before <= c->allocated_ever);
    return (size_t)(c->allocated_ever - r->block->allocated_before);
}

size_t chainReaderBlocks(const struct chainReader *r) {
    size_t count = 0;
    for (const struct chainBlock *b = r->block; b; b = b->next) count++;
    return count;
}

size_t chainMemoryBeyondHistory(const struct chain *c) {
    return c->memory > c->keep ? c->memory - c->keep : 0;
}

bool chainCheck(const struct chain *c, size_t readers) {
    size_t readers_seen = 0, blocks = 0, memory = 0;
    uint64_t at = c->start;
    const struct chainBlock *previous = NULL;
    for (const struct chainBlock *b = c->first; b; b = b->next) {
        if (b->at != at || b->prev != previous ||
            b->allocated_before != c->allocated_ever - c->memory + memory)
            return false;
        at = chainBlockEnd(c, b);
        readers_seen += b->readers;
        memory += zmallocSize(b);
        blocks++;
        previous = b;
    }
    bool room_fits = c->last ? c->room == c->last->bytes + (c->end - c->last->at) : !c->room_left;
    return previous == c->last && at == c->end && blocks == c->blocks && memory == c->memory && room_fits &&
           readers_seen == readers;
}
