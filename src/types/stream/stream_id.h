/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_id.h - the IDs of stream entries: a time in ms, and a number among those of the same time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct streamID {
    uint64_t ms, seq;
};
#define STREAM_ID_MIN  ((struct streamID){0, 0})
#define STREAM_ID_MAX  ((struct streamID){UINT64_MAX, UINT64_MAX})
#define STREAM_ID_TEXT 44 /* bytes that any ID's text fits into */

static inline int streamIDCompare(struct streamID a, struct streamID b) {
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}
static inline bool streamIDIsZero(struct streamID id) {
    return !id.ms && !id.seq;
}
bool streamIDNext(struct streamID *id); /* false: there is no higher one */
bool streamIDPrev(struct streamID *id);
struct str streamIDText(struct streamID id, char *buf); /* "ms-seq" */
/* Parses "ms" or "ms-seq". missing_seq is used when no sequence is given. */
bool streamIDParse(struct str text, uint64_t missing_seq, struct streamID *id);
bool streamIDParseNumber(struct str text, uint64_t *n);

/* IDs as keys of a tree: big endian, so that their order is that of the bytes. */
struct streamKey {
    char bytes[16];
};
struct streamKey streamKeyOf(struct streamID id);
static inline struct str streamKeyView(const struct streamKey *k) {
    return strN(k->bytes, sizeof k->bytes);
}
struct streamID streamKeyID(struct str key);
