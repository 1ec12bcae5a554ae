/* SPDX-License-Identifier: BSD-3-Clause */
/* notify.h - a key has changed: who tells, who hears.
 *
 *     a handler ──▶ keyChanged ──▶ 1. modified sinks   WATCH, tracking
 *                                  2. event sinks      keyspace events
 *                                  3. dbstats.dirty    is there anything to propagate, or to save?
 *
 * Invariant: what a command changes in a value, every key once, comes through here, always in this order,
 * when the keyspace is as the change has left it. Builds that check the use of keys (key_use.h) assert that a
 * command tells of a key no more often than it has named it, and of none that it has not.
 *
 * Rooms that care register a sink; with no sinks a call costs a load and a branch. */
#pragma once

#include "base/str.h"
#include "data/keyspace/database.h"

struct client;

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

/* c's command (NULL: a job) has changed the value of this key. `event` is that of subscribers, of a class
 * NOTIFY_ZSET ...; NULL: none. `changes` counts towards the next save; with 0 the command is not propagated
 * for this. */
void keyChanged(struct client *c, struct db *db, struct str key, int class, const char *event,
                uint64_t changes);
/* One change of two keys (RENAME, MOVE): those who watch hear of both before those who listen. */
void keyMoved(struct client *c, struct db *from, struct str src, const char *from_event, struct db *to,
              struct str dst, const char *to_event);
/* A key has gone without a command having asked for it. Here the event, if there is one, comes first. */
void keyDropped(struct db *db, struct str key, int class, const char *event);
/* What hangs on a key beside its value has changed, which neither WATCH nor tracking counts as a change of
 * the value: what a consumer group has been given. event may be NULL. */
void keyStateChanged(struct db *db, struct str key, int class, const char *event, uint64_t changes);
bool notifySinks(void); /* does anybody hear of events? */
/* One more event about a key, behind that of its change; or about one that has not changed. */
void keyEvent(int class, const char *event, struct str key, const struct db *db);
/* Changes that are no single key's: whole databases, libraries of functions. */
static inline void changesCount(uint64_t changes) {
    dbstats.dirty += changes;
}

/* A database was emptied or swapped. */
void signalFlushedDb(int dbid);

/* Does anybody hear of changes at all; events: or of events? */
bool notifyHasSubscribers(bool events);

/* Not told of anything while *interest is 0. */
typedef void modifiedSink(struct client *c, struct db *db, struct str key);
typedef void eventSink(int class, const char *event, struct str key, int dbid);
typedef void flushSink(int dbid);
void notifyAddModifiedSink(modifiedSink *fn, const size_t *interest);
void notifyAddEventSink(eventSink *fn);
/* In front of all others: who is told may change what follows from the change. */
void notifyAddFirstEventSink(eventSink *fn);
void notifyRemoveEventSink(eventSink *fn);
void notifyAddFlushSink(flushSink *fn);
