/* SPDX-License-Identifier: BSD-3-Clause */
/* base64.c - see base64.h. */
#include "web/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

sds base64Encode(struct str bytes) {
    sds s = sdsMakeRoomFor(sdsempty(), bytes.len / 3 * 4 + 4);
    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t word = 0;
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        for (size_t k = 0; k < 3; k++) word = word << 8 | (k < n ? (uint8_t)bytes.ptr[i + k] : 0);
        char four[4];
        for (size_t k = 0; k < 4; k++) four[k] = k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
        s = sdscatlen(s, four, sizeof four);
    }
    return s;
}

static int base64ValueOf(char c) {
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

sds base64Decode(struct str text) {
    for (int i = 0; i < 2 && text.len && text.ptr[text.len - 1] == '='; i++) text.len--;
    if (text.len % 4 == 1) return NULL;
    sds s = sdsMakeRoomFor(sdsempty(), text.len / 4 * 3 + 3);
    uint32_t word = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64ValueOf(text.ptr[i]);
        if (value < 0) {
            sdsfree(s);
            return NULL;
        }
        word = word << 6 | (uint32_t)value;
        if (i % 4) s = sdscatlen(s, &(char){(char)(word >> (6 - 2 * (i % 4)))}, 1);
    }
    return s;
}
