/* SPDX-License-Identifier: BSD-3-Clause */
/* resp.h - the wire protocol (RESP2 and RESP3, the published specification): requests in,
 * replies out, and replies in.
 *
 * Three parts share nothing but the syntax:
 *  1. the request parser of the server: bytes to argument views, resumable at any byte, without an allocation
 *     for requests that are complete in the buffer;
 *  2. writers of reply headers into plain memory (client/reply.h puts them into output chains);
 *  3. the reply reader for tools and scripts: bytes to a tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/sds.h"
#include "base/str.h"

/* ---- 1. Requests ---- */

#define RESP_INLINE_MAX_SIZE (64 * 1024) /* longest inline request, and longest length line */
#define RESP_BIG_ARG         (32 * 1024) /* bulks of this size or more are read into an sds of their own */
#define RESP_MAX_MULTIBULK   INT32_MAX
#define RESP_UNAUTH_MAX_ARGS 10 /* limits before authentication */
#define RESP_UNAUTH_MAX_BULK (16 * 1024)

struct respBigArg { /* an argument that is in a buffer of its own */
    struct respBigArg *next;
    int index; /* in argv */
    sds buf;
};

/* Progress within a request that is not complete yet. All zero means "at the start of a request".
 * Offsets are relative to the first byte of the request, so the bytes may move between calls as long
 * as they stay contiguous. */
struct respParser {
    int kind;                /* 0 unknown, 1 inline, 2 multibulk */
    int32_t argc;            /* arguments complete */
    int32_t multibulk;       /* arguments announced */
    int64_t bulklen;         /* announced length of the argument being read, -1: header not read yet */
    size_t pos;              /* offset parsed up to */
    size_t scanned;          /* the unfinished line at pos has been searched for its end up to this offset */
    struct respArgPos *args; /* offsets of the complete arguments; only when the request spans reads */
    int32_t args_cap;
    bool bad_crlf;          /* the newest big argument was not followed by CR LF */
    struct respBigArg *big; /* big arguments so far, newest first; the newest may be incomplete */
    size_t big_missing;     /* bytes still to be read into big->buf (0: none) */
    size_t big_bytes;       /* sum of big buffers, for accounting */
};

struct respLimits {
    int64_t max_bulk;   /* proto-max-bulk-len */
    int32_t max_args;   /* multibulk limit */
    bool authenticated; /* otherwise the RESP_UNAUTH limits apply */
};

enum respStatus { RESP_OK, RESP_MORE, RESP_EMPTY, RESP_ERROR };

/* Parses one request at buf[0..*len).
 *
 *     RESP_OK     argv[0..*argc) views are written to *argv (grown with zrealloc through argv_cap from
 *                 position argv_base on), *consumed is the size of the request in buf, *big the list of big
 *                 arguments, which passes to the caller. The parser is at the start again.
 *     RESP_EMPTY  an empty line or *0: consumed, nothing to do.
 *     RESP_MORE   incomplete; call again with the same bytes and more behind them. When a big argument has
 *                 begun, its bytes are moved to p->big->buf, *len is shortened to what the buffer still has
 *                 to keep, and the caller reads straight into respBigSpace() until it returns 0, then goes
 *                 on with the buffer.
 *     RESP_ERROR  *err is the text after "-ERR Protocol error: "; the connection must be closed. */
enum respStatus respParseRequest(struct respParser *p, char *buf, size_t *len,
                                 const struct respLimits *limits, struct str **argv, size_t *argv_cap,
                                 size_t argv_base, int *argc, size_t *consumed, struct respBigArg **big,
                                 const char **err);

/* The destination of views: *argv is grown with zrealloc through cap, from position base on. */
struct respViews {
    struct str **argv;
    size_t *cap, base;
};
/* Parses a request of the most common form, faster for callers with many requests: it is complete, has fewer
 * than a hundred arguments of fewer than a hundred bytes, and the parser has not begun one (respParserIdle).
 * Returns what follows the request. NULL: it has another form, and nothing has been done. */
const char *respParseShort(const char *buf, size_t len, bool authenticated, const struct respViews *views,
                           int *argc);
static inline bool respParserIdle(const struct respParser *p) {
    return p->kind == 0;
}

/* Returns how many bytes to read next, and in *dst where to, for the incomplete big argument; 0 when there is
 * none. respBigFilled reports how many came. */
size_t respBigSpace(struct respParser *p, char **dst);
void respBigFilled(struct respParser *p, size_t n);
void respParserReset(struct respParser *p); /* frees the memory of an unfinished request */
void respBigArgsFree(struct respBigArg *big);

/* ---- 2. Reply headers ---- */

#define RESP_HDR_SIZE 32
/* Writes "<type><n>\r\n" to dst (RESP_HDR_SIZE bytes) and returns the length. type: one of : $ * % ~ > | */
unsigned respWriteHeader(char *dst, char type, int64_t n);
/* Writes the header of a length or count, most of which are small: up to 99 no function is called. Returns
 * the end of what it wrote. */
static inline char *respPutHeader(char *p, char type, size_t n) {
    if (__builtin_expect(n > 99, 0)) return p + respWriteHeader(p, type, (int64_t)n);
    *p++ = type;
    if (n > 9) *p++ = (char)('0' + n / 10);
    *p++ = (char)('0' + n % 10);
    *p++ = '\r';
    *p++ = '\n';
    return p;
}

static inline char *respPutCrlf(char *p) {
    memcpy(p, "\r\n", 2);
    return p + 2;
}

/* Most strings are short: two overlapping words, or three bytes that may be the same, instead of a call of
 * memcpy. */
static inline char *respPutBytes(char *p, const char *src, size_t len) {
    if (len >= 8 && len <= 16) {
        memcpy(p, src, 8);
        memcpy(p + len - 8, src + len - 8, 8);
    } else if (len >= 4 && len < 8) {
        memcpy(p, src, 4);
        memcpy(p + len - 4, src + len - 4, 4);
    } else if (len && len < 4) {
        p[0] = src[0];
        p[len / 2] = src[len / 2];
        p[len - 1] = src[len - 1];
    } else {
        memcpy(p, src, len);
    }
    return p + len;
}

/* Writes a bulk string, at most RESP_HDR_SIZE bytes more than its own. Returns the end of what it wrote. */
static inline char *respPutBulk(char *p, const char *src, size_t len) {
    return respPutCrlf(respPutBytes(respPutHeader(p, '$', len), src, len));
}

/* ---- Writing requests ---- */

/* Write a request as an array of bulks, with every length in its canonical form. respRequestRoom returns the
 * size that dst needs, a little more than is written; the others return the end of what they wrote. */
size_t respRequestRoom(int argc, const struct str *argv);
char *respWriteRequest(char *dst, int argc, const struct str *argv);
/* Write the parts of a request, for callers that write the arguments themselves, each followed by "\r\n". */
char *respWriteRequestHead(char *dst, int64_t argc);
char *respWriteBulkHead(char *dst, size_t len);

/* ---- 3. Replies, for tools and scripts ---- */

enum respType {
    RESP_T_STRING,   /* $ */
    RESP_T_STATUS,   /* + */
    RESP_T_ERROR,    /* - and ! */
    RESP_T_INTEGER,  /* : */
    RESP_T_NULL,     /* _ $-1 *-1 */
    RESP_T_DOUBLE,   /* , (the text is kept in str) */
    RESP_T_BOOL,     /* # */
    RESP_T_BIGNUM,   /* ( */
    RESP_T_VERBATIM, /* = (format in vtype, text in str) */
    RESP_T_ARRAY,    /* * */
    RESP_T_MAP,      /* % (2n elements) */
    RESP_T_SET,      /* ~ */
    RESP_T_PUSH,     /* > */
};

struct respReply {
    enum respType type;
    bool null_array; /* a RESP_T_NULL that was *-1 */
    char vtype[4];
    int64_t integer;
    double dval;
    struct str str; /* view into the bytes given to respReadReply */
    size_t elements;
    struct respReply *element; /* array of `elements` */
};

/* Reads one reply at buf[0..len). Returns the bytes it took, 0 when incomplete, -1 on a syntax error or
 * nesting over 512. Attributes (|) are skipped. *out is filled, with children from zmalloc: respReplyFree
 * frees the children, not *out itself. */
int64_t respReadReply(const char *buf, size_t len, struct respReply *out);
void respReplyFree(struct respReply *r);
/* Returns the value of a map's field (in RESP2 an array of names and values); NULL: none. O(fields) */
const struct respReply *respField(const struct respReply *map, const char *name);
/* the text of the field; empty: none */
struct str respFieldText(const struct respReply *map, const char *name);
/* Returns the size in bytes of the first whole reply in buf without building anything; 0 incomplete,
 * -1 error. For benchmarks. */
int64_t respReplyLength(const char *buf, size_t len);
