/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb.c - numbers, strings and whole values in the RDB encoding.
 *
 * Data from a file or a client are not trusted: a length is compared with what is left of the stream
 * before anything is allocated for it; where that is unknown (a socket), memory grows with the bytes
 * that have arrived. LZF cannot make more than LZF_RATIO_MAX bytes out of one, so a short string cannot
 * claim gigabytes either. */
#include "data/rdb/rdb.h"

#include <errno.h>
#include <lzf.h>
#include <math.h>

#include "base/assert.h"
#include "base/crc.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/debug.h"
#include "registry/info.h"

#define SHORT_INTEGER_MAX 11 /* the longest text of an integer of 32 bits */
#define LZF_MIN_LENGTH    20 /* shorter strings are not worth a try */
#define LZF_WORTH         16 /* compression should save this fraction of a string */
#define LZF_PATIENCE      8  /* so many strings in a row that saved less stop it */
#define LZF_SKIPS_MAX     64 /* strings not tried after such a row */
#define LZF_RATIO_MAX     264
#define GROW_CHUNK        (1024 * 1024) /* bytes trusted at a time when the stream's size is unknown */
#define UNTRUSTED_PRESIZE (1u << 20)    /* in elements */
#define SECTIONS_MAX      4

int rdb_compression;
int rdb_version_check, rdb_compatible_version;
int rdb_sanitize;

enum { LEN_6BIT = 0, LEN_14BIT = 1, LEN_ENCODED = 3, LEN_32BIT_BYTE = 0x80, LEN_64BIT_BYTE = 0x81 };

/* ---- Writing ---- */

static void rdbWriteBigEndian(struct rioWriter *w, uint8_t head, uint64_t n, int bytes) {
    uint8_t b[9] = {head};
    for (int i = 0; i < bytes; i++) b[1 + i] = (uint8_t)(n >> 8 * (bytes - 1 - i));
    rioWrite(w, b, (size_t)bytes + 1);
}

static void rdbWriteLittleEndian(struct rioWriter *w, uint64_t n, int bytes) {
    uint8_t b[8];
    for (int i = 0; i < bytes; i++) b[i] = (uint8_t)(n >> 8 * i);
    rioWrite(w, b, (size_t)bytes);
}

void rdbWriteLen(struct rioWriter *w, uint64_t n) {
    if (n < 1 << 6) {
        rioWriteByte(w, (uint8_t)n);
    } else if (n < 1 << 14) {
        uint8_t b[2] = {(uint8_t)(LEN_14BIT << 6 | n >> 8), (uint8_t)n};
        rioWrite(w, b, 2);
    } else if (n <= UINT32_MAX) {
        rdbWriteBigEndian(w, LEN_32BIT_BYTE, n, 4);
    } else {
        rdbWriteBigEndian(w, LEN_64BIT_BYTE, n, 8);
    }
}

/* Returns false when the number needs more than 32 bits. */
static bool rdbWriteShortInteger(struct rioWriter *w, int64_t n) {
    int enc, bytes;
    if (n >= INT8_MIN && n <= INT8_MAX)
        enc = RDB_ENC_INT8, bytes = 1;
    else if (n >= INT16_MIN && n <= INT16_MAX)
        enc = RDB_ENC_INT16, bytes = 2;
    else if (n >= INT32_MIN && n <= INT32_MAX)
        enc = RDB_ENC_INT32, bytes = 4;
    else
        return false;
    rioWriteByte(w, (uint8_t)(LEN_ENCODED << 6 | enc));
    rdbWriteLittleEndian(w, (uint64_t)n, bytes);
    return true;
}

void rdbWriteLzfHead(struct rioWriter *w, size_t compressed, size_t length) {
    serverAssert(compressed && compressed < length);
    rioWriteByte(w, LEN_ENCODED << 6 | RDB_ENC_LZF);
    rdbWriteLen(w, compressed);
    rdbWriteLen(w, length);
}

void rdbWriteLzf(struct rioWriter *w, struct str compressed, size_t length) {
    rdbWriteLzfHead(w, compressed.len, length);
    rioWriteStr(w, compressed);
}

/* Returns false when the string would not become shorter. */
static bool rdbWriteCompressed(struct rioWriter *w, struct str s) {
    if (s.len > UINT32_MAX) return false;
    size_t room = s.len - 4; /* the two lengths take space as well */
    char small[2048];
    char *out = room <= sizeof small ? small : ztrymalloc(room);
    if (!out) return false;
    unsigned len = lzf_compress(s.ptr, (unsigned)s.len, out, (unsigned)room);
    if (len) rdbWriteLzf(w, strN(out, len), s.len);
    if (out != small) zfree(out);
    return len > 0;
}

/* Finding out that a string hardly gets shorter takes longer than everything else done for it. While strings
 * in a row do not, ever fewer are tried, until one gets shorter. */
static bool rdbTryCompressed(struct rioWriter *w, struct str s) {
    if (w->lzf_skips) {
        w->lzf_skips--;
        return false;
    }
    uint64_t before = rioWritten(w);
    bool done = rdbWriteCompressed(w, s);
    if (done && rioWritten(w) - before <= s.len - s.len / LZF_WORTH) {
        w->lzf_failed = 0;
        return true;
    }
    if (w->lzf_failed < LZF_SKIPS_MAX) w->lzf_failed++;
    if (w->lzf_learns && w->lzf_failed >= LZF_PATIENCE) w->lzf_skips = w->lzf_failed;
    return done;
}

bool rdbDirectivePacksStrings(void) {
    return rdb_compression == RDB_COMPRESSION_YES || rdb_compression == RDB_COMPRESSION_LZF;
}

static inline bool rdbPacksStrings(const struct rioWriter *w) {
    return !w->plain_strings && !w->frame && (w->packs_strings || rdbDirectivePacksStrings());
}

/* Whether the string may be the text of an integer that is written as a number. */
static inline bool rdbMayBeInteger(struct str s) {
    return s.len - 1 < SHORT_INTEGER_MAX && ((unsigned)*s.ptr - '0' <= 9 || *s.ptr == '-');
}

void rdbWriteString(struct rioWriter *w, struct str s) {
    int64_t n;
    if (rdbMayBeInteger(s) && string2ll(s, &n) && rdbWriteShortInteger(w, n)) return;
    if (rdbPacksStrings(w) && s.len > LZF_MIN_LENGTH && rdbTryCompressed(w, s)) return;
    rdbWriteLen(w, s.len);
    rioWriteStr(w, s);
}

void rdbWriteInt64(struct rioWriter *w, int64_t n) {
    rdbWriteLittleEndian(w, (uint64_t)n, 8);
}

void rdbWriteDouble(struct rioWriter *w, double d) {
    uint64_t bits;
    memcpy(&bits, &d, 8);
    rdbWriteLittleEndian(w, bits, 8);
}

/* The text of RDB_TYPE_ZSET has a byte for its length; three values are a byte without a text. */
enum { RDB_TEXT_NAN = 253, RDB_TEXT_INF = 254, RDB_TEXT_NEGATIVE_INF = 255 };

void rdbWriteDoubleText(struct rioWriter *w, double d, struct str text) {
    uint8_t len = isnan(d)   ? RDB_TEXT_NAN
                  : isinf(d) ? (d > 0 ? RDB_TEXT_INF : RDB_TEXT_NEGATIVE_INF)
                             : (uint8_t)text.len;
    serverAssert(text.len < RDB_TEXT_NAN);
    rioWriteByte(w, len);
    if (len < RDB_TEXT_NAN) rioWrite(w, text.ptr, text.len);
}

static __attribute__((noinline)) void rdbWriteScoredSlow(struct rioWriter *w, struct str member,
                                                         double score) {
    rdbWriteString(w, member);
    rdbWriteDouble(w, score);
}

/* Copies 8 to 16 bytes. */
static inline void rdbCopyAbout12(char *to, const char *from, size_t n) {
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, from + n - 8, 8);
    memcpy(to, &first, 8);
    memcpy(to + n - 8, &last, 8);
}

/* A snapshot without a fork delays a client while it writes whole sets, so members of usual lengths take no
 * detour and no call. */
void rdbWriteScored(struct rioWriter *w, struct str member, double score) {
    if (member.len - 8 > 8 || w->size - w->used < 1 + 16 + 8 || rdbMayBeInteger(member)) {
        rdbWriteScoredSlow(w, member, score);
        return;
    }
    char *p = w->buf + w->used;
    *p = (char)member.len;
    rdbCopyAbout12(p + 1, member.ptr, member.len);
    memcpy(p + 1 + member.len, &score, 8);
    w->used += 1 + member.len + 8;
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rdbWriteScored copies the score");
_Static_assert(LZF_MIN_LENGTH >= 16, "rdbWriteScored compresses nothing");

/* ---- Reading ---- */

void rdbReaderFree(struct rdbReader *r) {
    rioReaderFree(&r->io);
    sdsfree(r->scratch);
    r->scratch = NULL;
}

/* When *encoded is set, n is an RDB_ENC_*. */
static bool rdbReadLenOrEncoding(struct rdbReader *r, uint64_t *n, bool *encoded) {
    uint8_t b, more[8];
    *encoded = false;
    *n = 0;
    if (!rioReadByte(&r->io, &b)) return false;
    switch (b >> 6) {
    case LEN_6BIT: *n = b & 63; return true;
    case LEN_14BIT:
        if (!rioReadByte(&r->io, more)) return false;
        *n = (uint64_t)(b & 63) << 8 | more[0];
        return true;
    case LEN_ENCODED:
        *n = b & 63;
        *encoded = true;
        return true;
    }
    if (b != LEN_32BIT_BYTE && b != LEN_64BIT_BYTE)
        return rioFail(&r->io, "unknown length encoding 0x%02x", b);
    int bytes = b == LEN_32BIT_BYTE ? 4 : 8;
    if (!rioRead(&r->io, more, (size_t)bytes)) return false;
    *n = 0;
    for (int i = 0; i < bytes; i++) *n = *n << 8 | more[i];
    return true;
}

bool rdbReadLen(struct rdbReader *r, uint64_t *n) {
    bool encoded;
    if (!rdbReadLenOrEncoding(r, n, &encoded)) return false;
    return !encoded || rioFail(&r->io, "a number was expected, not an encoded string");
}

static bool rdbCheckLeft(struct rdbReader *r, uint64_t bytes) {
    return bytes <= rioLeft(&r->io) ||
           rioFail(&r->io, "%llu bytes announced, %llu left", (unsigned long long)bytes,
                   (unsigned long long)rioLeft(&r->io));
}

bool rdbReadCount(struct rdbReader *r, size_t min_bytes, uint64_t *n) {
    serverAssert(min_bytes > 0);
    if (!rdbReadLen(r, n)) return false;
    if (*n <= rioLeft(&r->io) / min_bytes) return true;
    return rioFail(&r->io, "%llu elements announced, %llu bytes left", (unsigned long long)*n,
                   (unsigned long long)rioLeft(&r->io));
}

static bool rdbReadLittleEndian(struct rdbReader *r, int bytes, uint64_t *n) {
    uint8_t b[8];
    if (!rioRead(&r->io, b, (size_t)bytes)) return false;
    *n = 0;
    for (int i = bytes; i-- > 0;) *n = *n << 8 | b[i];
    return true;
}

static bool rdbReadEncodedInteger(struct rdbReader *r, uint64_t enc, int64_t *n) {
    uint64_t bits;
    int bytes = enc == RDB_ENC_INT8 ? 1 : enc == RDB_ENC_INT16 ? 2 : 4;
    if (!rdbReadLittleEndian(r, bytes, &bits)) return false;
    *n = bytes == 1 ? (int8_t)bits : bytes == 2 ? (int16_t)bits : (int32_t)bits;
    return true;
}

/* Allocates memory for `len` bytes that are to come, or returns NULL and sets the error. */
static void *rdbAllocate(struct rdbReader *r, uint64_t len) {
    void *p = len <= SIZE_MAX / 2 ? ztrymalloc(len ? len : 1) : NULL;
    if (!p) rioFail(&r->io, "no memory for a string of %llu bytes", (unsigned long long)len);
    return p;
}

/* Reads len bytes of the stream into memory from zmalloc, which grows as they arrive where the length
 * is not trusted. */
static char *rdbReadBytes(struct rdbReader *r, uint64_t len) {
    if (!rdbCheckLeft(r, len)) return NULL;
    bool trusted = r->io.size != RIO_SIZE_UNKNOWN || len <= GROW_CHUNK;
    uint64_t have = 0, room = trusted ? len : GROW_CHUNK;
    char *p = rdbAllocate(r, room);
    while (p && have < len) {
        if (!rioRead(&r->io, p + have, room - have)) break;
        have = room;
        if (have == len) break;
        room = room * 2 < len ? room * 2 : len;
        char *more = ztryrealloc(p, room);
        if (!more) {
            rioFail(&r->io, "no memory for a string of %llu bytes", (unsigned long long)len);
            break;
        }
        p = more;
    }
    if (p && have < len) {
        zfree(p);
        p = NULL;
    }
    return p;
}

struct lzfHead {
    uint64_t compressed, length;
};

static bool rdbReadLzfHead(struct rdbReader *r, struct lzfHead *h) {
    if (!rdbReadLen(r, &h->compressed) || !rdbReadLen(r, &h->length) || !rdbCheckLeft(r, h->compressed))
        return false;
    if (h->length > UINT32_MAX || h->compressed == 0 || h->length > h->compressed * LZF_RATIO_MAX)
        return rioFail(&r->io, "compressed string of impossible length");
    return true;
}

/* Decompresses h->length bytes into dst. */
static bool rdbDecompress(struct rdbReader *r, const struct lzfHead *h, char *dst) {
    bool in_place = h->compressed <= RIO_BUFFER || !r->io.buf;
    char *copy = in_place ? NULL : rdbReadBytes(r, h->compressed);
    const char *src = in_place ? rioView(&r->io, h->compressed) : copy;
    if (!src) return false;
    unsigned got = lzf_decompress(src, (unsigned)h->compressed, dst, (unsigned)h->length);
    zfree(copy);
    return got == h->length || rioFail(&r->io, "a compressed string does not expand to its announced length");
}

static bool rdbFailEncoding(struct rdbReader *r, uint64_t enc) {
    return rioFail(&r->io, "unknown string encoding %llu", (unsigned long long)enc);
}

/* Makes r->scratch a string of len bytes. */
static bool rdbReserveScratch(struct rdbReader *r, uint64_t len) {
    if (!r->scratch || sdslen(r->scratch) + sdsavail(r->scratch) < len) {
        sds more = len <= SIZE_MAX / 2 ? sdstrynewlen(NULL, len) : NULL;
        if (!more) return rioFail(&r->io, "no memory for a string of %llu bytes", (unsigned long long)len);
        sdsfree(r->scratch);
        r->scratch = more;
    }
    sdssetlen(r->scratch, len);
    return true;
}

bool rdbReadString(struct rdbReader *r, struct str *s) {
    uint64_t n;
    bool encoded;
    if (!rdbReadLenOrEncoding(r, &n, &encoded)) return false;
    if (encoded && n == RDB_ENC_LZF) {
        struct lzfHead h;
        if (!rdbReadLzfHead(r, &h) || !rdbReserveScratch(r, h.length) || !rdbDecompress(r, &h, r->scratch))
            return false;
        *s = strN(r->scratch, h.length);
        return true;
    }
    if (encoded) {
        int64_t i;
        if (n > RDB_ENC_INT32) return rdbFailEncoding(r, n);
        if (!rdbReadEncodedInteger(r, n, &i)) return false;
        *s = strN(r->small, ll2string(r->small, i));
        return true;
    }
    if (n <= RIO_BUFFER || !r->io.buf) {
        if (!rdbCheckLeft(r, n)) return false;
        const char *p = rioView(&r->io, n);
        if (!p) return false;
        *s = strN(p, n);
        return true;
    }
    if (!rdbCheckLeft(r, n)) return false;
    if (r->io.size == RIO_SIZE_UNKNOWN) { /* do not trust the length */
        char *p = rdbReadBytes(r, n);
        if (!p) return false;
        sdsfree(r->scratch);
        r->scratch = sdsnewlen(p, n);
        zfree(p);
    } else if (!rdbReserveScratch(r, n) || !rioRead(&r->io, r->scratch, n)) {
        return false;
    }
    *s = strN(r->scratch, n);
    return true;
}

sds rdbTakeString(struct rdbReader *r, struct str s) {
    if (s.ptr != r->scratch || s.len <= RIO_BUFFER || sdsavail(r->scratch) > s.len / 8)
        return sdsnewlen(s.ptr, s.len);
    sds own = r->scratch;
    r->scratch = NULL;
    return own;
}

sds rdbReadSds(struct rdbReader *r) {
    struct str s;
    return rdbReadString(r, &s) ? rdbTakeString(r, s) : NULL;
}

bool rdbReadElement(struct rdbReader *r, struct str *s) {
    if (!rdbReadString(r, s)) return false;
    return s->len <= RDB_ELEMENT_MAX || rioFail(&r->io, "an element of %zu bytes", s->len);
}

bool rdbReadHeld(struct rdbReader *r, struct rdbHeld *h) {
    h->own = NULL;
    if (!rdbReadElement(r, &h->s)) return false;
    if (h->s.len <= sizeof h->room) {
        memcpy(h->room, h->s.ptr, h->s.len);
        h->s.ptr = h->room;
    } else {
        h->own = rdbTakeString(r, h->s);
        h->s = sdsview(h->own);
    }
    return true;
}

size_t rdbPresize(const struct rdbReader *r, uint64_t n) {
    bool trusted = !r->from_client && r->io.size != RIO_SIZE_UNKNOWN;
    return trusted || n <= UNTRUSTED_PRESIZE ? n : UNTRUSTED_PRESIZE;
}

static uint64_t rdb_sanitizations; /* blobs that were checked completely */

unsigned char *rdbReadBlob(struct rdbReader *r, size_t *len) {
    uint64_t n;
    bool encoded;
    char *p;
    rdb_sanitizations += r->deep;
    if (!rdbReadLenOrEncoding(r, &n, &encoded)) return NULL;
    if (!encoded) {
        p = rdbReadBytes(r, n);
        *len = n;
        return (unsigned char *)p;
    }
    struct lzfHead h;
    if (n == RDB_ENC_LZF) {
        if (!rdbReadLzfHead(r, &h)) return NULL;
        p = rdbAllocate(r, h.length);
        if (p && !rdbDecompress(r, &h, p)) {
            zfree(p);
            return NULL;
        }
        *len = h.length;
        return (unsigned char *)p;
    }
    rioFail(&r->io, "a container cannot be an integer");
    return NULL;
}

bool rdbReadInt64(struct rdbReader *r, int64_t *n) {
    uint64_t bits;
    if (!rdbReadLittleEndian(r, 8, &bits)) return false;
    *n = (int64_t)bits;
    return true;
}

bool rdbReadInt32(struct rdbReader *r, int32_t *n) {
    uint64_t bits;
    if (!rdbReadLittleEndian(r, 4, &bits)) return false;
    *n = (int32_t)bits;
    return true;
}

bool rdbReadDouble(struct rdbReader *r, double *d) {
    uint64_t bits;
    if (!rdbReadLittleEndian(r, 8, &bits)) return false;
    memcpy(d, &bits, 8);
    return true;
}

bool rdbReadDoubleText(struct rdbReader *r, double *d, struct str *text) {
    uint8_t len;
    *text = STR("");
    if (!rioReadByte(&r->io, &len)) return false;
    if (len == RDB_TEXT_NAN) *d = NAN;
    if (len == RDB_TEXT_INF) *d = INFINITY;
    if (len == RDB_TEXT_NEGATIVE_INF) *d = -INFINITY;
    if (len >= RDB_TEXT_NAN) return true;
    const char *p = rioView(&r->io, len);
    if (!p) return false;
    *text = strN(p, len);
    return string2d(*text, d) || rioFail(&r->io, "a score is not a number");
}

/* Skips n bytes. */
static bool rdbSkip(struct rdbReader *r, uint64_t n) {
    if (!rdbCheckLeft(r, n)) return false;
    while (n > 0) {
        size_t part = n < RIO_BUFFER ? n : RIO_BUFFER;
        if (!rioView(&r->io, part)) return false;
        n -= part;
    }
    return true;
}

bool rdbSkipString(struct rdbReader *r) {
    uint64_t n;
    bool encoded;
    if (!rdbReadLenOrEncoding(r, &n, &encoded)) return false;
    if (!encoded) return rdbSkip(r, n);
    if (n <= RDB_ENC_INT32) return rdbSkip(r, 1u << n);
    if (n != RDB_ENC_LZF) return rdbFailEncoding(r, n);
    uint64_t compressed, length;
    return rdbReadLen(r, &compressed) && rdbReadLen(r, &length) && rdbSkip(r, compressed);
}

/* ---- Values ---- */

uint8_t rdbValueType(const struct rioWriter *w, const struct object *o) {
    return objectTypeOf(o)->rdbType(o, w->version);
}

void rdbWriteValue(struct rioWriter *w, const struct object *o) {
    objectTypeOf(o)->save(w, o);
}

enum rdbLoaded rdbReadValue(struct rdbReader *r, uint8_t type, struct value *v) {
    if (!rdbVersionHas(r->version, type)) return rdbFailType(r, type);
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        const struct objectType *t = objectTypes[i];
        if (t && type < 64 && t->rdb_types >> type & 1) return t->load(r, type, v);
    }
    uint64_t id;
    if (type != RDB_TYPE_MODULE_2) return rdbFailType(r, type);
    return rdbReadLen(r, &id) ? rdbReadUnknownModule(r, id) : RDB_FAILED;
}

/* ---- DUMP payloads ---- */

sds rdbDumpSeal(sds body, int version) {
    serverAssert(version >= 0 && version <= UINT16_MAX);
    uint8_t b[2] = {(uint8_t)version, (uint8_t)(version >> 8)};
    body = sdscatlen(body, b, 2);
    uint64_t crc = crc64(0, body, sdslen(body));
    uint8_t sum[8];
    for (int i = 0; i < 8; i++) sum[i] = (uint8_t)(crc >> 8 * i);
    return sdscatlen(body, sum, 8);
}

/* Returns the lowest version whose readers know the type, as it has been written for `wanted`. Redis 8.6
 * reads payloads with RDB_TYPE_STREAM_LISTPACKS_4, too. */
static int rdbDumpVersion(int wanted, uint8_t type) {
    if (type <= RDB_TYPE_STREAM_LISTPACKS_3) return rdbIsForRedis7(wanted) ? wanted : RDB_VERSION;
    if (type == RDB_TYPE_STREAM_LISTPACKS_4) return RDB_VERSION_REDIS_86;
    return rdbVersionIsRedis(wanted) ? RDB_VERSION_REDIS_74 : rdbTypeVersion(type);
}

sds rdbDump(const struct object *o, int version) {
    sds out = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &out);
    w.version = version;
    if (!rdbVersionHas(version, rdbValueType(&w, o))) w.version = 0;
    uint8_t type = rdbValueType(&w, o);
    rioWriteByte(&w, type);
    rdbWriteValue(&w, o);
    rioFlush(&w);
    rioWriterFree(&w);
    return rdbDumpSeal(out, rdbDumpVersion(w.version, type));
}

bool rdbDumpValid(struct str payload, struct str *body, int *version) {
    if (payload.len < 10) return false;
    const uint8_t *foot = (const uint8_t *)payload.ptr + payload.len - 10;
    int v = foot[0] | foot[1] << 8;
    uint64_t sum = 0;
    for (int i = 8; i-- > 0;) sum = sum << 8 | foot[2 + i];
    if (!rdbVersionReadable(v) && !(rdb_version_check == RDB_CHECK_RELAXED && v > RDB_VERSION)) return false;
    if (sum != crc64(0, payload.ptr, payload.len - 8) && !debug_switches.skip_checksum) return false;
    if (version) *version = v;
    *body = strN(payload.ptr, payload.len - 10);
    return true;
}

/* ---- Sections of other modules ---- */

const char *rdbTypeName(int version, int type) {
    static const char *const names[RDB_TYPES] = {
        "string",
        "list-linked",
        "set-hashtable",
        "zset-v1",
        "hash-hashtable",
        "zset-v2",
        "module-pre-release",
        "module-value",
        "",
        "hash-zipmap",
        "list-ziplist",
        "set-intset",
        "zset-ziplist",
        "hash-ziplist",
        "quicklist",
        "stream",
        "hash-listpack",
        "zset-listpack",
        "quicklist-v2",
        "stream-v2",
        "set-listpack",
        "stream-v3",
        "hash-expiring",
        "pathhash",
        "hash-hashtable-md",
        "hash-listpack-md",
        "stream-v4",
    };
    return type >= 0 && type < RDB_TYPES && rdbVersionHas(version, (uint8_t)type) ? names[type] : "";
}

static const struct rdbSection *sections[SECTIONS_MAX];
static int section_count;

void rdbSectionRegister(const struct rdbSection *section) {
    serverAssert(section_count < SECTIONS_MAX && section->opcode && section->save && section->load);
    sections[section_count++] = section;
}

const struct rdbSection *const *rdbSections(int *count) {
    *count = section_count;
    return sections;
}

static const struct rdbField *fields[SECTIONS_MAX];
static int field_count;

void rdbFieldRegister(const struct rdbField *field) {
    serverAssert(field_count < SECTIONS_MAX && field->name && field->value && field->load);
    fields[field_count++] = field;
}

const struct rdbField *const *rdbFields(int *count) {
    *count = field_count;
    return fields;
}

void rdbSectionsEmpty(void) {
    for (int i = 0; i < section_count; i++) {
        if (sections[i]->empty) sections[i]->empty();
    }
}

void rdbSectionsExchange(bool take) {
    for (int i = 0; i < section_count; i++) sections[i]->exchange(take);
}

/* ---- Directives ---- */

static const struct configEnum check_names[] = {
    {"strict", RDB_CHECK_STRICT}, {"relaxed", RDB_CHECK_RELAXED}, {NULL, 0}};
static const struct configEnum sanitize_names[] = {
    {"no", RDB_SANITIZE_NO}, {"yes", RDB_SANITIZE_YES}, {"clients", RDB_SANITIZE_CLIENTS}, {NULL, 0}};

static const struct configEnum compression_names[] = {
    {"no", RDB_COMPRESSION_NO},   {"yes", RDB_COMPRESSION_YES},   {"lzf", RDB_COMPRESSION_LZF},
    {"lz4", RDB_COMPRESSION_LZ4}, {"zstd", RDB_COMPRESSION_ZSTD}, {NULL, 0}};

static const struct configEnum version_names[] = {{"0", 0},
                                                  {"10", RDB_VERSION_REDIS_7},
                                                  {"11", RDB_VERSION},
                                                  {"12", RDB_VERSION_REDIS_74},
                                                  {"13", RDB_VERSION_REDIS_86},
                                                  {"80", RDB_VERSION_EXPIRING},
                                                  {"81", RDB_VERSION_PATHS},
                                                  {NULL, 0}};

enum streamCodec rdbFileCodec(void) {
    if (rdb_compatible_version && rdb_compatible_version < RDB_VERSION_PATHS) return STREAM_PLAIN;
    return rdb_compression == RDB_COMPRESSION_LZ4    ? STREAM_LZ4
           : rdb_compression == RDB_COMPRESSION_ZSTD ? STREAM_ZSTD
                                                     : STREAM_PLAIN;
}

static struct configDirective directives[] = {
    {.name = "rdbcompression",
     .type = CONFIG_TYPE_ENUM,
     .flags = CONFIG_MODIFIABLE,
     .var.e = &rdb_compression,
     .def = RDB_COMPRESSION_YES,
     .names = compression_names,
     .valid = streamNameIsAvailable},
    CONFIG_ENUM("rdb-version-check", NULL, CONFIG_MODIFIABLE, &rdb_version_check, RDB_CHECK_STRICT,
                check_names, NULL),
    CONFIG_ENUM("rdb-compatible-version", NULL, CONFIG_MODIFIABLE, &rdb_compatible_version, 0, version_names,
                NULL),
    CONFIG_BOOL("rdb-skip-unknown-types", NULL, CONFIG_MODIFIABLE, &rdb_skip_unknown_types, false, NULL),
    CONFIG_ENUM("sanitize-dump-payload", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &rdb_sanitize,
                RDB_SANITIZE_NO, sanitize_names, NULL),
};

static sds rdbInfo(sds s) {
    return infoField(s, "dump_payload_sanitizations:%llu", (unsigned long long)rdb_sanitizations);
}

static void rdbResetStats(void) {
    rdb_sanitizations = 0;
}

void rdbInit(void) {
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("stats", rdbInfo);
    configOnResetStat(rdbResetStats);
}
