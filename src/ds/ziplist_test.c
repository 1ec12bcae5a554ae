/* SPDX-License-Identifier: BSD-3-Clause */
/* ziplist_test.c - the flat containers of older files: every encoding, and damage in every byte. */
#include "ds/ziplist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/sds.h"
#include "ds/listpack.h"
#include "ds/zipmap.h"

/* ---- Writing ---- */

struct writer {
    sds bytes;
    size_t last, before;
    unsigned count;
};

static sds ziplistTestLittle(sds s, uint64_t v, unsigned bytes) {
    return sdscatlen(s, &v, bytes);
}

static struct writer ziplistTestBegin(void) {
    return (struct writer){.bytes = sdsgrowzero(sdsempty(), 10), .last = 10};
}

/* Adds an entry. long_before: the five-byte form, which ziplists keep after an entry has shrunk. */
static void ziplistTestAdd(struct writer *w, bool long_before, const void *head, size_t n, struct str text) {
    size_t start = sdslen(w->bytes);
    w->last = start;
    if (w->before >= 254 || long_before)
        w->bytes = ziplistTestLittle(sdscatlen(w->bytes, "\xfe", 1), w->before, 4);
    else
        w->bytes = ziplistTestLittle(w->bytes, w->before, 1);
    w->bytes = sdscatlen(sdscatlen(w->bytes, head, n), text.ptr, text.len);
    w->before = sdslen(w->bytes) - start;
    w->count++;
}

static void ziplistTestAddText(struct writer *w, struct str s) {
    unsigned char head[5] = {(unsigned char)s.len};
    size_t n = 1;
    if (s.len >= 64) {
        head[0] = (unsigned char)(0x40 | s.len >> 8);
        head[1] = (unsigned char)s.len;
        n = 2;
    }
    if (s.len >= 16384) {
        head[0] = 0x80;
        for (int i = 0; i < 4; i++) head[1 + i] = (unsigned char)(s.len >> (24 - 8 * i));
        n = 5;
    }
    ziplistTestAdd(w, false, head, n, s);
}

static void addInt(struct writer *w, unsigned char code, int64_t v, unsigned bytes) {
    unsigned char head[9] = {code};
    memcpy(head + 1, &v, bytes);
    ziplistTestAdd(w, false, head, 1 + bytes, STR(""));
}

static sds ziplistTestEnd(struct writer *w) {
    uint32_t size = (uint32_t)sdslen(w->bytes) + 1, last = (uint32_t)w->last;
    uint16_t count = (uint16_t)w->count;
    w->bytes = sdscatlen(w->bytes, "\xff", 1);
    memcpy(w->bytes, &size, 4);
    memcpy(w->bytes + 4, &last, 4);
    memcpy(w->bytes + 8, &count, 2);
    return w->bytes;
}

/* Passes an exact copy to the reader, so that reads past its end are detected. */
static unsigned char *readExact(unsigned char *(*read)(struct str), const char *bytes, size_t n) {
    char *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    unsigned char *lp = read(strN(copy, n));
    free(copy);
    if (lp) assert_true(lpValidate(lp, lpBytes(lp), true, NULL, NULL));
    return lp;
}

static void assertElements(unsigned char *lp, const char *const *want) {
    char text[LP_INTBUF_SIZE];
    assert_non_null(lp);
    unsigned char *p = lpFirst(lp);
    for (; *want; want++, p = lpNext(lp, p)) {
        assert_non_null(p);
        assert_true(strEq(lpView(p, text), strOf(*want)));
    }
    assert_null(p);
    lpFree(lp);
}

/* ---- Ziplists ---- */

static sds sampleZiplist(void) {
    struct writer w = ziplistTestBegin();
    ziplistTestAddText(&w, STR("text"));
    addInt(&w, 0xfe, -128, 1);
    addInt(&w, 0xc0, -32768, 2);
    addInt(&w, 0xf0, -8388608, 3);
    addInt(&w, 0xf0, 8388607, 3);
    addInt(&w, 0xd0, INT32_MIN, 4);
    addInt(&w, 0xe0, INT64_MIN, 8);
    addInt(&w, 0xf1, 0, 0);
    addInt(&w, 0xfd, 0, 0);
    ziplistTestAddText(&w, STR(""));
    ziplistTestAdd(&w, true, "\1x", 2, STR(""));
    return ziplistTestEnd(&w);
}

static void everyEncodingIsRead(void **state) {
    (void)state;
    static const char *const want[] = {
        "text", "-128", "-32768", "-8388608", "8388607", "-2147483648", "-9223372036854775808",
        "0",    "12",   "",       "x",        NULL};
    sds bytes = sampleZiplist();
    assertElements(readExact(ziplistToListpack, bytes, sdslen(bytes)), want);
    sdsfree(bytes);
    struct writer empty = ziplistTestBegin();
    bytes = ziplistTestEnd(&empty);
    assertElements(readExact(ziplistToListpack, bytes, sdslen(bytes)), want + 11);
    sdsfree(bytes);
}

static void longStringsAreRead(void **state) {
    (void)state;
    static const size_t lengths[] = {63, 64, 253, 254, 16383, 16384, 70000};
    struct writer w = ziplistTestBegin();
    char *text = calloc(1, 70000);
    for (size_t i = 0; i < 7; i++)
        ziplistTestAddText(&w, strN(memset(text, 'a' + (int)i, lengths[i]), lengths[i]));
    sds bytes = ziplistTestEnd(&w);
    unsigned char *lp = readExact(ziplistToListpack, bytes, sdslen(bytes)), *p = lpFirst(lp);
    for (size_t i = 0; i < 7; i++, p = lpNext(lp, p))
        assert_true(lpEqual(p, strN(memset(text, 'a' + (int)i, lengths[i]), lengths[i])));
    lpFree(lp);
    free(text);
    sdsfree(bytes);
}

static void aCountMayBeUnknown(void **state) {
    (void)state;
    static const char *const want[] = {"a", "b", NULL};
    struct writer w = ziplistTestBegin();
    ziplistTestAddText(&w, STR("a"));
    ziplistTestAddText(&w, STR("b"));
    w.count = 65535;
    sds bytes = ziplistTestEnd(&w);
    assertElements(readExact(ziplistToListpack, bytes, sdslen(bytes)), want);
    sdsfree(bytes);
}

static void damagedZiplists(void **state) {
    (void)state;
    sds good = sampleZiplist();
    size_t n = sdslen(good);
    static const struct {
        size_t at;
        int by;
    } lies[] = {{0, 1}, {4, 1}, {8, 1}, {8, -1}, {10, 1}, {11, 1}, {11, -1}, {16, 1}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        sds bad = sdsdup(good);
        bad[lies[i].at] = (char)(bad[lies[i].at] + lies[i].by);
        assert_null(readExact(ziplistToListpack, bad, n));
        sdsfree(bad);
    }
    for (size_t cut = 0; cut < n; cut++) assert_null(readExact(ziplistToListpack, good, cut));
    for (int i = 0; i < 20000; i++) {
        sds bad = sdsdup(good);
        for (int j = 0; j < 2; j++) bad[randomBelow(n)] = (char)randomU64();
        unsigned char *lp = readExact(ziplistToListpack, bad, n);
        if (lp) lpFree(lp);
        sdsfree(bad);
    }
    sdsfree(good);
}

/* ---- Zipmaps ---- */

static const char zipmap[] = "\2\3key\5\2value..\1k\0\0\xff";

static void zipmapsAreRead(void **state) {
    (void)state;
    static const char *const want[] = {"key", "value", "k", "", NULL};
    assertElements(readExact(zipmapToListpack, zipmap, sizeof zipmap - 1), want);
    assertElements(readExact(zipmapToListpack, "\0\xff", 2), want + 4);
    sds unknown = sdsnewlen(zipmap, sizeof zipmap - 1);
    unknown[0] = (char)254;
    assertElements(readExact(zipmapToListpack, unknown, sdslen(unknown)), want);
    sdsfree(unknown);
}

static void damagedZipmaps(void **state) {
    (void)state;
    size_t n = sizeof zipmap - 1;
    for (size_t cut = 0; cut < n; cut++) assert_null(readExact(zipmapToListpack, zipmap, cut));
    for (size_t at = 0; at < n; at++) {
        for (int v = 0; v < 256; v++) {
            char bad[sizeof zipmap];
            memcpy(bad, zipmap, sizeof zipmap);
            bad[at] = (char)v;
            unsigned char *lp = readExact(zipmapToListpack, bad, n);
            if (lp) lpFree(lp);
            if (at == 0) assert_true((lp != NULL) == (v == 2 || v == 254));
        }
    }
}

/* The long form of a length is invalid for short ones. */
static void lengthsHaveOneForm(void **state) {
    (void)state;
    for (unsigned len = 0; len < 300; len++) {
        sds zm = sdsnewlen("\1\1k\xfe\0\0\0\0\0", 9);
        zm[4] = (char)(len & 255);
        zm[5] = (char)(len >> 8);
        for (unsigned i = 0; i < len; i++) zm = sdscatlen(zm, "v", 1);
        zm = sdscatlen(zm, "\xff", 1);
        unsigned char *lp = readExact(zipmapToListpack, zm, sdslen(zm));
        assert_true((lp != NULL) == (len >= 254));
        if (lp) lpFree(lp);
        sdsfree(zm);
    }
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyEncodingIsRead), cmocka_unit_test(longStringsAreRead),
        cmocka_unit_test(aCountMayBeUnknown),  cmocka_unit_test(damagedZiplists),
        cmocka_unit_test(zipmapsAreRead),      cmocka_unit_test(damagedZipmaps),
        cmocka_unit_test(lengthsHaveOneForm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
