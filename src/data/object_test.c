/* SPDX-License-Identifier: BSD-3-Clause */
/* object_test.c - the packed layout of a key: what is written is read back, at the sizes where the form
 * changes, and a rewrite in place happens only when nothing would have to move. */
#include "data/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/zmalloc.h"
#include "data/type.h"

#define TYPE_ID  3
#define ENCODING 9
#define ROUNDS   20000

static int freed;

static void objectTestCountFree(struct value v) {
    free(v.ptr);
    freed++;
}
static size_t objectTestFreeEffort(const struct object *o) {
    (void)o;
    return 1;
}
static const struct objectType counting_type = {
    .id = TYPE_ID, .name = "counting", .free = objectTestCountFree, .freeEffort = objectTestFreeEffort};

static const size_t key_lengths[] = {0, 1, 7, 8, 16, 100, 253, 254, 255, 256, 300, 70000};
#define KEY_LENGTHS (sizeof key_lengths / sizeof *key_lengths)

static char *objectTestBytes(size_t n, char first) {
    char *p = malloc(n + 1);
    for (size_t i = 0; i < n; i++) p[i] = (char)(first + (char)(i * 7));
    return p;
}

/* Compares all accessors of o with what it was made of. */
static void objectTestCheck(const struct object *o, struct str key, int64_t expire_ms,
                            const struct value *v) {
    assert_true(strEq(objectKey(o), key));
    assert_int_equal(objectHasExpire(o), expire_ms != OBJ_NO_EXPIRE);
    assert_true(objectExpire(o) == expire_ms);
    assert_int_equal(objectHasPtr(o), !v->embedded);
    assert_int_equal(o->type, v->type);
    assert_int_equal(o->encoding, v->encoding);
    if (v->embedded)
        assert_true(strEq(objectEmbedded(o), v->bytes));
    else
        assert_ptr_equal(objectPtr(o), v->ptr);
    assert_true(objectAllocSize(o) >= objectKeyOffset(o) + key.len + (v->embedded ? v->bytes.len : 0));
}

static struct value objectTestEmbedded(struct str s) {
    return valueEmbed(TYPE_ID, ENCODING, s);
}
static struct value objectTestPointer(void *p) {
    return valuePtr(TYPE_ID, ENCODING, p);
}

static void everySizeComesBack(void **state) {
    (void)state;
    const int64_t expires[] = {
        OBJ_NO_EXPIRE, 0,  1,        (INT64_C(1) << OBJ_NARROW_BITS) - 1, INT64_C(1) << OBJ_NARROW_BITS,
        INT64_MAX,     -2, INT64_MIN};
    for (size_t k = 0; k < KEY_LENGTHS; k++) {
        char *text = objectTestBytes(key_lengths[k], 'a'), *content = objectTestBytes(OBJ_EMBED_MAX, 'A');
        struct str key = strN(text, key_lengths[k]);
        for (size_t e = 0; e < sizeof expires / sizeof *expires; e++) {
            for (size_t n = 0; n <= OBJ_EMBED_MAX; n++) {
                struct value v = objectTestEmbedded(strN(content, n));
                struct object *o = objectCreate(key, expires[e], v);
                objectTestCheck(o, key, expires[e], &v);
                objectFree(o);
            }
            struct value v = objectTestPointer(content);
            struct object *o = objectCreate(key, expires[e], v);
            objectTestCheck(o, key, expires[e], &v);
            objectFreeHeader(o); /* the container belongs to the test */
        }
        free(text);
        free(content);
    }
}

/* The figures that the memory budget rests on. */
static void objectTestSizes(void **state) {
    (void)state;
    char text[300] = {0};
    /* With libc's allocator, objects with a pointer are wide (object.c). */
    const bool packs = !strncmp(zmallocName(), "jemalloc", 8);
    const size_t p1 = packs ? 12 : 24, p2 = packs ? 18 : 32;
    const int64_t never = OBJ_NO_EXPIRE, far = INT64_C(1) << OBJ_NARROW_BITS;
    const struct {
        size_t key, value;
        int64_t expire_ms;
        bool ptr;
        size_t offset;
    } cases[] = {
        {16, 10, never, false, 6},    {254, 63, never, false, 6}, {255, 0, never, false, 16},
        {16, 62, never, false, 6},    {16, 105, never, false, 6}, {16, OBJ_EMBED_MAX, 5, false, 12},
        {16, 10, far - 1, false, 12}, {16, 10, far, false, 24},   {16, 10, -2, false, 24},
        {16, 0, never, true, p1},     {16, 0, 5, true, p2},       {16, 0, far, true, 32},
        {255, 0, never, true, 24},    {255, 10, 5, false, 24},    {300, 0, 5, true, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value v =
            cases[i].ptr ? objectTestPointer(text) : objectTestEmbedded(strN(text, cases[i].value));
        struct object *o = objectCreate(strN(text, cases[i].key), cases[i].expire_ms, v);
        assert_int_equal(objectKeyOffset(o), cases[i].offset);
        size_t total = cases[i].offset + cases[i].key + (cases[i].ptr ? 0 : cases[i].value);
        if (!cases[i].ptr && cases[i].value >= OBJ_LONG_VALUE) total++;
        assert_int_equal(objectAllocSize(o), zmallocGoodSize(total));
        objectFreeHeader(o);
    }
}

/* Objects are freed, and rewritten, by the size that follows from their contents: setting a pointer or an
 * expiry later must not change that size. */
static void fieldsDoNotTouchEachOther(void **state) {
    (void)state;
    int container, other;
    const int64_t expires[] = {0, 0x123456789abc, INT64_MAX};
    for (size_t e = 0; e < sizeof expires / sizeof *expires; e++) {
        struct object *o = objectCreate(STR("key"), expires[e], objectTestPointer(&container));
        objectSetPtr(o, ENCODING, &other);
        struct value v = objectTestPointer(&other);
        objectTestCheck(o, STR("key"), expires[e], &v);
        if (objectRewrite(o, 77, v)) objectTestCheck(o, STR("key"), 77, &v);
        objectFreeHeader(o);
    }
}

static void freeReleasesTheContainer(void **state) {
    (void)state;
    freed = 0;
    objectFree(objectCreate(STR("key"), 7, objectTestPointer(malloc(10))));
    assert_int_equal(freed, 1);
    objectFree(objectCreate(STR("key"), 7, objectTestEmbedded(STR("value"))));
    assert_int_equal(freed, 1);
    void *p = malloc(10);
    objectFreeHeader(objectCreate(STR("key"), OBJ_NO_EXPIRE, objectTestPointer(p)));
    assert_int_equal(freed, 1);
    free(p);
}

static void rewriteStaysInPlace(void **state) {
    (void)state;
    struct object *o = objectCreate(STR("counter"), OBJ_NO_EXPIRE, objectTestEmbedded(STR("1234567890")));
    o->lru = 4711;
    struct value v = objectTestEmbedded(STR("1234567891"));
    assert_true(objectRewrite(o, OBJ_NO_EXPIRE, v));
    objectTestCheck(o, STR("counter"), OBJ_NO_EXPIRE, &v);
    assert_int_equal(o->lru, 4711);

    v = objectTestEmbedded(STR("12345")); /* shorter, but in the same class of allocation: in place */
    bool same_class = zmallocGoodSize(6 + 7 + 10) == zmallocGoodSize(6 + 7 + 5);
    assert_int_equal(objectRewrite(o, OBJ_NO_EXPIRE, v), same_class);

    /* The new value is a view of the old one, shifted. */
    struct object *p = objectCreate(STR("counter"), OBJ_NO_EXPIRE, objectTestEmbedded(STR("0123456789")));
    v = objectTestEmbedded(strN(objectEmbedded(p).ptr + 1, 9));
    if (objectRewrite(p, OBJ_NO_EXPIRE, v)) assert_true(strEq(objectEmbedded(p), STR("123456789")));
    objectFree(o);
    objectFree(p);
    /* The new value is a view of the old one, and its length needs no byte of its own any more. */
    char text[66];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)i;
    o = objectCreate(STR("a key of sixteen"), OBJ_NO_EXPIRE, objectTestEmbedded(strN(text, sizeof text)));
    v = objectTestEmbedded(strN(objectEmbedded(o).ptr + 4, sizeof text - 4));
    if (objectRewrite(o, OBJ_NO_EXPIRE, v))
        assert_true(strEq(objectEmbedded(o), strN(text + 4, sizeof text - 4)));
    /* The length needs its byte again, and the bytes come from elsewhere. */
    v = objectTestEmbedded(strN(text, sizeof text));
    if (objectRewrite(o, OBJ_NO_EXPIRE, v)) objectTestCheck(o, STR("a key of sixteen"), OBJ_NO_EXPIRE, &v);
    objectFree(o);
}

static void rewriteRefusesAnotherLayout(void **state) {
    (void)state;
    char text[OBJ_EMBED_MAX] = {0};
    struct object *o = objectCreate(STR("k"), OBJ_NO_EXPIRE, objectTestEmbedded(STR("v")));
    assert_false(objectRewrite(o, 5, objectTestEmbedded(STR("v"))));         /* adds an expiry */
    assert_false(objectRewrite(o, INT64_MAX, objectTestEmbedded(STR("v")))); /* adds a wide expiry */
    assert_false(objectRewrite(o, OBJ_NO_EXPIRE, objectTestPointer(text)));  /* adds a pointer */
    assert_false(objectRewrite(o, OBJ_NO_EXPIRE, objectTestEmbedded(strN(text, OBJ_EMBED_MAX)))); /* longer */
    struct value v = objectTestEmbedded(STR("v"));
    objectTestCheck(o, STR("k"), OBJ_NO_EXPIRE, &v);
    objectFree(o);
    /* An expiry in place of a pointer needs the same header, so it may be in place. */
    o = objectCreate(STR("k"), OBJ_NO_EXPIRE, objectTestPointer(text));
    v = objectTestEmbedded(STR(""));
    if (objectRewrite(o, 77, v)) objectTestCheck(o, STR("k"), 77, &v);
    objectFreeHeader(o);
}

static struct value objectTestRandomValue(char *content, void *container) {
    if (rand() % 4 == 0) return objectTestPointer(container);
    return objectTestEmbedded(strN(content, (size_t)rand() % (OBJ_EMBED_MAX + 1)));
}

/* Rewrites as db.c does: in place when that works, else in a new object. */
static void randomRewrites(void **state) {
    (void)state;
    char *content = objectTestBytes(OBJ_EMBED_MAX, '0');
    int container, in_place = 0;
    for (size_t k = 0; k < KEY_LENGTHS; k++) {
        char *text = objectTestBytes(key_lengths[k], 'k');
        struct str key = strN(text, key_lengths[k]);
        struct object *o = objectCreate(key, OBJ_NO_EXPIRE, objectTestEmbedded(STR("")));
        for (int i = 0; i < ROUNDS / (int)KEY_LENGTHS; i++) {
            struct value v = objectTestRandomValue(content, &container);
            int64_t expire_ms = rand() % 2 ? rand() : OBJ_NO_EXPIRE;
            if (objectRewrite(o, expire_ms, v)) {
                in_place++;
            } else {
                struct object *now = objectCreate(objectKey(o), expire_ms, v);
                objectFreeHeader(o);
                o = now;
            }
            objectTestCheck(o, key, expire_ms, &v);
        }
        objectFreeHeader(o);
        free(text);
    }
    assert_true(in_place > ROUNDS / 50);
    free(content);
}

static void valueIsAView(void **state) {
    (void)state;
    struct object *o = objectCreate(STR("key"), 9, objectTestEmbedded(STR("value")));
    struct value v = objectValue(o);
    objectTestCheck(o, STR("key"), 9, &v);
    assert_ptr_equal(v.bytes.ptr, objectEmbedded(o).ptr);
    objectFree(o);
    int container, other;
    o = objectCreate(STR("key"), 9, objectTestPointer(&container));
    v = objectValue(o);
    assert_ptr_equal(v.ptr, &container);
    objectSetPtr(o, 2, &other);
    v = valuePtr(TYPE_ID, 2, &other);
    objectTestCheck(o, STR("key"), 9, &v);
    objectFreeHeader(o);
}

static void objectTestNothingLeaks(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    randomRewrites(NULL);
    everySizeComesBack(NULL);
    assert_int_equal(zmallocUsedMemory(), before);
}

int main(void) {
    objectTypeRegister(&counting_type);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everySizeComesBack),
        cmocka_unit_test(objectTestSizes),
        cmocka_unit_test(fieldsDoNotTouchEachOther),
        cmocka_unit_test(freeReleasesTheContainer),
        cmocka_unit_test(rewriteStaysInPlace),
        cmocka_unit_test(rewriteRefusesAnotherLayout),
        cmocka_unit_test(randomRewrites),
        cmocka_unit_test(valueIsAView),
        cmocka_unit_test(objectTestNothingLeaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
