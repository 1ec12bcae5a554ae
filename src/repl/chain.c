/* chain.c - see chain.h. */
#include "repl/chain.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define SHARE_OF_HISTORY 16 /* a block is at most such a part of what is kept */

struct chainBlock {
    struct chainBlock *next;
    uint64_t at;      /* position of its first byte */
    size_t used, cap; /* bytes */
    uint32_t readers; /* that stand in it */
    char bytes[];
};

void chainInit(struct chain *c, size_t keep) {
    *c = (struct chain){.keep = keep};
}

static uint64_t blockEnd(const struct chainBlock *b) {
    return b->at + b->used;
}

static struct chainBlock *addBlock(struct chain *c, size_t wanted) {
    size_t largest = c->keep / SHARE_OF_HISTORY;
    if (largest < CHAIN_BLOCK_MIN) largest = CHAIN_BLOCK_MIN;
    size_t cap = wanted < largest ? wanted : largest;
    if (cap < CHAIN_BLOCK_MIN) cap = CHAIN_BLOCK_MIN;
    struct chainBlock *b = zmalloc(sizeof *b + cap);
    *b = (struct chainBlock){.at = c->end, .cap = zmallocSize(b) - sizeof *b};
    if (c->last)
        c->last->next = b;
    else
        c->first = b;
    c->last = b;
    c->memory += zmallocSize(b);
    c->blocks++;
    return b;
}

static void dropFirst(struct chain *c) {
    struct chainBlock *b = c->first;
    serverAssert(!b->readers);
    c->first = b->next;
    if (!c->first) c->last = NULL;
    c->start = blockEnd(b);
    c->memory -= zmallocSize(b);
    c->blocks--;
    zfree(b);
}

void chainRestart(struct chain *c, uint64_t at) {
    while (c->first) dropFirst(c);
    c->start = c->end = at;
}

bool chainAppend(struct chain *c, const struct str *pieces, int count) {
    size_t left = 0;
    bool added = false;
    for (int i = 0; i < count; i++) left += pieces[i].len;
    for (int i = 0; i < count; i++) {
        const char *from = pieces[i].ptr;
        size_t len = pieces[i].len;
        while (len) {
            struct chainBlock *b = c->last;
            if (!b || b->used == b->cap) {
                b = addBlock(c, left);
                added = true;
            }
            size_t n = b->cap - b->used < len ? b->cap - b->used : len;
            memcpy(b->bytes + b->used, from, n);
            b->used += n;
            c->end += n;
            from += n;
            len -= n;
            left -= n;
        }
    }
    return added;
}

void chainTrim(struct chain *c, int blocks) {
    while (blocks-- > 0 && c->first && c->first != c->last && !c->first->readers &&
           c->end - blockEnd(c->first) >= c->keep)
        dropFirst(c);
}

/* ---- Readers ---- */

bool chainReaderStart(struct chainReader *r, struct chain *c, uint64_t at) {
    *r = (struct chainReader){.at = at};
    if (at < c->start || at > c->end) return false;
    struct chainBlock *b = c->first;
    while (b && b->next && blockEnd(b) <= at) b = b->next;
    r->block = b;
    if (b) b->readers++;
    return true;
}

void chainReaderStop(struct chainReader *r) {
    if (r->block) r->block->readers--;
    *r = (struct chainReader){0};
}

void chainReaderCopy(struct chainReader *r, const struct chainReader *from) {
    *r = *from;
    if (r->block) r->block->readers++;
}

/* Out of blocks that have been read to their end. */
static void stepOn(struct chainReader *r, struct chain *c) {
    if (!r->block && c->first) {
        serverAssert(r->at == c->first->at);
        r->block = c->first;
        r->block->readers++;
    }
    while (r->block && r->block->next && r->at == blockEnd(r->block)) {
        r->block->readers--;
        r->block = r->block->next;
        r->block->readers++;
    }
}

int chainReaderView(struct chainReader *r, struct chain *c, struct iovec *iov, int max) {
    int count = 0;
    stepOn(r, c);
    size_t skip = r->block ? (size_t)(r->at - r->block->at) : 0;
    for (struct chainBlock *b = r->block; b && count < max; b = b->next) {
        if (b->used > skip) iov[count++] = (struct iovec){b->bytes + skip, b->used - skip};
        skip = 0;
    }
    return count;
}

void chainReaderAdvance(struct chainReader *r, struct chain *c, size_t n) {
    serverAssert(n <= chainReaderPending(r, c));
    while (n) {
        stepOn(r, c);
        size_t here = (size_t)(blockEnd(r->block) - r->at);
        if (here > n) here = n;
        r->at += here;
        n -= here;
    }
    stepOn(r, c);
}

/* ---- Memory ---- */

size_t chainReaderMemory(const struct chainReader *r, const struct chain *c) {
    return r->block ? (size_t)(c->end - r->block->at) : 0;
}

size_t chainMemoryBeyondHistory(const struct chain *c) {
    size_t kept = (size_t)(c->end - c->start);
    return kept > c->keep && c->memory > c->keep ? c->memory - c->keep : 0;
}
