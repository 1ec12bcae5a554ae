/* notify.h - telling the rest of the server that a key has changed. Rooms that care (blocked clients, WATCH,
 * tracking, keyspace events) register a sink; with no sinks a call costs a load and a branch. */
#pragma once

#include "data/db.h"

enum {
    NOTIFY_KEYSPACE = 1 << 0,  /* K */
    NOTIFY_KEYEVENT = 1 << 1,  /* E */
    NOTIFY_GENERIC = 1 << 2,   /* g */
    NOTIFY_STRING = 1 << 3,    /* $ */
    NOTIFY_LIST = 1 << 4,      /* l */
    NOTIFY_SET = 1 << 5,       /* s */
    NOTIFY_HASH = 1 << 6,      /* h */
    NOTIFY_ZSET = 1 << 7,      /* z */
    NOTIFY_EXPIRED = 1 << 8,   /* x */
    NOTIFY_EVICTED = 1 << 9,   /* e */
    NOTIFY_STREAM = 1 << 10,   /* t */
    NOTIFY_KEY_MISS = 1 << 11, /* m */
    NOTIFY_LOADED = 1 << 12,
    NOTIFY_MODULE = 1 << 13, /* d */
    NOTIFY_NEW = 1 << 14,    /* n */
};

/* The value of key changed (WATCH, tracking). c may be NULL (expiry, eviction). Call once per changed key. */
void signalModifiedKey(struct client *c, struct db *db, struct str key);
/* Event for subscribers: notifyKeyspaceEvent(NOTIFY_ZSET, "zadd", key, db->id). */
void notifyKeyspaceEvent(int class, const char *event, struct str key, int dbid);

/* A database was emptied or swapped. */
void signalFlushedDb(int dbid);

typedef void modifiedSink(struct client *c, struct db *db, struct str key);
typedef void eventSink(int class, const char *event, struct str key, int dbid);
typedef void flushSink(int dbid);
void notifyAddModifiedSink(modifiedSink *fn);
void notifyAddEventSink(eventSink *fn);
void notifyRemoveEventSink(eventSink *fn);
void notifyAddFlushSink(flushSink *fn);
