/* SPDX-License-Identifier: BSD-3-Clause */
/* glob.c - glob-style patterns.
 *
 *     *       any bytes, also none          [abc] [a-z]   one of these bytes; ranges work backwards too
 *     ?       any one byte                  [^a]          one byte that is none of these
 *     \x      x itself                      [\]]          so does a backslash in brackets
 *
 * An empty text is matched by an empty pattern alone, not by "*", as in Valkey: rights to keys depend on it.
 * A bracket that is not closed ends with the pattern; a lone backslash at the end is itself.
 *
 * The idea: when the rest of the pattern fails after a '*', let that star take one more byte and go on from
 * there. Only the last star needs this: once another one is reached, whatever the earlier took is as good as
 * anything else it could have taken. That bounds the work by pattern length times text length. */
#include "base/glob.h"

static unsigned char globFold(char c, bool nocase) {
    return nocase && c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : (unsigned char)c;
}

/* Reads one byte of a bracket without its backslash. Returns what follows. */
static const char *globClassByte(const char *p, const char *end, bool nocase, unsigned char *out) {
    if (*p == '\\' && end - p >= 2) p++;
    *out = globFold(*p, nocase);
    return p + 1;
}

/* Returns whether c is in the bracket that opens just before p. *next is what follows the bracket. */
static bool globMatchClass(const char *p, const char *end, char byte, bool nocase, const char **next) {
    unsigned char c = globFold(byte, nocase);
    bool negated = p < end && *p == '^', found = false;
    p += negated;
    while (p < end && *p != ']') {
        unsigned char low, high;
        bool escaped = *p == '\\' && end - p >= 2;
        p = globClassByte(p, end, nocase, &low);
        high = low;
        if (!escaped && end - p >= 2 && *p == '-') {
            high = globFold(p[1], nocase);
            p += 2;
        }
        if (low > high) {
            unsigned char swap = low;
            low = high;
            high = swap;
        }
        found |= low <= c && c <= high;
    }
    *next = p < end ? p + 1 : end;
    return found != negated;
}

/* Returns whether the element at p, which is no star, matches the byte. *next is the element after it. */
static bool globMatchOne(const char *p, const char *end, char byte, bool nocase, const char **next) {
    switch (*p) {
    case '?': *next = p + 1; return true;
    case '[': return globMatchClass(p + 1, end, byte, nocase, next);
    case '\\':
        if (end - p >= 2) p++;
        break;
    }
    *next = p + 1;
    return globFold(*p, nocase) == globFold(byte, nocase);
}

bool globMatch(struct str pattern, struct str text, bool nocase) {
    const char *p = pattern.ptr, *pEnd = p + pattern.len;
    const char *t = text.ptr, *tEnd = t + text.len;
    const char *after_star = NULL, *star_took = NULL; /* the last star has taken the text up to star_took */
    if (!text.len) return !pattern.len;
    while (t < tEnd) {
        const char *next;
        if (p < pEnd && *p == '*') {
            after_star = ++p;
            star_took = t;
            if (p == pEnd) return true;
        } else if (p < pEnd && globMatchOne(p, pEnd, *t, nocase, &next)) {
            p = next;
            t++;
        } else if (after_star) {
            p = after_star;
            t = ++star_took;
        } else {
            return false;
        }
    }
    while (p < pEnd && *p == '*') p++;
    return p == pEnd;
}
