/* SPDX-License-Identifier: BSD-3-Clause */
/* server_events.h - events about the server as a whole, for modules.
 *
 *     a part of the server ──▶ serverEvent(kind, which, data) ──▶ the sink, when it has subscribers
 *
 * Without subscribers an event costs a load and a test. Events are reported in the process in which they
 * happen: those of a background save by the child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* In the order of modules' numbers (module/events.c). Comments: the type of `data`, the values of `which`. */
enum serverEventKind {
    SERVER_ROLE,             /* primary, replica: also when the primary changes */
    SERVER_PERSISTENCE,      /* enum eventPersistence */
    SERVER_FLUSH,            /* struct eventFlush; start, end */
    SERVER_LOADING,          /* enum eventLoading */
    SERVER_CLIENT,           /* struct client, which has a connection; connected, disconnected */
    SERVER_SHUTDOWN,         /* nothing will be saved after it */
    SERVER_REPLICA,          /* a replica of ours: online, offline */
    SERVER_PRIMARY_LINK,     /* up, down */
    SERVER_CRON,             /* a tick of hz */
    SERVER_MODULE,           /* struct module; loaded, unloaded */
    SERVER_LOADING_PROGRESS, /* int: progress in 1024ths, -1: unknown; of RDB, AOF */
    SERVER_SWAPDB,           /* int[2]: databases */
    SERVER_BACKUP,           /* from older servers: never sent */
    SERVER_FORK,             /* a child process: created, died */
    SERVER_ASYNC_LOAD,       /* of data beside the current ones: started, aborted, completed */
    SERVER_LOOP,             /* before it sleeps, after */
    SERVER_CONFIG,           /* struct eventConfig */
    SERVER_KEY,              /* struct eventKey; enum eventKeyFate */
    SERVER_AUTH,             /* struct eventAuth */
    SERVER_SLOT_MIGRATION,   /* struct eventSlotMigration; enum eventSlotMigrationStep */
    /* Reported by hooks of command/call.h, except the last: struct eventDenial. */
    SERVER_COMMAND_DONE,
    SERVER_COMMAND_FAILED,
    SERVER_COMMAND_REJECTED,
    SERVER_COMMAND_DENIED, /* by the user's rules */
    SERVER_EVENT_KINDS,
    /* No event of modules: the bit says that events of the keyspace tell of values that are replaced
     * (notify.h). One test covers it and SERVER_KEY. */
    SERVER_REPLACEMENT = SERVER_EVENT_KINDS,
};
enum { EVENT_STARTED, EVENT_ENDED }; /* and other pairs: up, down; created, died and so on */
enum eventPersistence {
    EVENT_RDB,
    EVENT_AOF,
    EVENT_RDB_AT_ONCE,
    EVENT_SAVED,
    EVENT_NOT_SAVED,
    EVENT_AOF_AT_ONCE
};
enum eventLoading { EVENT_LOADS_RDB, EVENT_LOADS_AOF, EVENT_LOADS_PRIMARY, EVENT_LOADED, EVENT_NOT_LOADED };
enum eventAsyncLoad { EVENT_ASYNC_STARTED, EVENT_ASYNC_ABORTED, EVENT_ASYNC_COMPLETED };
enum eventKeyFate { EVENT_KEY_DELETED, EVENT_KEY_EXPIRED, EVENT_KEY_EVICTED, EVENT_KEY_OVERWRITTEN };
enum eventSlotMigrationStep {
    EVENT_IMPORT_STARTED,
    EVENT_EXPORT_STARTED,
    EVENT_IMPORT_ABORTED,
    EVENT_EXPORT_ABORTED,
    EVENT_IMPORT_COMPLETED,
    EVENT_EXPORT_COMPLETED
};

struct db;
struct client;
struct object;

struct eventFlush {
    bool async;
    int db; /* -1: all */
};
struct eventConfig {
    const char **names; /* as registered */
    int count;
};
struct eventKey { /* The key still exists. */
    struct db *db;
    struct object *object;
};
struct eventAuth {
    struct client *client;
    struct str user;
    const char *module; /* the module that decided; NULL: the server */
    bool granted;
};
struct eventSlotMigration {
    const char *job;
    const int (*ranges)[2]; /* first and last slot of each */
    int count;
};
struct eventDenial { /* The reasons are modules' numbers: 0 auth, 1 command, 2 key, 3 channel, 4 database. */
    struct client *client;
    struct str object; /* the key or channel */
};

extern uint32_t server_events_wanted; /* a bit for each kind */
typedef void serverEventSink(enum serverEventKind kind, int which, const void *data);
extern serverEventSink *server_event_sink; /* set when there are subscribers */

static inline void serverEventWant(enum serverEventKind kind, bool wanted) {
    server_events_wanted = wanted ? server_events_wanted | 1u << kind : server_events_wanted & ~(1u << kind);
}
static inline bool serverEventWanted(enum serverEventKind kind) {
    return __builtin_expect(server_events_wanted >> kind & 1, 0);
}
static inline void serverEvent(enum serverEventKind kind, int which, const void *data) {
    if (serverEventWanted(kind)) server_event_sink(kind, which, data);
}
