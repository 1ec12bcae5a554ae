/* SPDX-License-Identifier: BSD-3-Clause */
/* http_test.c - tests of HTTP requests, whole and in pieces, and of base64. */
#include "web/http.h"

#include "base/zmalloc.h"
#include "web/base64.h"

/* cmocka needs these before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void httpTestNeedParser(void) {
    if (httpIsAvailable()) return;
    printf("skipped: built without an HTTP parser\n");
    skip();
}

/* Parses a stream that arrives `piece` bytes at a time. Returns a line for each request, and
 * the final status. */
static sds httpTestParse(const char *stream, size_t len, size_t piece) {
    struct httpReader *r = httpReaderCreate();
    sds out = sdsempty();
    int status = 0;
    for (size_t at = 0, end = 0; at < len && (status == 0 || status == 200);) {
        const struct httpRequest *q;
        size_t used;
        if (at == end) end = at + piece < len ? at + piece : len;
        status = httpRead(r, stream + at, end - at, &used, &q);
        assert_true(used <= end - at);
        at += used;
        if (status == 200)
            out = sdscatprintf(out, "%d %s host=%s auth=%s accept=%s%s%s\n", q->method, q->path, q->host,
                               q->authorization, q->accept, q->forwarded ? " forwarded" : "",
                               q->keep_alive ? " stays" : "");
        else if (status == 0)
            assert_int_equal(at, end);
    }
    if (status != 200) out = sdscatprintf(out, "%d%s", status, httpInRequest(r) ? " in a request" : "");
    httpReaderFree(r);
    return out;
}

static void httpTestExpect(const char *stream, const char *wanted) {
    size_t len = strlen(stream);
    for (size_t piece = 1; piece <= len; piece++) {
        sds got = httpTestParse(stream, len, piece);
        assert_string_equal(got, wanted);
        sdsfree(got);
    }
}

static void httpTestRequests(void **state) {
    (void)state;
    httpTestNeedParser();
    httpTestExpect("GET / HTTP/1.1\r\n\r\n", "0 / host= auth= accept= stays\n");
    httpTestExpect("HEAD /metrics?x=1#y HTTP/1.0\r\nhOsT: a:1\r\nAccept: text/plain, */*\r\n\r\n",
                   "1 /metrics host=a:1 auth= accept=text/plain, */*\n");
    httpTestExpect(
        "GET /a HTTP/1.1\r\nAuthorization: Basic eA==\r\nX-Forwarded-For: 1\r\nConnection: close\r\n\r\n",
        "0 /a host= auth=Basic eA== accept= forwarded\n");
    httpTestExpect(
        "GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET /c HTTP/1.1\r\n\r\n",
        "0 /a host= auth= accept= stays\n2 /b host= auth= accept= stays\n0 /c host= auth= accept= stays\n");
    httpTestExpect("GET http://host/path HTTP/1.1\r\nHost: h\r\n\r\n",
                   "0 /path host=h auth= accept= stays\n");
    httpTestExpect("GET http://host HTTP/1.1\r\nHost: h\r\n\r\n", "0 / host=h auth= accept= stays\n");
    httpTestExpect("GET / HTTP/1.1\r\nHost: h\r\n", "0 in a request");
    httpTestExpect("GET / HTTP/1.1\r\nHost:\r\nAccept:  x \r\n\r\n", "0 / host= auth= accept=x  stays\n");
}

static void httpTestRefused(void **state) {
    (void)state;
    httpTestNeedParser();
    httpTestExpect("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 in a request");
    httpTestExpect("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "413 in a request");
    httpTestExpect("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "413 in a request");
    httpTestExpect("PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "405 in a request");
    httpTestExpect("GET / HTTP/1.1\r\nHost a\r\n\r\n", "400 in a request");
}

/* Tests a stream of `prefix`, many times `filler`, and an end. */
static void httpTestExpectLong(const char *prefix, const char *filler, int times, const char *wanted) {
    sds stream = sdsnew(prefix);
    for (int i = 0; i < times; i++) stream = sdscat(stream, filler);
    stream = sdscat(stream, "\r\n\r\n");
    static const size_t pieces[] = {1, 7, 1000, 4096, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        sds got = httpTestParse(stream, sdslen(stream), pieces[i]);
        assert_string_equal(got, wanted);
        sdsfree(got);
    }
    sdsfree(stream);
}

static void httpTestLimits(void **state) {
    (void)state;
    httpTestNeedParser();
    httpTestExpectLong("GET / HTTP/1.1\r\nX: ", "a", HTTP_HEAD_MAX, "431 in a request");
    httpTestExpectLong("GET / HTTP/1.1\r\nX: ", "a", HTTP_HEAD_MAX - 100, "0 / host= auth= accept= stays\n");
    httpTestExpectLong("GET / HTTP/1.1\r\nHost: ", "a", HTTP_VALUE_MAX + 1, "431 in a request");
    httpTestExpectLong("GET / HTTP/1.1\r\nX: b", "\r\nX: a", HTTP_HEAD_MAX / 6, "431 in a request");
    httpTestExpectLong("GET /", "a", HTTP_TARGET_MAX, "414 in a request");
}

static void httpTestBase64(void **state) {
    (void)state;
    static const struct {
        const char *plain, *encoded;
    } pairs[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"},
                 {"\xff\xfe>?", "//4+Pw=="}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        sds encoded = base64Encode(strOf(pairs[i].plain)), decoded = base64Decode(strOf(pairs[i].encoded));
        assert_string_equal(encoded, pairs[i].encoded);
        assert_string_equal(decoded, pairs[i].plain);
        sdsfree(encoded);
        sdsfree(decoded);
    }
    static const char *const bad[] = {"a", "abcde", "ab c", "ab\n", "a===", "====", "ab-_", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_null(base64Decode(strOf(bad[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(httpTestRequests), cmocka_unit_test(httpTestRefused),
                                       cmocka_unit_test(httpTestLimits), cmocka_unit_test(httpTestBase64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
