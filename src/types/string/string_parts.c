/* SPDX-License-Identifier: BSD-3-Clause */
/* string_parts.c - long strings in snapshots without a fork: struct valueParts (data/forkless/large_value.h).
 *
 * The text of the moment of the registration is written from its beginning, in pieces. Before a part of the
 * text changes in place, the pieces in it that are still to be written are copied.
 *
 *     pieces     | 0 | 1 | 2 | 3 | 4 | 5 |
 *                  written   at      copy of 4 in `kept`
 *
 * The text may move when it grows, and when replies come to share it or no longer do; stringPartsMoved is
 * told of that. When many copies wait, others go to a file (largeValueSpill). */
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/rdb/rewrite.h"
#include "types/rdb_hooks.h"
#include "types/string/string_commands.h"

#define PIECE_BYTES (64 * 1024)

struct stringSave {
    const char *text;
    size_t len;
    size_t at, pieces; /* the next piece, and how many there are */
    size_t kept_bytes;
    struct stringPiece {
        char *copy;                 /* or NULL */
        struct spillExtent spilled; /* or empty */
    } kept[];
};

static size_t stringPieceBytes(const struct stringSave *s, size_t piece) {
    size_t left = s->len - piece * PIECE_BYTES;
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

static bool stringPartsIsLarge(const struct object *o) {
    return sdslen(stringSds(o)) > LARGE_VALUE_BYTES;
}

static void stringPartsBegin(struct largeValue *v, const struct object *o) {
    struct rioWriter *w = largeValueWriter(v);
    struct str text = sdsview(stringSds(o));
    size_t pieces = (text.len + PIECE_BYTES - 1) / PIECE_BYTES;
    struct stringSave *s = zcalloc(1, sizeof *s + pieces * sizeof *s->kept);
    s->text = text.ptr;
    s->len = text.len;
    s->pieces = pieces;
    v->state = s;
    if (v->commands) {
        rewriteCommand(w, 3);
        rewriteWord(w, "SET");
        rewriteArg(w, v->key);
        rewriteArgBegin(w, text.len);
    } else {
        rdbWriteLen(w, text.len);
    }
}

static bool stringPartsNext(struct largeValue *v) {
    struct stringSave *s = v->state;
    struct rioWriter *w = largeValueWriter(v);
    struct stringPiece *kept = &s->kept[s->at];
    if (kept->spilled.bytes)
        largeValueWriteSpilled(v, kept->spilled);
    else
        rioWrite(w, kept->copy ? kept->copy : s->text + s->at * PIECE_BYTES, stringPieceBytes(s, s->at));
    if (kept->copy) s->kept_bytes -= stringPieceBytes(s, s->at);
    zfree(kept->copy);
    kept->copy = NULL;
    s->at++;
    if (s->at < s->pieces) return true;
    if (v->commands) rewriteArgEnd(w);
    return false;
}

static void stringPartsEnd(struct largeValue *v, bool complete) {
    struct stringSave *s = v->state;
    (void)complete;
    for (size_t i = s->at; i < s->pieces; i++) zfree(s->kept[i].copy);
    zfree(s);
}

static void stringPartsKeep(struct largeValue *v, struct stringSave *s, size_t piece) {
    struct stringPiece *kept = &s->kept[piece];
    struct str text = strN(s->text + piece * PIECE_BYTES, stringPieceBytes(s, piece));
    if (kept->copy || kept->spilled.bytes || largeValueSpill(v, text, &kept->spilled)) return;
    kept->copy = memcpy(zmalloc(text.len), text.ptr, text.len);
    s->kept_bytes += text.len;
}

void stringPartsWillChange(const struct object *o, size_t from, size_t len) {
    struct largeValue *v = largeValueFind(objectPtr(o));
    struct stringSave *s = v ? v->state : NULL;
    if (!s || from >= s->len) return;
    size_t end = len < s->len - from ? from + len : s->len, piece = from / PIECE_BYTES;
    if (piece < s->at) piece = s->at;
    for (; piece * PIECE_BYTES < end; piece++) stringPartsKeep(v, s, piece);
}

void stringPartsMoved(const void *from, const struct object *o) {
    struct largeValue *v = largeValueFind(from);
    if (!v) return;
    if (from != objectPtr(o)) largeValueMoved(from, objectPtr(o));
    v->encoding = o->encoding & 15;
    if (v->state) ((struct stringSave *)v->state)->text = stringSds(o);
}

static size_t stringPartsKeptBytes(const struct largeValue *v) {
    return ((const struct stringSave *)v->state)->kept_bytes;
}

static const struct valueParts string_parts = {.isLarge = stringPartsIsLarge,
                                               .begin = stringPartsBegin,
                                               .next = stringPartsNext,
                                               .end = stringPartsEnd,
                                               .keptBytes = stringPartsKeptBytes};

const struct valueParts *stringParts(const struct object *o) {
    return objectHasPtr(o) ? &string_parts : NULL;
}
