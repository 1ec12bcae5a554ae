/* SPDX-License-Identifier: BSD-3-Clause */
/* notify.c - passes key changes to the modules that registered for them. */
#include "data/notify.h"

#include "base/assert.h"
#include "base/read_phase.h"
#include "data/keyspace/key_use.h"

#define SINKS_MAX 8

keyUseHook *key_use_hook;
subkeySink *notify_subkey_sink;

static struct {
    modifiedSink *fn;
    const size_t *interest;
} modified_sinks[SINKS_MAX];
static eventSink *event_sinks[SINKS_MAX];
static flushSink *flush_sinks[SINKS_MAX];
static int modified_count, event_count, flush_count;
static modifiedSink *marker;

/* A removal is right by itself: it goes through the keyspace (keyspace.h). */
void keyAssertSavedNow(const struct db *db, struct str key) {
    if (!db->keyspace.walk) return;
    uint64_t hash = keyHash(key);
    const struct object *o = keyspaceFind((struct keyspace *)&db->keyspace, key, hash);
    if (o && !keyspaceWalkHasSaved(db->keyspace.walk, hash, o))
        serverPanic("the key '%.*s' of database %d changes, but the running snapshot has not saved it",
                    (int)key.len, key.ptr, db->id);
}

static inline void notifyModified(struct client *c, struct db *db, struct str key) {
    keyAssertSaved(db, key);
    if (c) {
        keyUsed(db, key, KEY_USE_CHANGE);
        keyUsed(db, key, KEY_USE_NOTIFY);
    }
    for (int i = 0; i < modified_count; i++)
        if (*modified_sinks[i].interest) modified_sinks[i].fn(c, db, key);
}

void keyEvent(int class, const char *event, struct str key, const struct db *db) {
    if (event_count && readRefuses()) return;
    for (int i = 0; i < event_count; i++) event_sinks[i](class, event, key, db->id);
}

void keyReplaced(const struct db *db, struct str key, unsigned old_type, unsigned new_type) {
    keyEvent(NOTIFY_OVERWRITTEN, "overwritten", key, db);
    if (old_type != new_type) keyEvent(NOTIFY_TYPE_CHANGED, "type_changed", key, db);
}

void keyChanged(struct client *c, struct db *db, struct str key, int class, const char *event,
                uint64_t changes) {
    debugAssert(!read_context.reads);
    notifyModified(c, db, key);
    if (event) keyEvent(class, event, key, db);
    dbstats.dirty += changes;
}

void keyMoved(struct client *c, struct db *from, struct str src, const char *from_event, struct db *to,
              struct str dst, const char *to_event) {
    debugAssert(from_event && to_event);
    notifyModified(c, from, src);
    notifyModified(c, to, dst);
    keyEvent(NOTIFY_GENERIC, from_event, src, from);
    keyEvent(NOTIFY_GENERIC, to_event, dst, to);
    dbstats.dirty++;
}

void keyDropped(struct db *db, struct str key, int class, const char *event) {
    if (event) keyEvent(class, event, key, db);
    notifyModified(NULL, db, key);
}

bool notifyHasSubscribers(bool events) {
    for (int i = 0; i < modified_count; i++) {
        if (*modified_sinks[i].interest) return true;
    }
    return events && event_count;
}

void keyStateChanged(struct db *db, struct str key, int class, const char *event, uint64_t changes) {
    keyUsed(db, key, KEY_USE_CHANGE);
    keyAssertSaved(db, key);
    if (marker && changes) marker(NULL, db, key);
    if (event) keyEvent(class, event, key, db);
    dbstats.dirty += changes;
}

bool notifyHasEventSinks(void) {
    return event_count > 0;
}

void signalFlushedDb(int dbid) {
    for (int i = 0; i < flush_count; i++) flush_sinks[i](dbid);
}

void notifyAddModifiedSink(modifiedSink *fn, const size_t *interest) {
    serverAssert(fn && interest && modified_count < SINKS_MAX);
    modified_sinks[modified_count].fn = fn;
    modified_sinks[modified_count++].interest = interest;
}

/* The marker is among the modified sinks while there is one: without it, changes cost nothing more. */
void notifySetMarker(modifiedSink *fn) {
    static const size_t always = 1;
    int i = 0;
    while (i < modified_count && modified_sinks[i].fn != marker) i++;
    if (i < modified_count) {
        modified_count--;
        memmove(modified_sinks + i, modified_sinks + i + 1,
                (size_t)(modified_count - i) * sizeof *modified_sinks);
    }
    marker = fn;
    if (fn) notifyAddModifiedSink(fn, &always);
}

void notifyAddEventSink(eventSink *fn) {
    serverAssert(fn && event_count < SINKS_MAX);
    event_sinks[event_count++] = fn;
}

void notifyAddFirstEventSink(eventSink *fn) {
    notifyAddEventSink(fn);
    memmove(event_sinks + 1, event_sinks, (size_t)(event_count - 1) * sizeof *event_sinks);
    event_sinks[0] = fn;
}

void notifyRemoveEventSink(eventSink *fn) {
    int i = 0;
    while (i < event_count && event_sinks[i] != fn) i++;
    serverAssert(i < event_count);
    event_count--;
    memmove(event_sinks + i, event_sinks + i + 1, (size_t)(event_count - i) * sizeof *event_sinks);
}

void notifyAddFlushSink(flushSink *fn) {
    serverAssert(fn && flush_count < SINKS_MAX);
    flush_sinks[flush_count++] = fn;
}
