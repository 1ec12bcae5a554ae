/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_reply.c - replies of the protocol: their headers for the server, and a reader for tools and scripts.
 *
 *     *2\r\n  $3\r\nabc\r\n  :7\r\n        a reply is a head and, for aggregates, the elements after it;
 *     head    head           head          the head of a blob includes its bytes
 *
 * The idea: reading passes over the bytes twice. The first pass, respReplyLength(), checks the syntax and
 * finds the end with a small stack of counters and no memory. The second one builds the tree; it runs only
 * when the reply is known to be complete and well formed, so it cannot fail. An announced count thus never
 * reserves more memory than its elements need. Strings are views into the input. */
#include <math.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "net/resp.h"

#define MAX_DEPTH 512

struct head {
    char type;
    struct str text; /* text of a line or blob */
    int64_t n;       /* integer, or number of elements; -1 for a null */
    double dval;
};

/* Reads "<type><text>\r\n" at buf. Returns its size, 0 incomplete, -1 error. */
static int64_t respReplyReadLine(const char *buf, size_t len, struct str *text) {
    if (len == 0) return 0;
    const char *cr = memchr(buf + 1, '\r', len - 1);
    if (!cr || cr + 1 == buf + len) return 0;
    if (cr[1] != '\n') return -1;
    *text = strN(buf + 1, (size_t)(cr - buf) - 1);
    return cr + 2 - buf;
}

static bool respReplyReadInteger(struct str s, int64_t *n) {
    if (s.len > 1 && s.ptr[0] == '+' && s.ptr[1] != '-') s = strN(s.ptr + 1, s.len - 1);
    return string2ll(s, n);
}

static bool respReplyReadDouble(struct str s, double *d) {
    if (strIs(s, "nan") || strIs(s, "-nan")) {
        *d = NAN;
        return true;
    }
    return string2d(s, d);
}

/* Reads the bytes of a blob whose length line of `line` bytes is in h->text. */
static int64_t respReplyReadBlob(const char *buf, size_t len, int64_t line, struct head *h) {
    if (!respReplyReadInteger(h->text, &h->n) || h->n < -1 || (h->n == -1 && h->type != '$')) return -1;
    if (h->n == -1) return line;
    const char *text = buf + line;
    size_t left = len - (size_t)line;
    if (left < 2 || left - 2 < (uint64_t)h->n) return 0;
    if (text[h->n] != '\r' || text[h->n + 1] != '\n') return -1;
    if (h->type == '=' && (h->n < 4 || text[3] != ':')) return -1;
    h->text = strN(text, (size_t)h->n);
    return line + h->n + 2;
}

/* Reads the reply at buf without its elements. Returns the size, 0 incomplete, -1 error. */
static int64_t respReplyReadHead(const char *buf, size_t len, struct head *h) {
    if (len > 0 && !memchr("+-$!=:,#_(*~>%|", buf[0], 15)) return -1;
    int64_t line = respReplyReadLine(buf, len, &h->text);
    if (line <= 0) return line;
    bool ok = false;
    h->type = buf[0];
    switch (h->type) {
    case '+':
    case '-': return line;
    case '$':
    case '!':
    case '=': return respReplyReadBlob(buf, len, line, h);
    case ':': ok = respReplyReadInteger(h->text, &h->n); break;
    case ',': ok = respReplyReadDouble(h->text, &h->dval); break;
    case '#': ok = h->text.len == 1 && (h->text.ptr[0] == 't' || h->text.ptr[0] == 'f'); break;
    case '_': ok = h->text.len == 0; break;
    case '(': ok = h->text.len > 0; break;
    case '*': ok = respReplyReadInteger(h->text, &h->n) && h->n >= -1; break;
    case '~':
    case '>': ok = respReplyReadInteger(h->text, &h->n) && h->n >= 0; break;
    case '%':
    case '|': ok = respReplyReadInteger(h->text, &h->n) && h->n >= 0 && h->n <= INT64_MAX / 2; break;
    }
    return ok ? line : -1;
}

/* Returns how many replies follow the head as its elements. */
static int64_t respReplyElementCount(const struct head *h) {
    switch (h->type) {
    case '*': return h->n < 0 ? 0 : h->n;
    case '~':
    case '>': return h->n;
    case '%':
    case '|': return 2 * h->n;
    default: return 0;
    }
}

static size_t respReplySkipAttributes(const char *buf, size_t len, struct head *h) {
    size_t pos = (size_t)respReplyReadHead(buf, len, h);
    while (h->type == '|') {
        for (int64_t i = respReplyElementCount(h); i > 0; i--)
            pos += (size_t)respReplyLength(buf + pos, len - pos);
        pos += (size_t)respReplyReadHead(buf + pos, len - pos, h);
    }
    return pos;
}

static void respReplySetVerbatim(struct respReply *r) {
    r->type = RESP_T_VERBATIM;
    memcpy(r->vtype, r->str.ptr, 3);
    r->str = strN(r->str.ptr + 4, r->str.len - 4);
}

static void respReplyFillReply(struct respReply *r, const struct head *h) {
    *r = (struct respReply){.str = h->text};
    switch (h->type) {
    case '+': r->type = RESP_T_STATUS; break;
    case '-':
    case '!': r->type = RESP_T_ERROR; break;
    case '$': r->type = h->n < 0 ? RESP_T_NULL : RESP_T_STRING; break;
    case '=': respReplySetVerbatim(r); break;
    case ':':
        r->type = RESP_T_INTEGER;
        r->integer = h->n;
        break;
    case ',':
        r->type = RESP_T_DOUBLE;
        r->dval = h->dval;
        break;
    case '#':
        r->type = RESP_T_BOOL;
        r->integer = h->text.ptr[0] == 't';
        break;
    case '_': r->type = RESP_T_NULL; break;
    case '(': r->type = RESP_T_BIGNUM; break;
    case '*':
        r->type = h->n < 0 ? RESP_T_NULL : RESP_T_ARRAY;
        r->null_array = h->n < 0;
        break;
    case '%': r->type = RESP_T_MAP; break;
    case '~': r->type = RESP_T_SET; break;
    case '>': r->type = RESP_T_PUSH; break;
    default: serverUnreachable();
    }
    if (r->type == RESP_T_NULL || r->type >= RESP_T_ARRAY) r->str = strN(NULL, 0);
}

/* Builds the reply at buf, which respReplyLength() has checked. Returns its size. */
static size_t respReplyBuild(const char *buf, size_t len, struct respReply *r) {
    struct head h;
    size_t pos = respReplySkipAttributes(buf, len, &h);
    respReplyFillReply(r, &h);
    size_t n = (size_t)respReplyElementCount(&h);
    if (n == 0) return pos;
    r->element = zmalloc(n * sizeof(struct respReply));
    r->elements = n;
    for (size_t i = 0; i < n; i++) pos += respReplyBuild(buf + pos, len - pos, &r->element[i]);
    return pos;
}

/* ---- Public API ---------------------------------------------------------------------------------------- */

/* Most numbers are lengths and counts of up to three digits. */
unsigned respWriteHeader(char *dst, char type, int64_t n) {
    unsigned len = 1;
    dst[0] = type;
    if ((uint64_t)n < 10) {
        dst[len++] = (char)('0' + n);
    } else if ((uint64_t)n < 1000) {
        unsigned v = (unsigned)n;
        if (v >= 100) dst[len++] = (char)('0' + v / 100);
        dst[len++] = (char)('0' + v / 10 % 10);
        dst[len++] = (char)('0' + v % 10);
    } else {
        len += ll2string(dst + 1, n);
    }
    dst[len++] = '\r';
    dst[len++] = '\n';
    return len;
}

int64_t respReadReply(const char *buf, size_t len, struct respReply *out) {
    int64_t size = respReplyLength(buf, len);
    if (size <= 0) return size;
    serverAssert(respReplyBuild(buf, (size_t)size, out) == (size_t)size);
    return size;
}

void respReplyFree(struct respReply *r) {
    for (size_t i = 0; i < r->elements; i++) respReplyFree(&r->element[i]);
    if (r->element) zfree(r->element);
    r->element = NULL;
    r->elements = 0;
}

const struct respReply *respField(const struct respReply *map, const char *name) {
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (strIs(map->element[i].str, name)) return &map->element[i + 1];
    }
    return NULL;
}

struct str respFieldText(const struct respReply *map, const char *name) {
    const struct respReply *r = respField(map, name);
    return r && r->str.ptr ? r->str : STR("");
}

int64_t respReplyLength(const char *buf, size_t len) {
    int64_t left[MAX_DEPTH + 1]; /* replies still to come at each level */
    int depth = 0;
    size_t pos = 0;
    left[0] = 1;
    while (left[depth] > 0) {
        struct head h;
        int64_t size = respReplyReadHead(buf + pos, len - pos, &h);
        if (size <= 0) return size;
        pos += (size_t)size;
        if (h.type != '|') left[depth]--; /* attributes precede a reply and do not count as one */
        int64_t count = respReplyElementCount(&h);
        if (count > 0 && depth == MAX_DEPTH) return -1;
        if (count > 0) left[++depth] = count;
        while (depth > 0 && left[depth] == 0) depth--;
    }
    return (int64_t)pos;
}
