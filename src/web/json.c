/* json.c - see json.h. */
#include "web/json.h"

#include <math.h>

#include "base/num.h"

static sds comma(sds s) {
    size_t n = sdslen(s);
    char last = n ? s[n - 1] : '[';
    return last == '[' || last == '{' || last == ':' ? s : sdscatlen(s, ",", 1);
}

sds jsonOpen(sds s, char bracket) {
    return sdscatlen(comma(s), &bracket, 1);
}

sds jsonClose(sds s, char bracket) {
    return sdscatlen(s, &bracket, 1);
}

sds jsonNumber(sds s, double number) {
    char text[DOUBLE_STR_SIZE];
    if (!isfinite(number)) return sdscat(comma(s), "null");
    return sdscatlen(comma(s), text, d2string(text, number));
}

sds jsonBool(sds s, bool b) {
    return sdscat(comma(s), b ? "true" : "false");
}

/* Bytes of the character at p (RFC 3629); 0: it is none. */
static size_t utf8Length(const unsigned char *p, size_t len) {
    static const struct {
        unsigned char mask, lead;
        size_t bytes;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((p[0] & forms[i].mask) != forms[i].lead) continue;
        if (forms[i].bytes > len) return 0;
        uint32_t code = p[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k < forms[i].bytes; k++) {
            if ((p[k] & 0xc0) != 0x80) return 0;
            code = code << 6 | (p[k] & 0x3f);
        }
        bool good = code >= forms[i].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        return good ? forms[i].bytes : 0;
    }
    return 0;
}

static sds appendChar(sds s, const unsigned char *p, size_t bytes) {
    if (bytes == 0) return sdscat(s, "\\ufffd");
    if (*p == '"' || *p == '\\') s = sdscatlen(s, "\\", 1);
    if (*p < 0x20 || *p == 0x7f) return sdscatprintf(s, "\\u%04x", *p);
    return sdscatlen(s, p, bytes);
}

sds jsonString(sds s, struct str text) {
    const unsigned char *p = (const unsigned char *)text.ptr;
    s = sdscatlen(comma(s), "\"", 1);
    for (size_t i = 0; i < text.len;) {
        size_t bytes = utf8Length(p + i, text.len - i);
        s = appendChar(s, p + i, bytes);
        i += bytes ? bytes : 1;
    }
    return sdscatlen(s, "\"", 1);
}

sds jsonName(sds s, struct str name) {
    return sdscatlen(jsonString(s, name), ":", 1);
}

sds jsonNameNumber(sds s, const char *name, double number) {
    return jsonNumber(jsonName(s, strOf(name)), number);
}

sds jsonNameString(sds s, const char *name, struct str text) {
    return jsonString(jsonName(s, strOf(name)), text);
}
