/* SPDX-License-Identifier: BSD-3-Clause */
/* server_events.h - what happens to the server as a whole, for who wants to hear of it: modules.
 *
 *     any room ──▶ serverEvent(what, which, data) ──▶ the sink, when somebody wants events of that kind
 *
 * While nobody does, an event costs a load and a test. Events are told in the process in which they happen:
 * those of a save in the background by the child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* In the order that modules number them in (module/events.c); behind each what the data are, and which there
 * are of it. */
enum serverEventKind {
    SERVER_ROLE,             /* primary, replica: also of another primary than before */
    SERVER_PERSISTENCE,      /* enum eventPersistence */
    SERVER_FLUSH,            /* struct eventFlush; start, end */
    SERVER_LOADING,          /* enum eventLoading */
    SERVER_CLIENT,           /* struct client: one with a connection; connected, disconnected */
    SERVER_SHUTDOWN,         /* nothing will be saved any more */
    SERVER_REPLICA,          /* one of ours: online, offline */
    SERVER_PRIMARY_LINK,     /* up, down */
    SERVER_CRON,             /* a tick of hz */
    SERVER_MODULE,           /* struct module; loaded, unloaded */
    SERVER_LOADING_PROGRESS, /* int: in 1024ths, -1: not known; of RDB, AOF */
    SERVER_SWAPDB,           /* int[2]: databases */
    SERVER_BACKUP,           /* of older servers: never */
    SERVER_FORK,             /* a child: born, died */
    SERVER_ASYNC_LOAD,       /* of data beside those that are served: started, aborted, completed */
    SERVER_LOOP,             /* before it sleeps, after */
    SERVER_CONFIG,           /* struct eventConfig */
    SERVER_KEY,              /* struct eventKey; enum eventKeyFate */
    SERVER_AUTH,             /* struct eventAuth */
    SERVER_SLOT_MIGRATION,   /* struct eventSlotMigration; enum eventSlotMigrationStep */
    /* These are found out by hooks of command/call.h, but for the last: struct eventDenial. */
    SERVER_COMMAND_DONE,
    SERVER_COMMAND_FAILED,
    SERVER_COMMAND_REJECTED,
    SERVER_COMMAND_DENIED, /* by the rules of its user */
    SERVER_EVENT_KINDS
};
enum { EVENT_STARTED, EVENT_ENDED }; /* and other pairs: up, down; born, died ... */
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
struct eventKey { /* it is there still */
    struct db *db;
    struct object *object;
};
struct eventAuth {
    struct client *client;
    struct str user;
    const char *module; /* whose it was to say; NULL: the server's */
    bool granted;
};
struct eventSlotMigration {
    const char *job;
    const int (*ranges)[2]; /* first and last slot of each */
    int count;
};
struct eventDenial { /* the reasons are modules': 0 auth, 1 command, 2 key, 3 channel, 4 database */
    struct client *client;
    struct str object; /* the key, the channel */
};

extern uint32_t server_events_wanted; /* a bit for each kind */
typedef void serverEventSink(enum serverEventKind kind, int which, const void *data);
extern serverEventSink *server_event_sink; /* there when anything is wanted */

static inline bool serverEventWanted(enum serverEventKind kind) {
    return __builtin_expect(server_events_wanted >> kind & 1, 0);
}
static inline void serverEvent(enum serverEventKind kind, int which, const void *data) {
    if (serverEventWanted(kind)) server_event_sink(kind, which, data);
}
