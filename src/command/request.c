/* SPDX-License-Identifier: BSD-3-Clause */
/* request.c - see request.h.
 *
 *     a copy:  | struct request | argv[0] .. argv[argc-1] | bytes of the arguments |
 *                                     └──────────────────▶ or of the buffers in `big` */
#include "command/request.h"

#include <string.h>

#include "base/assert.h"
#include "base/hash_function.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"

/* ---- Copies ---- */

static size_t requestPlainBytes(const struct request *r) {
    size_t bytes = 0;
    for (int i = 0; i < r->argc; i++) bytes += requestArgIsBig(r, i) ? 0 : r->argv[i].len;
    return bytes;
}

static size_t requestHeadBytes(const struct request *r) {
    return sizeof *r + (size_t)r->argc * sizeof(struct str);
}

struct request *requestCopy(struct request *from) {
    struct request *r = zmalloc(requestHeadBytes(from) + requestPlainBytes(from));
    *r = (struct request){.argv = (struct str *)(r + 1),
                          .argc = from->argc,
                          .cmd = from->cmd,
                          .unpropagated = from->unpropagated,
                          .exclude = from->exclude,
                          .redacted = from->redacted};
    char *p = (char *)(r->argv + r->argc);
    for (int i = 0; i < r->argc; i++) {
        r->argv[i] = from->argv[i];
        if (requestArgIsBig(from, i)) continue;
        if (r->argv[i].len) memcpy(p, from->argv[i].ptr, from->argv[i].len);
        r->argv[i].ptr = p;
        p += r->argv[i].len;
    }
    r->big = from->big;
    from->big = NULL;
    debugAssert(p == (char *)r + requestHeadBytes(r) + requestPlainBytes(r));
    return r;
}

void requestRelease(struct request *r) {
    if (!r) return;
    serverAssert(r->argv == (struct str *)(r + 1)); /* a copy */
    respBigArgsFree(r->big);
    zfree(r);
}

static size_t requestPrefixLength(uint64_t n) { /* length of "$3\r\n" */
    char digits[LONG_STR_SIZE];
    return 3 + ull2string(digits, n);
}

size_t requestLength(const struct request *r) {
    if (r->raw.ptr) return r->raw.len;
    size_t bytes = requestPrefixLength((uint64_t)r->argc);
    for (int i = 0; i < r->argc; i++) bytes += requestPrefixLength(r->argv[i].len) + r->argv[i].len + 2;
    return bytes;
}

size_t requestMemory(const struct request *r) {
    size_t bytes = requestHeadBytes(r) + requestPlainBytes(r);
    for (const struct respBigArg *b = r->big; b; b = b->next) {
        bytes += sizeof *b + (b->buf ? sdsAllocSize(b->buf) : 0);
    }
    return bytes;
}

/* ---- Hashing ---- */

/* These parts of a value are found by other arguments than the key. */
#define PREFETCH_OF_ARGUMENTS (PREFETCH_MEMBER | PREFETCH_NEW_MEMBER | PREFETCH_PATH | PREFETCH_SCORE)

static int requestHashManyKeys(struct request *r, struct keyHint *key_hashes, int room) {
    const struct serverCommand *cmd = r->cmd;
    int last = cmd->last_key < 0 ? r->argc + cmd->last_key : cmd->last_key, n = 0;
    int most = room - 1 < REQUEST_KEYS_MAX ? room - 1 : REQUEST_KEYS_MAX;
    for (int64_t pos = cmd->first_key; n < most && pos <= last && pos < r->argc; pos += cmd->key_step, n++) {
        key_hashes[n].key = r->argv[pos];
        key_hashes[n].hash = keyHash(r->argv[pos]);
    }
    r->key_count = n;
    unsigned parts = cmd->spec->prefetch;
    int pos = parts & PREFETCH_MEMBER ? 2 : parts & PREFETCH_NEW_MEMBER ? 3 : 0;
    r->prefetch.parts = (uint16_t)parts;
    if (pos && pos < r->argc && n) {
        key_hashes[n].key = r->prefetch.member = r->argv[pos];
        key_hashes[n].hash = r->prefetch.member_hash = hashBytes(r->argv[pos].ptr, r->argv[pos].len);
        prefetchNoteScore(&r->prefetch, 0, r->argv[2]);
        n++;
    } else if (parts & PREFETCH_PATH && r->argc > 2) {
        r->prefetch.member = r->argv[2];
    } else if (parts & PREFETCH_SCORE) {
        prefetchNoteScore(&r->prefetch, 0, r->argv[2]);
        prefetchNoteScore(&r->prefetch, 1, r->argv[3]);
    }
    return r->key_hash_count = n;
}

int requestHashKeys(struct request *r, struct keyHint *key_hashes, int room) {
    const struct serverCommand *cmd = r->cmd;
    r->key_hashes = key_hashes;
    r->key_hash_count = r->key_count = 0;
    r->prefetch.member.ptr = NULL;
    if (!cmd || cmd->first_key <= 0 || !commandArityOk(cmd, r->argc)) return 0;
    /* The most frequent form is one key and nothing else. (A module's command may have too few arguments for
     * its key.) */
    unsigned parts = cmd->spec->prefetch;
    bool one = cmd->first_key == cmd->last_key && !(parts & PREFETCH_OF_ARGUMENTS) && room > 1 &&
               cmd->first_key < r->argc;
    if (!one) return requestHashManyKeys(r, key_hashes, room);
    r->prefetch.parts = (uint16_t)parts;
    key_hashes->key = r->argv[cmd->first_key];
    key_hashes->hash = keyHash(key_hashes->key);
    return r->key_hash_count = r->key_count = 1;
}

/* ---- The protocol ---- */

sds requestAppend(sds s, const struct request *r) {
    if (r->raw.ptr) return sdscatstr(s, r->raw);
    s = sdsMakeRoomFor(s, respRequestRoom(r->argc, r->argv));
    sdssetlen(s, (size_t)(respWriteRequest(s + sdslen(s), r->argc, r->argv) - s));
    return s;
}

/* ---- Queues ---- */

struct request *requestQueueAdd(struct requestQueue *q, struct request *from) {
    if (q->count == q->cap) {
        q->cap = q->cap ? q->cap * 2 : 4;
        q->at = zrealloc(q->at, (size_t)q->cap * sizeof *q->at);
    }
    return q->at[q->count++] = requestCopy(from);
}

void requestQueueClear(struct requestQueue *q) {
    for (int i = 0; i < q->count; i++) requestRelease(q->at[i]);
    zfree(q->at);
    *q = (struct requestQueue){0};
}

/* ---- Big arguments ---- */

static struct respBigArg *requestBigAt(const struct request *r, int i) {
    struct respBigArg *b = r->big;
    while (b && b->index != i) b = b->next;
    return b && b->buf ? b : NULL;
}

bool requestArgIsBig(const struct request *r, int i) {
    return requestBigAt(r, i) != NULL;
}

sds requestTakeArg(struct request *r, int i) {
    struct respBigArg *b = requestBigAt(r, i);
    if (!b) return sdsnewstr(r->argv[i]);
    sds taken = b->buf;
    b->buf = NULL;
    return taken;
}
