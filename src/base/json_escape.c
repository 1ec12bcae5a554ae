/* SPDX-License-Identifier: BSD-3-Clause */
/* json_escape.c - see json_escape.h. */
#include "base/json_escape.h"

#include <stdbool.h>
#include <string.h>

/* Returns the bytes of the character at the start of `text`; 0: it is not UTF-8 (RFC 3629, section 4). */
static size_t jsonEscapeUtf8Length(struct str text) {
    const unsigned char *p = (const unsigned char *)text.ptr;
    unsigned char lead = *p, low = 0x80, high = 0xbf; /* bounds of the second byte */
    if (lead < 0x80) return 1;
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.len < len) return 0;
    if (lead == 0xe0) low = 0xa0;  /* no overlong form */
    if (lead == 0xed) high = 0x9f; /* no surrogates */
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f; /* nothing beyond U+10FFFF */
    bool good = p[1] >= low && p[1] <= high;
    for (size_t i = 2; i < len; i++) good = good && (p[i] & 0xc0) == 0x80;
    return good ? len : 0;
}

static char *jsonEscapeHexDigits(char *dst, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    *dst++ = digits[byte >> 4];
    *dst++ = digits[byte & 15];
    return dst;
}

/* Writes one byte that has to be escaped. */
static char *jsonEscapeByte(char *dst, unsigned char byte) {
    static const char bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *known = byte ? strchr(bytes, byte) : NULL;
    *dst++ = '\\';
    if (known) {
        *dst++ = letters[known - bytes];
        return dst;
    }
    memcpy(dst, byte < 0x80 ? "u00" : "\\x", 3);
    return jsonEscapeHexDigits(dst + (byte < 0x80 ? 3 : 2), byte);
}

size_t jsonEscape(char *dst, size_t room, struct str *text) {
    char *p = dst;
    while (text->len && (size_t)(dst + room - p) >= JSON_ESCAPE_MAX) {
        unsigned char byte = (unsigned char)*text->ptr;
        size_t len = jsonEscapeUtf8Length(*text);
        if (byte < ' ' || byte == '"' || byte == '\\' || !len) {
            p = jsonEscapeByte(p, byte);
            len = 1;
        } else {
            memcpy(p, text->ptr, len);
            p += len;
        }
        *text = strN(text->ptr + len, text->len - len);
    }
    return (size_t)(p - dst);
}
