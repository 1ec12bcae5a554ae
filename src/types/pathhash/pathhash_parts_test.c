/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_parts_test.c - a path hash that is saved in parts under random changes of fields, paths and
 * prefixes, against the whole of it at the start: what RDB loads as has the same digest and count, and
 * commands are the same ones in some order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_hash.h"
#include "commands/cmd_pathhash.h"
#include "data/forkless/item_queue.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/lazyfree.h"
#include "data/rdb/rdb.h"
#include "types/pathhash/pathhash.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

/* The modules register tables that are above this layer. */
const struct commandSpec commandsHash[] = {{0}}, commandsPathHash[] = {{0}};

static struct object *object; /* NULL: it was deleted, and belongs to the snapshot */
static uint64_t levels;

/* ---- Changes ---- */

static struct str pathTestPath(char *buf) {
    size_t len = 0;
    for (uint64_t i = randomBelow(levels + 1); i; i--) {
        buf[len++] = (char)('a' + randomBelow(3));
        if (randomBelow(4) == 0) buf[len++] = '/';
    }
    return strN(buf, len);
}

static void pathTestSet(struct pathHash *ph, struct str path, uint64_t fields) {
    struct payloadChange e;
    char field[32], value[32];
    payloadInsert(&e, ph, path);
    for (uint64_t i = 0; i <= fields; i++) {
        struct str name = strN(field, (size_t)sprintf(field, "f%d", (int)randomBelow(fields + 5)));
        struct str text = strN(value, (size_t)sprintf(value, "v%d", (int)randomBelow(1000)));
        hashSet(&e.h, name, (struct hashInput){.text = text}, false);
    }
    payloadCommit(&e);
}

static void pathTestDeleteFields(struct pathHash *ph, struct str path) {
    struct payloadChange e;
    char field[32];
    bool deleted = false;
    if (!payloadFind(&e, ph, path)) return;
    for (int i = 0; i < 5; i++) deleted |= hashRemove(&e.h, strN(field, (size_t)sprintf(field, "f%d", i)));
    if (deleted) payloadCommit(&e);
}

static void pathTestChange(void) {
    char buf[100];
    struct pathHash *ph = pathHashOpen(object);
    struct str path = pathTestPath(buf);
    switch (randomBelow(60)) {
    case 0:
        if (path.len > 1 || randomBelow(10) == 0) pathHashRemovePrefix(ph, path, randomBelow(2));
        break;
    case 1 ... 12: pathHashRemove(ph, path, false); break;
    case 13 ... 24: pathTestDeleteFields(ph, path); break;
    case 25: pathTestSet(ph, path, randomBelow(700)); break;
    default: pathTestSet(ph, path, randomBelow(4));
    }
}

static void pathTestFree(void) {
    if (object) lazyfreeObject(object, false);
    object = NULL;
}

static void pathTestMake(void) {
    levels = 1 + randomBelow(12);
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, pathHashValue(pathHashNew()));
    pathTestSet(pathHashOpen(object), STR("a path"), 1);
    for (uint64_t n = randomBelow(2000); n; n--) pathTestChange();
}

/* ---- What is written ---- */

static void pathTestInitWriter(struct rioWriter *w, sds *bytes) {
    *bytes = sdsempty();
    rioWriterInit(w, rioSinkSds, bytes);
    w->version = RDB_VERSION_PATHS;
    w->plain_strings = true;
}

static int pathTestCompareText(const void *a, const void *b) {
    return strCmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorts commands. A command begins with "*", which no argument does. */
static sds pathTestSort(sds bytes) {
    size_t n = 0, len = sdslen(bytes), count = 1;
    for (size_t i = 0; i < len; i++) count += bytes[i] == '*';
    struct str *all = zmalloc(count * sizeof *all);
    for (size_t i = 0, start = 0; i < len; i++) {
        if (i + 1 < len && bytes[i + 1] != '*') continue;
        all[n++] = strN(bytes + start, i + 1 - start);
        start = i + 1;
    }
    qsort(all, n, sizeof *all, pathTestCompareText);
    sds sorted = sdsempty();
    for (size_t i = 0; i < n; i++) sorted = sdscatlen(sorted, all[i].ptr, all[i].len);
    zfree(all);
    sdsfree(bytes);
    return sorted;
}

/* Describes an object: its commands, or its paths and its digest. */
static sds pathTestDescribe(const struct object *o, bool commands) {
    struct rioWriter w;
    sds bytes;
    uint8_t digest[20] = {0};
    if (!commands) {
        objectTypeOf(o)->digest(o, digest);
        bytes = sdscatlen(sdsempty(), digest, sizeof digest);
        return sdscatprintf(bytes, " %zu", pathHashCount(pathHashOpen(o)));
    }
    pathTestInitWriter(&w, &bytes);
    pathHashRdbRewrite(&w, objectKey(o), o);
    rioFlush(&w);
    rioWriterFree(&w);
    return pathTestSort(bytes);
}

/* Describes what was written, in the same way. */
static sds pathTestDescribeWritten(sds written, bool commands) {
    if (commands) return pathTestSort(sdsdup(written));
    struct rdbReader r = {.version = RDB_VERSION_PATHS};
    struct value value;
    struct str key;
    uint8_t type;
    rioReaderInitMemory(&r.io, sdsview(written));
    assert_true(rioReadByte(&r.io, &type) && rdbReadString(&r, &key));
    assert_int_equal(pathHashRdbLoad(&r, type, &value), RDB_LOADED);
    assert_int_equal(rioLeft(&r.io), 0);
    rioReaderFree(&r.io);
    struct object *o = objectCreate(STR("key"), OBJ_NO_EXPIRE, value);
    sds text = pathTestDescribe(o, false);
    objectFree(o);
    return text;
}

static bool pathTestSteps(struct largeValue *v) {
    uint64_t changes = 1 + randomBelow(randomBelow(2) ? 3 : 60);
    bool give_up = randomBelow(10) == 0;
    do {
        if (give_up && randomBelow(10) == 0) return false;
        for (uint64_t i = randomBelow(changes); object && i; i--) pathTestChange();
        if (object && randomBelow(100) == 0) pathTestFree();
    } while (v->parts->next(v));
    return true;
}

static void pathTestRun(bool commands) {
    struct rioWriter like;
    sds none;
    pathTestMake();
    if (!pathHashCount(pathHashOpen(object))) pathTestSet(pathHashOpen(object), STR("x"), 1);
    pathTestInitWriter(&like, &none);
    sds expected = pathTestDescribe(object, commands);
    struct itemQueue *queue = itemQueueCreate();
    largeValuesStart(queue, commands, &like);
    largeValueRegister(0, object);
    struct largeValue *v = largeValueFind(objectPtr(object));
    if (pathTestSteps(v)) {
        rioFlush(largeValueWriter(v));
        sds written = pathTestDescribeWritten(v->bytes, commands);
        assert_int_equal(sdslen(written), sdslen(expected));
        assert_memory_equal(written, expected, sdslen(expected));
        sdsfree(written);
    }
    largeValuesStop();
    itemQueueFree(queue);
    pathTestFree();
    sdsfree(expected);
    sdsfree(none);
    rioWriterFree(&like);
}

static void testPathHashParts(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20 + modelShare(1500); i++) pathTestRun(i % 2);
}

static void testLargePathHashes(void **state) {
    char buf[32];
    (void)state;
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, pathHashValue(pathHashNew()));
    struct pathHash *ph = pathHashOpen(object);
    pathTestSet(ph, STR("a"), 2 * LARGE_VALUE_ELEMENTS);
    assert_false(objectIsLarge(object));
    pathTestSet(ph, STR("b"), 1);
    assert_true(objectIsLarge(object));
    pathHashRemove(ph, STR("a"), false);
    for (int i = 1; i < LARGE_VALUE_ELEMENTS; i++)
        pathTestSet(ph, strN(buf, (size_t)sprintf(buf, "%d", i)), 1);
    assert_false(objectIsLarge(object));
    pathTestSet(ph, STR("c"), 1);
    assert_true(objectIsLarge(object));
    pathTestFree();
}

/* The bytes of paths and of fields count: those of `paths` paths of `path` bytes, with a value of `value`. */
static void pathTestBytes(int paths, size_t path, size_t value, bool large) {
    static char buf[2000], text[LARGE_VALUE_BYTES];
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, pathHashValue(pathHashNew()));
    memset(buf, 'p', sizeof buf);
    memset(text, 'v', sizeof text);
    for (int i = 0; i < paths; i++) {
        struct payloadChange e;
        sprintf(buf + path - 8, "%07d", i);
        payloadInsert(&e, pathHashOpen(object), strN(buf, path));
        hashSet(&e.h, STR("f"), (struct hashInput){.text = strN(text, value)}, false);
        payloadCommit(&e);
    }
    assert_true(objectIsLarge(object) == large);
    pathTestFree();
}

static void testPathHashesOfManyBytes(void **state) {
    (void)state;
    pathTestBytes(200, 10, 1, false);
    pathTestBytes(200, 1000, 1, false);
    pathTestBytes(200, 1500, 1, true);
    pathTestBytes(20, 10, 5000, false);
    pathTestBytes(20, 10, 20000, true);
    pathTestBytes(1, 10, LARGE_VALUE_BYTES, false); /* one path is written whole */
    pathTestBytes(2, 10, LARGE_VALUE_BYTES, true);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(testPathHashParts),
                                              cmocka_unit_test(testLargePathHashes),
                                              cmocka_unit_test(testPathHashesOfManyBytes)};
    modelSeed();
    hashTypeInit();
    pathHashInit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
