/* SPDX-License-Identifier: BSD-3-Clause */
/* notify.h - tells the modules that are interested that a key has changed.
 *
 *     a handler ──▶ keyChanged ──▶ 1. modified sinks   WATCH, tracking
 *                                  2. event sinks      keyspace events
 *                                  3. dbstats.dirty    is there anything to propagate, or to save?
 *
 * Invariant: each change of a value passes here, once per key, always in this order, when the keyspace is as
 * the change has left it. Builds that check the use of keys (key_use.h) assert that a command reports a key
 * no more often than it has named it, and reports no key that it has not named.
 *
 * Interested modules register a sink. Without sinks a call costs a load and a branch. */
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
    NOTIFY_MODULE = 1 << 13,    /* d */
    NOTIFY_NEW = 1 << 14,       /* n */
    NOTIFY_PATH_HASH = 1 << 15, /* p */
    /* Forms of messages about fields of hashes. */
    NOTIFY_SUBKEYSPACE = 1 << 20,      /* S */
    NOTIFY_SUBKEYEVENT = 1 << 21,      /* T */
    NOTIFY_SUBKEYSPACEITEM = 1 << 22,  /* I */
    NOTIFY_SUBKEYSPACEEVENT = 1 << 23, /* V */
    /* Redis gives modules these two with other bits, which have other meanings in Valkey. */
    NOTIFY_OVERWRITTEN = 1 << 24,  /* o */
    NOTIFY_TYPE_CHANGED = 1 << 25, /* c */
    NOTIFY_REPLACEMENTS = NOTIFY_OVERWRITTEN | NOTIFY_TYPE_CHANGED,
};

/* Reports that c's command (NULL: a job) has changed the value of this key. `event` is for subscribers and
 * belongs to a class (NOTIFY_ZSET ...); NULL: there is no event. `changes` counts towards the next save; with
 * 0 the command is not propagated on account of this change. */
void keyChanged(struct client *c, struct db *db, struct str key, int class, const char *event,
                uint64_t changes);
/* Reports one change of two keys (RENAME, MOVE): modified sinks see both keys before event sinks see
 * either. */
void keyMoved(struct client *c, struct db *from, struct str src, const char *from_event, struct db *to,
              struct str dst, const char *to_event);
/* Reports that a key was removed without a command for it. Here the event, if there is one, comes first. */
void keyDropped(struct db *db, struct str key, int class, const char *event);
/* Reports a change of something that belongs to a key but is not its value, such as the deliveries of a
 * consumer group. WATCH and tracking do not count it as a change of the value. event may be NULL. */
void keyStateChanged(struct db *db, struct str key, int class, const char *event, uint64_t changes);
bool notifyHasEventSinks(void); /* whether any event sink is registered */
/* Reports another event about a key: after that of its change, or about a key that has not changed. */
void keyEvent(int class, const char *event, struct str key, const struct db *db);
/* Reports that a command has replaced the value of a key: before the event of its change, or after it where
 * the key was removed first (RENAME, COPY). dbSetWithExpire does so itself. */
void keyReplaced(const struct db *db, struct str key, unsigned old_type, unsigned new_type);
/* The fields of a hash that an event is about: every step-th of an array. */
struct subkeys {
    const struct str *first;
    size_t count, step;
};
typedef void subkeySink(const char *event, struct str key, int dbid, const struct subkeys *fields);
/* Called with each event of a hash that is about fields; NULL: nobody is interested. */
extern subkeySink *notify_subkey_sink;

/* Counts changes that belong to no single key: to whole databases, to libraries of functions. */
static inline void changesCount(uint64_t changes) {
    dbstats.dirty += changes;
}

/* Reports that a database was emptied or swapped. */
void signalFlushedDb(int dbid);

/* Whether anybody subscribes to changes: to events (events true) or to any kind of change. */
bool notifyHasSubscribers(bool events);

/* A modified sink is not called while *interest is 0. */
typedef void modifiedSink(struct client *c, struct db *db, struct str key);
typedef void eventSink(int class, const char *event, struct str key, int dbid);
typedef void flushSink(int dbid);
void notifyAddModifiedSink(modifiedSink *fn, const size_t *interest);
/* Sets the one function that is called for each change of a key, that of its state included; NULL: none. */
void notifySetMarker(modifiedSink *fn);
void notifyAddEventSink(eventSink *fn);
/* Adds a sink in front of all others: it may change what later sinks do about the event. */
void notifyAddFirstEventSink(eventSink *fn);
void notifyRemoveEventSink(eventSink *fn);
void notifyAddFlushSink(flushSink *fn);
