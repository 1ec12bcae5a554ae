/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_items.c - elements collected from several sources: results of ZUNION and its kin, and of ZSCAN.
 * zset_commands.h has a drawing.
 *
 * A result is an array that is sorted once, at the end, and then replied or made into a set (zsetBuild): no
 * ordered index is kept while it grows. */
#include "base/zmalloc.h"
#include "client/reply.h"
#include "ds/keysort.h"
#include "types/zset/zset_commands.h"
#include "types/zset/zset_writer.h"

#define CHUNK_SIZE 4096

struct zsetChunk {
    struct zsetChunk *next;
    size_t used, size;
    char bytes[];
};

static const char *zsetItemsKeepBytes(struct zsetItems *items, struct str s) {
    struct zsetChunk *chunk = items->chunks;
    if (!chunk || chunk->size - chunk->used < s.len) {
        size_t size = s.len > CHUNK_SIZE ? s.len : CHUNK_SIZE;
        chunk = zmalloc(sizeof *chunk + size);
        chunk->next = items->chunks;
        chunk->used = 0;
        chunk->size = size;
        items->chunks = chunk;
    }
    char *dst = chunk->bytes + chunk->used;
    if (s.len) memcpy(dst, s.ptr, s.len);
    chunk->used += s.len;
    return dst;
}

void zsetItemsInit(struct zsetItems *items, size_t capacity) {
    *items = (struct zsetItems){.capacity = capacity};
    if (capacity) items->item = zmalloc(capacity * sizeof *items->item);
}

void zsetItemsFree(struct zsetItems *items) {
    for (struct zsetChunk *chunk = items->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        zfree(chunk);
    }
    zfree(items->item);
}

struct zsetItem *zsetItemsAdd(struct zsetItems *items, struct str member, struct zscore score, bool copy) {
    if (items->count == items->capacity) {
        items->capacity = items->capacity ? 2 * items->capacity : 16;
        items->item = zrealloc(items->item, items->capacity * sizeof *items->item);
    }
    if (copy) member.ptr = zsetItemsKeepBytes(items, member);
    struct zsetItem *item = &items->item[items->count++];
    *item = (struct zsetItem){member, score, 0};
    return item;
}

struct zsetItem *zsetItemsAddElement(struct zsetItems *items, const struct zsetElement *e) {
    return zsetItemsAdd(items, e->member, e->score, e->member.ptr == e->text);
}

static int zsetItemsCompare(const struct zsetItem *a, const struct zsetItem *b) {
    int order = zscoreCompare(a->score, b->score);
    return order ? order : strCmp(a->member, b->member);
}

static int zsetItemsCompareTied(void *priv, size_t a, size_t b) {
    const struct zsetItem *items = priv;
    return zsetItemsCompare(&items[a], &items[b]);
}

/* Each item moves once, to the position of its sorted key. */
static void zsetItemsSortByKeys(const struct zsetItems *items, struct zsetItem *sorted) {
    struct sortKey *keys = zmalloc(items->count * sizeof *keys);
    for (size_t i = 0; i < items->count; i++)
        keys[i] = (struct sortKey){keysortDouble(items->item[i].score.value), i};
    keysortSort(keys, items->count, zsetItemsCompareTied, items->item);
    for (size_t i = 0; i < items->count; i++) sorted[i] = items->item[keys[i].at];
    zfree(keys);
}

/* Merges the items before `half` with those behind. */
static void zsetItemsMerge(const struct zsetItems *items, size_t half, struct zsetItem *merged) {
    const struct zsetItem *a = items->item, *a_end = a + half, *b = a_end, *b_end = a + items->count;
    while (a < a_end && b < b_end) *merged++ = zsetItemsCompare(b, a) < 0 ? *b++ : *a++;
    while (a < a_end) *merged++ = *a++;
    while (b < b_end) *merged++ = *b++;
}

/* Returns where the items that are in order from i on end. */
static size_t zsetItemsRunEnd(const struct zsetItems *items, size_t i) {
    for (i++; i < items->count && zsetItemsCompare(&items->item[i - 1], &items->item[i]) <= 0;) i++;
    return i;
}

void zsetItemsSort(struct zsetItems *items) {
    size_t half = zsetItemsRunEnd(items, 0);
    if (half >= items->count) return;
    struct zsetItem *sorted = zmalloc(items->capacity * sizeof *sorted);
    if (zsetItemsRunEnd(items, half) >= items->count)
        zsetItemsMerge(items, half, sorted);
    else
        zsetItemsSortByKeys(items, sorted);
    zfree(items->item);
    items->item = sorted;
}

void zsetItemsReply(struct client *c, const struct zsetItems *items, bool withscores) {
    struct zsetWriter w;
    enum zsetShape shape = zsetScoresShape(c, withscores);
    zsetReplyLen(c, items->count, shape);
    zsetWriterBegin(&w, c, shape);
    for (size_t i = 0; i < items->count; i++) zsetWrite(&w, items->item[i].member, items->item[i].score);
    zsetWriterEnd(&w);
}
