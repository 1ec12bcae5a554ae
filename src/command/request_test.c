/* SPDX-License-Identifier: BSD-3-Clause */
/* request_test.c - copies of requests, what they own, and their encoding. */
#include "command/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "command/test_commands.h"

static struct respBigArg *requestTestBigArg(int index, sds buf, struct respBigArg *next) {
    struct respBigArg *b = zmalloc(sizeof *b);
    *b = (struct respBigArg){.next = next, .index = index, .buf = buf};
    return b;
}

/* SET key <big>, with the last argument in a buffer of its own. */
static struct request requestTestExample(struct str argv[3], sds big) {
    argv[0] = STR("SET");
    argv[1] = STR("key");
    argv[2] = sdsview(big);
    return (struct request){
        .argv = argv, .argc = 3, .big = requestTestBigArg(2, big, NULL), .raw = STR("SET..."), .ticks = 7};
}

static void copyViewsOnlyItsOwnBytes(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    char name[] = "SET", key[] = "key";
    struct str argv[3];
    sds big = sdsnew("a value in a buffer of its own");
    struct request r = requestTestExample(argv, big);
    argv[0].ptr = name;
    argv[1].ptr = key;
    struct request *copy = requestCopy(&r);
    name[0] = key[0] = '?'; /* overwrites what the request viewed */
    assert_null(r.big);
    assert_int_equal(copy->argc, 3);
    assert_true(strEq(copy->argv[0], STR("SET")));
    assert_true(strEq(copy->argv[1], STR("key")));
    assert_ptr_equal(copy->argv[2].ptr, big);
    assert_ptr_equal(r.argv[2].ptr, big);
    assert_null(copy->raw.ptr);
    assert_int_equal(copy->ticks, 0);
    assert_int_equal(requestMemory(copy), sizeof *copy + 3 * sizeof(struct str) + 3 + 3 +
                                              sizeof(struct respBigArg) + sdsAllocSize(big));
    requestRelease(copy);
    requestRelease(NULL);
    assert_int_equal(zmallocUsedMemory(), before);
}

static void bigArgumentIsTakenOnce(void **state) {
    (void)state;
    struct str argv[3];
    sds big = sdsnew("value");
    struct request r = requestTestExample(argv, big);
    assert_false(requestArgIsBig(&r, 1));
    assert_true(requestArgIsBig(&r, 2));
    sds taken = requestTakeArg(&r, 2);
    assert_ptr_equal(taken, big);
    assert_false(requestArgIsBig(&r, 2));
    assert_true(strEq(r.argv[2], STR("value")));
    sds again = requestTakeArg(&r, 2), key = requestTakeArg(&r, 1);
    assert_ptr_not_equal(again, big);
    assert_string_equal(again, "value");
    assert_string_equal(key, "key");
    /* A copy of the remaining request has bytes of its own. */
    struct request *copy = requestCopy(&r);
    sdsfree(taken);
    assert_true(strEq(copy->argv[2], STR("value")));
    requestRelease(copy);
    sdsfree(again);
    sdsfree(key);
}

static void requestIsEncodedAsItCame(void **state) {
    (void)state;
    struct str argv[] = {STR("echo"), STR(""), STR("a\r\nb")};
    struct request r = {.argv = argv, .argc = 3};
    sds s = requestAppend(sdsnew("+"), &r);
    assert_string_equal(s, "+*3\r\n$4\r\necho\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
    sdsfree(s);
    r.raw = STR("echo '' \"a\\r\\nb\"\r\n");
    s = requestAppend(sdsempty(), &r);
    assert_true(strEq(sdsview(s), r.raw));
    sdsfree(s);
}

static void queueKeepsItsOrder(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    struct requestQueue q = {0};
    char bytes[2] = "a";
    struct str arg = strN(bytes, 1);
    struct request r = {.argv = &arg, .argc = 1};
    for (int i = 0; i < 20; i++) {
        bytes[0] = (char)('a' + i);
        struct request *added = requestQueueAdd(&q, &r);
        assert_ptr_equal(added, q.at[i]);
    }
    assert_int_equal(q.count, 20);
    for (int i = 0; i < 20; i++) assert_int_equal(q.at[i]->argv[0].ptr[0], 'a' + i);
    requestQueueClear(&q);
    assert_int_equal(q.count, 0);
    requestQueueClear(&q);
    assert_int_equal(zmallocUsedMemory(), before);
}

/* The keys are hashed, and for a new member of a sorted set the score is noted, too. */
static void keysAndMembersAreHashed(void **state) {
    (void)state;
    struct str argv[] = {STR("ZADD"), STR("key"), STR("1.5"), STR("member")};
    struct keyHint key_hashes[REQUEST_KEY_HASHES_MAX];
    struct request r = {.argv = argv, .argc = 4, .cmd = commandLookup(argv, 4)};
    assert_int_equal(requestHashKeys(&r, key_hashes, REQUEST_KEY_HASHES_MAX), 2);
    assert_ptr_equal(r.key_hashes, key_hashes);
    assert_int_equal(r.key_count, 1);
    assert_true(key_hashes[0].hash == hashBytes("key", 3) && strEq(key_hashes[0].key, argv[1]));
    assert_int_equal(r.prefetch.parts, PREFETCH_NEW_MEMBER | PREFETCH_SCORE);
    assert_ptr_equal(r.prefetch.member.ptr, argv[3].ptr);
    assert_ptr_equal(r.prefetch.score[0], argv[2].ptr);
    assert_int_equal(r.prefetch.score_len[0], 3);
    assert_true(r.prefetch.member_hash == hashBytes("member", 6) &&
                key_hashes[1].hash == r.prefetch.member_hash);
    r.argc = 3; /* too few arguments: it will be refused */
    assert_int_equal(requestHashKeys(&r, key_hashes, REQUEST_KEY_HASHES_MAX), 0);
    assert_null(r.prefetch.member.ptr);
}

/* A path is noted without being hashed. */
static void pathsAreNoted(void **state) {
    (void)state;
    struct str argv[] = {STR("PHGET"), STR("key"), STR("path"), STR("field")};
    struct keyHint key_hashes[REQUEST_KEY_HASHES_MAX];
    struct request r = {.argv = argv, .argc = 4, .cmd = commandLookup(argv, 4)};
    assert_int_equal(requestHashKeys(&r, key_hashes, REQUEST_KEY_HASHES_MAX), 1);
    assert_int_equal(r.prefetch.parts, PREFETCH_PATH);
    assert_ptr_equal(r.prefetch.member.ptr, argv[2].ptr);
    r.argc = 3;
    assert_int_equal(requestHashKeys(&r, key_hashes, REQUEST_KEY_HASHES_MAX), 0);
    assert_null(r.prefetch.member.ptr);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copyViewsOnlyItsOwnBytes), cmocka_unit_test(bigArgumentIsTakenOnce),
        cmocka_unit_test(requestIsEncodedAsItCame), cmocka_unit_test(queueKeepsItsOrder),
        cmocka_unit_test(keysAndMembersAreHashed),  cmocka_unit_test(pathsAreNoted),
    };
    return cmocka_run_group_tests(tests, registerCommandsOfTests, NULL);
}
