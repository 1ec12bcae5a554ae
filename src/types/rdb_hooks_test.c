/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_hooks_test.c - values of all types and encodings to bytes and back; the formats of older servers; and
 * bytes that are wrong in any place: each must result in a usable value or an error. */
#include "types/rdb_hooks.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "command/command.h"
#include "commands/cmd_hash.h"
#include "commands/cmd_list.h"
#include "commands/cmd_pathhash.h"
#include "commands/cmd_set.h"
#include "commands/cmd_sorted_set.h"
#include "commands/cmd_stream.h"
#include "commands/cmd_string.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "types/rdb_exercise.h"
#include "types/string/string_commands.h"

/* The modules register tables that are above this layer. */
const struct commandSpec commandsString[] = {{0}}, commandsList[] = {{0}}, commandsSet[] = {{0}},
                         commandsHash[] = {{0}}, commandsSortedSet[] = {{0}}, commandsStream[] = {{0}},
                         commandsPathHash[] = {{0}};

#define CORPUS "../tests/fuzz/corpus/restore"
#define NOW_MS 1700000000000

static void rdbHooksTestSet(const char *name, const char *value) {
    const char *err;
    assert_true(configSet(name, strOf(value), &err));
}

static struct object *rdbHooksTestObject(struct value v) {
    return objectCreate(STR("key"), OBJ_NO_EXPIRE, v);
}

/* Returns "17" after `prefix`; every third is a number by itself. */
static struct str rdbHooksTestNameOf(char *buf, size_t size, const char *prefix, int i) {
    int n = i % 3 ? snprintf(buf, size, "%s%d", prefix, i) : snprintf(buf, size, "%d", i * 1001);
    return strN(buf, (size_t)n);
}

static sds rdbHooksTestByte(sds s, unsigned b) {
    char c = (char)b;
    return sdscatlen(s, &c, 1);
}

/* ---- One of each ---- */

static struct object *newString(int kind) {
    static char text[3000], scratch[8];
    memset(text, 'x', sizeof text);
    static const char *const short_ones[] = {
        "", "1", "-128", "32768", "-2147483649", "0123", "hello", "9223372036854775807", "x"};
    int shorts = sizeof short_ones / sizeof *short_ones;
    if (kind < shorts) return rdbHooksTestObject(stringValue(strOf(short_ones[kind]), scratch));
    static const size_t lengths[] = {20, 21, 44, 45, 63, 64, 65, 255, 3000};
    if (kind % 2)
        for (size_t i = 0; i < sizeof text; i++) text[i] = (char)randomU64();
    return rdbHooksTestObject(stringValue(strN(text, lengths[(kind - shorts) % 9]), scratch));
}

static struct object *newList(int n, size_t longest) {
    struct listRef l = listTypeNew(0);
    char room[LIST_EMBED_MAX], buf[32], *text = calloc(1, longest + 1);
    for (int i = 0; i < n; i++) {
        struct str name = rdbHooksTestNameOf(buf, sizeof buf, "element ", i);
        if (i == n / 2 && longest) name = strN(memset(text, 'l', longest), longest);
        listTypePush(&l, name, LIST_RIGHT);
    }
    free(text);
    return rdbHooksTestObject(listTypeValue(l, room));
}

static struct object *newSet(int n, bool integers) {
    char buf[32];
    struct setRef s = setNew(STR("1"), 1);
    for (int i = 0; i < n; i++) {
        int64_t v = (int64_t)i * i * i * 7 - 1000;
        setAdd(&s,
               integers ? strN(buf, ll2string(buf, v)) : rdbHooksTestNameOf(buf, sizeof buf, "member", i));
    }
    return rdbHooksTestObject(setValue(s));
}

static struct object *newHash(int n, size_t longest, int expiring) {
    struct hash h;
    char field[32], value[32], *text = calloc(1, longest + 1);
    hashNew(&h);
    for (int i = 0; i < n; i++) {
        struct str name = rdbHooksTestNameOf(field, sizeof field, "field", i);
        struct str v = rdbHooksTestNameOf(value, sizeof value, "v", i + 1);
        if (i == n / 2 && longest) v = strN(memset(text, 'v', longest), longest);
        hashSet(&h, name, (struct hashInput){.text = v}, false);
        if (i < expiring) hashSetExpire(&h, name, NOW_MS + 1000 * i);
    }
    struct object *o = rdbHooksTestObject(hashValue(&h));
    free(text);
    return o;
}

static struct object *newZset(int n, size_t longest) {
    static const double special[] = {-INFINITY, INFINITY, 0.1, -1e300, 5e-324, 3, -0.0, 1e17};
    char buf[32], *text = calloc(1, longest + 1);
    struct zsetRef z = zsetNew(0, 0);
    for (int i = 0; i < n; i++) {
        struct zscore score = zscoreOf(i < 8 ? special[i] : i % 7 - i / 3.0);
        struct str name = rdbHooksTestNameOf(buf, sizeof buf, "member", i);
        if (i == n / 2 && longest) name = strN(memset(text, 'z', longest), longest);
        zsetAdd(&z, name, &score, 0);
    }
    free(text);
    return rdbHooksTestObject(zsetValue(z));
}

static struct object *newStream(int n, int groups) {
    struct stream *s = streamNew();
    char buf[4][32];
    for (int i = 0; i < n; i++) {
        struct str pairs[4] = {STR("field"), rdbHooksTestNameOf(buf[1], 32, "v", i),
                               rdbHooksTestNameOf(buf[2], 32, "f", i / 10), STR("x")};
        streamAppend(s, (struct streamID){(uint64_t)(5 + i / 3), (uint64_t)(i + 1)}, pairs, 1 + i % 2);
    }
    for (int i = 3; i < n; i += 7)
        streamDelete(s, (struct streamID){(uint64_t)(5 + i / 3), (uint64_t)(i + 1)});
    for (int g = 0; g < groups; g++) {
        struct streamGroup *group = streamGroupCreate(s, rdbHooksTestNameOf(buf[0], 32, "group", g),
                                                      s->last_id, g ? g : STREAM_READ_UNKNOWN);
        for (int c = 0; c < groups; c++) {
            struct str name = rdbHooksTestNameOf(buf[1], 32, "consumer", c);
            struct streamConsumer *consumer = streamConsumerCreate(group, name, NOW_MS + c);
            if (c > 1) consumer->active_ms = NOW_MS + 2 * c;
            for (int i = 0; i < n; i += 5 + c)
                streamPendingSet(group, (struct streamID){(uint64_t)i, (uint64_t)c}, consumer, NOW_MS + i)
                    ->deliveries = (uint64_t)i;
        }
    }
    return rdbHooksTestObject(streamValue(s));
}

/* Records of one producer, whose ids are numbers and texts, and of the last IDs. */
static struct object *newIdmpStream(int records) {
    struct object *o = newStream(20, 1);
    struct idmpStream *x = idmpOpenFor(o);
    char buf[32];
    idmpConfigure(x, 500, 1000);
    for (int i = 0; i < records; i++) {
        struct str iid = rdbHooksTestNameOf(buf, sizeof buf, "id", i);
        idmpAdd(x, STR("producer"), iid, (struct streamID){UINT64_MAX - 1, (uint64_t)i});
    }
    x->duplicates = 77;
    return o;
}

/* Every third path is a prefix of the two after it; each has `fields` fields. */
static struct object *newPathHash(int paths, int fields, const char *trunk) {
    struct pathHash *ph = pathHashNew();
    for (int i = 0; i < paths; i++) {
        struct payloadChange e;
        char buf[32];
        sds path = sdscatprintf(sdsnew(trunk), i % 3 ? "%d/%d" : "%d/", i / 3, i);
        payloadInsert(&e, ph, sdsview(path));
        for (int f = 0; f < fields; f++) {
            struct str text = rdbHooksTestNameOf(buf, sizeof buf, "field", f);
            hashSet(&e.h, text, (struct hashInput){.text = text}, false);
        }
        payloadCommit(&e);
        sdsfree(path);
    }
    return rdbHooksTestObject(pathHashValue(ph));
}

/* Returns the nth value of the collection, or NULL after the last. */
static struct object *rdbHooksTestSample(int n) {
    if (n < 18) return newString(n);
    switch (n - 18) {
    case 0: return newList(1, 0);
    case 1: return newList(100, 0);
    case 2: return newList(2000, 0);
    case 3: return newList(30, 9000);
    case 4: return newSet(1, true);
    case 5: return newSet(20, true);
    case 6: return newSet(512, true);
    case 7: return newSet(600, true);
    case 8: return newSet(10, false);
    case 9: return newSet(128, false);
    case 10: return newSet(300, false);
    case 11: return newHash(2, 0, 0);
    case 12: return newHash(20, 0, 0);
    case 13: return newHash(512, 0, 0);
    case 14: return newHash(600, 300, 0);
    case 15: return newHash(4, 65, 0);
    case 16: return newHash(5, 0, 2);
    case 17: return newHash(70, 2000, 70);
    case 18: return newZset(1, 0);
    case 19: return newZset(40, 0);
    case 20: return newZset(129, 0);
    case 21: return newZset(2000, 0);
    case 22: return newZset(9, 100);
    case 23: return newStream(0, 2);
    case 24: return newStream(3, 0);
    case 25: return newStream(50, 3);
    case 26: return newStream(500, 4);
    case 27: return newPathHash(0, 0, "");
    case 28: return newPathHash(1, 1, "");
    case 29: return newPathHash(10, 2, "a trunk of all paths: ");
    case 30: return newPathHash(50, 20, "");
    case 31: return newPathHash(3, 600, "");
    case 32: return newIdmpStream(0);
    case 33: return newIdmpStream(5);
    case 34: return newIdmpStream(400);
    default: return NULL;
    }
}
#define SAMPLES 53

static void rdbHooksTestAssertSame(const struct object *a, const struct object *b) {
    uint8_t x[20], y[20];
    exerciseValue(a, x);
    exerciseValue(b, y);
    assert_memory_equal(x, y, sizeof x);
}

/* ---- Round trips ---- */

static void everyValueComesBack(void **state) {
    (void)state;
    static const size_t pieces[] = {0, 1, 7, 4096, 1 << 20};
    for (int index = 0; index < 2; index++) {
        rdbHooksTestSet("zset-index", index ? "btree" : "skiplist");
        for (int n = 0; n < SAMPLES; n++) {
            struct object *o = rdbHooksTestSample(n);
            sds bytes = exerciseSave(o);
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                enum rdbLoaded result;
                struct object *back = exerciseLoad(sdsview(bytes), p % 2, pieces[p], &result);
                assert_int_equal(result, RDB_LOADED);
                rdbHooksTestAssertSame(o, back);
                assert_string_equal(objectTypeOf(o)->encodingName(o), objectTypeOf(back)->encodingName(back));
                sds again = exerciseSave(back);
                assert_int_equal(sdslen(bytes), sdslen(again));
                objectFree(back);
                sdsfree(again);
            }
            assert_int_equal(exerciseBytes(sdsview(bytes), true, 0), RDB_LOADED);
            sdsfree(bytes);
            objectFree(o);
        }
    }
    assert_null(rdbHooksTestSample(SAMPLES));
}

static void groupsComeBack(void **state) {
    (void)state;
    struct object *o = newStream(50, 3);
    sds bytes = exerciseSave(o);
    enum rdbLoaded result;
    struct object *back = exerciseLoad(sdsview(bytes), true, 0, &result);
    struct stream *s = streamOpen(o), *t = streamOpen(back);
    assert_int_equal(s->entries_added, t->entries_added);
    assert_memory_equal(&s->max_deleted_id, &t->max_deleted_id, sizeof s->max_deleted_id);
    assert_memory_equal(&s->first_id, &t->first_id, sizeof s->first_id);
    assert_int_equal(t->groups.size, 3);
    struct streamGroup *a = streamGroupFind(s, STR("group1")), *b = streamGroupFind(t, STR("group1"));
    assert_int_equal(a->entries_read, b->entries_read);
    assert_int_equal(a->pending.size, b->pending.size);
    struct streamConsumer *c = streamConsumerFind(a, STR("consumer2")),
                          *d = streamConsumerFind(b, STR("consumer2"));
    assert_int_equal(c->seen_ms, d->seen_ms);
    assert_int_equal(c->active_ms, d->active_ms);
    assert_int_equal(c->pending.size, d->pending.size);
    struct streamNack *n = streamPendingFind(b, (struct streamID){14, 2});
    assert_ptr_equal(n->consumer, d);
    assert_int_equal(n->delivered_ms, NOW_MS + 14);
    assert_int_equal(n->deliveries, 14);
    sdsfree(bytes);
    objectFree(o);
    objectFree(back);
}

static sds saveFor(int version, const struct object *o, uint8_t *type) {
    sds bytes = exerciseSaveVersion(version, o);
    *type = (uint8_t)bytes[0];
    return bytes;
}

/* Redis 7.0 knows the types up to 19. */
static void olderVersionsAreWritten(void **state) {
    (void)state;
    struct object *o;
    for (int i = 0; i < SAMPLES; i++) {
        o = rdbHooksTestSample(i);
        uint8_t type, newest;
        sdsfree(saveFor(0, o, &newest));
        sds bytes = saveFor(RDB_VERSION_REDIS_7, o, &type);
        if (newest == RDB_TYPE_HASH_EXPIRING || newest == RDB_TYPE_PATH_HASH) {
            assert_int_equal(type, newest);
            assert_false(rdbVersionHas(RDB_VERSION_REDIS_7, type) || rdbVersionHas(RDB_VERSION, type));
            assert_int_equal(rdbVersionHas(RDB_VERSION_EXPIRING, type), newest == RDB_TYPE_HASH_EXPIRING);
            assert_true(rdbVersionHas(RDB_VERSION_PATHS, type));
        } else {
            assert_in_range(type, 0, RDB_TYPE_STREAM_LISTPACKS_2);
            assert_true(rdbVersionHas(RDB_VERSION_REDIS_7, type));
        }
        enum rdbLoaded result;
        struct object *back = exerciseLoad(sdsview(bytes), true, 0, &result);
        assert_int_equal(result, RDB_LOADED);
        rdbHooksTestAssertSame(o, back);
        objectFree(back);
        sdsfree(bytes);
        objectFree(o);
    }
    uint8_t type;
    o = newStream(50, 3);
    sds bytes = saveFor(RDB_VERSION_REDIS_7, o, &type);
    enum rdbLoaded result;
    struct object *back = exerciseLoad(sdsview(bytes), true, 0, &result);
    struct streamConsumer *c =
        streamConsumerFind(streamGroupFind(streamOpen(back), STR("group1")), STR("consumer2"));
    assert_int_equal(c->seen_ms, NOW_MS + 2);
    sdsfree(bytes);
    objectFree(back);
    objectFree(o);
}

/* Redis 7.4 to 8.6 have the types up to 21, and hashes with expiry of their own. */
static void versionsOfRedisAreWritten(void **state) {
    (void)state;
    static const size_t pieces[] = {0, 1, 7};
    for (int i = 0; i < SAMPLES; i++) {
        struct object *o = rdbHooksTestSample(i);
        uint8_t type, newest;
        sdsfree(saveFor(0, o, &newest));
        sds bytes = saveFor(RDB_VERSION_REDIS_74, o, &type);
        assert_int_equal(type, newest == RDB_TYPE_HASH_EXPIRING        ? RDB_TYPE_REDIS_HASH_EXPIRING
                               : newest == RDB_TYPE_STREAM_LISTPACKS_4 ? RDB_TYPE_STREAM_LISTPACKS_3
                                                                       : newest);
        assert_int_equal(rdbVersionHas(RDB_VERSION_REDIS_74, type), newest != RDB_TYPE_PATH_HASH);
        for (int p = 0; p < 3 && newest != RDB_TYPE_PATH_HASH; p++) {
            enum rdbLoaded result;
            struct object *back =
                exerciseLoadVersion(RDB_VERSION_REDIS_74, sdsview(bytes), p % 2, pieces[p], &result);
            assert_int_equal(result, RDB_LOADED);
            rdbHooksTestAssertSame(o, back);
            assert_string_equal(objectTypeOf(o)->encodingName(o), objectTypeOf(back)->encodingName(back));
            objectFree(back);
        }
        sdsfree(bytes);
        objectFree(o);
    }
}

static void typesBelongToVersions(void **state) {
    (void)state;
    static const struct {
        uint8_t type;
        int has[8]; /* versions, up to 0 */
    } cases[] = {
        {RDB_TYPE_HASH_EXPIRING, {80, 81, 82, 900}},
        {RDB_TYPE_PATH_HASH, {81, 82, 900}},
        {RDB_TYPE_REDIS_HASH_EXPIRING, {12, 13, 14, 79}},
        {RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING, {12, 13, 14, 79}},
        {RDB_TYPE_STREAM_LISTPACKS_4, {13, 14, 79, 900}},
        {27, {0}},
    };
    static const int versions[] = {10, 11, 12, 13, 14, 79, 80, 81, 82, 900};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(rdbVersionHas(0, cases[i].type) && rdbVersionHas(11, RDB_TYPE_STREAM_LISTPACKS_3));
        const int *next = cases[i].has;
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
            bool has = *next == versions[v];
            next += has;
            assert_int_equal(rdbVersionHas(versions[v], cases[i].type), has);
            assert_int_equal(*rdbTypeName(versions[v], cases[i].type) != 0, has);
        }
    }
    assert_string_equal(rdbTypeName(12, RDB_TYPE_REDIS_HASH_EXPIRING), "hash-hashtable-md");
    assert_string_equal(rdbTypeName(0, -1), "");
}

/* Loads one of Redis's types from what follows its type. */
static struct object *loadRedis(int type, const char *body, size_t len, enum rdbLoaded *result) {
    sds bytes = sdscatlen(rdbHooksTestByte(sdsempty(), (unsigned)type), body, len);
    struct object *o = exerciseLoadVersion(RDB_VERSION_REDIS_86, sdsview(bytes), true, 0, result);
    assert_int_equal(exerciseBytesVersion(RDB_VERSION_REDIS_86, sdsview(bytes), false, 3), *result);
    sdsfree(bytes);
    return o;
}

static void assertExpiries(const struct object *o, int64_t a, int64_t b, int64_t c) {
    struct hash h;
    hashOpen(&h, o);
    assert_int_equal(hashSize(&h), (a != HASH_NO_FIELD) + (b != HASH_NO_FIELD) + (c != HASH_NO_FIELD));
    assert_int_equal(hashExpire(&h, STR("a")), a);
    assert_int_equal(hashExpire(&h, STR("b")), b);
    assert_int_equal(hashExpire(&h, STR("c")), c);
}

/* The bytes are those that Redis 8.6.3 writes for expiries in the year 2030. */
static void hashesOfRedisAreRead(void **state) {
    (void)state;
#define FIRST_2030 "\x00\x38\xd3\x60\xba\x01\x00\x00" /* 1900000000000 */
#define BYTES(s)   s, sizeof(s) - 1
    enum rdbLoaded result;
    struct object *o;
    o = loadRedis(RDB_TYPE_REDIS_HASH_EXPIRING, BYTES(FIRST_2030 "\3\1\1a\xc0\1\0\1b\xc0\2\x0b\1c\xc0\3"),
                  &result);
    assertExpiries(o, 1900000000000, HASH_NO_EXPIRE, 1900000000010);
    objectFree(o);
    o = loadRedis(RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING,
                  BYTES(FIRST_2030 "\x2c\x2c\x00\x00\x00\x09\x00"
                                   "\x81\x61\x02\x01\x01\xf4\x00\x38\xd3\x60\xba\x01\x00\x00\x09"
                                   "\x81\x63\x02\x03\x01\xf4\x0a\x38\xd3\x60\xba\x01\x00\x00\x09"
                                   "\x81\x62\x02\x02\x01\x00\x01\xff"),
                  &result);
    assertExpiries(o, 1900000000000, HASH_NO_EXPIRE, 1900000000010);
    objectFree(o);
    /* No field expires any more; a field that has expired stays out. */
    o = loadRedis(RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING,
                  BYTES(FIRST_2030 "\x0e\x0e\0\0\0\3\0\x81\x61\2\1\1\0\1\xff"), &result);
    assertExpiries(o, HASH_NO_EXPIRE, HASH_NO_FIELD, HASH_NO_FIELD);
    objectFree(o);
    o = loadRedis(RDB_TYPE_REDIS_HASH_EXPIRING, BYTES("\1\0\0\0\0\0\0\0\2\1\1a\1v\0\1b\1v"), &result);
    assertExpiries(o, HASH_NO_FIELD, HASH_NO_EXPIRE, HASH_NO_FIELD);
    objectFree(o);
    o = loadRedis(RDB_TYPE_REDIS_HASH_EXPIRING, BYTES("\1\0\0\0\0\0\0\0\1\1\1a\1v"), &result);
    assert_null(o);
    assert_int_equal(result, RDB_EMPTY);
}

/* Redis reads no expiry that takes more than 48 bits. */
static void lateExpiriesAreLoweredForRedis(void **state) {
    (void)state;
    struct hash h;
    enum rdbLoaded result;
    hashNew(&h);
    hashSet(&h, STR("a"), (struct hashInput){.text = STR("v")}, false);
    hashSet(&h, STR("b"), (struct hashInput){.text = STR("v")}, false);
    hashSetExpire(&h, STR("a"), INT64_MAX - 1);
    struct object *o = rdbHooksTestObject(hashValue(&h));
    for (int early = 0; early < 2; early++) {
        int64_t b_ms = early ? NOW_MS + 5 : HASH_NO_EXPIRE;
        hashOpen(&h, o);
        hashSetExpire(&h, STR("b"), b_ms);
        sds bytes = exerciseSaveVersion(RDB_VERSION_REDIS_86, o);
        struct object *back = exerciseLoadVersion(RDB_VERSION_REDIS_86, sdsview(bytes), true, 0, &result);
        assertExpiries(back, (INT64_C(1) << 48) - 1, b_ms, HASH_NO_FIELD);
        sdsfree(bytes);
        objectFree(back);
    }
    objectFree(o);
}

static void expiredFieldsStayOutOf(int version, int type) {
    struct object *o = newHash(10, 0, 4); /* the first is due now, then one every second */
    sds bytes = exerciseSaveVersion(version, o);
    enum rdbLoaded result;
    struct hash h;
    assert_int_equal(bytes[0], type);
    for (int over = 0; over <= 4; over++) {
        cmd_time_ms = NOW_MS + 1000 * over - 999;
        struct object *back = exerciseLoadVersion(version, sdsview(bytes), true, 0, &result);
        hashOpen(&h, back);
        assert_int_equal(hashSize(&h), 10 - over);
        assert_int_equal(hashHasExpiring(&h), over < 4);
        objectFree(back);
    }
    struct object *all = newHash(3, 0, 3);
    sds doomed = exerciseSaveVersion(version, all);
    assert_null(exerciseLoadVersion(version, sdsview(doomed), true, 0, &result));
    assert_int_equal(result, RDB_EMPTY);
    cmd_time_ms = NOW_MS;
    objectFree(all);
    objectFree(o);
    sdsfree(doomed);
    sdsfree(bytes);
}

static void expiredFieldsStayOut(void **state) {
    (void)state;
    expiredFieldsStayOutOf(RDB_VERSION_LATEST, RDB_TYPE_HASH_EXPIRING);
    expiredFieldsStayOutOf(RDB_VERSION_REDIS_86, RDB_TYPE_REDIS_HASH_EXPIRING);
}

static void limitsOfNowDecide(void **state) {
    (void)state;
    static const struct {
        const char *directive, *low, *high;
        int sample;
        const char *encoding;
    } cases[] = {
        {"list-max-listpack-size", "10", "-2", 19, "quicklist"},
        {"set-max-intset-entries", "5", "512", 23, "hashtable"},
        {"set-max-listpack-entries", "5", "128", 26, "hashtable"},
        {"set-max-listpack-value", "5", "64", 26, "hashtable"},
        {"hash-max-listpack-entries", "1", "512", 29, "hashtable"},
        {"hash-max-listpack-entries", "5", "512", 30, "hashtable"},
        {"hash-max-listpack-value", "3", "64", 30, "hashtable"},
        {"zset-max-listpack-entries", "3", "128", 37, "skiplist"},
        {"zset-max-listpack-value", "3", "64", 37, "skiplist"},
    };
    rdbHooksTestSet("zset-index", "skiplist");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum rdbLoaded result;
        struct object *o = rdbHooksTestSample(cases[i].sample);
        sds bytes = exerciseSave(o);
        rdbHooksTestSet(cases[i].directive, cases[i].low);
        struct object *back = exerciseLoad(sdsview(bytes), false, 0, &result);
        assert_string_equal(objectTypeOf(back)->encodingName(back), cases[i].encoding);
        assert_string_not_equal(objectTypeOf(back)->encodingName(o), cases[i].encoding);
        rdbHooksTestAssertSame(o, back);
        rdbHooksTestSet(cases[i].directive, cases[i].high);
        sdsfree(bytes);
        objectFree(o);
        objectFree(back);
    }
}

static void compressedNodesStayCompressed(void **state) {
    (void)state;
    rdbHooksTestSet("list-compress-depth", "1");
    struct object *o = newList(5000, 0);
    sds bytes = exerciseSave(o);
    rdbHooksTestSet("rdbcompression", "no");
    sds plain = exerciseSave(o);
    assert_true(sdslen(plain) > sdslen(bytes)); /* the ends are not compressed in memory */
    rdbHooksTestSet("list-compress-depth", "0");
    struct object *flat = newList(5000, 0);
    sds all = exerciseSave(flat);
    assert_true(sdslen(all) > sdslen(plain) * 3 / 2); /* the middle is compressed in both */
    rdbHooksTestSet("rdbcompression", "yes");
    assert_int_equal(exerciseBytes(sdsview(bytes), true, 0), RDB_LOADED);
    sdsfree(bytes);
    sdsfree(plain);
    sdsfree(all);
    objectFree(o);
    objectFree(flat);
}

/* ---- Rewriting ---- */

static int rdbHooksTestCountOf(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

static void rewritingComesInPortions(void **state) {
    (void)state;
    static const struct {
        int sample;
        const char *command;
        int times;
    } cases[] = {
        {3, "SET", 1},     {19, "RPUSH", 2},   {20, "RPUSH", 32},  {23, "SADD", 1},
        {25, "SADD", 10},  {29, "HSET", 1},    {31, "HSET", 8},    {34, "HSET", 1},
        {34, "HSETEX", 2}, {35, "HSETEX", 70}, {38, "ZADD", 3},    {41, "XADD", 1},
        {41, "XGROUP", 6}, {42, "XADD", 3},    {43, "XCLAIM", 81}, {43, "XSETID", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object *o = rdbHooksTestSample(cases[i].sample);
        sds text = exerciseRewrite(o);
        char word[32];
        snprintf(word, sizeof word, "$%zu\r\n%s\r\n", strlen(cases[i].command), cases[i].command);
        if (rdbHooksTestCountOf(text, word) != cases[i].times)
            print_message("sample %d: %s\n", cases[i].sample, word);
        assert_int_equal(rdbHooksTestCountOf(text, word), cases[i].times);
        sdsfree(text);
        objectFree(o);
    }
}

/* ---- Older formats ---- */

static sds rdbHooksTestBlob(sds s, const void *p, size_t n) {
    assert_true(n < 64);
    return sdscatlen(rdbHooksTestByte(s, (unsigned)n), p, n);
}

/* "b" 300 "a" -1 as a ziplist. */
static const unsigned char ziplist[] = {23,  0,    0,    0, 20, 0, 0, 0, 4, 0, 0, 1, 'b', /* */
                                        3,   0xc0, 0x2c, 1,                               /* 300 in 16 bits */
                                        4,   0xfe, 0xff,                                  /* -1 in 8 bits */
                                        3,   0xf3,                                        /* 2, immediate */
                                        0xff};

static struct object *loadOld(int type, sds body, enum rdbLoaded *result) {
    sds bytes = sdscatlen(rdbHooksTestByte(sdsempty(), (unsigned)type), body, sdslen(body));
    struct object *o = exerciseLoad(sdsview(bytes), true, 0, result);
    assert_int_equal(exerciseBytes(sdsview(bytes), false, 3), *result);
    sdsfree(bytes);
    sdsfree(body);
    return o;
}

static void expectOld(int type, sds body, struct object *want) {
    enum rdbLoaded result;
    struct object *o = loadOld(type, body, &result);
    assert_int_equal(result, RDB_LOADED);
    rdbHooksTestAssertSame(want, o);
    objectFree(o);
    objectFree(want);
}

static struct object *listOf(const char *const *elements) {
    struct listRef l = listTypeNew(0);
    char room[LIST_EMBED_MAX];
    for (; *elements; elements++) listTypePush(&l, strOf(*elements), LIST_RIGHT);
    return rdbHooksTestObject(listTypeValue(l, room));
}

struct scored {
    const char *member;
    struct zscore score;
};
static struct object *zsetOf(const struct scored *pairs) {
    struct zsetRef z = zsetNew(0, 0);
    for (; pairs->member; pairs++) {
        struct zscore score = pairs->score;
        zsetAdd(&z, strOf(pairs->member), &score, 0);
    }
    return rdbHooksTestObject(zsetValue(z));
}

static void oldFormatsAreRead(void **state) {
    (void)state;
    static const char *const elements[] = {"b", "300", "-1", "2", NULL};
    static const char *const twice[] = {"b", "300", "-1", "2", "b", "300", "-1", "2", NULL};
    struct hash h;
    expectOld(RDB_TYPE_LIST, sdsnewlen("\4\1b\xc1\x2c\1\xc0\xff\1\x32", 10), listOf(elements));
    expectOld(RDB_TYPE_LIST_ZIPLIST, rdbHooksTestBlob(sdsempty(), ziplist, sizeof ziplist), listOf(elements));
    sds two =
        rdbHooksTestBlob(rdbHooksTestBlob(sdsnew("\2"), ziplist, sizeof ziplist), ziplist, sizeof ziplist);
    expectOld(RDB_TYPE_LIST_QUICKLIST, two, listOf(twice));

    hashNew(&h);
    hashSet(&h, STR("b"), (struct hashInput){.text = STR("300")}, false);
    hashSet(&h, STR("-1"), (struct hashInput){.text = STR("2")}, false);
    expectOld(RDB_TYPE_HASH_ZIPLIST, rdbHooksTestBlob(sdsempty(), ziplist, sizeof ziplist),
              rdbHooksTestObject(hashValue(&h)));
    /* The value of b has two bytes of unused space. */
    static const unsigned char zipmap[] = {2,   1, 'b', 3,   2, '3', '0', '0', '?',
                                           '?', 2, '-', '1', 1, 0,   '2', 0xff};
    expectOld(RDB_TYPE_HASH_ZIPMAP, rdbHooksTestBlob(sdsempty(), zipmap, sizeof zipmap),
              rdbHooksTestObject(hashValue(&h)));

    /* With -1 not in front, members b 300 and -1 2 are out of order. */
    enum rdbLoaded result;
    assert_null(
        loadOld(RDB_TYPE_ZSET_ZIPLIST, rdbHooksTestBlob(sdsempty(), ziplist, sizeof ziplist), &result));
    assert_int_equal(result, RDB_FAILED);
    unsigned char sorted[sizeof ziplist];
    memcpy(sorted, ziplist, sizeof ziplist);
    sorted[15] = sorted[16] = 0; /* 300 becomes 0 */
    static const struct scored pairs[] = {{"b", {0, 0}}, {"-1", {2, 0}}, {NULL, {0, 0}}};
    expectOld(RDB_TYPE_ZSET_ZIPLIST, rdbHooksTestBlob(sdsempty(), sorted, sizeof sorted), zsetOf(pairs));

    static const struct scored texts[] = {{"a", {1.5, 0}},    {"b", {-INFINITY, 0}}, {"c", {INFINITY, 0}},
                                          {"d", {0x1p53, 1}}, {"e", {0x1p53, 0}},    {NULL, {0, 0}}};
    static const char text_scores[] = "\5\1a\0031.5\1b\xff\1c\xfe\1d\x10"
                                      "9007199254740993\1e\x12"
                                      "9007199254740993.0";
    expectOld(RDB_TYPE_ZSET, sdsnewlen(text_scores, sizeof text_scores - 1), zsetOf(texts));
    assert_null(loadOld(RDB_TYPE_ZSET, sdsnewlen("\1\1a\xfd", 4), &result));
    assert_int_equal(result, RDB_FAILED); /* NaN */
}

static void oldStreamsAreRead(void **state) {
    (void)state;
    struct object *o = newStream(20, 0);
    struct stream *s = streamOpen(o);
    streamGroupCreate(s, STR("g"), (struct streamID){6, 2}, STREAM_READ_UNKNOWN);
    sds now = exerciseSave(o);
    /* Version 3 ends with: first ID, deleted ID, added, groups: count "g" 6 2 -1 pending consumers. */
    size_t tail = 2 + 2 + 1 + 1 + 2 + 2 + 9 + 1 + 1;
    sds first = sdscatlen(sdsnewlen(now, sdslen(now) - tail), "\1\1g\6\2\0\0", 7);
    first[0] = RDB_TYPE_STREAM_LISTPACKS;
    enum rdbLoaded result;
    struct object *back = exerciseLoad(sdsview(first), true, 0, &result);
    assert_int_equal(result, RDB_LOADED);
    rdbHooksTestAssertSame(o, back);
    struct stream *t = streamOpen(back);
    assert_memory_equal(&t->first_id, &s->first_id, sizeof s->first_id);
    assert_int_equal(t->entries_added, t->length);
    assert_int_equal(streamGroupFind(t, STR("g"))->entries_read, STREAM_READ_UNKNOWN);
    objectFree(back);
    now[0] = RDB_TYPE_STREAM_LISTPACKS_2;
    assert_int_equal(exerciseBytes(sdsview(now), true, 0), RDB_LOADED);
    sdsfree(first);
    sdsfree(now);
    objectFree(o);
}

/* ---- Values that must be refused ---- */

static void expectFailureOf(int version, const char *why, sds bytes, const char *error) {
    struct rdbReader r = {.version = version, .deep = true};
    struct value v;
    uint8_t type;
    rioReaderInitMemory(&r.io, sdsview(bytes));
    assert_true(rioReadByte(&r.io, &type));
    assert_int_equal(rdbReadValue(&r, type, &v), RDB_FAILED);
    if (!strstr(r.io.error, error)) print_message("%s: %s\n", why, r.io.error);
    assert_non_null(strstr(r.io.error, error));
    rdbReaderFree(&r);
    sdsfree(bytes);
}

static void expectFailure(const char *why, sds bytes, const char *error) {
    expectFailureOf(RDB_VERSION_LATEST, why, bytes, error);
}

static sds listpackValue(int type, const char *const *elements) {
    unsigned char *lp = lpNew(0);
    for (; *elements; elements++) lp = lpAppend(lp, strOf(*elements));
    sds s = rdbHooksTestBlob(rdbHooksTestByte(sdsempty(), (unsigned)type), lp, lpBytes(lp));
    lpFree(lp);
    return s;
}

static void wrongValuesAreRefused(void **state) {
    (void)state;
    static const char *const twice[] = {"a", "1", "b", "2", "a", "3", NULL};
    static const char *const odd[] = {"a", "1", "b", NULL};
    static const char *const again[] = {"1", "2", "1", NULL};
    expectFailure("set", listpackValue(RDB_TYPE_SET_LISTPACK, again), "twice");
    expectFailure("hash", listpackValue(RDB_TYPE_HASH_LISTPACK, twice), "twice");
    expectFailure("zset", listpackValue(RDB_TYPE_ZSET_LISTPACK, twice), "no sorted set");
    expectFailure("hash", listpackValue(RDB_TYPE_HASH_LISTPACK, odd), "without a value");
    expectFailure("zset", listpackValue(RDB_TYPE_ZSET_LISTPACK, odd), "no sorted set");
    expectFailure("set", sdsnewlen("\2\2\1a\1a", 6), "twice");
    expectFailure("hash", sdsnewlen("\4\2\1a\1b\1a\1b", 10), "twice");
    expectFailure("zset",
                  sdsnewlen("\3\2\1a\1"
                            "1\1a\1"
                            "1",
                            10),
                  "twice");
    expectFailure("paths", sdsnewlen("\27\2\1p\1\1f\1v\1p\1\1g\1w", 16), "a path is in the path hash twice");
    expectFailure("path's fields", sdsnewlen("\27\1\1p\2\1f\1v\1f\1w", 13), "twice");
    expectFailure("path without fields", sdsnewlen("\27\1\1p\0\0", 6), "no fields");
    expectFailure("number of paths", sdsnewlen("\27\x80\x7f\xff\xff\xff\1p\1\1f\1v", 13), "announced");
    expectFailure("intset", sdsnewlen("\13\14\2\0\0\0\2\0\0\0\5\0\5\0", 14), "not sound");
    expectFailure("intset", sdsnewlen("\13\14\2\0\0\0\3\0\0\0\5\0\6\0", 14), "not sound");
    expectFailure("expiry", sdsnewlen("\26\1\1a\1b\xfe\xff\xff\xff\xff\xff\xff\xff", 14), "expires at -2");
    expectFailure("count", sdsnewlen("\2\x80\x7f\xff\xff\xff\1a", 8), "announced");
    expectFailure("plain", sdsnewlen("\22\1\3\1a", 5), "unknown form");
    expectFailure("plain", sdsnewlen("\22\1\1\0", 4), "empty element");
    expectFailure("module", sdsnewlen("\6\1", 2), "format of a pre-release version");
    expectFailure("type", sdsnewlen("\63\1", 2), "unknown type");
    expectFailure("stream", sdsnewlen("\25\0\1\0\0\0\0\0\0\0\0", 11), "not that of its nodes");
}

#define CASE(bytes, error)                                                                                   \
    { {bytes, sizeof(bytes) - 1}, error }

/* An empty stream, and then what a case has. */
static void wrongRecordsAreRefused(void) {
    static const struct {
        struct str bytes;
        const char *error;
    } cases[] = {
        CASE("\0\5\0\0\0", "limits"),
        CASE("\5\0\0\0\0", "limits"),
        CASE("\x80\0\1\x51\x81\5\0\0\0", "limits"),
        CASE("\5\x67\x11\0\0\0", "limits"),
        CASE("\5\5\1\1p\2\1a\1\0\1a\2\0\0\0", "an id twice"),
        CASE("\5\5\2\1p\1\1a\1\0\1p\1\1a\2\0\0\0", "an id twice"),
        CASE("\5\5\1\1p\1\0\1\0\0\0", "an empty one"),
        CASE("\5\5\1\0\1\1a\1\0\0\0", "no name"),
        CASE("\5\1\1\1p\2\1a\1\0\1b\2\0\0\0", "too many records"),
        CASE("\5\5\x80\x7f\xff\xff\xff\1p\1\1a\1\0\0\0", "announced"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sds bytes = sdsnewlen("\x1a\0\0\0\0\0\0\0\0\0\0", 11);
        bytes = sdscatstr(bytes, cases[i].bytes);
        expectFailureOf(RDB_VERSION_REDIS_86, "stream", bytes, cases[i].error);
    }
}

static void wrongHashesOfRedisAreRefused(void **state) {
    (void)state;
    static const char *const good[] = {"a", "1", "0", NULL};
    static const char *const late[] = {"a", "1", "1900000000000", "b", "2", "0", NULL};
    static const char *const twice[] = {"a", "1", "1900000000000", "a", "2", "0", NULL};
    static const char *const odd[] = {"a", "1", "0", "b", NULL};
    static const char *const text[] = {"a", "1", "x", NULL};
    static const char *const last[] = {"a", "1", "281474976710655", NULL};
    static const char *const later[] = {"a", "1", "281474976710656", NULL};
    static const char *const below[] = {"a", "1", "-1", NULL};
    static const struct {
        const char *const *elements;
        const char *error;
    } flat[] = {{good, NULL},
                {late, NULL},
                {twice, "twice"},
                {odd, "without a value or an expiry"},
                {text, "is not a time"},
                {last, NULL},
                {later, "is not a time"},
                {below, "is not a time"}};
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++) {
        sds s = listpackValue(RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING, flat[i].elements);
        sds bytes = sdscatlen(sdsnewlen("\x19\0\0\0\0\0\0\0\0", 9), s + 1, sdslen(s) - 1);
        sdsfree(s);
        if (flat[i].error) {
            expectFailureOf(RDB_VERSION_REDIS_74, "listpack", bytes, flat[i].error);
        } else {
            assert_int_equal(exerciseBytesVersion(RDB_VERSION_REDIS_74, sdsview(bytes), true, 0), RDB_LOADED);
            sdsfree(bytes);
        }
    }
    static const struct {
        struct str bytes;
        const char *error;
    } table[] = {
        CASE("\x18\0\0\0\0\0\0\0\x80\1\1\1a\1b", "first field expires at -9223372036854775808"),
        CASE("\x18\0\0\0\0\0\0\1\0\1\1\1a\1b", "first field expires at 281474976710656"),
        CASE("\x18\xff\xff\xff\xff\xff\xff\0\0\1\2\1a\1b", "expires too late"),
        CASE("\x18" FIRST_2030 "\1\x81\x7f\xff\xff\xff\xff\xff\xff\xff\1a\1b", "expires too late"),
        CASE("\x18" FIRST_2030 "\1\x81\xff\xff\xff\xff\xff\xff\xff\xff\1a\1b", "expires too late"),
        CASE("\x18" FIRST_2030 "\2\0\1a\1b\1\1a\1b", "twice"),
        CASE("\x18" FIRST_2030 "\x80\x7f\xff\xff\xff\0\1a\1b", "announced"),
        CASE("\x18" FIRST_2030 "\2\0\1a\1b\0\3a", "left"),
        CASE("\x16\1\1a\1b\0\0\0\0\0\0\0\0", "pre-release"),
        CASE("\x17\0", "pre-release"),
        CASE("\x1b\0", "unknown type of value: 27"),
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expectFailureOf(RDB_VERSION_REDIS_74, "table", sdsnewlen(table[i].bytes.ptr, table[i].bytes.len),
                        table[i].error);
    expectFailureOf(RDB_VERSION_REDIS_74, "stream", sdsnewlen("\x1a\0", 2), "unknown type of value: 26");
    wrongRecordsAreRefused();
    static const int versions[] = {RDB_VERSION_EXPIRING, RDB_VERSION_PATHS, RDB_VERSION_OWN};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        int version = versions[i];
        assert_true(rdbVersionReadable(version));
        assert_int_equal(rdbVersionHas(version, RDB_TYPE_STREAM_LISTPACKS_4), version == RDB_VERSION_OWN);
        expectFailureOf(version, "table", sdsnewlen("\x18" FIRST_2030 "\0", 10), "unknown type of value: 24");
        expectFailureOf(version, "listpack", sdsnewlen("\x19" FIRST_2030 "\0", 10), "value: 25");
    }
    expectFailureOf(RDB_VERSION_EXPIRING, "paths", sdsnewlen("\x17\0", 2), "unknown type of value: 23");
    expectFailureOf(RDB_VERSION, "hash", sdsnewlen("\x16\0", 2), "unknown type of value: 22");
}

/* An entry that is pending for no consumer, for two, or in a consumer only. */
static void pendingEntriesAddUp(void **state) {
    (void)state;
    struct object *o = newStream(0, 0);
    struct stream *s = streamOpen(o);
    s->last_id = (struct streamID){9, 9};
    struct streamGroup *g = streamGroupCreate(s, STR("g"), STREAM_ID_MIN, 0);
    struct streamConsumer *a = streamConsumerCreate(g, STR("a"), 1),
                          *b = streamConsumerCreate(g, STR("b"), 1);
    struct streamKey key = streamKeyOf((struct streamID){1, 1}), other = streamKeyOf((struct streamID){1, 2});
    struct streamNack *nack = streamPendingSet(g, (struct streamID){1, 1}, a, 5);
    sds good = exerciseSave(o);
    assert_int_equal(exerciseBytes(sdsview(good), true, 0), RDB_LOADED);
    raxInsert(&b->pending, streamKeyView(&key), nack, NULL);
    expectFailure("two", exerciseSave(o), "two consumers");
    raxRemove(&b->pending, streamKeyView(&key), NULL);
    raxInsert(&b->pending, streamKeyView(&other), nack, NULL);
    expectFailure("somebody only", exerciseSave(o), "not in its group");
    raxRemove(&b->pending, streamKeyView(&other), NULL);
    raxRemove(&a->pending, streamKeyView(&key), NULL);
    expectFailure("nobody", exerciseSave(o), "no consumer");
    objectFree(o);
    sdsfree(good);
}

/* Skips a value of the module type AAAAAAAAA, or does not, and expects `left` bytes behind it. */
static void skipModuleValue(struct str bytes, enum rdbLoaded expected, size_t left, const char *error) {
    for (int skip = 0; skip < 2; skip++) {
        struct rdbReader r = {.version = RDB_VERSION, .skip_unknown = skip};
        struct value v;
        rioReaderInitMemory(&r.io, bytes);
        assert_int_equal(rdbReadValue(&r, RDB_TYPE_MODULE_2, &v), skip ? expected : RDB_FAILED);
        assert_string_equal(r.unknown_type, "AAAAAAAAA");
        assert_int_equal(r.unknown, !skip);
        if (!skip) assert_non_null(strstr(r.io.error, "module type 'AAAAAAAAA', but no loaded module"));
        if (skip && error) assert_non_null(strstr(r.io.error, error));
        if (skip && !error) assert_int_equal(rioLeft(&r.io), left);
        rdbReaderFree(&r);
    }
}

static void valuesOfModulesAreSkipped(void **state) {
    (void)state;
    /* The items are: 1 -1, 2 300, 3 float, 4 double, 5 "text", 5 1000 as an integer, 5 "a" compressed. */
    static const char all[] = "\3\1\x81\xff\xff\xff\xff\xff\xff\xff\xff\2\x41\x2c\3....\4........"
                              "\5\4text\5\xc1\xe8\3\5\xc3\2\1\0a\0more";
    struct str bytes = strN(all, sizeof all - 1);
    skipModuleValue(bytes, RDB_SKIPPED, 4, NULL);
    skipModuleValue(STR("\3\6\0"), RDB_FAILED, 0, "unknown item");
    skipModuleValue(STR("\3\5\x80\x7f\xff\xff\xff\0"), RDB_FAILED, 0, "left");
    for (size_t cut = 1; cut < bytes.len - 4; cut++) skipModuleValue(strN(all, cut), RDB_FAILED, 0, "");
    struct rdbReader r = {.version = RDB_VERSION, .skip_unknown = true};
    struct value v;
    rioReaderInitMemory(&r.io, bytes);
    assert_int_equal(rdbReadValue(&r, RDB_TYPE_MODULE, &v), RDB_FAILED);
    assert_true(r.unknown);
    rdbReaderFree(&r);
}

static void metadataOfKeysAreSkipped(void **state) {
    (void)state;
    /* Redis 8.6.3 logs these classes as EjRW, which must not be ignored, and mrze. */
    static const struct {
        struct str bytes;
        const char *classes;
        bool needed, ok;
    } cases[] = {
        {{BYTES("\0")}, NULL, false, true},
        {{BYTES("\1\xf1\xde\xbc\x9a\2\5\0")}, "'mrze'", false, true},
        {{BYTES("\1\x78\x56\x34\x12\2\5\0")}, "'EjRW'", true, true},
        {{BYTES("\2\x78\x56\x34\x12\0\xf1\xde\xbc\x9a\5\1a\0")}, "'EjRW', 'mrze'", true, true},
        {{BYTES("\1\x78\x56\x34\x12\2\5")}, "'EjRW'", true, false},
        {{BYTES("\1\x78\x56\x34")}, NULL, false, false},
        {{BYTES("\x08\x78\x56\x34\x12\0")}, NULL, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rdbReader r = {.version = RDB_VERSION_REDIS_86};
        struct rdbMetadata m = {0};
        rioReaderInitMemory(&r.io, cases[i].bytes);
        assert_int_equal(rdbReadMetadata(&r, &m), cases[i].ok);
        assert_int_equal(m.needed, cases[i].needed);
        assert_int_equal(m.classes != NULL, cases[i].classes != NULL);
        if (m.classes) assert_string_equal(m.classes, cases[i].classes);
        if (cases[i].ok) {
            assert_int_equal(rioLeft(&r.io), 0);
            r.skip_unknown = true;
            assert_true(rdbAllowMetadata(&r, &m) && !r.unknown);
            r.skip_unknown = false;
            assert_int_equal(rdbAllowMetadata(&r, &m), !m.needed);
            assert_int_equal(r.unknown, m.needed);
        }
        sdsfree(m.classes);
        rdbReaderFree(&r);
    }
}

static void skippedKeysAreCounted(void **state) {
    (void)state;
    struct rdbSkipped s = {0};
    char name[32];
    for (int i = 0; i < RDB_SKIPPED_TYPES + 5; i++) {
        snprintf(name, sizeof name, "type%d", i);
        for (int n = i < 2 ? 2 : 1; n; n--) rdbSkippedCount(&s, name);
    }
    sds text = rdbSkippedText(&s, sdsnew(": "));
    assert_int_equal(s.keys, RDB_SKIPPED_TYPES + 7);
    assert_int_equal(strncmp(text, ": type0 2, type1 2, type2 1, ", 29), 0);
    assert_non_null(strstr(text, ", type15 1, others 5"));
    sdsfree(text);
}

/* A short list is loaded into its object, a longer one is not. */
static void shortListsAreEmbedded(void **state) {
    (void)state;
    for (int n = 1; n < 25; n++) {
        enum rdbLoaded result;
        struct object *o = newList(n, 0);
        sds bytes = exerciseSave(o);
        struct object *again = exerciseLoad(sdsview(bytes), true, 0, &result);
        if (n < 6) assert_false(objectHasPtr(o));
        if (n > 12) assert_true(objectHasPtr(o));
        assert_int_equal(objectHasPtr(again), objectHasPtr(o));
        rdbHooksTestAssertSame(o, again);
        sdsfree(bytes);
        objectFree(o);
        objectFree(again);
    }
}

/* Returns sample n as we save it; from SAMPLES on as it is saved for Redis, or NULL if that is the same. */
static sds rdbHooksTestBytes(int n, int *version) {
    struct object *o = rdbHooksTestSample(n % SAMPLES);
    *version = n < SAMPLES ? RDB_VERSION_LATEST : RDB_VERSION_REDIS_86;
    sds bytes = exerciseSaveVersion(n < SAMPLES ? 0 : *version, o);
    objectFree(o);
    if (n < SAMPLES || (!rdbVersionHas(RDB_VERSION_LATEST, (uint8_t)bytes[0]))) return bytes;
    sdsfree(bytes);
    return NULL;
}

/* A value cut off anywhere is refused, and nothing is read that is there by chance. */
static void truncatedValuesFail(void **state) {
    (void)state;
    for (int n = 0; n < 2 * SAMPLES; n++) {
        int version;
        sds bytes = rdbHooksTestBytes(n, &version);
        if (!bytes) continue;
        size_t len = sdslen(bytes), step = len > 3000 ? len / 1500 : 1;
        for (size_t cut = 0; cut < len; cut += step) {
            char *exact = malloc(cut ? cut : 1); /* so that a read behind its end is detected */
            memcpy(exact, bytes, cut);
            assert_int_equal(exerciseBytesVersion(version, strN(exact, cut), false, 0), RDB_FAILED);
            if (cut % 16 == 0)
                assert_int_equal(exerciseBytesVersion(version, strN(exact, cut), true, 5), RDB_FAILED);
            free(exact);
        }
        sdsfree(bytes);
    }
}

static void rdbHooksTestMutate(sds bytes) {
    for (size_t flips = 1 + randomBelow(3); flips; flips--) {
        size_t at = randomBelow(4) ? randomBelow(sdslen(bytes)) : randomBelow(16) % sdslen(bytes);
        switch (randomBelow(3)) {
        case 0: bytes[at] ^= (char)(1 << randomBelow(8)); break;
        case 1: bytes[at] = (char)randomU64(); break;
        default: bytes[at] = (char)(bytes[at] + (int)randomBelow(5) - 2);
        }
    }
}

static void damagedValuesAreHarmless(void **state) {
    (void)state;
    const char *ops = getenv("MODEL_OPS");
    uint64_t rounds = ops ? strtoull(ops, NULL, 10) / 1000 : 200;
    rdbHooksTestSet("rdbcompression", "no"); /* so that the container is damaged, not the compression */
    for (int n = 0; n < 2 * SAMPLES; n++) {
        int version;
        rdbHooksTestSet("zset-index", n % 2 ? "btree" : "skiplist");
        sds bytes = rdbHooksTestBytes(n, &version);
        if (!bytes) continue;
        uint64_t times = sdslen(bytes) > 5000 ? rounds / 10 : rounds;
        for (uint64_t i = 0; i < times; i++) {
            sds damaged = sdsnewlen(bytes, sdslen(bytes));
            rdbHooksTestMutate(damaged);
            exerciseBytesVersion(version, sdsview(damaged), i % 2, i % 3 ? 0 : 11);
            sdsfree(damaged);
        }
        sdsfree(bytes);
    }
    rdbHooksTestSet("rdbcompression", "yes");
}

/* Inputs that fuzzing has found worth keeping: the first byte is as in tests/fuzz/restore.c, then
 * comes the value. */
static void corpusOfRestoreIsHarmless(void **state) {
    (void)state;
    const char *folder = getenv("FUZZ_CORPUS") ? getenv("FUZZ_CORPUS") : CORPUS;
    DIR *dir = opendir(folder);
    if (!dir) print_message("no folder %s\n", folder);
    assert_non_null(dir);
    int files = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        char path[512], bytes[1 << 16];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        exerciseFuzzed(strN(bytes, n));
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
}

static int rdbHooksTestSetup(void **state) {
    (void)state;
    modelSeed();
    exerciseInit();
    cmd_time_ms = NOW_MS;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyValueComesBack),       cmocka_unit_test(groupsComeBack),
        cmocka_unit_test(olderVersionsAreWritten),   cmocka_unit_test(expiredFieldsStayOut),
        cmocka_unit_test(limitsOfNowDecide),         cmocka_unit_test(compressedNodesStayCompressed),
        cmocka_unit_test(rewritingComesInPortions),  cmocka_unit_test(oldFormatsAreRead),
        cmocka_unit_test(oldStreamsAreRead),         cmocka_unit_test(wrongValuesAreRefused),
        cmocka_unit_test(shortListsAreEmbedded),     cmocka_unit_test(pendingEntriesAddUp),
        cmocka_unit_test(versionsOfRedisAreWritten), cmocka_unit_test(typesBelongToVersions),
        cmocka_unit_test(hashesOfRedisAreRead),      cmocka_unit_test(lateExpiriesAreLoweredForRedis),
        cmocka_unit_test(valuesOfModulesAreSkipped), cmocka_unit_test(metadataOfKeysAreSkipped),
        cmocka_unit_test(skippedKeysAreCounted),     cmocka_unit_test(wrongHashesOfRedisAreRefused),
        cmocka_unit_test(truncatedValuesFail),       cmocka_unit_test(damagedValuesAreHarmless),
        cmocka_unit_test(corpusOfRestoreIsHarmless),
    };
    return cmocka_run_group_tests(tests, rdbHooksTestSetup, NULL);
}
