/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_request.c - the request parser of the server: input bytes to argument views.
 *
 * A request is either an inline line, split like a shell's, or a multibulk:
 *
 *     *3\r\n  $3\r\n SET \r\n  $3\r\n key \r\n  $5\r\n value \r\n
 *     ^ count ^ length ^ argv[0] points here            ^ pos: first byte that is not parsed yet
 *
 * The idea: while a request is complete in the buffer, as nearly all are, views go straight into the caller's
 * argv in one pass, and the parser's own memory is not touched. Progress is saved only when bytes run out, as
 * offsets, so that the buffer may grow and move before the next call goes on from `pos`. Nothing is read
 * twice except the start of an unfinished length line, which is short.
 *
 * A big argument that has only begun leaves the buffer: its bytes and the CR LF after them are collected in
 * an sds of their own, which the command can keep.
 *
 *     buffer  *3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$90000\r\n | next header ...
 *     p->big                                          `-> [90000 bytes + 2]
 *
 * Every CR LF is checked: other bytes in its place mean that a length is wrong, here or in a file that was
 * saved long ago. Only in an inline request does a NUL byte hide the end of the line. */
#include <stdio.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/words.h"
#include "base/zmalloc.h"
#include "net/resp.h"

enum { KIND_UNKNOWN, KIND_INLINE, KIND_MULTIBULK };

static const char err_crlf[] = "invalid CRLF in request";

#define MIN_BULK_SIZE 6 /* "$0\r\n\r\n", the shortest argument */
#define SHORT_LINE    5 /* "$99\r\n" */
/* A big argument reserves at most BIG_CHUNK before its bytes come, then BIG_GROWTH
 * times as much as has come. */
#define BIG_CHUNK  ((size_t)1024 * 1024)
#define BIG_GROWTH 15

struct respArgPos {
    size_t off, len;
};

static inline size_t respRequestMinSize(size_t a, size_t b) {
    return a < b ? a : b;
}
static inline size_t respRequestMaxSize(size_t a, size_t b) {
    return a > b ? a : b;
}

static inline bool respRequestIsCrlf(const char *p) {
    return memcmp(p, "\r\n", 2) == 0;
}

/* Reads "<type><n>\r\n" with one or two digits in canonical form at p, where SHORT_LINE bytes can be read.
 * Returns what follows. NULL: it has another form. */
static inline const char *respRequestShortLength(const char *p, char type, size_t *n) {
    unsigned first = (unsigned)(unsigned char)p[1] - '0', second = (unsigned)(unsigned char)p[2] - '0';
    if (p[0] != type || first > 9) return NULL;
    *n = first;
    if (respRequestIsCrlf(p + 2)) return p + 4;
    *n = first * 10 + second;
    return first && second <= 9 && respRequestIsCrlf(p + 3) ? p + 5 : NULL;
}

/* Makes space for n views and returns where the first one goes. */
static inline struct str *respRequestReserveArgv(const struct respViews *out, size_t n) {
    size_t need = out->base + n;
    if (__builtin_expect(need > *out->cap, 0)) {
        *out->cap = respRequestMaxSize(respRequestMaxSize(need, 16), *out->cap * 2);
        *out->argv = zrealloc(*out->argv, *out->cap * sizeof(struct str));
    }
    return *out->argv + out->base;
}

/* ---- Lines --------------------------------------------------------------------------------------------- */

/* Reads the number at q, up to ten digits in canonical form, when its whole line is there. Returns what
 * follows the line. NULL: respRequestReadLength() has to read it. */
static inline const char *respRequestFastLength(const char *q, const char *end, int64_t *value) {
    const char *start = q, *limit = end - q > 10 ? q + 10 : end;
    int64_t v = 0;
    for (unsigned digit; q < limit && (digit = (unsigned)(unsigned char)*q - '0') < 10; q++)
        v = v * 10 + digit;
    if (q == start || end - q < 2 || !respRequestIsCrlf(q) || (*start == '0' && q - start > 1)) return NULL;
    *value = v;
    return q + 2;
}

/* Returns the offset of the first c at or after p->pos, or SIZE_MAX, and remembers how far it looked. */
static size_t respRequestFindInLine(struct respParser *p, const char *buf, size_t len, char c) {
    size_t from = respRequestMaxSize(p->pos, p->scanned);
    if (from >= len) return SIZE_MAX;
    const char *hit = memchr(buf + from, c, len - from);
    p->scanned = hit ? (size_t)(hit - buf) : len;
    return hit ? p->scanned : SIZE_MAX;
}

static const char *respRequestExpectedDollar(char got) {
    static _Thread_local char text[32];
    if (got == '\r' || got == '\n' || !got) got = ' '; /* the text has to stay one line */
    snprintf(text, sizeof(text), "expected '$', got '%c'", got);
    return text;
}

/* Reads any line "<type><number>\r\n" at p->pos. On RESP_OK pos is behind the line. An invalid number gives
 * *valid false: the caller knows which error that is. */
static enum respStatus respRequestReadLength(struct respParser *p, const char *buf, size_t len, char type,
                                             int64_t *value, bool *valid, const char *toobig,
                                             const char **err) {
    size_t eol = respRequestFindInLine(p, buf, len, '\r');
    if (eol == SIZE_MAX && len - p->pos > RESP_INLINE_MAX_SIZE) {
        *err = toobig;
        return RESP_ERROR;
    }
    if (eol == SIZE_MAX || eol + 2 > len) return RESP_MORE;
    if (buf[p->pos] != type || !respRequestIsCrlf(buf + eol)) {
        *err = buf[p->pos] != type ? respRequestExpectedDollar(buf[p->pos]) : err_crlf;
        return RESP_ERROR;
    }
    *valid = eol > p->pos && string2ll(strN(buf + p->pos + 1, eol - p->pos - 1), value);
    p->pos = eol + 2;
    return RESP_OK;
}

static enum respStatus respRequestReadCount(struct respParser *p, const char *buf, size_t len,
                                            const struct respLimits *limits, const char **err) {
    int64_t count;
    bool valid = true;
    const char *next = respRequestFastLength(buf + 1, buf + len, &count);
    if (next) {
        p->pos = (size_t)(next - buf);
    } else {
        enum respStatus st =
            respRequestReadLength(p, buf, len, '*', &count, &valid, "too big mbulk count string", err);
        if (st != RESP_OK) return st;
    }
    if (!valid || count > limits->max_args) {
        *err = "invalid multibulk length";
        return RESP_ERROR;
    }
    if (!limits->authenticated && count > RESP_UNAUTH_MAX_ARGS) {
        *err = "unauthenticated multibulk length";
        return RESP_ERROR;
    }
    if (count <= 0) return RESP_EMPTY;
    p->multibulk = (int32_t)count;
    p->bulklen = -1;
    return RESP_OK;
}

/* Reads "$<n>\r\n" at p->pos with all checks; RESP_OK leaves the length in p->bulklen. */
static enum respStatus respRequestReadBulkLength(struct respParser *p, const char *buf, size_t len,
                                                 const struct respLimits *limits, const char **err) {
    int64_t n;
    bool valid;
    enum respStatus st =
        respRequestReadLength(p, buf, len, '$', &n, &valid, "too big bulk count string", err);
    if (st != RESP_OK) return st;
    if (!valid || n < 0 || n > limits->max_bulk) {
        *err = "invalid bulk length";
    } else if (!limits->authenticated && n > RESP_UNAUTH_MAX_BULK) {
        *err = "unauthenticated bulk length";
    } else {
        p->bulklen = n;
        return RESP_OK;
    }
    return RESP_ERROR;
}

/* ---- Progress across calls ----------------------------------------------------------------------------- */

static void respRequestReserveArgs(struct respParser *p, int32_t n) {
    if (n <= p->args_cap) return;
    int64_t cap = (int64_t)p->args_cap * 2;
    if (cap < 16) cap = 16;
    if (cap < n) cap = n;
    p->args_cap = cap > INT32_MAX ? INT32_MAX : (int32_t)cap;
    p->args = zrealloc(p->args, (size_t)p->args_cap * sizeof(struct respArgPos));
}

/* Saves the views parsed in this call: argv[p->argc..argc). */
static void respRequestSaveArgs(struct respParser *p, const char *buf, const struct str *argv, int32_t argc) {
    if (argc == p->argc) return;
    respRequestReserveArgs(p, argc);
    for (int32_t i = p->argc; i < argc; i++)
        p->args[i] = (struct respArgPos){(size_t)(argv[i].ptr - buf), argv[i].len};
    p->argc = argc;
}

static void respRequestLoadArgs(const struct respParser *p, const char *buf, struct str *argv) {
    for (int32_t i = 0; i < p->argc; i++) argv[i] = strN(buf + p->args[i].off, p->args[i].len);
    for (struct respBigArg *b = p->big; b; b = b->next) argv[b->index] = sdsview(b->buf);
}

static void respRequestStartBig(struct respParser *p) {
    size_t size = (size_t)p->bulklen + 2;
    struct respBigArg *b = zmalloc(sizeof(*b));
    b->next = p->big;
    b->index = p->argc;
    b->buf = sdsnewlen(NULL, respRequestMinSize(size, BIG_CHUNK));
    sdssetlen(b->buf, 0);
    p->big = b;
    p->big_missing = size;
    p->big_bytes += sdsAllocSize(b->buf);
}

/* Moves the bytes of the big argument out of the buffer and closes the gap. */
static void respRequestAbsorbBig(struct respParser *p, char *buf, size_t *len) {
    size_t from = p->pos, n;
    char *dst;
    while ((n = respRequestMinSize(respBigSpace(p, &dst), *len - from)) > 0) {
        memcpy(dst, buf + from, n);
        from += n;
        respBigFilled(p, n);
    }
    if (from == p->pos) return;
    memmove(buf + p->pos, buf + from, *len - from);
    *len -= from - p->pos;
}

/* ---- The two kinds of requests ------------------------------------------------------------------------- */

static enum respStatus respRequestParseMultibulk(struct respParser *p, char *buf, size_t *len,
                                                 const struct respLimits *limits, const struct respViews *out,
                                                 const char **err) {
    enum respStatus st = RESP_OK;
    if (p->multibulk == 0 && (st = respRequestReadCount(p, buf, *len, limits, err)) != RESP_OK) return st;
    if (p->big_missing) respRequestAbsorbBig(p, buf, len);
    if (p->big_missing) return RESP_MORE;
    if (p->bad_crlf) {
        *err = err_crlf;
        return RESP_ERROR;
    }

    const char *end = buf + *len;
    int64_t max = limits->max_bulk;
    if (!limits->authenticated && max > RESP_UNAUTH_MAX_BULK) max = RESP_UNAUTH_MAX_BULK;
    /* Space is reserved for what is announced, but not for more than these bytes can hold. The first argument
     * of a later call may have its header behind it already. */
    size_t possible = (size_t)p->argc + (*len - p->pos) / MIN_BULK_SIZE + 1;
    struct str *argv = respRequestReserveArgv(out, respRequestMinSize((size_t)p->multibulk, possible));
    int32_t argc = p->argc, multibulk = p->multibulk;
    const char *at = buf + p->pos;
    int64_t n = p->bulklen;

    for (; argc < multibulk; argc++) {
        if (n < 0) {
            const char *next = at < end && *at == '$' ? respRequestFastLength(at + 1, end, &n) : NULL;
            if (__builtin_expect(next != NULL && n <= max, 1)) {
                at = next;
            } else {
                p->pos = (size_t)(at - buf);
                p->bulklen = -1;
                st = respRequestReadBulkLength(p, buf, *len, limits, err);
                if (st != RESP_OK) break;
                at = buf + p->pos;
                n = p->bulklen;
            }
        }
        if ((uint64_t)(end - at) < (uint64_t)n + 2) {
            st = RESP_MORE;
            p->pos = (size_t)(at - buf);
            p->bulklen = n;
            break;
        }
        if (__builtin_expect(!respRequestIsCrlf(at + n), 0)) {
            *err = err_crlf;
            return RESP_ERROR;
        }
        argv[argc] = strN(at, (size_t)n);
        at += n + 2;
        n = -1;
    }
    if (st == RESP_OK) {
        p->pos = (size_t)(at - buf);
        respRequestLoadArgs(p, buf, argv);
    } else if (st == RESP_MORE) {
        respRequestSaveArgs(p, buf, argv, argc);
        if (p->bulklen >= RESP_BIG_ARG) {
            respRequestStartBig(p);
            respRequestAbsorbBig(p, buf, len);
        }
    }
    return st;
}

static inline const char *respRequestParseShort(const char *buf, size_t len, bool authenticated,
                                                const struct respViews *out, int *argc) {
    const char *end = buf + len, *at;
    size_t count, n;
    if (len < SHORT_LINE || !(at = respRequestShortLength(buf, '*', &count)) || !count) return NULL;
    if (!authenticated && count > RESP_UNAUTH_MAX_ARGS) return NULL;
    struct str *arg = respRequestReserveArgv(out, count), *last = arg + count;
    for (; arg < last; arg++) {
        if (end - at < MIN_BULK_SIZE || !(at = respRequestShortLength(at, '$', &n))) return NULL;
        if ((size_t)(end - at) < n + 2 || !respRequestIsCrlf(at + n)) return NULL;
        *arg = strN(at, n);
        at += n + 2;
    }
    *argc = (int)count;
    return at;
}

/* Splits off one argument of an inline request at s, unescaped in place. An opening quote at its start stays,
 * so that the first byte of an inline request never turns into a '*'. NULL: a quote is not closed. */
static char *respRequestSplitArg(char *s, const char *end, struct str *arg) {
    char *start = *s == '"' || *s == '\'' ? s + 1 : s;
    arg->ptr = start;
    return (char *)wordRead(s, end, start, &arg->len);
}

static enum respStatus respRequestParseInline(struct respParser *p, char *buf, size_t len,
                                              const struct respViews *out, const char **err) {
    size_t from = p->scanned, eol = respRequestFindInLine(p, buf, len, '\n');
    const char *nul = memchr(buf + from, '\0', p->scanned - from);
    if (nul) p->scanned = (size_t)(nul - buf); /* it is found again, with all that follows */
    if (eol == SIZE_MAX || nul) {
        if (len <= RESP_INLINE_MAX_SIZE) return RESP_MORE;
        *err = "too big inline request";
        return RESP_ERROR;
    }
    p->pos = eol + 1;
    for (char *s = buf, *end = buf + eol;;) {
        while (s < end && charIsBlank(*s)) s++;
        if (s == end) return p->argc ? RESP_OK : RESP_EMPTY;
        struct str *argv = respRequestReserveArgv(out, (size_t)p->argc + 1);
        s = respRequestSplitArg(s, end, &argv[p->argc++]);
        if (!s) {
            *err = "unbalanced quotes in request";
            return RESP_ERROR;
        }
    }
}

/* ---- Public API ---------------------------------------------------------------------------------------- */

const char *respParseShort(const char *buf, size_t len, bool authenticated, const struct respViews *views,
                           int *argc) {
    return respRequestParseShort(buf, len, authenticated, views, argc);
}

enum respStatus respParseRequest(struct respParser *p, char *buf, size_t *len,
                                 const struct respLimits *limits, struct str **argv, size_t *argv_cap,
                                 size_t argv_base, int *argc, size_t *consumed, struct respBigArg **big,
                                 const char **err) {
    struct respViews out = {argv, argv_cap, argv_base};
    if (respParserIdle(p)) {
        const char *next = respRequestParseShort(buf, *len, limits->authenticated, &out, argc);
        if (__builtin_expect(next != NULL, 1)) {
            *consumed = (size_t)(next - buf);
            *big = NULL;
            return RESP_OK;
        }
        if (*len == 0) return RESP_MORE;
        p->kind = buf[0] == '*' ? KIND_MULTIBULK : KIND_INLINE;
    }
    enum respStatus st;
    if (p->kind == KIND_MULTIBULK)
        st = respRequestParseMultibulk(p, buf, len, limits, &out, err);
    else
        st = respRequestParseInline(p, buf, *len, &out, err);
    if (st == RESP_OK || st == RESP_EMPTY) {
        *argc = st == RESP_EMPTY ? 0 : p->kind == KIND_INLINE ? p->argc : p->multibulk;
        *consumed = p->pos;
        *big = p->big;
        if (p->args) zfree(p->args);
        *p = (struct respParser){0};
    }
    return st;
}

size_t respBigSpace(struct respParser *p, char **dst) {
    if (p->big_missing == 0) return 0;
    struct respBigArg *b = p->big;
    size_t have = sdslen(b->buf);
    debugAssert(have + p->big_missing == (size_t)p->bulklen + 2); /* the bytes and their CR LF */
    if (sdsavail(b->buf) == 0) {
        p->big_bytes -= sdsAllocSize(b->buf);
        b->buf = sdsMakeRoomForExact(b->buf, respRequestMinSize(p->big_missing, have * BIG_GROWTH));
        p->big_bytes += sdsAllocSize(b->buf);
    }
    *dst = b->buf + have;
    return respRequestMinSize(sdsavail(b->buf), p->big_missing);
}

void respBigFilled(struct respParser *p, size_t n) {
    serverAssert(n <= p->big_missing);
    if (n == 0) return;
    sds buf = p->big->buf;
    sdssetlen(buf, sdslen(buf) + n);
    p->big_missing -= n;
    if (p->big_missing > 0) return;
    p->bad_crlf = !respRequestIsCrlf(buf + p->bulklen);
    sdssetlen(buf, (size_t)p->bulklen);
    respRequestReserveArgs(p, p->argc + 1);
    p->args[p->argc++] = (struct respArgPos){0, 0}; /* respRequestLoadArgs() knows it from the list */
    p->bulklen = -1;
}

void respParserReset(struct respParser *p) {
    respBigArgsFree(p->big);
    zfree(p->args);
    *p = (struct respParser){0};
}

void respBigArgsFree(struct respBigArg *big) {
    while (big) {
        struct respBigArg *next = big->next;
        sdsfree(big->buf);
        zfree(big);
        big = next;
    }
}
