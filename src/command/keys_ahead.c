/* SPDX-License-Identifier: BSD-3-Clause */
/* keys_ahead.c - see keys_ahead.h. */
#include "command/keys_ahead.h"

#include "base/hash.h"
#include "command/command.h"
#include "command/request.h"
#include "data/type.h"

#define OBJECT_AHEAD 8
#define VALUE_AHEAD  4
#define CACHE_LINE   64

/* The round has hashed the first keys already. */
static void fetchBucket(struct keysAhead *k) {
    int i = k->bucket++;
    struct str key = k->argv[i * k->step];
    struct keyHint *h = &k->hints[i % KEYS_AHEAD];
    const struct request *r = k->c->request;
    if (r && i < r->key_count && r->hints[i].key.ptr == key.ptr)
        *h = r->hints[i];
    else
        *h = (struct keyHint){key, keyHash(key)};
    dbPrefetch(k->c->db, h->hash);
}

static void fetchObject(struct keysAhead *k, int i) {
    struct object *o = dbPeek(k->c->db, k->hints[i % KEYS_AHEAD].hash);
    k->objects[i % KEYS_AHEAD] = o;
    if (!o) return;
    __builtin_prefetch(o);
    __builtin_prefetch((const char *)o + CACHE_LINE); /* with a value in it, it seldom fits one */
}

/* Only the first step of the type's hook: those of strings, which are read as a whole, have no other. */
static void fetchValue(struct keysAhead *k, int i) {
    const struct object *o = k->objects[i % KEYS_AHEAD];
    struct prefetchState state = {0};
    if (o && objectTypeOf(o)->prefetch) objectTypeOf(o)->prefetch(o, &k->c->request->wants, 0, &state);
}

/* A key that was found expired is gone, and its object may have been one that is to come again. */
static void forgetObjects(struct keysAhead *k) {
    k->size = dbAllKeys(k->c->db);
    for (int i = 0; i < KEYS_AHEAD; i++) k->objects[i] = NULL;
}

void keysAheadFetchNext(struct keysAhead *k) {
    int at = k->at++;
    if (__builtin_expect(dbAllKeys(k->c->db) != k->size, 0)) forgetObjects(k);
    while (k->bucket < k->count && k->bucket <= at + KEYS_AHEAD - 1) fetchBucket(k);
    if (at + OBJECT_AHEAD < k->count) fetchObject(k, at + OBJECT_AHEAD);
    if (at + VALUE_AHEAD < k->count && at + VALUE_AHEAD >= OBJECT_AHEAD) fetchValue(k, at + VALUE_AHEAD);
    dbSetHints(&k->hints[at % KEYS_AHEAD], 1);
}

void keysAheadEnd(struct keysAhead *k) {
    const struct request *r = k->c->request;
    dbSetHints(r->hints, r->hint_count);
}
