/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_shape.c - which shapes there are, and how they are found; see hash_shape.h.
 *
 * Most hashes without siblings must not pay for those that have some. So a listpack whose names have changed
 * is looked at in three steps, each of which few get past that have no siblings:
 *
 *     hint        some 40 instructions: the number of fields and some bytes of the first and of the last name
 *                 choose an entry of a table. It counts how often they were seen, and says which shape it
 *                 was last
 *     names       compared with those of that shape
 *     candidate   when they differ: all names are hashed, and looked up among the shapes. If there is no such
 *                 shape, an entry of another table counts how often that was, and makes it a shape at last.
 *                 The more often a hint leads to nothing, the more seldom it leads here
 *
 * Entries are taken over by others as they lose their counts, and nobody can make a table grow. The hash is
 * keyed, and colliding hints cost no more than what the command did anyway, which is to walk the listpack.
 *
 * The number of shapes and their bytes are limited: then there are no new ones until some are freed. */
#include "types/hash/hash_shape.h"

#include "base/assert.h"
#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "ds/hashtable.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define HINTS         1024
#define CANDIDATES    1024
#define SEEN_HINT     4 /* before its names are looked at */
#define SEEN_NAMES    4 /* before they become a shape */
#define SEEN_MAX      31
#define FAILED_MAX    63
#define SWEEP_MS      1000
#define MARK_BITS     0xffffff
#define TAG_USED      0x80
#define LOW_BITS      UINT64_C(0x0101010101010101)
#define HIGH_BITS     UINT64_C(0x8080808080808080)
#define TAGS_PER_WORD 8

struct hashShapeHint {
    uint32_t tag : 24, seen : 8;
    uint16_t shape;
    uint8_t failed, skip; /* so many in a row led to no shape; so many are to be passed over */
};
struct hashShapeCandidate {
    uint32_t tag : 24, seen : 8;
};

bool hash_shapes_wanted;
struct hashShape *hash_shapes[HASH_SHAPES_MAX];
static struct hashShapeHint hints[HINTS];
static struct hashShapeCandidate candidates[CANDIDATES];
static size_t shapes_count, shapes_bytes;
static hashtable shapes_by_names;

static struct str hashShapeKey(const void *entry) {
    const struct hashShape *s = entry;
    return strN((const char *)s->names, s->names_bytes);
}
static const struct hashtableType shape_table_type = {.entryKey = hashShapeKey};

/* ---- Finding a name ---- */

static unsigned char hashShapeTag(struct str name) {
    const unsigned char *p = (const unsigned char *)name.ptr;
    return (unsigned char)(name.len * 29 + p[0] + p[name.len - 1] * 5u + p[name.len / 2] * 11u) | TAG_USED;
}

/* Compares eight tags at a time. A word can show a match too many behind a real one; names are compared
 * anyway. */
int hashShapeFind(const struct hashShape *s, struct str field) {
    if (field.len == 0 || field.len > HASH_SHAPE_NAME_MAX) return -1;
    uint64_t wanted = hashShapeTag(field) * LOW_BITS, word;
    for (unsigned at = 0; at < s->count; at += TAGS_PER_WORD) {
        memcpy(&word, s->tags + at, sizeof word);
        word ^= wanted;
        for (uint64_t hits = (word - LOW_BITS) & ~word & HIGH_BITS; hits; hits &= hits - 1) {
            unsigned i = at + (unsigned)__builtin_ctzll(hits) / 8;
            if (i < s->count && strEq(hashShapeName(s, i), field)) return (int)i;
        }
    }
    return -1;
}

/* ---- Making and freeing ---- */

static bool hashShapeIsName(const unsigned char *p) {
    return *p > 0x80 && *p < 0xc0;
}
static struct str hashShapeElementText(const unsigned char *p) {
    return strN((const char *)p + 1, *p & 0x3fu);
}

/* Copies the names of a listpack of pairs. Returns their bytes; 0: they cannot be those of a shape. */
static size_t hashShapeGather(unsigned char *lp, unsigned char *to) {
    size_t bytes = 0;
    for (unsigned char *p = lpFirst(lp); p;) {
        size_t len = 2u + (*p & 0x3fu);
        if (!hashShapeIsName(p) || bytes + len > HASH_SHAPE_NAMES_MAX) return 0;
        memcpy(to + bytes, p, len);
        bytes += len;
        unsigned char *value = p + len;
        if (*value == 0xf0) return 0;
        unsigned char *end = lpElementEnd(value);
        p = *end == 0xff ? NULL : end;
    }
    return bytes;
}

static unsigned hashShapeFreeId(void) {
    unsigned id = 1;
    while (id < HASH_SHAPES_MAX && hash_shapes[id]) id++;
    return id;
}

static size_t hashShapeTagBytes(size_t count) {
    return (count + TAGS_PER_WORD - 1) / TAGS_PER_WORD * TAGS_PER_WORD;
}

static struct hashShape *hashShapeCreate(const unsigned char *names, size_t bytes, size_t count,
                                         uint64_t hash) {
    size_t tags = hashShapeTagBytes(count);
    size_t size = sizeof(struct hashShape) + tags + count * sizeof(uint16_t) + bytes;
    unsigned id = hashShapeFreeId();
    if (id == HASH_SHAPES_MAX || shapes_bytes + zmallocGoodSize(size) > HASH_SHAPES_BYTES_MAX) return NULL;
    struct hashShape *s = zcalloc(1, size);
    uint16_t *name_at = (uint16_t *)(void *)(s->tags + tags);
    unsigned char *copy = (unsigned char *)(name_at + count);
    memcpy(copy, names, bytes);
    s->hash = hash;
    s->id = (uint16_t)id;
    s->count = (uint16_t)count;
    s->names_bytes = (uint16_t)bytes;
    s->name_at = name_at;
    s->names = copy;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        name_at[i] = (uint16_t)at;
        s->tags[i] = hashShapeTag(hashShapeName(s, (unsigned)i));
        at += 2u + (copy[at] & 0x3fu);
    }
    serverAssert(at == bytes);
    if (!shapes_by_names.type) hashtableInit(&shapes_by_names, &shape_table_type);
    hashtableAddUnchecked(&shapes_by_names, s, hash);
    hash_shapes[id] = s;
    shapes_count++;
    shapes_bytes += zmallocSize(s);
    return s;
}

static void hashShapeFree(struct hashShape *s) {
    hashtableRemoveEntry(&shapes_by_names, s, s->hash);
    for (unsigned id = 1; id < HASH_SHAPES_MAX; id++)
        if (hash_shapes[id] && hash_shapes[id]->next == s->id) hash_shapes[id]->next = 0;
    hash_shapes[s->id] = NULL;
    shapes_count--;
    shapes_bytes -= zmallocSize(s);
    zfree(s);
}

/* Jobs run while no thread reads, and who reads a container in a snapshot keeps it, so nobody can come to a
 * shape without references. It gets a second more, since hashes that are overwritten come back. */
void hashShapesSweep(void) {
    if (!shapes_count) return;
    for (unsigned id = 1; id < HASH_SHAPES_MAX; id++) {
        struct hashShape *s = hash_shapes[id];
        if (!s) continue;
        bool idle = atomic_load_explicit(&s->refs, memory_order_acquire) == 0;
        if (idle && s->idle)
            hashShapeFree(s);
        else
            s->idle = idle;
    }
    if (!shapes_count) hashtableDestroy(&shapes_by_names);
}

/* ---- Finding a shape ---- */

/* Returns whether this listpack of pairs has the names of the shape, and values that it can have. */
static bool hashShapeFits(const struct hashShape *s, unsigned char *lp) {
    const unsigned char *name = s->names, *end = s->names + s->names_bytes;
    unsigned char *p = lp + LP_HEADER_BYTES;
    while (name < end) {
        size_t len = 2u + (*name & 0x3fu);
        if (*p != *name || memcmp(p, name, len) != 0) return false;
        name += len;
        if (p[len] == 0xf0) return false;
        p = lpElementEnd(p + len);
    }
    return true;
}

/* Returns eight bytes of a name and its length, mixed. */
static uint64_t hashShapeHintText(struct str name) {
    const unsigned char *p = (const unsigned char *)name.ptr;
    uint64_t word = 0;
    if (name.len >= sizeof word) {
        memcpy(&word, p, sizeof word);
    } else if (name.len >= 4) {
        uint32_t part[2];
        memcpy(&part[0], p, 4);
        memcpy(&part[1], p + name.len - 4, 4);
        word = part[0] | (uint64_t)part[1] << 32;
    } else if (name.len) {
        word = (uint64_t)p[0] | (uint64_t)p[name.len / 2] << 8 | (uint64_t)p[name.len - 1] << 16;
    }
    return word ^ (uint64_t)name.len << 56;
}

/* Returns what chooses the hint of hashes with so many fields and these as the first and the last one. */
static uint64_t hashShapeHintOf(struct str first, struct str last, size_t count) {
    uint64_t names = (hashShapeHintText(first) * UINT64_C(0x9e3779b97f4a7c15) ^ hashShapeHintText(last)) *
                         UINT64_C(0xd6e8feb86659fd93) +
                     count;
    names = (names ^ names >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return names ^ names >> 32;
}

/* Returns the bits of a hash that an entry keeps. */
static uint32_t hashShapeMark(uint64_t hash) {
    return (uint32_t)(hash >> 40);
}

/* Counts in the entry of these names, or takes one off the count of an entry that is another's, and takes the
 * entry over when it has none left. Returns NULL until the names have been seen often enough. */
static struct hashShapeHint *hashShapeHintFor(uint64_t names) {
    struct hashShapeHint *hint = &hints[names % HINTS];
    if (hint->tag == hashShapeMark(names)) {
        if (hint->seen < SEEN_MAX) hint->seen++;
        return hint->seen > SEEN_HINT ? hint : NULL;
    }
    if (hint->seen)
        hint->seen--;
    else
        *hint = (struct hashShapeHint){.tag = hashShapeMark(names) & MARK_BITS, .seen = 1};
    return NULL;
}

/* Does the same for names with this hash. */
static bool hashShapeIsCandidate(uint64_t hash) {
    struct hashShapeCandidate *c = &candidates[hash % CANDIDATES];
    if (c->tag == hashShapeMark(hash)) {
        if (c->seen < SEEN_MAX) c->seen++;
        return c->seen >= SEEN_NAMES;
    }
    if (c->seen)
        c->seen--;
    else
        *c = (struct hashShapeCandidate){.tag = hashShapeMark(hash) & MARK_BITS, .seen = 1};
    return false;
}

static struct hashShape *hashShapeLookUp(unsigned char *lp, size_t count) {
    unsigned char names[HASH_SHAPE_NAMES_MAX];
    size_t bytes = hashShapeGather(lp, names);
    if (!bytes) return NULL;
    uint64_t hash = hashBytes(names, bytes);
    struct hashShape *s =
        shapes_count ? hashtableFindHashed(&shapes_by_names, strN((char *)names, bytes), hash) : NULL;
    if (!s && hashShapeIsCandidate(hash)) s = hashShapeCreate(names, bytes, count, hash);
    return s;
}

static struct hashShape *hashShapeByHint(struct hashShapeHint *hint, unsigned char *lp, size_t count) {
    struct hashShape *s = hash_shapes[hint->shape];
    if (s && s->count == count && hashShapeFits(s, lp)) return s;
    if (hint->skip) {
        hint->skip--;
        return NULL;
    }
    s = hashShapeLookUp(lp, count);
    if (s) {
        hint->shape = s->id;
        hint->failed /= 2;
    } else {
        hint->failed = (uint8_t)(hint->failed < FAILED_MAX ? 2 * hint->failed + 1 : FAILED_MAX);
        hint->skip = hint->failed;
    }
    return s;
}

static void hashShapeNoteNext(unsigned before, const struct hashShape *s) {
    struct hashShape *was = hash_shapes[before];
    if (was && was->count + 1 == s->count && was->names_bytes < s->names_bytes &&
        memcmp(was->names, s->names, was->names_bytes) == 0)
        was->next = s->id;
}

struct hashShape *hashShapeOf(unsigned char *lp, unsigned before) {
    size_t count = lpLength(lp) / 2;
    if (!hash_shapes_wanted || count < HASH_SHAPE_FIELDS_MIN || count > HASH_SHAPE_FIELDS_MAX ||
        lpBytes(lp) > HASH_SHAPED_BYTES_MAX)
        return NULL;
    const unsigned char *first = lp + LP_HEADER_BYTES, *last = lpPrev(lp, lpLast(lp));
    if (!hashShapeIsName(first) || !hashShapeIsName(last)) return NULL;
    struct hashShapeHint *hint =
        hashShapeHintFor(hashShapeHintOf(hashShapeElementText(first), hashShapeElementText(last), count));
    struct hashShape *s = hint ? hashShapeByHint(hint, lp, count) : NULL;
    if (s && before) hashShapeNoteNext(before, s);
    return s;
}

struct hashShape *hashShapeOfPairs(const struct str *pairs, size_t count) {
    if (!shapes_count || !hash_shapes_wanted || count < HASH_SHAPE_FIELDS_MIN) return NULL;
    uint64_t names = hashShapeHintOf(pairs[0], pairs[2 * count - 2], count);
    struct hashShapeHint *hint = &hints[names % HINTS];
    struct hashShape *s = hash_shapes[hint->shape];
    if (hint->tag != hashShapeMark(names) || !s || s->count != count) return NULL;
    for (unsigned i = 0; i < count; i++)
        if (!strEq(hashShapeName(s, i), pairs[2 * i])) return NULL;
    if (hint->seen < SEEN_MAX) hint->seen++;
    return s;
}

/* ---- Registration ---- */

sds hashShapesInfo(sds text) {
    uint64_t hashes = 0;
    for (unsigned id = 1; shapes_count && id < HASH_SHAPES_MAX; id++)
        if (hash_shapes[id]) hashes += atomic_load_explicit(&hash_shapes[id]->refs, memory_order_relaxed);
    text = infoField(text, "hash_shapes:%zu", shapes_count);
    text = infoField(text, "hash_shapes_bytes:%zu", shapes_bytes);
    return infoField(text, "hash_shapes_hashes:%llu", (unsigned long long)hashes);
}

void hashShapesInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("hash-shapes", NULL, CONFIG_MODIFIABLE, &hash_shapes_wanted, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("memory", hashShapesInfo);
    cronRegister(hashShapesSweep, SWEEP_MS);
}
