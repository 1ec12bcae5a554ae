/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h - what the files of src/module share: modules, their contexts, strings, and hooks on a module's life.
 *
 *     dlopen ──▶ OnLoad(ctx) ──▶ GetApi(name) ──▶ api_table.c: every function of valkeymodule.h as vm<Name>
 *                  ctx[0]
 *
 *     a command ──▶ commandRun ──▶ moduleCommandRun ──▶ ctx on the stack, argv as strings ──▶ the module
 *     a timer, an event, a thread with the lock ──▶ ctx with a client of the pool, when it needs one
 *
 * The functions of the interface are listed in valkeymodule.h. The function Name is vmName here; the file
 * api_<group>.c of its group defines it. Each file is a part: it owns what modules create with its functions
 * (timers, filters, subscriptions), and its init, which moduleInit calls, registers with moduleOnUnload how
 * they are freed when their module is unloaded.
 *
 * Threads: all of this belongs to the thread that holds the lock (lock.h): the main thread except while it
 * sleeps in its poll. A part says which of its functions may be called without the lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VALKEYMODULE_CORE
#include "base/sds.h"
#include "base/str.h"
#include "command/modules.h"
#include "valkeymodule.h"

struct aclUser;
struct client;
struct serverCommand;

/* ---- Modules ---- */

struct module {
    struct module *next;
    sds name, path;
    int ver, apiver;
    sds *args; /* arguments of OnLoad */
    int arg_count;
    struct moduleFile *file; /* NULL: the module is built in */
    unsigned options;        /* VALKEYMODULE_OPTION... */
    bool loading;            /* OnLoad runs; some functions work only then */
    struct listedModule listed;
    int blocked_clients;
    int in_call; /* calls (Call) that the module is waiting for */
};
/* All modules in the order in which they were loaded, without one that is being loaded. */
extern struct module *modules;

/* Registers fn to free what a module has created in the calling part. It runs when the module is unloaded
 * and when its OnLoad has failed. Hooks run in order of registration. */
void moduleOnUnload(void (*fn)(struct module *m));
/* Registers fn to return why a module cannot be unloaded now, or NULL. Checks run in
 * order of registration. */
void moduleAddObjection(const char *(*fn)(struct module *m));
/* Registers fn to run after OnLoad has returned OK. If fn returns false, which it has logged, the
 * load is undone. */
void moduleOnLoaded(bool (*fn)(struct module *m));

/* Removes from a singly linked list, which begins at `first`, each item `it` for which `condition` holds,
 * and runs the block that follows for it; the block frees `it`. */
#define moduleListRemoveIf(type, it, first, condition)                                                       \
    for (type **it##_at = &(first), *it; (it = *it##_at) != NULL;)                                           \
        if (!(condition))                                                                                    \
            it##_at = &it->next;                                                                             \
        else if (*it##_at = it->next, true)

/* ---- Contexts ---- */

enum {
    CTX_AUTO_MEMORY = 1 << 0,
    CTX_COMMAND = 1 << 1,           /* runs a command; the client is the caller */
    CTX_KEY_POSITIONS = 1 << 2,     /* the function is called for the positions of keys */
    CTX_CHANNEL_POSITIONS = 1 << 3, /* the function is called for the positions of channels */
    CTX_BLOCKED_REPLY = 1 << 4,
    CTX_BLOCKED_TIMEOUT = 1 << 5,
    CTX_BLOCKED_DISCONNECTED = 1 << 6, /* the blocked client has disconnected */
    CTX_THREAD = 1 << 7,               /* from GetThreadSafeContext */
    CTX_BORROWED = 1 << 8,             /* the client belongs to the pool */
    CTX_KEY_EVENT = 1 << 9,            /* a subscriber to keyspace events is called */
    CTX_SCRIPT = 1 << 10,              /* a function of a scripting engine runs; the client is its caller */
};

/* Kinds of objects that AutoMemory frees. Their parts register how (contextSetAutoFree). */
enum autoKind { AUTO_STRING, AUTO_KEY, AUTO_REPLY, AUTO_DICT, AUTO_SERVER_INFO, AUTO_KINDS };

struct ValkeyModuleCtx {
    int (*get_api)(const char *name, void *out); /* first member: modules read it there */
    struct module *module; /* NULL: OnLoad has not named it yet, or the context has no module */
    struct client *client; /* NULL: none yet (contextClient) */
    unsigned flags;
    int auto_count, auto_capacity;
    struct autoItem *autos;
    struct poolBlock *pool;
    struct postponedLength *postponed; /* lengths not known yet, newest last (api_reply.c) */
    int postponed_count, postponed_capacity;
    struct threadReply *thread_reply; /* of CTX_THREAD with a blocked client: collects replies; else NULL */
    struct keyRef *positions;         /* collected with CTX_KEY_POSITIONS or CTX_CHANNEL_POSITIONS */
    int position_count;
    struct ValkeyModuleBlockedClient *blocked;
    const struct ValkeyModuleUser *user; /* set by SetContextUser */
    struct ValkeyModuleString *ready_key;
    uint64_t yield_at_us; /* monotonic; Yield does nothing before it; 0: Yield has not been called */
    int dbid;             /* database of a client that is borrowed from the pool */
};

void contextOpen(struct ValkeyModuleCtx *ctx, struct module *m, struct client *c, unsigned flags);
void contextClose(struct ValkeyModuleCtx *ctx); /* frees what AutoMemory and PoolAlloc hold */
/* Returns the context's client. A context without one borrows a client of the pool, in database ctx->dbid
 * and with all rights. */
struct client *contextClient(struct ValkeyModuleCtx *ctx);
struct db *contextDb(const struct ValkeyModuleCtx *ctx); /* works without a client, too */
/* Registers a new object to be freed with the context if AutoMemory is on. ctx may be NULL. */
void contextAutoAdd(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what);
/* Takes an object that the module frees or keeps from the list of AutoMemory. Returns false if it
 * was not there. */
bool contextAutoRemove(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what);
void contextSetAutoFree(enum autoKind kind, void (*fn)(void *what));
/* A pool of clients without connection. */
struct client *poolClientAcquire(void);
void poolClientReturn(struct client *c); /* drops its output */

/* ---- Strings ---- */

struct ValkeyModuleString {
    uint32_t refs;
    size_t len;
    sds grown;    /* the bytes after an append, or if they came as an sds; NULL: they are */
    char bytes[]; /* here, with a final NUL */
};
static inline struct str stringText(const struct ValkeyModuleString *s) {
    return strN(s->grown ? s->grown : s->bytes, s->len);
}
/* Returns an array of views, which the caller frees with zfree. */
struct str *stringViews(struct ValkeyModuleString *const *strings, size_t count);
struct ValkeyModuleString *stringNew(struct str text);
struct ValkeyModuleString *stringFromSds(sds text); /* takes text over */
void stringRelease(struct ValkeyModuleString *s);   /* drops one reference */

/* ---- Users (api_user.c) ---- */

/* A module's handle of a user, which it has created itself (own) or which exists in the server. */
struct ValkeyModuleUser {
    struct aclUser *user;
    bool own;
};

/* ---- Replies (api_reply.c) ---- */

/* Replies that a thread writes without the lock. They are kept until the client is unblocked. */
struct threadReply {
    sds text;     /* NULL: nothing yet */
    uint8_t resp; /* 2 or 3 */
    sds *errors;  /* texts of error replies, counted in the statistics when they are sent */
    int error_count;
    bool incomplete; /* a length is missing, so the client has to be closed */
};
void threadReplySend(struct threadReply *r, struct client *c); /* empties r; needs the lock */
void threadReplyFree(struct threadReply *r);
/* Runs after a callback that may reply. If a postponed length has not been set, this is logged and the
 * client is closed. */
void contextFinishReplies(struct ValkeyModuleCtx *ctx);

/* ---- Commands (api_command.c) ---- */

/* The arguments of a request as strings of modules. A short array lives inside the struct. */
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

void apiTableInit(void);
