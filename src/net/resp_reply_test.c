/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_reply_test.c - the reply reader on every type of RESP2 and RESP3, cut at every byte, nested to the
 * limit, malformed and random; and the header writer, read back.
 *
 *     bytes -> respReadReply() -> respReplyTestDump() "[:1 $\"a\" {+k => _}]" -> compared
 *
 * Every input is copied to an allocation of its exact size,
 * so that the sanitizer sees a read past the end. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/zmalloc.h"
#include "net/resp.h"

static sds respReplyTestDump(sds out, const struct respReply *r) {
    static const char open[] = "[{~>", close[] = "]}~>";
    switch (r->type) {
    case RESP_T_STRING: return sdscatprintf(out, "$%.*s", (int)r->str.len, r->str.ptr);
    case RESP_T_STATUS: return sdscatprintf(out, "+%.*s", (int)r->str.len, r->str.ptr);
    case RESP_T_ERROR: return sdscatprintf(out, "-%.*s", (int)r->str.len, r->str.ptr);
    case RESP_T_INTEGER: return sdscatprintf(out, ":%lld", (long long)r->integer);
    case RESP_T_NULL: return sdscat(out, r->null_array ? "_*" : "_");
    case RESP_T_DOUBLE: return sdscatprintf(out, ",%g(%.*s)", r->dval, (int)r->str.len, r->str.ptr);
    case RESP_T_BOOL: return sdscat(out, r->integer ? "#t" : "#f");
    case RESP_T_BIGNUM: return sdscatprintf(out, "(%.*s", (int)r->str.len, r->str.ptr);
    case RESP_T_VERBATIM: return sdscatprintf(out, "=%s:%.*s", r->vtype, (int)r->str.len, r->str.ptr);
    default: break;
    }
    int kind = r->type - RESP_T_ARRAY;
    out = sdscatlen(out, &open[kind], 1);
    for (size_t i = 0; i < r->elements; i++) {
        if (i) out = sdscat(out, " ");
        out = respReplyTestDump(out, &r->element[i]);
    }
    return sdscatlen(out, &close[kind], 1);
}

/* Reads from an exact copy. *text is the dump of a whole reply. Both ways of reading must agree. */
static int64_t readCopy(const char *bytes, size_t len, sds *text) {
    char *copy = zmalloc(len);
    if (len) memcpy(copy, bytes, len);
    struct respReply r = {0};
    int64_t size = respReadReply(copy, len, &r);
    assert_true(respReplyLength(copy, len) == size);
    *text = size > 0 ? respReplyTestDump(sdsempty(), &r) : NULL;
    if (size > 0) respReplyFree(&r);
    zfree(copy);
    return size;
}

static void expectReply(struct str bytes, const char *want) {
    sds text;
    for (size_t len = 0; len < bytes.len; len++) assert_int_equal(readCopy(bytes.ptr, len, &text), 0);
    sds longer = sdscat(sdsnewstr(bytes), "+next\r\n");
    assert_int_equal(readCopy(longer, sdslen(longer), &text), bytes.len);
    assert_string_equal(text, want);
    sdsfree(text);
    sdsfree(longer);
}

/* Checks that the bytes are malformed at their end at the latest, and never a whole reply before. */
static void expectError(struct str bytes) {
    sds text;
    for (size_t len = 0; len < bytes.len; len++) assert_true(readCopy(bytes.ptr, len, &text) <= 0);
    if (readCopy(bytes.ptr, bytes.len, &text) != -1) fail_msg("accepted: %.*s", (int)bytes.len, bytes.ptr);
}

#define REPLY(bytes, want) expectReply(STR(bytes), want)
#define ERROR(bytes)       expectError(STR(bytes))

static void testResp2(void **state) {
    (void)state;
    REPLY("+OK\r\n", "+OK");
    REPLY("+\r\n", "+");
    REPLY("-ERR no such key\r\n", "-ERR no such key");
    REPLY(":0\r\n", ":0");
    REPLY(":-9223372036854775808\r\n", ":-9223372036854775808");
    REPLY(":+7\r\n", ":7");
    REPLY("$3\r\nabc\r\n", "$abc");
    REPLY("$0\r\n\r\n", "$");
    REPLY("$2\r\n\r\n\r\n", "$\r\n");
    REPLY("$-1\r\n", "_");
    REPLY("*-1\r\n", "_*");
    REPLY("*0\r\n", "[]");
    REPLY("*3\r\n:1\r\n$1\r\na\r\n*2\r\n*0\r\n$-1\r\n", "[:1 $a [[] _]]");
}

static void testResp3(void **state) {
    (void)state;
    REPLY("_\r\n", "_");
    REPLY("#t\r\n", "#t");
    REPLY("#f\r\n", "#f");
    REPLY(",1.5\r\n", ",1.5(1.5)");
    REPLY(",10\r\n", ",10(10)");
    REPLY(",-1e-7\r\n", ",-1e-07(-1e-7)");
    REPLY(",inf\r\n", ",inf(inf)");
    REPLY(",-inf\r\n", ",-inf(-inf)");
    REPLY("(3492890328409238509324850943850943825024385\r\n", "(3492890328409238509324850943850943825024385");
    REPLY("!8\r\nERR a\r\nb\r\n", "-ERR a\r\nb");
    REPLY("=8\r\ntxt:Some\r\n", "=txt:Some");
    REPLY("=4\r\nmkd:\r\n", "=mkd:");
    REPLY("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n", "{+a :1 +b [_]}");
    REPLY("%0\r\n", "{}");
    REPLY("~2\r\n:1\r\n:2\r\n", "~:1 :2~");
    REPLY(">2\r\n+message\r\n%1\r\n+a\r\n~0\r\n", ">+message {+a ~~}>");
    struct respReply r;
    assert_int_equal(respReadReply(",nan\r\n", 6, &r), 6);
    assert_true(r.type == RESP_T_DOUBLE && isnan(r.dval));
}

static void testAttributes(void **state) {
    (void)state;
    REPLY("|1\r\n+ttl\r\n:5\r\n+OK\r\n", "+OK");
    REPLY("|0\r\n|1\r\n+k\r\n*2\r\n:1\r\n:2\r\n:9\r\n", ":9");
    REPLY("*2\r\n|1\r\n|1\r\n+x\r\n+y\r\n+k\r\n+v\r\n:1\r\n:2\r\n", "[:1 :2]");
}

static void testErrors(void **state) {
    (void)state;
    ERROR("x");
    ERROR("\r\n");
    ERROR("+a\rb");
    ERROR(":\r\n");
    ERROR(":1x\r\n");
    ERROR(":+-1\r\n");
    ERROR(":9223372036854775808\r\n");
    ERROR("$a\r\n");
    ERROR("$-2\r\n");
    ERROR("$?\r\n");
    ERROR("$3\r\nabcd\r\n");
    ERROR("$1\r\na\rX");
    ERROR("!-1\r\n");
    ERROR("=3\r\ntxt\r\n");
    ERROR("=4\r\ntext\r\n");
    ERROR("#\r\n");
    ERROR("#x\r\n");
    ERROR("#tt\r\n");
    ERROR("_x\r\n");
    ERROR("(\r\n");
    ERROR(",\r\n");
    ERROR(",abc\r\n");
    ERROR("*-2\r\n");
    ERROR("*1\r\nx");
    ERROR("%-1\r\n");
    ERROR("~-1\r\n");
    ERROR("%9223372036854775807\r\n");
    sds text;
    assert_int_equal(readCopy("*9223372036854775807\r\n:1\r\n", 26, &text), 0); /* reserves nothing */
}

static sds respReplyTestNested(int levels) {
    sds s = sdsempty();
    for (int i = 0; i < levels; i++) s = sdscat(s, "*1\r\n");
    return sdscat(s, ":1\r\n");
}

static void testDepth(void **state) {
    (void)state;
    sds text, deepest = respReplyTestNested(512), too_deep = respReplyTestNested(513);
    assert_int_equal(readCopy(deepest, sdslen(deepest), &text), sdslen(deepest));
    assert_int_equal(sdslen(text), 2 * 512 + 2);
    sdsfree(text);
    assert_int_equal(readCopy(too_deep, sdslen(too_deep), &text), -1);
    sdsfree(deepest);
    sdsfree(too_deep);
}

static void testHeaders(void **state) {
    (void)state;
    static const int64_t numbers[] = {0, 1, 9, 10, 99, 100, -1, 65536, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        for (const char *type = ":$*%~>|"; *type; type++) {
            char got[RESP_HDR_SIZE], want[64];
            unsigned len = respWriteHeader(got, *type, numbers[i]);
            assert_int_equal(len, sprintf(want, "%c%lld\r\n", *type, (long long)numbers[i]));
            assert_memory_equal(got, want, len);
        }
    }
}

static sds randomReply(sds s, int depth) {
    static const char *const leaves[] = {"+OK\r\n",  "-ERR x\r\n",      ":42\r\n",    "$3\r\nabc\r\n",
                                         "$-1\r\n",  "_\r\n",           ",2.5\r\n",   "#t\r\n",
                                         "(123\r\n", "=5\r\ntxt:a\r\n", "!1\r\ne\r\n"};
    if (depth == 0 || randomBelow(3)) return sdscat(s, leaves[randomBelow(sizeof(leaves) / sizeof(*leaves))]);
    char type = "*~>%|"[randomBelow(5)], header[RESP_HDR_SIZE];
    size_t n = randomBelow(4);
    s = sdscatlen(s, header, respWriteHeader(header, type, (int64_t)n));
    for (size_t i = type == '%' || type == '|' ? 2 * n : n; i > 0; i--) s = randomReply(s, depth - 1);
    return type == '|' ? randomReply(s, depth - 1) : s;
}

/* Valid replies are read whole; with a byte changed or cut, anything goes but a wrong memory access. */
static void respReplyTestRandom(void **state) {
    (void)state;
    for (int round = 0; round < 50000; round++) {
        sds text, s = randomReply(sdsempty(), 6);
        assert_int_equal(readCopy(s, sdslen(s), &text), sdslen(s));
        sdsfree(text);
        for (int i = 0; i < 3; i++) s[randomBelow(sdslen(s))] = "\r\n$*:=1-9"[randomBelow(9)];
        size_t len = randomBelow(sdslen(s) + 1);
        assert_true(readCopy(s, len, &text) <= (int64_t)len);
        sdsfree(text);
        sdsfree(s);
    }
}

int main(void) {
    randomSeed(20261);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testResp2),           cmocka_unit_test(testResp3), cmocka_unit_test(testAttributes),
        cmocka_unit_test(testErrors),          cmocka_unit_test(testDepth), cmocka_unit_test(testHeaders),
        cmocka_unit_test(respReplyTestRandom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
