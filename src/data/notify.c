/* notify.c - fan-out of key changes to the rooms that registered for them. */
#include "data/notify.h"

#include "base/assert.h"
#include "command/declared_keys.h"

#define SINKS_MAX 8

static modifiedSink *modified_sinks[SINKS_MAX];
static eventSink *event_sinks[SINKS_MAX];
static flushSink *flush_sinks[SINKS_MAX];
static int modified_count, event_count, flush_count;

void signalModifiedKey(struct client *c, struct db *db, struct str key) {
    if (c) declaredKeysCheck(db, key, KEY_USE_CHANGE);
    for (int i = 0; i < modified_count; i++) modified_sinks[i](c, db, key);
}

void notifyKeyspaceEvent(int class, const char *event, struct str key, int dbid) {
    for (int i = 0; i < event_count; i++) event_sinks[i](class, event, key, dbid);
}

void signalFlushedDb(int dbid) {
    for (int i = 0; i < flush_count; i++) flush_sinks[i](dbid);
}

void notifyAddModifiedSink(modifiedSink *fn) {
    serverAssert(modified_count < SINKS_MAX);
    modified_sinks[modified_count++] = fn;
}

void notifyAddEventSink(eventSink *fn) {
    serverAssert(event_count < SINKS_MAX);
    event_sinks[event_count++] = fn;
}

void notifyRemoveEventSink(eventSink *fn) {
    int i = 0;
    while (i < event_count && event_sinks[i] != fn) i++;
    serverAssert(i < event_count);
    event_count--;
    memmove(event_sinks + i, event_sinks + i + 1, (size_t)(event_count - i) * sizeof *event_sinks);
}

void notifyAddFlushSink(flushSink *fn) {
    serverAssert(flush_count < SINKS_MAX);
    flush_sinks[flush_count++] = fn;
}
