/* SPDX-License-Identifier: BSD-3-Clause */
/* http.c - libFuzzer target for requests to the metrics port, and for what is written of them.
 *
 *     make fuzz-http FUZZ_SECONDS=600
 *
 * An input is | seed | bytes |. The seed says where the stream is split: however it is split, the
 * requests must be those of the whole. The content of a request is used as in the server: credentials
 * are decoded, and the bytes are written as a label of a metric and as a string of JSON, which must be
 * well formed. */
#include "web/http.h"

#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "web/base64.h"
#include "web/exposition.h"
#include "web/info_view.h"
#include "web/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Requests ---- */

static sds httpTranscribe(sds out, const struct httpRequest *q) {
    serverAssert(sdslen(q->path) <= HTTP_TARGET_MAX && sdslen(q->host) <= HTTP_VALUE_MAX);
    out = sdscatprintf(out, "(%d %d %d|", q->method, q->forwarded, q->keep_alive);
    const sds parts[] = {q->path, q->host, q->authorization, q->accept};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        out = sdscat(sdscatstr(out, sdsview(parts[i])), "|");
    sds credentials = base64Decode(sdsview(q->authorization));
    if (credentials) {
        sds again = base64Encode(sdsview(credentials)), once_more = base64Decode(sdsview(again));
        serverAssert(sdscmp(credentials, once_more) == 0);
        sdsfree(again);
        sdsfree(once_more);
    }
    sdsfree(credentials);
    return sdscat(out, ")");
}

/* Reads the stream in pieces: seed 0: all at once; 1: byte by byte. Each piece is an exact allocation. */
static sds httpReadRequests(struct str stream, uint32_t seed) {
    struct httpReader *r = httpReaderCreate();
    sds out = sdsempty();
    int status = 0;
    while (stream.len && (status == 0 || status == 200)) {
        seed = seed > 1 ? seed * 1664525 + 1013904223 : seed;
        size_t n = seed == 0 ? stream.len : seed == 1 ? 1 : 1 + (seed >> 8) % 64;
        if (n > stream.len) n = stream.len;
        char *piece = zmalloc(n);
        memcpy(piece, stream.ptr, n);
        for (size_t at = 0; at < n && (status == 0 || status == 200);) {
            const struct httpRequest *q;
            size_t used;
            status = httpRead(r, piece + at, n - at, &used, &q);
            serverAssert(used <= n - at);
            serverAssert(status != 0 || used == n - at);
            serverAssert(status != 200 || used > 0);
            at += used;
            if (status == 200) out = httpTranscribe(out, q);
        }
        zfree(piece);
        stream = strN(stream.ptr + n, stream.len - n);
    }
    if (status != 0 && status != 200) out = sdscat(out, "refused"); /* the reason may depend on the pieces */
    httpReaderFree(r);
    return out;
}

/* ---- Output ---- */

static void checkJson(struct str bytes) {
    sds s = jsonString(sdsempty(), bytes);
    size_t n = sdslen(s);
    serverAssert(n >= 2 && s[0] == '"' && s[n - 1] == '"');
    for (size_t i = 1; i < n - 1; i++) {
        serverAssert((unsigned char)s[i] >= 0x20 && s[i] != '"');
        if (s[i] == '\\') serverAssert(++i < n - 1);
    }
    sdsfree(s);
}

static void checkLabel(struct str bytes) {
    struct exposition e;
    expositionStart(&e, false);
    metricFamily(&e, "x", METRIC_GAUGE, "x");
    size_t from = sdslen(e.text);
    metricOpen(&e, "");
    metricLabel(&e, "l", bytes);
    metricValue(&e, 1);
    sds s = expositionEnd(&e);
    const char *newline = memchr(s + from, '\n', sdslen(s) - from);
    serverAssert(newline == s + sdslen(s) - 1);
    sdsfree(s);
}

static void checkInfo(struct str bytes) {
    struct infoView v;
    sds text = sdsempty();
    for (size_t i = 0; i < bytes.len; i++) text = sdscatlen(text, bytes.ptr[i] ? bytes.ptr + i : " ", 1);
    infoViewOpen(&v, text);
    for (int i = 0; i < v.count; i++) {
        serverAssert(v.lines[i].value.ptr + v.lines[i].value.len <= text + sdslen(text));
        infoViewPart(v.lines[i].value, "a");
    }
    infoViewNumber(&v, "a");
    infoViewClose(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t seed;
    if (size < sizeof seed) return 0;
    memcpy(&seed, data, sizeof seed);
    struct str bytes = strN((const char *)data + sizeof seed, size - sizeof seed);
    checkJson(bytes);
    checkLabel(bytes);
    checkInfo(bytes);
    if (!httpIsAvailable()) return 0;
    sds whole = httpReadRequests(bytes, 0), split = httpReadRequests(bytes, seed | 2),
        single = httpReadRequests(bytes, 1);
    serverAssert(sdscmp(whole, split) == 0 && sdscmp(whole, single) == 0);
    sdsfree(whole);
    sdsfree(split);
    sdsfree(single);
    return 0;
}
