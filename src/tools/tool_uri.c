/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_uri.c - see tool_uri.h. */
#include "tools/tool_uri.h"

#include <ctype.h>
#include <stdlib.h>

sds toolPercentDecode(const char *p, size_t len) {
    sds out = sdsempty();
    for (size_t i = 0; i < len; i++) {
        char byte = p[i];
        if (byte == '%' && i + 2 < len && isxdigit((unsigned char)p[i + 1]) &&
            isxdigit((unsigned char)p[i + 2])) {
            byte = (char)strtol((char[]){p[i + 1], p[i + 2], '\0'}, NULL, 16);
            i += 2;
        }
        out = sdscatlen(out, &byte, 1);
    }
    return out;
}
