/* resp_encode.c - requests, written: what the server passes on to files and replicas. */
#include <string.h>

#include "net/resp.h"

#define HEADER_MAX 24 /* "$18446744073709551615\r\n" */

static inline char *writeHeader(char *p, char mark, size_t n) {
    if (__builtin_expect(n > 99, 0)) return p + respWriteHeader(p, mark, (int64_t)n);
    *p++ = mark;
    if (n > 9) *p++ = (char)('0' + n / 10);
    *p++ = (char)('0' + n % 10);
    *p++ = '\r';
    *p++ = '\n';
    return p;
}

size_t respRequestRoom(int argc, const struct str *argv) {
    size_t room = HEADER_MAX + (size_t)argc * (HEADER_MAX + 2);
    for (int i = 0; i < argc; i++) room += argv[i].len;
    return room;
}

char *respWriteRequestHead(char *dst, int64_t argc) {
    return writeHeader(dst, '*', (size_t)argc);
}

char *respWriteBulkHead(char *dst, size_t len) {
    return writeHeader(dst, '$', len);
}

char *respWriteRequest(char *dst, int argc, const struct str *argv) {
    dst = writeHeader(dst, '*', (size_t)argc);
    for (int i = 0; i < argc; i++) {
        dst = writeHeader(dst, '$', argv[i].len);
        memcpy(dst, argv[i].ptr, argv[i].len);
        dst += argv[i].len;
        *dst++ = '\r';
        *dst++ = '\n';
    }
    return dst;
}
