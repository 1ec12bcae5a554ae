/* SPDX-License-Identifier: BSD-3-Clause */
/* read_ahead.c - the stages of keysAhead and membersAhead; see read_ahead.h. */
#include "data/keyspace/read_ahead.h"

#include "base/assert.h"
#include "base/hash_function.h"
#include "commands/cmd_spec.h"
#include "data/type.h"

#define CACHE_LINE 64

/* These say how many turns ahead a stage runs. */
#define MEMBER_BUCKET 7
#define MEMBER_ENTRY  4
#define KEY_BUCKET    (READ_AHEAD - 1)
#define KEY_OBJECT    8
#define KEY_VALUE     4

void membersAheadFetch(struct argsAhead *a, const hashtable *table) {
    for (; a->hashed < a->count && a->hashed <= a->at + MEMBER_BUCKET; a->hashed++) {
        struct str member = a->argv[a->hashed * a->step];
        uint64_t hash = hashBytes(member.ptr, member.len);
        hashtablePrefetchBucket(table, hash);
        a->hashes[a->hashed % READ_AHEAD] = hash;
    }
    if (a->at + MEMBER_ENTRY < a->hashed)
        __builtin_prefetch(hashtablePeek(table, a->hashes[(a->at + MEMBER_ENTRY) % READ_AHEAD]));
    a->at++;
}

void keysAheadInit(struct keysAhead *k, struct db *db, const struct str *argv, int count) {
    debugAssert(count > READ_AHEAD);
    k->args = (struct argsAhead){.argv = argv, .step = 1, .count = count};
    k->db = db;
    k->size = keyspaceSize(&db->keyspace);
    k->hints = db_key_hashes;
    k->hint_count = db_hint_count;
}

/* The batch has hashed the first keys already. */
static inline uint64_t keysAheadHash(const struct keysAhead *k, int i) {
    struct str key = k->args.argv[i];
    return i < k->hint_count && k->hints[i].key.ptr == key.ptr ? k->hints[i].hash : keyHash(key);
}

static void keysAheadFetchObject(struct keysAhead *k, int i) {
    const struct object *o = keyspacePeek(&k->db->keyspace, k->args.hashes[i % READ_AHEAD]);
    k->objects[i % READ_AHEAD] = o;
    if (!o) return;
    __builtin_prefetch(o);
    __builtin_prefetch((const char *)o + CACHE_LINE); /* a value embedded in it seldom fits one line */
}

/* Runs only step 0 of the type's hook: strings, which are read as a whole, have no other. */
static void keysAheadFetchValue(const struct keysAhead *k, int i) {
    static const struct prefetchRequests whole = {.parts = PREFETCH_WHOLE};
    const struct object *o = k->objects[i % READ_AHEAD];
    struct prefetchState state = {0};
    if (o && objectTypeOf(o)->prefetch) objectTypeOf(o)->prefetch(o, &whole, 0, &state);
}

/* An expired key was deleted; its object may be one of these. */
static void keysAheadDropObjects(struct keysAhead *k) {
    k->size = keyspaceSize(&k->db->keyspace);
    for (int i = 0; i < READ_AHEAD; i++) k->objects[i] = NULL;
}

void keysAheadFetch(struct keysAhead *k) {
    struct argsAhead *a = &k->args;
    int at = a->at++;
    if (__builtin_expect(keyspaceSize(&k->db->keyspace) != k->size, 0)) keysAheadDropObjects(k);
    for (; a->hashed < a->count && a->hashed <= at + KEY_BUCKET; a->hashed++) {
        uint64_t hash = a->hashes[a->hashed % READ_AHEAD] = keysAheadHash(k, a->hashed);
        keyspacePrefetch(&k->db->keyspace, hash);
    }
    if (at + KEY_OBJECT < a->count) keysAheadFetchObject(k, at + KEY_OBJECT);
    if (at + KEY_VALUE < a->count && at + KEY_VALUE >= KEY_OBJECT) keysAheadFetchValue(k, at + KEY_VALUE);
    k->hint = (struct keyHint){a->argv[at], a->hashes[at % READ_AHEAD]};
    dbSetKeyHashes(&k->hint, 1);
}
