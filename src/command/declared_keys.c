/* SPDX-License-Identifier: BSD-3-Clause */
/* declared_keys.c - see declared_keys.h. */
#include "command/declared_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "data/keyspace/db.h"

struct declaredKey {
    sds name; /* a copy: handlers may replace and take over their arguments */
    unsigned flags;
    /* For the first key of each name: how often it is named, and how many changes were notified. */
    int times, notified;
};

static struct declaredKeys *running;

/* Commands that may touch any key: scans, administrators' commands without keys, and modules' commands. */
static bool declaredKeysTouchesAny(const struct serverCommand *cmd) {
    return cmd->flags & (CMD_TOUCHES_ARBITRARY_KEYS | CMD_MODULE) ||
           (cmd->flags & CMD_ADMIN && !cmd->spec->key_spec_count);
}

static int declaredKeysCompareNames(const void *a, const void *b) {
    return strCmp(sdsview(((const struct declaredKey *)a)->name),
                  sdsview(((const struct declaredKey *)b)->name));
}

/* Index of the first key with that name among the sorted ones, or where it would be inserted. */
static int declaredKeysPlaceOf(const struct declaredKeys *d, struct str name) {
    int low = 0, high = d->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strCmp(sdsview(d->keys[middle].name), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void declaredKeysPop(struct declaredKeys *d) {
    serverAssert(running == d);
    running = d->outer;
    for (int i = 0; i < d->count; i++) sdsfree(d->keys[i].name);
    zfree(d->keys);
}

/* Commands that change a value without changing its data: they cache a result within the value, store it in
 * another way, or change a stream group's state, for which its readers need no write permission. */
static bool declaredKeysKeepsData(const struct serverCommand *cmd) {
    static const char *const names[] = {"pfcount", "pfdebug", "xreadgroup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(cmd->fullname, names[i]) == 0) return true;
    }
    return false;
}

/* Returns whether the flags of a key allow this use. */
static bool declaredKeysCovers(const struct serverCommand *cmd, unsigned flags, enum keyUse use) {
    switch (use) {
    case KEY_USE_READ: return flags & (KEY_RO | KEY_RW | KEY_ACCESS);
    case KEY_USE_CHANGE: return flags & (KEY_INSERT | KEY_UPDATE | KEY_DELETE) || declaredKeysKeepsData(cmd);
    default: return true;
    }
}

/* Returns whether elements determine which keys are read: BY and GET of SORT. */
static bool declaredKeysReadsAny(const struct commandSpec *spec) {
    for (int i = 0; i < spec->key_spec_count; i++) {
        if (spec->key_specs[i].begin == KEYS_BEGIN_UNKNOWN && spec->key_specs[i].flags & KEY_RO) return true;
    }
    return false;
}

bool declaredKeysCover(const struct db *db, struct str key, enum keyUse use) {
    const struct declaredKeys *d = running;
    if (!d || !d->client) return true;
    const struct serverCommand *cmd = d->client->cmd;
    bool elsewhere = !strcmp(cmd->fullname, "move") || !strcmp(cmd->fullname, "copy");
    if (use == KEY_USE_READ && declaredKeysReadsAny(cmd->spec)) return true;
    if (!elsewhere && db->id != d->db) return false;
    for (int i = declaredKeysPlaceOf(d, key); i < d->count && strEq(sdsview(d->keys[i].name), key); i++) {
        if (declaredKeysCovers(cmd, d->keys[i].flags, use)) return true;
    }
    return false;
}

/* Keys of other databases (MOVE, COPY) are not counted. */
bool declaredKeysNotify(const struct db *db, struct str key) {
    struct declaredKeys *d = running;
    if (!d || !d->client || db->id != d->db) return true;
    int i = declaredKeysPlaceOf(d, key);
    if (i == d->count || !strEq(sdsview(d->keys[i].name), key)) return true;
    return d->keys[i].notified++ < d->keys[i].times;
}

/* Checks a use of a key. Called by data/. */
static void declaredKeysCheckUse(const struct db *db, struct str key, enum keyUse use) {
    static const char *const uses[] = {"looked up", "read", "changed"};
    if (use == KEY_USE_NOTIFY) {
        if (declaredKeysNotify(db, key)) return;
        serverPanic("'%s' has notified once too often that the key '%.*s' has changed",
                    running->client->cmd->fullname, (int)key.len, key.ptr);
    }
    if (declaredKeysCover(db, key, use)) return;
    serverPanic("'%s' has %s the key '%.*s' of database %d without having declared it",
                running->client->cmd->fullname, uses[use], (int)key.len, key.ptr, db->id);
}

void declaredKeysPush(struct declaredKeys *d, const struct client *c) {
    *d = (struct declaredKeys){.outer = running, .client = c && !declaredKeysTouchesAny(c->cmd) ? c : NULL};
    running = d;
    key_use_hook = declaredKeysCheckUse;
    if (!d->client) return;
    struct keyRef *refs;
    int count = commandGetKeyRefs(c->cmd, c->argv, c->argc, &refs);
    d->db = c->db->id;
    d->count = count < 0 ? 0 : count;
    d->keys = zmalloc(((size_t)d->count + 1) * sizeof *d->keys);
    for (int i = 0; i < d->count; i++)
        d->keys[i] = (struct declaredKey){.name = sdsnewstr(c->argv[refs[i].pos]), .flags = refs[i].flags};
    qsort(d->keys, (size_t)d->count, sizeof *d->keys, declaredKeysCompareNames);
    for (int i = 0, first = 0; i < d->count; i++) {
        if (declaredKeysCompareNames(&d->keys[first], &d->keys[i])) first = i;
        d->keys[first].times++;
    }
    zfree(refs);
}
