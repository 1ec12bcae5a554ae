/* SPDX-License-Identifier: BSD-3-Clause */
/* str.h - borrowed strings.
 *
 * A `struct str` is a view: it points at bytes that something else owns, and does not say how
 * long they stay valid. Command arguments are views into the client's input (see
 * client/client.h). Views are not NUL terminated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/load.h"

struct str {
    const char *ptr;
    size_t len;
};

/* Return a view of a string literal, of a NUL terminated string, and of `n` bytes. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
static inline struct str strOf(const char *s) {
    return (struct str){s, strlen(s)};
}
static inline struct str strN(const char *p, size_t n) {
    return (struct str){p, n};
}

static inline bool strEq(struct str a, struct str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Returns the same as strEq, without a call up to 16 bytes: for the few places where that counts. */
static inline bool strEqShort(struct str a, struct str b) {
    const char *p = a.ptr, *q = b.ptr;
    size_t n = a.len;
    if (n != b.len) return false;
    if (n > 16) return memcmp(p, q, n) == 0;
    /* Two overlapping words, or three bytes that may be the same. */
    if (n >= 8) return load64(p) == load64(q) && load64(p + n - 8) == load64(q + n - 8);
    if (n >= 4) return load32(p) == load32(q) && load32(p + n - 4) == load32(q + n - 4);
    return n == 0 || (p[0] == q[0] && p[n / 2] == q[n / 2] && p[n - 1] == q[n - 1]);
}

/* Returns whether a equals b, ignoring ASCII case. */
static inline bool strEqNoCase(struct str a, struct str b) {
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* Returns whether a equals a NUL terminated string, ignoring ASCII case. For option names. */
static inline bool strIs(struct str a, const char *s) {
    size_t n = strlen(s);
    return a.len == n && strncasecmp(a.ptr, s, n) == 0;
}

static inline bool strStarts(struct str a, struct str with) {
    return a.len >= with.len && (with.len == 0 || memcmp(a.ptr, with.ptr, with.len) == 0);
}

/* Compares in memcmp order, the shorter first when one is a prefix of the other. <0, 0, >0. */
static inline int strCmp(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int cmp = n ? memcmp(a.ptr, b.ptr, n) : 0;
    if (cmp) return cmp;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Independent of the locale: whether c is white space, and its value as a hexadecimal digit or -1. */
static inline bool charIsBlank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline int charHexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
