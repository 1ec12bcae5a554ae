/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_test.c - the path map against a sorted array, under random operations on paths of several kinds.
 *
 *   MODEL_OPS=n   number of operations (default 1,000,000)
 *   SEED=n        repeat a run; the seed is printed
 *   --bench       ns of an insertion and of a search, and bytes of a path, in maps of a million paths
 *
 * Each value is a number; the model has it, too, so that a value that ends up at another path is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "ds/pathmap_private.h"

#define MODEL_MAX 1500
#define PATH_ROOM 70000

/* ---- The model ---- */

struct pathmapModelEntry {
    char *bytes;
    size_t len;
    void *value;
};
struct pathmapModel {
    struct pathmapModelEntry entry[MODEL_MAX];
    size_t n;
    struct pathmap *map;
};

static struct str pathmapTestView(const struct pathmapModelEntry *e) {
    return strN(e->bytes, e->len);
}

/* Returns the place of the first entry that is not smaller. */
static size_t pathmapTestLower(const struct pathmapModel *m, struct str path) {
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strCmp(pathmapTestView(&m->entry[mid]), path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool pathmapTestHas(const struct pathmapModel *m, size_t at, struct str path) {
    return at < m->n && strEq(pathmapTestView(&m->entry[at]), path);
}

static void pathmapTestModelAdd(struct pathmapModel *m, size_t at, struct str path, void *value) {
    char *bytes = malloc(path.len + 1);
    memcpy(bytes, path.ptr, path.len);
    memmove(m->entry + at + 1, m->entry + at, (m->n++ - at) * sizeof *m->entry);
    m->entry[at] = (struct pathmapModelEntry){bytes, path.len, value};
}

static void pathmapTestModelRemove(struct pathmapModel *m, size_t at) {
    free(m->entry[at].bytes);
    memmove(m->entry + at, m->entry + at + 1, (--m->n - at) * sizeof *m->entry);
}

/* ---- Paths of several kinds ---- */

typedef size_t pathmapTestMaker(char *p);

/* Makes short paths over few bytes, of both ends of the order: many are prefixes of each other. */
static size_t pathmapTestShort(char *p) {
    size_t n = randomBelow(8);
    for (size_t i = 0; i < n; i++) p[i] = "\0a\xff"[randomBelow(3)];
    return n;
}

/* Makes two or three bytes of any kind: nodes of up to 256 children. */
static size_t pathmapTestWide(char *p) {
    p[0] = 'w';
    p[1] = (char)randomBelow(256);
    p[2] = (char)randomBelow(randomBelow(2) ? 256 : 2);
    return 1 + randomBelow(3);
}

/* Makes token blocks of conversations that share their beginnings. */
static size_t pathmapTestBlocks(char *p) {
    size_t blocks = 1 + randomBelow(6), len = 0;
    for (size_t b = 0; b < blocks; b++) {
        unsigned kind = (unsigned)randomBelow(b < 2 ? 2 : 6);
        for (unsigned i = 0; i < 64; i++) p[len++] = (char)(kind * 37 + i * (unsigned)b);
    }
    return len;
}

/* Makes paths that are prefixes of one another: many in one run, or where a byte differs, a deep tree. */
static size_t pathmapTestNested(char *p) {
    memset(p, 'n', 2000);
    if (randomBelow(8) == 0) p[randomBelow(20) * 100] = 'm';
    return randomBelow(2000);
}

/* Makes paths longer than a run can be, which end and differ near its limits, or anywhere. */
static size_t pathmapTestLong(char *p) {
    size_t limit = PATHMAP_RUN_MAX, len;
    memset(p, 'l', PATH_ROOM);
    for (int i = 0; i < 2; i++) {
        size_t at = randomBelow(3) ? randomBelow(4) * limit + randomBelow(5) : randomBelow(PATH_ROOM);
        p[at] = (char)('k' + randomBelow(3));
    }
    len = randomBelow(3) ? randomBelow(4) * limit + randomBelow(5) : randomBelow(PATH_ROOM);
    return len;
}

/* ---- Operations: each changes both and compares the results ---- */

static void *pathmapTestNewValue(void) {
    static uintptr_t last;
    return (void *)(last += 8);
}

static void pathmapTestInsert(struct pathmapModel *m, struct str path) {
    size_t at = pathmapTestLower(m, path);
    bool added, had = pathmapTestHas(m, at, path);
    if (!had && m->n == MODEL_MAX) return;
    void **place = pathmapInsert(m->map, path, &added), *value = pathmapTestNewValue();
    assert_non_null(place);
    assert_int_equal(added, !had);
    assert_ptr_equal(*place, had ? m->entry[at].value : NULL);
    *place = value;
    if (!had) pathmapTestModelAdd(m, at, path, value);
    m->entry[at].value = value;
}

static void pathmapTestRemove(struct pathmapModel *m, struct str path) {
    size_t at = pathmapTestLower(m, path);
    bool had = pathmapTestHas(m, at, path);
    assert_ptr_equal(pathmapRemove(m->map, path), had ? m->entry[at].value : NULL);
    if (had) pathmapTestModelRemove(m, at);
}

static void pathmapTestFind(const struct pathmapModel *m, struct str path) {
    size_t at = pathmapTestLower(m, path);
    void **place = pathmapFind(m->map, path);
    bool had = pathmapTestHas(m, at, path);
    assert_int_equal(place != NULL, had);
    if (had) assert_ptr_equal(*place, m->entry[at].value);
}

struct pathmapTestPrefixes {
    struct pathmapModel *m;
    struct str text;
    size_t at, left;
};

/* Moves to the next entry of the model that is a prefix of the text. False: there are no more. */
static bool pathmapTestNextPrefix(struct pathmapTestPrefixes *p) {
    while (p->at < p->m->n && !strStarts(p->text, pathmapTestView(&p->m->entry[p->at]))) p->at++;
    return p->at < p->m->n;
}

static bool pathmapTestOnPrefix(void *priv, size_t length, void **value) {
    struct pathmapTestPrefixes *p = priv;
    assert_true(p->left > 0);
    assert_true(pathmapTestNextPrefix(p));
    assert_int_equal(length, p->m->entry[p->at].len);
    assert_ptr_equal(*value, p->m->entry[p->at].value);
    p->at++;
    return --p->left > 0;
}

/* The prefetch of a path ends at the node that has its value, in few steps. */
static void pathmapTestPrefetch(const struct pathmapModel *m, struct str text) {
    const void *at = NULL;
    uint64_t notes[5];
    int step = 0;
    while (pathmapPrefetch(m->map, text, step, &at, notes)) assert_true((size_t)step++ < 2 * text.len + 4);
    void **place = pathmapFind(m->map, text);
    if (place) assert_in_range((uintptr_t)place, (uintptr_t)at, (uintptr_t)at + zmallocSize(at));
}

static void pathmapTestSearchPrefixes(struct pathmapModel *m, struct str text) {
    struct pathmapTestPrefixes all = {m, text, 0, SIZE_MAX}, some = {m, text, 0, 1 + randomBelow(3)};
    size_t length = SIZE_MAX, last = SIZE_MAX;
    pathmapTestPrefetch(m, text);
    pathmapPrefixes(m->map, text, pathmapTestOnPrefix, &all);
    assert_false(pathmapTestNextPrefix(&all));
    pathmapPrefixes(m->map, text, pathmapTestOnPrefix, &some);
    for (size_t i = 0; i < m->n; i++)
        if (strStarts(text, pathmapTestView(&m->entry[i]))) last = i;
    void **place = pathmapLongest(m->map, text, &length);
    assert_int_equal(place != NULL, last != SIZE_MAX);
    if (!place) return;
    assert_int_equal(length, m->entry[last].len);
    assert_ptr_equal(*place, m->entry[last].value);
}

static void pathmapTestIterate(struct pathmapModel *m, struct str prefix, const struct str *after,
                               size_t limit) {
    struct pathmapIterator it;
    void **place;
    size_t at = pathmapTestLower(m, prefix);
    if (after) {
        size_t from = pathmapTestLower(m, *after);
        from += pathmapTestHas(m, from, *after);
        if (from > at) at = from;
    }
    pathmapIterate(&it, m->map, prefix, after);
    for (; limit && (place = pathmapNext(&it)); limit--) {
        assert_true(at < m->n && strStarts(pathmapTestView(&m->entry[at]), prefix));
        assert_true(strEq(sdsview(it.path), pathmapTestView(&m->entry[at])));
        assert_ptr_equal(*place, m->entry[at].value);
        if (randomBelow(8) == 0) *place = m->entry[at].value = pathmapTestNewValue();
        at++;
    }
    if (limit) assert_true(at == m->n || !strStarts(pathmapTestView(&m->entry[at]), prefix));
    pathmapStop(&it);
}

static void pathmapTestDetach(struct pathmapModel *m, struct str prefix) {
    static struct pathmapModel taken;
    size_t from = pathmapTestLower(m, prefix), to = from;
    while (to < m->n && strStarts(pathmapTestView(&m->entry[to]), prefix)) to++;
    taken.map = pathmapDetach(m->map, prefix);
    taken.n = to - from;
    assert_int_equal(taken.map != NULL, taken.n > 0);
    if (!taken.map) return;
    memcpy(taken.entry, m->entry + from, taken.n * sizeof *m->entry);
    memmove(m->entry + from, m->entry + to, (m->n - to) * sizeof *m->entry);
    m->n -= taken.n;
    assert_int_equal(pathmapCount(taken.map), taken.n);
    pathmapCheck(taken.map);
    pathmapCheck(m->map);
    pathmapTestIterate(&taken, STR(""), NULL, SIZE_MAX);
    pathmapTestRemove(&taken,
                      pathmapTestView(&taken.entry[randomBelow(taken.n)])); /* it is a map like others */
    pathmapCheck(taken.map);
    pathmapFree(taken.map, NULL);
    while (taken.n) pathmapTestModelRemove(&taken, taken.n - 1);
}

/* Moves every allocation, or one of four. */
static void *pathmapTestMove(void *priv, void *p) {
    (void)priv;
    if (randomBelow(4) == 0) return NULL;
    size_t size = zmallocSize(p);
    void *now = zmalloc(size);
    memcpy(now, p, size);
    memset(p, 0xee, size);
    zfree(p);
    return now;
}

static void pathmapTestOnValue(void *priv, void **place) {
    struct pathmapModel *m = ((struct pathmapTestPrefixes *)priv)->m;
    size_t *at = &((struct pathmapTestPrefixes *)priv)->at;
    assert_true(*at < m->n);
    assert_ptr_equal(*place, m->entry[*at].value);
    *place = m->entry[*at].value = pathmapTestNewValue();
    ++*at;
}

/* Without changes between the calls each value is visited once, in order. */
static void pathmapTestDefrag(struct pathmapModel *m) {
    struct pathmapTestPrefixes at = {m, STR(""), 0, 0};
    sds cursor = NULL;
    while (pathmapDefrag(&m->map, &cursor, 1 + randomBelow(20), pathmapTestMove, pathmapTestOnValue, &at))
        assert_non_null(cursor);
    assert_null(cursor);
    assert_int_equal(at.at, m->n);
    pathmapCheck(m->map);
}

/* ---- Random operations ---- */

/* Returns a new path, one of the map, one of them cut short, or with something behind. */
static struct str pathmapTestText(const struct pathmapModel *m, pathmapTestMaker *maker, char *room) {
    size_t len = maker(room);
    if (!m->n || randomBelow(2)) return strN(room, len);
    struct str path = pathmapTestView(&m->entry[randomBelow(m->n)]);
    memcpy(room, path.ptr, path.len);
    len = path.len;
    if (randomBelow(3) == 0) len = randomBelow(len + 1);
    if (randomBelow(3) == 0) room[len++] = (char)randomBelow(256);
    return strN(room, len);
}

static void pathmapTestStep(struct pathmapModel *m, pathmapTestMaker *maker, char *room, unsigned inserts) {
    struct str text = pathmapTestText(m, maker, room);
    unsigned what = (unsigned)randomBelow(1000);
    if (what < inserts)
        pathmapTestInsert(m, text);
    else if (what < 750)
        pathmapTestRemove(m, text);
    else if (what < 850)
        pathmapTestFind(m, text);
    else if (what < 970)
        pathmapTestSearchPrefixes(m, text);
    else if (what < 996) {
        char *other = malloc(PATH_ROOM + 2);
        struct str prefix = pathmapTestText(m, maker, other);
        pathmapTestIterate(m, randomBelow(2) ? prefix : STR(""), randomBelow(3) ? &text : NULL,
                           randomBelow(3) ? 1 + randomBelow(30) : SIZE_MAX);
        free(other);
    } else if (what < 998)
        pathmapTestDetach(m, text);
    else
        pathmapTestDefrag(m);
    assert_int_equal(pathmapCount(m->map), m->n);
}

static void pathmapTestRunModel(pathmapTestMaker *maker, uint64_t ops) {
    static struct pathmapModel m;
    char *room = malloc(PATH_ROOM + 2);
    m.map = pathmapNew();
    for (uint64_t i = 0; i < ops; i++) {
        if (i % 2000 == 1000) { /* some batches fill, some empty */
            pathmapCheck(m.map);
            pathmapTestDefrag(&m);
        }
        pathmapTestStep(&m, maker, room, i / 2000 % 3 == 2 ? 250 : 550);
        if (i % 100 == 0) pathmapCheck(m.map);
    }
    while (m.n) pathmapTestRemove(&m, pathmapTestView(&m.entry[randomBelow(m.n)]));
    pathmapCheck(m.map);
    assert_int_equal(pathmapNodes(m.map), 1);
    pathmapFree(m.map, NULL);
    free(room);
}

static void pathmapTestModelShort(void **state) {
    (void)state;
    pathmapTestRunModel(pathmapTestShort, modelShare(300000));
}
static void pathmapTestModelWide(void **state) {
    (void)state;
    pathmapTestRunModel(pathmapTestWide, modelShare(300000));
}
static void pathmapTestModelBlocks(void **state) {
    (void)state;
    pathmapTestRunModel(pathmapTestBlocks, modelShare(200000));
}
static void pathmapTestModelNested(void **state) {
    (void)state;
    pathmapTestRunModel(pathmapTestNested, modelShare(190000));
}
static void pathmapTestModelLong(void **state) {
    (void)state;
    pathmapTestRunModel(pathmapTestLong, modelShare(10000));
}

/* ---- Defragmentation of a map that changes meanwhile ---- */

static bool *pathmapTestVisited;
static uintptr_t pathmapTestVisitable; /* values up to this one are in the map from the start */

static void pathmapTestOnVisit(void *priv, void **place) {
    (void)priv;
    if ((uintptr_t)*place <= pathmapTestVisitable) pathmapTestVisited[(uintptr_t)*place / 8] = true;
}

/* All that stays in the map is visited, whatever else changes. */
static void pathmapTestDefragChanging(void **state) {
    (void)state;
    static pathmapTestMaker *makers[] = {pathmapTestShort, pathmapTestWide, pathmapTestBlocks,
                                         pathmapTestNested};
    static struct pathmapModel m;
    char *room = malloc(PATH_ROOM + 2);
    for (unsigned round = 0; round < 40; round++) {
        pathmapTestMaker *maker = makers[round % 4];
        sds cursor = NULL;
        m.map = pathmapNew();
        for (int i = 0; i < 1000; i++) pathmapTestInsert(&m, strN(room, maker(room)));
        pathmapTestVisitable = (uintptr_t)pathmapTestNewValue();
        pathmapTestVisited = calloc(pathmapTestVisitable / 8 + 1, sizeof(bool));
        while (pathmapDefrag(&m.map, &cursor, 1 + randomBelow(3), pathmapTestMove, pathmapTestOnVisit, NULL))
            for (int i = 0; i < 10; i++) {
                struct str text = pathmapTestText(&m, maker, room);
                if (randomBelow(3))
                    pathmapTestRemove(&m, text);
                else
                    pathmapTestInsert(&m, text);
            }
        pathmapCheck(m.map);
        for (size_t i = 0; i < m.n; i++)
            assert_true((uintptr_t)m.entry[i].value > pathmapTestVisitable ||
                        pathmapTestVisited[(uintptr_t)m.entry[i].value / 8]);
        free(pathmapTestVisited);
        while (m.n) pathmapTestModelRemove(&m, m.n - 1);
        pathmapFree(m.map, NULL);
    }
    free(room);
}

/* ---- Single cases ---- */

static void **pathmapTestPut(struct pathmap *map, struct str path) {
    bool added;
    void **place = pathmapInsert(map, path, &added);
    if (added) *place = pathmapTestNewValue();
    return place;
}

/* Every number of children from 0 to 256 and back, in random order of bytes. */
static void pathmapTestFanOut(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct pathmap *map = pathmapNew();
        bool has[256] = {false};
        char path[3] = "f";
        for (int i = 0; i < 256;) {
            path[1] = (char)randomBelow(256);
            if (has[(uint8_t)path[1]]) continue;
            has[(uint8_t)path[1]] = true;
            pathmapTestPut(map, strN(path, 2));
            pathmapCheck(map);
            assert_int_equal(pathmapCount(map), ++i);
            for (int b = 0; b < 256; b++) {
                path[1] = (char)b;
                assert_int_equal(pathmapFind(map, strN(path, 2)) != NULL, has[b]);
            }
        }
        for (int i = 256; i > 0;) {
            path[1] = (char)randomBelow(256);
            if (!pathmapRemove(map, strN(path, 2))) continue;
            pathmapCheck(map);
            assert_int_equal(pathmapCount(map), --i);
        }
        pathmapFree(map, NULL);
    }
}

/* More paths in one run than a node can have, in random order. */
static void pathmapTestFullRun(void **state) {
    (void)state;
    struct pathmap *map = pathmapNew();
    static char text[3001];
    size_t order[3000];
    for (size_t i = 0; i < 3000; i++) {
        size_t at = randomBelow(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < 3000; i++) {
        pathmapTestPut(map, strN(text, order[i]));
        if (i % 100 == 0) pathmapCheck(map);
        for (int j = 0; j < 3; j++) assert_non_null(pathmapFind(map, strN(text, order[randomBelow(i + 1)])));
    }
    assert_in_range(pathmapNodes(map), 4, 8);
    for (size_t i = 0; i < 3000; i++) {
        assert_non_null(pathmapRemove(map, strN(text, order[i])));
        if (i % 100 == 0) pathmapCheck(map);
    }
    assert_int_equal(pathmapNodes(map), 1);
    pathmapFree(map, NULL);
}

/* Builds a map of a path, a longer one, and two that leave that one behind its end; then detaches what begins
 * with the longer one. */
static void pathmapTestLimitsOf(char *text, size_t shorter, size_t longer, size_t above) {
    struct pathmap *map = pathmapNew();
    pathmapTestPut(map, strN(text, shorter));
    pathmapCheck(map);
    pathmapTestPut(map, strN(text, longer));
    pathmapCheck(map);
    for (char c = 'x'; c <= 'y'; c++) {
        char old = text[longer + 1];
        text[longer + 1] = c;
        pathmapTestPut(map, strN(text, longer + above));
        text[longer + 1] = old;
        pathmapCheck(map);
    }
    struct pathmap *taken = pathmapDetach(map, strN(text, longer));
    pathmapCheck(map);
    pathmapCheck(taken);
    assert_int_equal(pathmapCount(map), 1);
    assert_int_equal(pathmapCount(taken), 3);
    pathmapFree(map, NULL);
    pathmapFree(taken, NULL);
}

/* Runs of nearly the length at which two nodes fit into one, at each place of the tree. */
static void pathmapTestLimits(void **state) {
    (void)state;
    static char text[2 * PATHMAP_RUN_MAX];
    static const size_t shorter[] = {0, 1, 8, 19, 20, 21, 1000, 2040, 4000};
    for (size_t s = 0; s < sizeof shorter / sizeof *shorter; s++)
        for (size_t longer = PATHMAP_RUN_MAX - 60; longer < PATHMAP_RUN_MAX + 60; longer++)
            for (size_t above = 2; above < 24; above++) pathmapTestLimitsOf(text, shorter[s], longer, above);
}

#define MEGABYTE ((size_t)1 << 20)

/* Paths of a megabyte, which share nearly all of it; then one for each of their first bytes. */
static void pathmapTestMegabyte(void **state) {
    (void)state;
    struct pathmap *map = pathmapNew();
    char *text = malloc(MEGABYTE);
    size_t length;
    for (size_t i = 0; i < MEGABYTE; i++) text[i] = (char)(i * 7 + i / 251);
    pathmapTestPut(map, strN(text, MEGABYTE));
    pathmapCheck(map);
    for (size_t len = MEGABYTE - 1; len > 1000; len -= len / 16) {
        pathmapTestPut(map, strN(text, len));
        text[len - 1]++;
        pathmapTestPut(map, strN(text, MEGABYTE));
        text[len - 1]--;
        pathmapCheck(map);
    }
    size_t depth = 20000 * modelOps() / 1000000 + 100;
    for (size_t len = 0; len < depth; len++) pathmapTestPut(map, strN(text, len));
    pathmapCheck(map);
    assert_non_null(pathmapLongest(map, strN(text, MEGABYTE), &length));
    assert_int_equal(length, MEGABYTE);
    assert_non_null(pathmapLongest(map, strN(text, depth - 1), &length));
    assert_int_equal(length, depth - 1);
    struct pathmap *taken = pathmapDetach(map, strN(text, MEGABYTE / 2));
    pathmapCheck(taken);
    pathmapCheck(map);
    assert_ptr_equal(pathmapDetach(map, strN(text, MEGABYTE / 2)), NULL);
    assert_non_null(pathmapLongest(taken, strN(text, MEGABYTE), &length));
    assert_int_equal(length, MEGABYTE);
    pathmapFree(taken, NULL);
    pathmapFree(map, NULL);
    free(text);
}

static size_t pathmapTestDropped;
static void pathmapTestDrop(void *value) {
    pathmapTestDropped++;
    zfree(value);
}

static void pathmapTestFreeDropsValues(void **state) {
    (void)state;
    struct pathmap *map = pathmapNew();
    char path[8];
    bool added;
    for (int i = 0; i < 3000; i++) {
        void **place = pathmapInsert(map, strN(path, pathmapTestShort(path)), &added);
        if (added) *place = zmalloc(8);
    }
    size_t count = pathmapCount(map);
    pathmapTestDropped = 0;
    pathmapFree(map, pathmapTestDrop);
    assert_int_equal(pathmapTestDropped, count);
}

static void pathmapTestEmpty(void **state) {
    (void)state;
    struct pathmap *map = pathmapNew();
    struct pathmapIterator it;
    size_t length;
    sds cursor = NULL;
    assert_null(pathmapFind(map, STR("")));
    assert_null(pathmapRemove(map, STR("")));
    assert_null(pathmapDetach(map, STR("")));
    assert_null(pathmapLongest(map, STR("x"), &length));
    pathmapIterate(&it, map, STR(""), NULL);
    assert_null(pathmapNext(&it));
    pathmapStop(&it);
    assert_false(pathmapDefrag(&map, &cursor, 10, pathmapTestMove, NULL, NULL));
    assert_null(cursor);
    pathmapTestPut(map, STR("")); /* the empty path begins every text */
    assert_non_null(pathmapLongest(map, STR("x"), &length));
    assert_int_equal(length, 0);
    pathmapCheck(map);
    pathmapFree(map, NULL);
}

/* Conversations of a prompt cache share their beginnings, which are stored once. */
static void pathmapTestMemory(void **state) {
    (void)state;
    struct pathmap *map = pathmapNew();
    char path[16 * 256];
    size_t sum = 0;
    memset(path, 's', sizeof path);
    for (unsigned i = 0; i < 2000; i++) {
        for (size_t p = sizeof path / 2; p < sizeof path; p++) path[p] = (char)randomBelow(256);
        for (size_t len = 256; len <= sizeof path; len += 256) {
            pathmapTestPut(map, strN(path, len));
            sum += len;
        }
    }
    pathmapCheck(map);
    assert_int_equal(pathmapCount(map), 2000 * 8 + 8);
    assert_in_range(pathmapMemory(map), 1, pathmapCount(map) * (256 + 66) + 10000);
    assert_in_range(pathmapMemory(map), 1, sum / 9);
    assert_in_range(pathmapNodes(map), 2000, 2400); /* one for what a conversation has alone */
    pathmapFree(map, NULL);
}

/* ---- Benchmark: a prompt cache of conversations with blocks of 64 tokens, of which half are shared ---- */

#define BENCH_PATHS   1000000
#define BENCH_BLOCK   256
#define BENCH_PROMPTS 1000
#define BENCH_BATCH   16
#define BENCH_ROUNDS  2000
#define BENCH_DEEPEST 64

struct pathmapBench {
    struct pathmap *map;
    unsigned blocks, shared, conversations;
    char text[BENCH_BATCH][(BENCH_DEEPEST + 1) * BENCH_BLOCK];
};

/* Writes the tokens of a conversation; the same each time. */
static size_t pathmapBenchText(const struct pathmapBench *b, char *out, uint64_t conversation) {
    uint32_t *token = (uint32_t *)out;
    for (unsigned i = 0; i < b->blocks; i++) {
        randomSeed(i < b->shared ? conversation % BENCH_PROMPTS * 100 + i : (conversation + 10000) * 100 + i);
        for (unsigned t = 0; t < BENCH_BLOCK / 4; t++) *token++ = (uint32_t)randomBelow(100000);
    }
    return (size_t)b->blocks * BENCH_BLOCK;
}

static double pathmapBenchClock(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Stores all conversations; returns the time for a path that is stored, or is there already. */
static double pathmapBenchFill(struct pathmapBench *b) {
    size_t len[BENCH_BATCH];
    double used = 0;
    for (unsigned c = 0; c < b->conversations; c += BENCH_BATCH) {
        for (unsigned i = 0; i < BENCH_BATCH; i++) len[i] = pathmapBenchText(b, b->text[i], c + i);
        double start = pathmapBenchClock();
        for (unsigned i = 0; i < BENCH_BATCH; i++)
            for (size_t end = BENCH_BLOCK; end <= len[i]; end += BENCH_BLOCK) {
                bool added;
                void **place = pathmapInsert(b->map, strN(b->text[i], end), &added);
                if (added) *place = zmalloc(24);
            }
        used += pathmapBenchClock() - start;
    }
    return used / b->conversations / b->blocks;
}

static void pathmapBenchPrefetch(const struct pathmapBench *b, const struct str *texts) {
    const void *at[BENCH_BATCH] = {NULL};
    uint64_t notes[BENCH_BATCH][5];
    bool more[BENCH_BATCH], any = true;
    memset(more, true, sizeof more);
    for (int step = 0; any; step++) {
        any = false;
        for (unsigned i = 0; i < BENCH_BATCH; i++) {
            if (more[i]) more[i] = pathmapPrefetch(b->map, texts[i], step, &at[i], notes[i]);
            any |= more[i];
        }
    }
}

static int pathmapBenchCompare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of what a search takes in each batch of conversations at random. */
static double pathmapBenchLongest(struct pathmapBench *b, bool prefetch) {
    static double took[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        struct str texts[BENCH_BATCH];
        for (unsigned i = 0; i < BENCH_BATCH; i++) {
            uint64_t conversation = ((uint64_t)round * BENCH_BATCH + i) * 2654435761u % b->conversations;
            size_t len = pathmapBenchText(b, b->text[i], conversation);
            memset(b->text[i] + len, 0xff, BENCH_BLOCK);
            texts[i] = strN(b->text[i], len + BENCH_BLOCK);
        }
        size_t length = 0;
        double start = pathmapBenchClock();
        if (prefetch) pathmapBenchPrefetch(b, texts);
        for (unsigned i = 0; i < BENCH_BATCH; i++) {
            void **place = pathmapLongest(b->map, texts[i], &length);
            serverAssert(place && length == texts[i].len - BENCH_BLOCK);
            (void)*(const volatile char *)*place;
        }
        took[round] = (pathmapBenchClock() - start) / BENCH_BATCH;
    }
    qsort(took, BENCH_ROUNDS, sizeof *took, pathmapBenchCompare);
    return took[BENCH_ROUNDS / 2];
}

static void pathmapBenchRun(unsigned blocks, unsigned shared) {
    static struct pathmapBench b;
    b.map = pathmapNew();
    b.blocks = blocks;
    b.shared = shared;
    b.conversations = BENCH_PATHS / (blocks - shared);
    double insert = pathmapBenchFill(&b);
    printf("| %u | %u | %zu | %.1f B | %.0f ns | %.0f ns | %.0f ns |\n", blocks, shared, pathmapNodes(b.map),
           (double)pathmapMemory(b.map) / (double)pathmapCount(b.map), insert, pathmapBenchLongest(&b, false),
           pathmapBenchLongest(&b, true));
    pathmapFree(b.map, zfree);
}

static int pathmapBenchAll(void) {
    puts("| blocks | shared | nodes | memory of a path | insert | longest | longest, prefetched |\n"
         "|---:|---:|---:|---:|---:|---:|---:|");
    for (unsigned blocks = 1; blocks <= BENCH_DEEPEST; blocks *= 2) pathmapBenchRun(blocks, blocks / 2);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) return pathmapBenchAll();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pathmapTestEmpty),           cmocka_unit_test(pathmapTestFanOut),
        cmocka_unit_test(pathmapTestFullRun),         cmocka_unit_test(pathmapTestMegabyte),
        cmocka_unit_test(pathmapTestFreeDropsValues), cmocka_unit_test(pathmapTestMemory),
        cmocka_unit_test(pathmapTestModelShort),      cmocka_unit_test(pathmapTestModelWide),
        cmocka_unit_test(pathmapTestModelBlocks),     cmocka_unit_test(pathmapTestModelNested),
        cmocka_unit_test(pathmapTestModelLong),       cmocka_unit_test(pathmapTestDefragChanging),
        cmocka_unit_test(pathmapTestLimits),
    };
    modelSeed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
