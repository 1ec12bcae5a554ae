/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_request.c - a command as bytes, with the positions of its random numbers.
 *
 *     *3\r
 * $3\r
 * SET\r
 * $16\r
 * key:000000000000\r
 * $3\r
 * xxx\r
 *
 *                                 ^ slot
 *
 * All copies of a command have the same length, so slot s of copy k is at k * length + s, and a new
 * random number overwrites only the digits that its range can reach. */
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "tools/benchmark/benchmark.h"

#define SEQUENCE_MAX 1000000 /* commands */

static const char data_name[] = "__data__";
static const char rand_names[BENCH_SHARED][BENCH_DIGITS + 1] = {
    "__rand_int__", "__rand_1st__", "__rand_2nd__", "__rand_3rd__", "__rand_4th__",
    "__rand_5th__", "__rand_6th__", "__rand_7th__", "__rand_8th__", "__rand_9th__",
};

static sds benchRequestReplaceData(const char *arg, int size) {
    sds out = sdsempty();
    const char *at;
    for (; (at = strstr(arg, data_name)); arg = at + sizeof(data_name) - 1) {
        out = sdscatlen(out, arg, (size_t)(at - arg));
        size_t before = sdslen(out);
        out = sdsMakeRoomFor(out, (size_t)size);
        memset(out + before, 'x', (size_t)size);
        sdssetlen(out, before + (size_t)size);
    }
    return sdscat(out, arg);
}

static void benchRequestAddSlot(struct benchRequest *r, size_t offset, int shared) {
    r->slots = zrealloc(r->slots, (size_t)(r->slot_count + 1) * sizeof(r->slots[0]));
    r->slots[r->slot_count++] = (struct benchSlot){(uint32_t)offset, shared};
}

static void benchRequestFindSlots(struct benchRequest *r) {
    for (int i = 0; i < BENCH_SHARED; i++) {
        for (char *at = r->one; (at = strstr(at, rand_names[i])); at += BENCH_DIGITS) {
            memset(at, '0', BENCH_DIGITS);
            benchRequestAddSlot(r, (size_t)(at - r->one), i);
        }
    }
}

static void benchRequestFindTags(struct benchRequest *r) {
    for (char *at = r->one; (at = strstr(at, "{tag}")); at += BENCH_TAG_SIZE) {
        r->tags = zrealloc(r->tags, (size_t)(r->tag_count + 1) * sizeof(r->tags[0]));
        r->tags[r->tag_count++] = (uint32_t)(++at - r->one);
    }
}

/* Finds the positions of what changes from one copy to the next. */
static struct benchRequest *benchRequestFindPositions(const struct benchOptions *o, struct benchRequest *r) {
    if (o->range >= 0) benchRequestFindSlots(r);
    if (o->cluster) benchRequestFindTags(r);
    return r;
}

/* Writes the last `digits` of the 12 digits, two at a time. */
static void benchRequestWriteDigits(char *slot, uint64_t value, unsigned digits) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    char *p = slot + BENCH_DIGITS;
    for (unsigned left = (digits + 1) / 2; left > 0; left--, value /= 100) {
        p -= 2;
        memcpy(p, pairs + value % 100 * 2, 2);
    }
}

static void benchRequestAddCommand(const struct benchOptions *o, struct benchRequest *r, int argc,
                                   const char *const *argv) {
    r->one = sdscatprintf(r->one, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        sds arg = benchRequestReplaceData(argv[i], o->data_size);
        r->one = sdscatprintf(r->one, "$%zu\r\n", sdslen(arg));
        r->one = sdscatlen(r->one, arg, sdslen(arg));
        r->one = sdscat(r->one, "\r\n");
        sdsfree(arg);
    }
    r->commands++;
}

struct benchRequest *benchRequestCreate(const struct benchOptions *o, int argc, const char *const *argv) {
    struct benchRequest *r = zcalloc(1, sizeof(*r));
    r->one = sdsempty();
    benchRequestAddCommand(o, r, argc, argv);
    return benchRequestFindPositions(o, r);
}

struct benchRequest *benchRequestCreateSequence(const struct benchOptions *o, int argc,
                                                const char *const *argv, const char **why) {
    struct benchRequest *r = zcalloc(1, sizeof(*r));
    r->one = sdsempty();
    for (int i = 0, end; i < argc; i = end + 1) {
        for (end = i; end < argc && strcmp(argv[end], ";") != 0;) end++;
        int64_t times = 1;
        int first = i + (i < end && string2ll(strOf(argv[i]), &times));
        if (first == end) {
            *why = "There is an empty command in the sequence.";
        } else if (times < 1 || times + r->commands > SEQUENCE_MAX) {
            *why = "The commands of a sequence are repeated too often, or not at all.";
        } else {
            while (times--) benchRequestAddCommand(o, r, end - first, argv + first);
            continue;
        }
        benchRequestFree(r);
        return NULL;
    }
    return benchRequestFindPositions(o, r);
}

struct benchRequest *benchRequestInline(const char *line) {
    struct benchRequest *r = zcalloc(1, sizeof(*r));
    r->one = sdscat(sdsnew(line), "\r\n");
    r->commands = 1;
    return r;
}

void benchRequestFree(struct benchRequest *r) {
    sdsfree(r->one);
    zfree(r->slots);
    zfree(r->tags);
    benchPartsFree(r);
    zfree(r);
}

sds benchRequestRepeat(const struct benchRequest *r, int count) {
    sds out = sdsMakeRoomForExact(sdsempty(), sdslen(r->one) * (size_t)count);
    for (int i = 0; i < count; i++) out = sdscatlen(out, r->one, sdslen(r->one));
    return out;
}

static uint64_t benchRequestNextNumber(const struct benchNumbers *n, int which) {
    if (n->range <= 0) return 0;
    if (!n->next) return (uint64_t)benchDraw(&n->draw, n->range);
    return (uint64_t)(atomic_fetch_add_explicit(&n->next[which], 1, memory_order_relaxed) % n->range);
}

/* Slots are ordered by `shared`, so a shared number is drawn when `shared` changes. */
void benchRequestPatch(const struct benchRequest *r, char *buf, int count, const struct benchNumbers *n) {
    size_t size = sdslen(r->one);
    for (int i = 0; i < count; i++, buf += size) {
        uint64_t value = 0;
        for (int s = 0, last = 0; s < r->slot_count; s++) {
            const struct benchSlot *slot = &r->slots[s];
            if (slot->shared == 0 || slot->shared != last) value = benchRequestNextNumber(n, slot->shared);
            last = slot->shared;
            benchRequestWriteDigits(buf + slot->offset, value, n->digits);
        }
    }
}

void benchRequestTag(const struct benchRequest *r, char *buf, int count, const struct benchCluster *c,
                     const struct benchNode *node) {
    size_t size = sdslen(r->one);
    for (int i = 0; i < count; i++, buf += size) {
        const char *tag = benchClusterTag(c, node->slots[randomBelow((uint64_t)node->slot_count)]);
        for (int t = 0; t < r->tag_count; t++) memcpy(buf + r->tags[t], tag, BENCH_TAG_SIZE);
    }
}
