/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_scan.c - finds the ends of replies, as cheaply as possible.
 *
 * A reply is a tree in preorder, so counting finds its end: a reply starts with one value missing, a
 * complete value subtracts one, and the header of an aggregate adds its elements. The payload of a bulk
 * string is skipped by its length. The state between two reads is two numbers and the beginning of a
 * line; no byte is read twice, and all clients of a thread share one input buffer. */
#include "tools/benchmark/benchmark_scan.h"

#include <string.h>

/* Reads "123\r", the rest of "$123\r". More than 18 digits are invalid. */
static bool benchScanParseLength(const char *p, size_t len, int64_t *out) {
    bool negative = len && *p == '-';
    int64_t n = 0;
    size_t i = negative;
    if (len - i > 18) return false;
    size_t first = i;
    for (; i < len && p[i] >= '0' && p[i] <= '9'; i++) n = n * 10 + (p[i] - '0');
    *out = negative ? -n : n;
    return i > first && (i == len || (p[i] == '\r' && i + 1 == len));
}

static void benchScanSaveError(struct replyScan *s, const char *text, size_t len) {
    if (len && text[len - 1] == '\r') len--;
    if (len > sizeof(s->error) - 1) len = sizeof(s->error) - 1;
    memcpy(s->error, text, len);
    s->error[len] = '\0';
    s->count++;
}

/* Counts a complete value; returns 1 when the whole reply is complete. */
static int64_t benchScanCloseValue(struct replyScan *s) {
    if (--s->open > 0) return 0;
    int64_t counts = !s->push;
    s->push = false;
    s->open = 1;
    return counts;
}

/* Begins a bulk string: its bytes and CRLF are skipped, then the value is complete. */
static int64_t benchScanOpenBulk(struct replyScan *s, int64_t len) {
    if (len < 0) return benchScanCloseValue(s);
    s->skip = len + 2;
    return 0;
}

static int64_t benchScanOpenAggregate(struct replyScan *s, char type, int64_t n) {
    if (type == '>' && s->open == 1) s->push = true;
    if (n > 0) s->open += type == '%' || type == '|' ? 2 * n : n;
    return type == '|' ? 0 : benchScanCloseValue(s); /* attributes precede the value they belong to */
}

/* Handles a whole line, without its LF. */
static int64_t benchScanHandleLine(struct replyScan *s, const char *line, size_t len) {
    int64_t n;
    switch (len ? line[0] : '\0') {
    case '+':
    case ':':
    case ',':
    case '(':
    case '#':
    case '_': return benchScanCloseValue(s);
    case '-': benchScanSaveError(s, line + 1, len - 1); return benchScanCloseValue(s);
    case '!': benchScanSaveError(s, "(bulk error)", 12); __attribute__((fallthrough));
    case '$':
    case '=':
        if (benchScanParseLength(line + 1, len - 1, &n)) return benchScanOpenBulk(s, n);
        break;
    case '*':
    case '~':
    case '>':
    case '%':
    case '|':
        if (benchScanParseLength(line + 1, len - 1, &n)) return benchScanOpenAggregate(s, line[0], n);
        break;
    }
    s->broken = true;
    return 0;
}

/* Handles a piece of a line: whole lines in place, others are put together in s->line. */
static int64_t benchScanHandlePiece(struct replyScan *s, const char *piece, size_t len, bool ends) {
    if (s->line_len == 0 && ends) return benchScanHandleLine(s, piece, len);
    size_t room = sizeof(s->line) - s->line_len;
    size_t n = len < room ? len : room;
    memcpy(s->line + s->line_len, piece, n);
    s->line_len += n;
    if (!ends) return 0;
    n = s->line_len;
    s->line_len = 0;
    return benchScanHandleLine(s, s->line, n);
}

void replyScanInit(struct replyScan *s) {
    memset(s, 0, sizeof(*s));
    s->open = 1;
}

int64_t replyScanFeed(struct replyScan *s, const char *buf, size_t len) {
    const char *p = buf, *end = buf + len;
    int64_t replies = 0;
    while (p < end && !s->broken) {
        if (s->skip) {
            int64_t n = s->skip < end - p ? s->skip : end - p;
            p += n;
            s->skip -= n;
            if (s->skip == 0) replies += benchScanCloseValue(s);
            continue;
        }
        /* Lines are so short that a loop is faster than memchr. */
        const char *start = p;
        while (p < end && *p != '\n') p++;
        bool ends = p < end;
        replies += benchScanHandlePiece(s, start, (size_t)(p - start), ends);
        p += ends;
    }
    return replies;
}
