/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h - clients of modules that wait: a handle for each, which lives until the module has let it go, even
 * when the client has long gone.
 *
 *     BlockClient ──▶ handle ── UnblockClient, from any thread ──▶ queue ──▶ main thread: the command is run
 *                       │                                                    again, which means the reply
 *                       └─ the client has gone, or its time is over:         callback; what threads have
 *                          client NULL; the module still has to let go       replied; free_privdata
 *
 * A client that waits for keys is served, and its handle goes, without the module. */
#pragma once

#include "module/api.h"

struct ValkeyModuleBlockedClient {
    struct module *module;
    struct client *client; /* NULL: none waits (any more) */
    ValkeyModuleCmdFunc reply, timeout;
    void (*free_privdata)(struct ValkeyModuleCtx *ctx, void *privdata);
    ValkeyModuleDisconnectFunc disconnected;
    void *privdata;
    void *given;  /* by UnblockClient, in whatever thread: privdata when the main thread ends it; */
    bool aborted; /* by AbortBlock, likewise */
    struct threadReply thread_reply;
    int dbid;
    int64_t deadline_ms; /* of one that was blocked in an event, when its command has come to its end, */
    sds held;            /* and what that has replied; NULL: none */
    bool on_keys;
    bool served;            /* by one of its keys */
    bool let_go;            /* UnblockClient has been called, or it goes by itself */
    uint64_t measured_from; /* monotonic us; 0: nobody measures */
    uint64_t measured_us;
};

struct ValkeyModuleBlockedClient *blockedNew(struct ValkeyModuleCtx *ctx);
/* Its client waits until it is let go: the handler runs again then. */
void blockedWait(struct ValkeyModuleBlockedClient *bc);
/* The handler of a command that has blocked its client is run again. */
void blockedRunAgain(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc);
/* Its client does not wait any more (a blockingOptions's `left`). */
void blockedLeft(struct client *c, void *bc);
/* BlockClient in an event of the keyspace (block_event.c). */
struct ValkeyModuleBlockedClient *blockedInEvent(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply,
                                                 ValkeyModuleCmdFunc timeout,
                                                 void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                 int64_t timeout_ms);
