/* SPDX-License-Identifier: BSD-3-Clause */
/* bitfield.c - BITFIELD: integers of 1 to 64 bits at any bit offset of a string. Part of bitops.h.
 *
 * The whole command is parsed before anything is changed, so that an error changes nothing. Then the string
 * is made long enough for the furthest write, once. */
#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_bitmap.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/string/bitops.h"
#include "types/string/string_commands.h"
#include "types/types.h"

enum fieldOp { FIELD_GET, FIELD_SET, FIELD_INCRBY };
enum overflow { OVERFLOW_WRAP, OVERFLOW_SAT, OVERFLOW_FAIL };

#define FIELD_BYTES_MAX 9 /* 64 bits that do not begin at a byte */

struct fieldCommand {
    enum fieldOp op;
    enum overflow overflow;
    bool is_signed;
    unsigned bits;
    uint64_t offset;
    int64_t value;
};

/* ---- Bits ---- */

static uint64_t bitfieldReadBits(const unsigned char *p, size_t len, uint64_t offset, unsigned bits) {
    uint64_t v = 0;
    for (unsigned i = 0; i < bits; i++, offset++) {
        uint64_t byte = offset / 8;
        unsigned bit = byte < len ? (p[byte] >> (7 - offset % 8)) & 1 : 0;
        v = v << 1 | bit;
    }
    return v;
}

static void bitfieldWriteBits(unsigned char *p, uint64_t offset, unsigned bits, uint64_t v) {
    for (unsigned i = 0; i < bits; i++, offset++) {
        unsigned char mask = (unsigned char)(0x80 >> (offset % 8));
        if (v >> (bits - 1 - i) & 1)
            p[offset / 8] |= mask;
        else
            p[offset / 8] &= (unsigned char)~mask;
    }
}

/* Returns the low bits of v as the field's integer. */
static int64_t bitfieldFieldValue(const struct fieldCommand *f, uint64_t v) {
    if (f->bits < 64) v &= (1ull << f->bits) - 1;
    if (f->is_signed && f->bits < 64 && v >> (f->bits - 1)) v |= UINT64_MAX << f->bits;
    return (int64_t)v;
}

/* Computes old + by, or just `by` for SET (old 0), in the field's range by its overflow rule. Returns
 * false for FAIL. */
static bool bitfieldFitValue(const struct fieldCommand *f, int64_t old, int64_t by, int64_t *result) {
    __int128 max = f->is_signed ? ((__int128)1 << (f->bits - 1)) - 1 : ((__int128)1 << f->bits) - 1;
    __int128 min = f->is_signed ? -((__int128)1 << (f->bits - 1)) : 0;
    __int128 sum = (__int128)old + by;
    /* A SET value of an unsigned field is taken as 64 unsigned bits. */
    if (!f->is_signed && f->op == FIELD_SET) sum = (__int128)(uint64_t)by;
    if (sum < min || sum > max) {
        if (f->overflow == OVERFLOW_FAIL) return false;
        if (f->overflow == OVERFLOW_SAT) sum = sum < min ? min : max;
    }
    *result = bitfieldFieldValue(f, (uint64_t)sum);
    return true;
}

/* ---- Parsing ---- */

static bool bitfieldParseType(struct client *c, struct str arg, struct fieldCommand *f) {
    int64_t bits = 0;
    bool ok = arg.len > 1 && (arg.ptr[0] == 'i' || arg.ptr[0] == 'u') &&
              string2ll(strN(arg.ptr + 1, arg.len - 1), &bits);
    f->is_signed = ok && arg.ptr[0] == 'i';
    if (!ok || bits < 1 || bits > (f->is_signed ? 64 : 63))
        return replyError(
            c,
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.");
    f->bits = (unsigned)bits;
    return true;
}

static bool bitfieldParseOverflow(struct client *c, struct str arg, enum overflow *out) {
    if (strIs(arg, "wrap"))
        *out = OVERFLOW_WRAP;
    else if (strIs(arg, "sat"))
        *out = OVERFLOW_SAT;
    else if (strIs(arg, "fail"))
        *out = OVERFLOW_FAIL;
    else
        return replyError(c, "ERR Invalid OVERFLOW type specified");
    return true;
}

static bool bitfieldIsOverflow(const struct str *argv, int argc, int at) {
    return strIs(argv[at], "overflow") && at + 1 < argc;
}

/* Returns how many words the operation at argv[at] takes; 0: there is none. */
static int bitfieldOperationAt(const struct str *argv, int argc, int at, enum fieldOp *op) {
    static const struct {
        const char *name;
        int words;
    } operations[] = {[FIELD_GET] = {"get", 3}, [FIELD_SET] = {"set", 4}, [FIELD_INCRBY] = {"incrby", 4}};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!strIs(argv[at], operations[i].name) || argc - at < operations[i].words) continue;
        *op = (enum fieldOp)i;
        return operations[i].words;
    }
    return 0;
}

/* A command with only GETs reads; one that does not parse to its end may do anything. */
int bitfieldGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    unsigned flags = KEY_RO | KEY_ACCESS;
    enum fieldOp op;
    for (int at = 2, words; at < argc; at += words) {
        words = bitfieldIsOverflow(argv, argc, at) ? 2 : bitfieldOperationAt(argv, argc, at, &op);
        if (bitfieldIsOverflow(argv, argc, at) || (words && op == FIELD_GET)) continue;
        flags = KEY_RW | KEY_ACCESS | KEY_UPDATE;
        break;
    }
    return keyRefsAdd(keys, 0, 1, 1, 1, flags);
}

/* Parses one operation at argv[*at] and moves *at behind it. */
static bool bitfieldParseField(struct client *c, int *at, struct fieldCommand *f) {
    int words = bitfieldOperationAt(c->argv, c->argc, *at, &f->op);
    if (!words) return replySyntaxError(c);
    if (!bitfieldParseType(c, c->argv[*at + 1], f) || !bitopsOffset(c, c->argv[*at + 2], f->bits, &f->offset))
        return false;
    if (words == 4 && !argLongLong(c, c->argv[*at + 3], &f->value, NULL)) return false;
    *at += words;
    return true;
}

/* Parses all operations. Returns their number, or -1 when an error has been replied. *bytes: length that
 * the writes need. */
static int bitfieldParseFields(struct client *c, bool read_only, struct fieldCommand *fields, size_t *bytes) {
    enum overflow overflow = OVERFLOW_WRAP;
    int n = 0;
    *bytes = 0;
    for (int at = 2; at < c->argc;) {
        if (bitfieldIsOverflow(c->argv, c->argc, at)) {
            if (!bitfieldParseOverflow(c, c->argv[at + 1], &overflow)) return -1;
            at += 2;
            continue;
        }
        struct fieldCommand *f = &fields[n];
        f->overflow = overflow;
        if (!bitfieldParseField(c, &at, f)) return -1;
        if (f->op != FIELD_GET) {
            size_t need = (f->offset + f->bits - 1) / 8 + 1;
            if (need > *bytes) *bytes = need;
        }
        n++;
    }
    if (read_only && *bytes) {
        replyError(c, "ERR BITFIELD_RO only supports the GET subcommand");
        return -1;
    }
    return n;
}

/* ---- Running ---- */

/* Returns true when the write changed the string; when the command has made the string longer, each write
 * counts. */
static bool bitfieldRunWrite(struct client *c, const struct fieldCommand *f, unsigned char *p, size_t len,
                             bool grew) {
    int64_t old = bitfieldFieldValue(f, bitfieldReadBits(p, len, f->offset, f->bits)), now;
    bool set = f->op == FIELD_SET;
    serverAssert(f->offset + f->bits <= 8 * (uint64_t)len);
    if (!bitfieldFitValue(f, set ? 0 : old, f->value, &now)) {
        replyNull(c);
        return false;
    }
    bitfieldWriteBits(p, f->offset, f->bits, (uint64_t)now);
    replyLongLong(c, set ? old : now);
    return grew || now != old;
}

static void bitfieldRunFields(struct client *c, const struct fieldCommand *fields, int n, size_t bytes) {
    struct str key = c->argv[1];
    struct object *o;
    if (!(bytes ? lookupKeyWriteType : lookupKeyReadType)(c, key, OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    struct str s = o ? stringView(o, buf) : STR("");
    bool grew = s.len < bytes;
    for (int i = 0; i < n; i++)
        if (fields[i].op != FIELD_GET) stringWillChange(o, fields[i].offset / 8, FIELD_BYTES_MAX);
    if (bytes) s.ptr = stringForWrite(c->db, key, o, bytes, &s.len);
    uint64_t changes = 0;
    replyArrayLen(c, n);
    for (int i = 0; i < n; i++) {
        unsigned char *p = (unsigned char *)s.ptr;
        if (fields[i].op == FIELD_GET)
            replyLongLong(c, bitfieldFieldValue(
                                 &fields[i], bitfieldReadBits(p, s.len, fields[i].offset, fields[i].bits)));
        else
            changes += bitfieldRunWrite(c, &fields[i], p, s.len, grew);
    }
    if (!changes && !grew) return;
    /* Even if each write has failed, the key is new, or longer: a change. */
    keyChanged(c, c->db, key, NOTIFY_STRING, "setbit", changes ? changes : 1);
}

static void bitfieldGeneric(struct client *c, bool read_only) {
    struct fieldCommand *fields = zcalloc((size_t)c->argc, sizeof *fields);
    size_t bytes;
    int n = bitfieldParseFields(c, read_only, fields, &bytes);
    if (n >= 0) bitfieldRunFields(c, fields, n, bytes);
    zfree(fields);
}

void bitfieldCommand(struct client *c) {
    bitfieldGeneric(c, false);
}
void bitfieldRoCommand(struct client *c) {
    bitfieldGeneric(c, true);
}
