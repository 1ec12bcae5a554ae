/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - see json.h. */
#include "web/json.h"

#include <math.h>

#include "base/json_escape.h"
#include "base/num.h"

static sds jsonComma(sds s) {
    size_t n = sdslen(s);
    char last = n ? s[n - 1] : '[';
    return last == '[' || last == '{' || last == ':' ? s : sdscatlen(s, ",", 1);
}

sds jsonOpen(sds s, char bracket) {
    return sdscatlen(jsonComma(s), &bracket, 1);
}

sds jsonClose(sds s, char bracket) {
    return sdscatlen(s, &bracket, 1);
}

sds jsonNumber(sds s, double number) {
    char text[DOUBLE_STR_SIZE];
    if (!isfinite(number)) return sdscat(jsonComma(s), "null");
    return sdscatlen(jsonComma(s), text, d2string(text, number));
}

sds jsonBool(sds s, bool b) {
    return sdscat(jsonComma(s), b ? "true" : "false");
}

sds jsonString(sds s, struct str text) {
    char piece[1024];
    s = sdscatlen(jsonComma(s), "\"", 1);
    while (text.len) {
        size_t len = jsonEscape(piece, sizeof piece, &text);
        s = sdscatlen(s, piece, len);
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
