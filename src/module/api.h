/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h - what the parts of the module room share: modules, their contexts, strings, and how a part hangs on
 * a module's life.
 *
 *     dlopen ──▶ OnLoad(ctx) ──▶ GetApi(name) ──▶ api_table.c: every function of valkeymodule.h as vm<Name>
 *                  ctx[0]
 *
 *     a command ──▶ commandRun ──▶ moduleCommandRun ──▶ ctx on the stack, argv as strings ──▶ the module
 *     a timer, an event, a thread with the lock ──▶ ctx with a client of the pool, when it needs one
 *
 * A function of the interface is vmName, declared by the list in valkeymodule.h and written in the part whose
 * group it is (api_<group>.c). Each part keeps what modules have made of it (timers, filters, subscriptions),
 * and registers how that ends with its module (moduleOnUnload), in its init, which moduleInit calls.
 *
 * Threads: all of this belongs to who holds the lock (api_thread.c), which is the main thread but while it
 * sleeps. What may be called without is marked in the part. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VALKEYMODULE_CORE
#include "base/sds.h"
#include "base/str.h"
#include "command/modules.h"
#include "valkeymodule.h"

struct client;
struct serverCommand;

/* ---- Modules ---- */

struct module {
    struct module *next;
    sds name, path;
    int ver, apiver;
    sds *args; /* of the load */
    int arg_count;
    struct moduleFile *file; /* NULL: it is built in */
    unsigned options;        /* VALKEYMODULE_OPTION... */
    bool loading;            /* OnLoad runs: what may only be made there, may */
    struct listedModule listed;
    int blocked_clients;
    int in_call; /* it waits for a command of its own (Call) */
};
/* In the order in which they were loaded. A module that is loading is not among them. */
extern struct module *modules;

/* A module comes to its end, by UNLOAD or because OnLoad failed: what it has made of this part goes. In order
 * of registration. */
void moduleOnUnload(void (*fn)(struct module *m));
/* Why it cannot be unloaded now; NULL: nothing against it. Asked in order of registration. */
void moduleAddObjection(const char *(*fn)(struct module *m));
/* After OnLoad has returned OK: false (logged) undoes the load. */
void moduleOnLoaded(bool (*fn)(struct module *m));

/* Takes each item for which `condition` (about `it`) holds out of a singly linked list that `first` points
 * to, and runs the block that follows, which frees `it`. */
#define moduleListRemoveIf(type, it, first, condition)                                                       \
    for (type **it##_at = &(first), *it; (it = *it##_at) != NULL;)                                           \
        if (!(condition))                                                                                    \
            it##_at = &it->next;                                                                             \
        else if (*it##_at = it->next, true)

/* ---- Contexts ---- */

enum {
    CTX_AUTO_MEMORY = 1 << 0,
    CTX_COMMAND = 1 << 1,           /* of a command; its client is who runs it */
    CTX_KEY_POSITIONS = 1 << 2,     /* the command tells where its keys are; */
    CTX_CHANNEL_POSITIONS = 1 << 3, /* or its channels */
    CTX_BLOCKED_REPLY = 1 << 4,
    CTX_BLOCKED_TIMEOUT = 1 << 5,
    CTX_BLOCKED_GONE = 1 << 6, /* its client is */
    CTX_THREAD = 1 << 7,       /* GetThreadSafeContext */
    CTX_BORROWED = 1 << 8,     /* its client is the pool's */
    CTX_KEY_EVENT = 1 << 9,    /* of a subscriber to events of the keyspace */
    CTX_SCRIPT = 1 << 10,      /* of an engine whose function runs; its client is who calls that */
};

/* What AutoMemory frees. The parts whose things they are say how (contextSetRelease). */
enum autoKind { AUTO_STRING, AUTO_KEY, AUTO_REPLY, AUTO_DICT, AUTO_SERVER_INFO, AUTO_KINDS };

struct ValkeyModuleCtx {
    int (*get_api)(const char *name, void *out); /* first: modules find it there */
    struct module *module;                       /* NULL: OnLoad has not named it yet, or nobody's */
    struct client *client;                       /* NULL: none, so far (contextClient) */
    unsigned flags;
    int auto_count, auto_capacity;
    struct autoItem *autos;
    struct poolBlock *pool;
    struct postponedLength *postponed; /* lengths that are still to be told, newest last (api_reply.c) */
    int postponed_count, postponed_capacity;
    struct threadReply *thread_reply; /* of CTX_THREAD with a blocked client: replies go there; else NULL */
    struct keyRef *positions;         /* of CTX_KEY_POSITIONS */
    int position_count;
    struct ValkeyModuleBlockedClient *blocked;
    const struct ValkeyModuleUser *user; /* SetContextUser */
    struct ValkeyModuleString *ready_key;
    uint64_t yield_at_us; /* it may from then on; monotonic; 0: it has not asked */
    int dbid;             /* of the client that it borrows, if it does */
};

void contextOpen(struct ValkeyModuleCtx *ctx, struct module *m, struct client *c, unsigned flags);
void contextClose(struct ValkeyModuleCtx *ctx); /* frees what AutoMemory and PoolAlloc keep */
/* Its client; one of the pool, at database 0 and with all rights, when it has none. */
struct client *contextClient(struct ValkeyModuleCtx *ctx);
struct db *contextDb(const struct ValkeyModuleCtx *ctx); /* that of its client, which it need not have yet */
/* For functions that return something new: noted when AutoMemory is on (ctx may be NULL). */
void contextAuto(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what);
/* It is freed, or kept, by hand: false when it was not noted. */
bool contextAutoForget(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what);
void contextSetRelease(enum autoKind kind, void (*fn)(void *what));
/* Clients without connection. */
struct client *poolClientTake(void);
void poolClientGive(struct client *c); /* its output is dropped */

/* ---- Strings ---- */

struct ValkeyModuleString {
    uint32_t refs;
    size_t len;
    sds grown;    /* its bytes, where they have been appended to or came in a buffer of their own; NULL: */
    char bytes[]; /* here, with an end mark */
};
static inline struct str stringText(const struct ValkeyModuleString *s) {
    return strN(s->grown ? s->grown : s->bytes, s->len);
}
struct ValkeyModuleString *stringNew(struct str text);
struct ValkeyModuleString *stringTake(sds text);  /* which is its own from now on */
void stringRelease(struct ValkeyModuleString *s); /* one reference */

/* ---- Replies (api_reply.c) ---- */

/* What a thread replies, without the lock: kept until the blocked client is let go. */
struct threadReply {
    sds text;     /* NULL: nothing so far */
    uint8_t resp; /* 2 or 3 */
    sds *errors;  /* the texts of its errors, which count when it is sent */
    int error_count;
    bool left_open; /* with a length that has not been told: its client cannot go on */
};
void threadReplySend(struct threadReply *r, struct client *c); /* and it is empty again; with the lock */
void threadReplyFree(struct threadReply *r);
/* Behind a callback that replies: a length that has not been told is an end of the connection, and logged. */
void contextRepliesEnd(struct ValkeyModuleCtx *ctx);

/* ---- Commands (api_command.c) ---- */

/* The arguments of a request as strings; the array is on the caller's stack when it is short. */
struct stringArgs {
    struct ValkeyModuleString **argv;
    int argc;
    struct ValkeyModuleString *some[16];
};
void stringArgsOpen(struct stringArgs *a, const struct str *argv, int argc);
void stringArgsClose(struct stringArgs *a);

/* ---- Functions of the interface ---- */

#define MODULE_DECLARE(type, name, parameters) type vm##name parameters;
VALKEYMODULE_FUNCTIONS(MODULE_DECLARE)
int vmGetApi(const char *name, void *out);

/* ---- Parts ---- */
void apiTableInit(void);
