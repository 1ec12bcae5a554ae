/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_encode.c - writes requests, for what the server passes on to files and replicas. */
#include <string.h>

#include "net/resp.h"

#define HEADER_MAX 24 /* "$18446744073709551615\r\n" */

size_t respRequestRoom(int argc, const struct str *argv) {
    size_t bytes = HEADER_MAX + (size_t)argc * (HEADER_MAX + 2);
    for (int i = 0; i < argc; i++) bytes += argv[i].len;
    return bytes;
}

char *respWriteRequestHead(char *dst, int64_t argc) {
    return respPutHeader(dst, '*', (size_t)argc);
}

char *respWriteBulkHead(char *dst, size_t len) {
    return respPutHeader(dst, '$', len);
}

char *respWriteRequest(char *dst, int argc, const struct str *argv) {
    dst = respPutHeader(dst, '*', (size_t)argc);
    for (int i = 0; i < argc; i++) {
        dst = respPutHeader(dst, '$', argv[i].len);
        memcpy(dst, argv[i].ptr, argv[i].len);
        dst += argv[i].len;
        *dst++ = '\r';
        *dst++ = '\n';
    }
    return dst;
}
