/* SPDX-License-Identifier: BSD-3-Clause */
/* reply.c - writes replies into the client's output chain.
 *
 *     c->out: head -> [block: used/cap, bytes] -> [block] -> ... <- tail
 *
 * Small elements are written into contiguous space of the tail block; only long bulks span blocks. */
#include "client/reply.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "client/client.h"
#include "client/client_output.h"
#include "client/client_stream.h"
#include "client/reply_block.h"
#include "net/resp.h"

#define SMALL_BULK       512  /* up to this size header and bytes are written as one piece */
#define SHARE_MIN        1024 /* shared bytes: shorter ones are copied */
#define PUSH_ROOM        (256 - sizeof(struct replyBlock)) /* the first block of a client without output */
#define PUSH_GROWTH      8
#define LINK_ROOM        (256 - sizeof(struct replyBlock)) /* a block behind linked bytes */
#define ERROR_KINDS_MAX  128
#define ERROR_PREFIX_MAX 64

const char err_syntax[] = "ERR syntax error";
const char err_wrongtype[] = "WRONGTYPE Operation against a key holding the wrong kind of value";
const char err_nosuchkey[] = "ERR no such key";
const char err_notint[] = "ERR value is not an integer or out of range";
const char err_notfloat[] = "ERR value is not a valid float";
const char err_outofrange[] = "ERR index out of range";

/* ---- The chain ---- */

#define MAY_BE_MUTED (CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_CLOSE_ASAP | CLIENT_FAKE | CLIENT_REPLICA)

static bool replyIsMuted(struct client *c) {
    if (!(c->flags & MAY_BE_MUTED)) return false;
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_FAKE)) return true;
    if (c->flags & CLIENT_PUSHING) return false;
    if (c->flags & CLIENT_REPLICA) client_stream->replied(c, (struct str){0});
    return true;
}

static void replyLinkBlock(struct client *c, struct replyBlock *b) {
    serverAssert(!c->out.tail == !c->out.head);
    if (c->out.tail)
        c->out.tail->next = b;
    else
        c->out.head = b;
    c->out.tail = b;
    c->out.mem += sizeof *b + b->cap;
}

/* The text between two linked values is short: a standard block would be as large as they are. */
static void replyAppendBlock(struct client *c, size_t room) {
    bool behind_link = c->out.tail && c->out.tail->shared && room <= LINK_ROOM;
    replyLinkBlock(c, behind_link ? replyBlockOf(LINK_ROOM) : replyBlockNew(room));
    clientCheckOutput(c, room);
}

static void replyLinkShared(struct client *c, struct replyShared *s, size_t from, size_t len) {
    replyLinkBlock(c, replyBlockSharing(s, from, len));
    c->out.bytes += len;
}

/* Returns n contiguous bytes at the end of the chain; the caller adds what it uses with
 * replyChainAdvance(). */
static inline char *replyChainReserve(struct client *c, size_t n) {
    if (__builtin_expect(!c->out.tail || c->out.tail->cap - c->out.tail->used < n, 0)) {
        if (!c->out.tail || replyBlockIsHold(c->out.tail))
            clientWriteLater(c); /* the first, or behind a hold */
        replyAppendBlock(c, n);
    }
    return c->out.tail->buf + c->out.tail->used;
}

static inline void replyChainAdvance(struct client *c, size_t n) {
    c->out.tail->used += n;
    c->out.bytes += n;
}

static void replyChainAppend(struct client *c, const char *p, size_t n) {
    size_t avail = c->out.tail ? c->out.tail->cap - c->out.tail->used : 0;
    if (avail && n > avail) {
        memcpy(c->out.tail->buf + c->out.tail->used, p, avail);
        replyChainAdvance(c, avail);
        p += avail;
        n -= avail;
    }
    if (!n) return;
    memcpy(replyChainReserve(c, n), p, n);
    replyChainAdvance(c, n);
}

char *replyReserve(struct client *c, size_t n) {
    return replyIsMuted(c) ? NULL : replyChainReserve(c, n);
}
void replyAdvance(struct client *c, size_t n) {
    debugAssert(c->out.tail->cap - c->out.tail->used >= n);
    replyChainAdvance(c, n);
}

void replyRaw(struct client *c, const char *p, size_t n) {
    if (!replyIsMuted(c)) replyChainAppend(c, p, n);
}

static void replyHeader(struct client *c, char type, int64_t n) {
    if (replyIsMuted(c)) return;
    char *dst = replyChainReserve(c, RESP_HDR_SIZE);
    replyChainAdvance(c, respWriteHeader(dst, type, n));
}

/* ---- Simple elements ---- */

/* Appends in one piece, so that a constant becomes one or two stores. */
static inline __attribute__((always_inline)) void replyPiece(struct client *c, const char *p, size_t n) {
    if (replyIsMuted(c)) return;
    memcpy(replyChainReserve(c, n), p, n);
    replyChainAdvance(c, n);
}

void replyOk(struct client *c) {
    replyPiece(c, "+OK\r\n", 5);
}

void replyStatus(struct client *c, const char *s) {
    replyLiteral(c, "+");
    replyRaw(c, s, strlen(s));
    replyLiteral(c, "\r\n");
}

void replyBulk(struct client *c, struct str s) {
    if (replyIsMuted(c)) return;
    if (s.len <= SMALL_BULK) {
        char *start = replyChainReserve(c, s.len + RESP_HDR_SIZE);
        replyChainAdvance(c, (size_t)(respPutBulk(start, s.ptr, s.len) - start));
        return;
    }
    replyHeader(c, '$', (int64_t)s.len);
    replyChainAppend(c, s.ptr, s.len);
    replyChainAppend(c, "\r\n", 2);
}

bool replyLinks(struct client *c) {
    return c->conn && !clientRefusesRead(c);
}

void replyBulkShared(struct client *c, struct replyShared *s, size_t from, size_t len) {
    if (replyIsMuted(c)) return;
    replyHeader(c, '$', (int64_t)len);
    replyLinkShared(c, s, from, len);
    replyLiteral(c, "\r\n");
}

void replyBulkCstr(struct client *c, const char *s) {
    if (s)
        replyBulk(c, strOf(s));
    else
        replyNull(c);
}

void replyBulkLongLong(struct client *c, int64_t v) {
    char buf[LONG_STR_SIZE];
    replyBulk(c, strN(buf, ll2string(buf, v)));
}

void replyBulkDouble(struct client *c, double v) {
    char buf[DOUBLE_STR_SIZE];
    replyBulk(c, strN(buf, d2string(buf, v)));
}

void replyLongLong(struct client *c, int64_t v) {
    if (replyIsMuted(c)) return;
    char *start = replyChainReserve(c, RESP_HDR_SIZE), *end;
    if ((uint64_t)v > 99) { /* mostly a counter of many digits */
        *start = ':';
        end = respPutCrlf(start + 1 + ll2string(start + 1, v));
    } else {
        end = respPutHeader(start, ':', (size_t)v);
    }
    replyChainAdvance(c, (size_t)(end - start));
}

void replyDouble(struct client *c, double v) {
    if (c->resp < 3) {
        replyBulkDouble(c, v);
        return;
    }
    char buf[DOUBLE_STR_SIZE + 3];
    buf[0] = ',';
    unsigned n = 1 + d2string(buf + 1, v);
    buf[n++] = '\r';
    buf[n++] = '\n';
    replyRaw(c, buf, n);
}

void replyBool(struct client *c, bool v) {
    if (c->resp < 3)
        replyLongLong(c, v);
    else
        replyRaw(c, v ? "#t\r\n" : "#f\r\n", 4);
}

void replyNull(struct client *c) {
    if (c->resp < 3)
        replyPiece(c, "$-1\r\n", 5);
    else
        replyPiece(c, "_\r\n", 3);
}

void replyNullArray(struct client *c) {
    if (c->resp < 3)
        replyLiteral(c, "*-1\r\n");
    else
        replyLiteral(c, "_\r\n");
}

void replyBigNum(struct client *c, struct str digits) {
    if (c->resp < 3) {
        replyBulk(c, digits);
        return;
    }
    replyLiteral(c, "(");
    replyRaw(c, digits.ptr, digits.len);
    replyLiteral(c, "\r\n");
}

void replyVerbatim(struct client *c, struct str s, const char ext[3]) {
    if (c->resp < 3) {
        replyBulk(c, s);
        return;
    }
    replyHeader(c, '=', (int64_t)s.len + 4);
    replyRaw(c, ext, 3);
    replyLiteral(c, ":");
    replyRaw(c, s.ptr, s.len);
    replyLiteral(c, "\r\n");
}

/* ---- Aggregates ---- */

void replyArrayLen(struct client *c, int64_t n) {
    replyHeader(c, '*', n);
}

void replyMapLen(struct client *c, int64_t pairs) {
    if (c->resp < 3)
        replyHeader(c, '*', pairs * 2);
    else
        replyHeader(c, '%', pairs);
}

void replySetLen(struct client *c, int64_t n) {
    replyHeader(c, c->resp < 3 ? '*' : '~', n);
}
void replyPushLen(struct client *c, int64_t n) {
    replyHeader(c, c->resp < 3 ? '*' : '>', n);
}

void replyAttributeLen(struct client *c, int64_t pairs) {
    serverAssert(c->resp >= 3);
    replyHeader(c, '|', pairs);
}

struct replyMark replyDeferLen(struct client *c) {
    if (replyIsMuted(c)) return (struct replyMark){0};
    replyChainReserve(c, 1);
    return (struct replyMark){.block = c->out.tail, .offset = (uint32_t)c->out.tail->used};
}

/* Inserts the header at the mark: it moves the rest of the block when there is space, or splits the block. */
static void replyFillMark(struct client *c, struct replyMark m, char type, int64_t n) {
    struct replyBlock *b = m.block;
    if (!b) return;
    serverAssert(m.offset <= b->used);
    char text[RESP_HDR_SIZE];
    size_t len = respWriteHeader(text, type, n), rest = b->used - m.offset;
    c->out.bytes += len;
    if (b->cap - b->used >= len) {
        memmove(b->buf + m.offset + len, b->buf + m.offset, rest);
        memcpy(b->buf + m.offset, text, len);
        b->used += len;
        return;
    }
    struct replyBlock *tail = replyBlockNew(len + rest);
    c->out.mem += sizeof *tail + tail->cap;
    memcpy(tail->buf, text, len);
    memcpy(tail->buf + len, b->buf + m.offset, rest);
    tail->used = len + rest;
    b->used = m.offset;
    tail->next = b->next;
    b->next = tail;
    if (c->out.tail == b) c->out.tail = tail;
}

void replySetArrayLen(struct client *c, struct replyMark m, int64_t n) {
    replyFillMark(c, m, '*', n);
}

void replySetMapLen(struct client *c, struct replyMark m, int64_t pairs) {
    if (c->resp < 3)
        replyFillMark(c, m, '*', pairs * 2);
    else
        replyFillMark(c, m, '%', pairs);
}

void replySetSetLen(struct client *c, struct replyMark m, int64_t n) {
    replyFillMark(c, m, c->resp < 3 ? '*' : '~', n);
}

void replySetLenOf(struct client *c, struct replyMark m, char type, int64_t n) {
    replyFillMark(c, m, type, n);
}

/* ---- Shared bytes ---- */

/* Chooses the size of a block. A thousand clients that get a line each must not take a thousand blocks of the
 * standard size: the first is small, the next much larger, so that few pieces have to be sent. */
static struct replyBlock *replyBlockForCopy(const struct client *c, size_t n) {
    size_t cap = PUSH_ROOM;
    while (cap < n || cap < c->out.bytes) cap *= PUSH_GROWTH;
    return cap < REPLY_BLOCK_ROOM ? replyBlockOf(cap) : replyBlockNew(n);
}

void replyAppendShared(struct client *c, struct replyShared *s) {
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_FAKE)) return;
    struct replyBlock *tail = c->out.tail;
    if (!tail || replyBlockIsHold(tail)) clientWriteLater(c);
    if (s->len >= SHARE_MIN) {
        replyLinkShared(c, s, 0, s->len);
    } else {
        if (!tail || tail->cap - tail->used < s->len) replyLinkBlock(c, replyBlockForCopy(c, s->len));
        memcpy(c->out.tail->buf + c->out.tail->used, s->bytes, s->len);
        replyChainAdvance(c, s->len);
    }
    clientCheckOutput(c, 0);
}

/* ---- Errors ---- */

const char *reply_error_prefix;
void (*reply_error_unread)(const struct client *c, struct str msg);

static struct errorKind {
    char prefix[ERROR_PREFIX_MAX];
    uint64_t count;
} error_kinds[ERROR_KINDS_MAX];
static int error_kind_count;
static uint64_t error_total, error_overflow;

static void replyCountError(struct str msg) {
    const char *space = memchr(msg.ptr, ' ', msg.len);
    struct str prefix = space ? strN(msg.ptr, (size_t)(space - msg.ptr)) : STR("ERR");
    error_total++;
    if (prefix.len == 0 || prefix.len >= ERROR_PREFIX_MAX) return;
    for (int i = 0; i < error_kind_count; i++) {
        if (strEq(strOf(error_kinds[i].prefix), prefix)) {
            error_kinds[i].count++;
            return;
        }
    }
    /* Scripts can invent prefixes: above the limit they count as one kind. */
    if (error_kind_count == ERROR_KINDS_MAX) {
        if (!error_overflow++)
            serverLog(
                LL_WARNING,
                "Errorstats stopped adding new errors because the number of errors reached the limit (%d)",
                ERROR_KINDS_MAX);
        return;
    }
    struct errorKind *k = &error_kinds[error_kind_count++];
    memcpy(k->prefix, prefix.ptr, prefix.len);
    k->prefix[prefix.len] = 0;
    k->count = 1;
}

void errorStatsReset(void) {
    error_kind_count = 0;
    error_total = error_overflow = 0;
}

static int replyCompareKinds(const void *a, const void *b) {
    return strcmp(((const struct errorKind *)a)->prefix, ((const struct errorKind *)b)->prefix);
}

void errorStatsForEach(void (*fn)(void *priv, const char *prefix, uint64_t count), void *priv) {
    qsort(error_kinds, (size_t)error_kind_count, sizeof *error_kinds, replyCompareKinds);
    for (int i = 0; i < error_kind_count; i++) fn(priv, error_kinds[i].prefix, error_kinds[i].count);
    if (error_overflow) fn(priv, "ERRORSTATS_OVERFLOW", error_overflow);
}

uint64_t errorStatsTotal(void) {
    return error_total;
}

static void replyAppendError(struct client *c, struct str msg) {
    replyChainAppend(c, "-", 1);
    size_t done = 0;
    while (done < msg.len) {
        size_t n = done;
        while (n < msg.len && msg.ptr[n] != '\r' && msg.ptr[n] != '\n') n++;
        replyChainAppend(c, msg.ptr + done, n - done);
        if (n < msg.len) {
            replyChainAppend(c, " ", 1);
            n++;
        }
        done = n;
    }
    replyChainAppend(c, "\r\n", 2);
}

static sds replyWithPrefix(struct str msg) {
    bool plain = msg.len > 4 && memcmp(msg.ptr, "ERR ", 4) == 0;
    if (plain) msg = strN(msg.ptr + 4, msg.len - 4);
    return sdscatstr(sdsnew(reply_error_prefix), msg);
}

void replyErrorCounted(struct client *c, struct str msg) {
    if (clientRefusesRead(c)) return;
    c->flags |= CLIENT_ERROR;
    if (!replyIsMuted(c)) replyAppendError(c, msg);
    if (__builtin_expect(c->flags & (CLIENT_FAKE | CLIENT_PRIMARY), 0) && reply_error_unread)
        reply_error_unread(c, msg);
    if (__builtin_expect(c->flags & CLIENT_REPLICA, 0)) client_stream->replied(c, msg);
}

void replyErrorStr(struct client *c, struct str msg) {
    if (clientRefusesRead(c)) return;
    if (msg.len && msg.ptr[0] == '-') msg = strN(msg.ptr + 1, msg.len - 1);
    while (msg.len && (msg.ptr[msg.len - 1] == '\n' || msg.ptr[msg.len - 1] == '\r')) msg.len--;
    sds led = reply_error_prefix ? replyWithPrefix(msg) : NULL;
    if (led) msg = sdsview(led);
    if (c->errors_held)
        c->errors_held = ERRORS_HELD_SOME;
    else
        replyCountError(msg);
    replyErrorCounted(c, msg);
    sdsfree(led);
}

void replyErrorCount(struct client *c, struct str msg) {
    if (clientRefusesRead(c)) return;
    c->flags |= CLIENT_ERROR;
    if (c->errors_held)
        c->errors_held = ERRORS_HELD_SOME;
    else
        replyCountError(msg);
}

bool replyErrorSds(struct client *c, sds error) {
    replyErrorStr(c, sdsview(error));
    sdsfree(error);
    return false;
}

bool replyErrorFmt(struct client *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds s = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    return replyErrorSds(c, s);
}

void replyWrongType(struct client *c) {
    replyError(c, err_wrongtype);
}

static struct str (*command_name)(const struct client *c);

void replySetCommandName(struct str (*fn)(const struct client *c)) {
    command_name = fn;
}

static sds replyUpperCommandName(const struct client *c) {
    sds name = sdsnewstr(command_name ? command_name(c) : c->argv[0]);
    sdstoupper(name);
    return name;
}

void replySubcommandError(struct client *c) {
    sds name = replyUpperCommandName(c);
    struct str sub = c->argv[1];
    replyErrorFmt(c, "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try %s HELP.",
                  (int)(sub.len < 128 ? sub.len : 128), sub.ptr, name);
    sdsfree(name);
}

void replyHelp(struct client *c, const char **lines) {
    sds name = replyUpperCommandName(c);
    int n = 0;
    while (lines[n]) n++;
    replyArrayLen(c, n + 3);
    sds first = sdscatprintf(sdsempty(), "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name);
    replyStatus(c, first);
    for (int i = 0; i < n; i++) replyStatus(c, lines[i]);
    replyStatus(c, "HELP");
    replyStatus(c, "    Print this help.");
    sdsfree(first);
    sdsfree(name);
}

/* ---- Arguments ---- */

bool argLongLong(struct client *c, struct str arg, int64_t *out, const char *msg) {
    if (string2ll(arg, out)) return true;
    return replyError(c, msg ? msg : err_notint);
}

bool argRange(struct client *c, struct str arg, int64_t min, int64_t max, int64_t *out, const char *msg) {
    if (!argLongLong(c, arg, out, msg)) return false;
    if (*out >= min && *out <= max) return true;
    if (msg) return replyError(c, msg);
    return replyErrorFmt(c, "ERR value is out of range, value must between %lld and %lld", (long long)min,
                         (long long)max);
}

bool argPositive(struct client *c, struct str arg, int64_t *out, const char *msg) {
    if (string2ll(arg, out) && *out >= 0) return true;
    return replyError(c, msg ? msg : "ERR value is out of range, must be positive");
}

/* Redis accepts hexadecimal numbers as well (0x1p3) and passes them on as they are, so a primary may send
 * them, and a file may contain them. */
static bool replyReadReplayedDouble(const struct client *c, struct str arg, double *out) {
    long double wide;
    bool replayed = c->flags & CLIENT_PRIMARY || (c->flags & (CLIENT_FAKE | CLIENT_SCRIPT)) == CLIENT_FAKE;
    if (!replayed || !string2ld(arg, &wide) || !isfinite((double)wide)) return false;
    *out = (double)wide;
    return true;
}

bool argDouble(struct client *c, struct str arg, double *out, const char *msg) {
    if (string2d(arg, out) || replyReadReplayedDouble(c, arg, out)) return true;
    return replyError(c, msg ? msg : err_notfloat);
}

/* ---- Chains ---- */

void replyFreeChain(struct client *c) {
    serverAssert(!c->out.head == !c->out.tail && c->out.sent <= c->out.bytes);
    struct replyBlock *first = c->out.head;
    c->out.head = c->out.tail = NULL;
    c->out.bytes = c->out.sent = c->out.mem = 0;
    replyBlocksFree(first);
}

sds replyChainToSds(struct client *c) {
    sds s = sdsMakeRoomForExact(sdsempty(), clientOutputPending(c));
    size_t skip = c->out.sent;
    for (struct replyBlock *b = c->out.head; b; b = b->next) {
        s = sdscatlen(s, b->buf + skip, b->used - skip);
        skip = 0;
    }
    replyFreeChain(c);
    return s;
}
