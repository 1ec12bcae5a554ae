/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_id.c - see stream_id.h. */
#include "types/stream/stream_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define ID_TEXT_MAX 127

bool streamIDNext(struct streamID *id) {
    if (id->seq == UINT64_MAX) {
        if (id->ms == UINT64_MAX) return false;
        id->ms++;
    }
    id->seq++;
    return true;
}

bool streamIDPrev(struct streamID *id) {
    if (!id->seq) {
        if (!id->ms) return false;
        id->ms--;
    }
    id->seq--;
    return true;
}

struct str streamIDText(struct streamID id, char *buf) {
    unsigned n = ull2string(buf, id.ms);
    buf[n++] = '-';
    n += ull2string(buf + n, id.seq);
    return strN(buf, n);
}

/* Strict, except that leading zeros, blanks and a plus have always been accepted. */
bool streamIDParseNumber(struct str text, uint64_t *n) {
    char buf[ID_TEXT_MAX + 1], *end;
    if (string2ull(text, n)) return true;
    if (!text.len || text.len > ID_TEXT_MAX || memchr(text.ptr, '-', text.len)) return false;
    memcpy(buf, text.ptr, text.len);
    buf[text.len] = 0;
    errno = 0;
    *n = strtoull(buf, &end, 10);
    return !errno && end == buf + text.len;
}

bool streamIDParse(struct str text, uint64_t missing_seq, struct streamID *id) {
    if (text.len > ID_TEXT_MAX || !text.len) return false;
    const char *dash = memchr(text.ptr, '-', text.len);
    id->seq = missing_seq;
    if (!dash) return streamIDParseNumber(text, &id->ms);
    size_t n = (size_t)(dash - text.ptr);
    return streamIDParseNumber(strN(text.ptr, n), &id->ms) &&
           streamIDParseNumber(strN(dash + 1, text.len - n - 1), &id->seq);
}

struct streamKey streamKeyOf(struct streamID id) {
    struct streamKey k;
    uint64_t ms = __builtin_bswap64(id.ms), seq = __builtin_bswap64(id.seq);
    memcpy(k.bytes, &ms, 8);
    memcpy(k.bytes + 8, &seq, 8);
    return k;
}

struct streamID streamKeyID(struct str key) {
    struct streamID id;
    memcpy(&id.ms, key.ptr, 8);
    memcpy(&id.seq, key.ptr + 8, 8);
    return (struct streamID){__builtin_bswap64(id.ms), __builtin_bswap64(id.seq)};
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys are big endian");
