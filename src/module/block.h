/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h - blocked clients of modules. Each has a handle, which lives until the module has unblocked it,
 * even if the client has disconnected long before.
 *
 *     BlockClient ──▶ handle ── UnblockClient, from any thread ──▶ queue ──▶ main thread: the command runs
 *                       │                                                    again as its reply callback;
 *                       └─ disconnected or timed out: client is NULL;        replies of threads are sent;
 *                          the module still has to unblock the handle        free_privdata
 *
 * If a client that waits for keys is served, its handle is freed without the module. */
#pragma once

#include "module/api.h"

struct ValkeyModuleBlockedClient {
    struct module *module;
    struct client *client; /* NULL: no client waits (any more) */
    ValkeyModuleCmdFunc reply, timeout;
    void (*free_privdata)(struct ValkeyModuleCtx *ctx, void *privdata);
    ValkeyModuleDisconnectFunc disconnected;
    void *privdata;
    void *new_privdata; /* by UnblockClient, in any thread; becomes privdata on the main thread */
    bool aborted;       /* by AbortBlock, in any thread */
    struct threadReply thread_reply;
    int dbid;
    int64_t deadline_ms; /* blocked in a keyspace event: the deadline of the wait that begins when the command
                            has ended, */
    sds held_reply;      /* and the reply of the command, held back until then; NULL: none */
    bool on_keys;
    bool served;            /* by one of its keys */
    bool unblocked;         /* UnblockClient has been called, or the handle is freed by itself */
    uint64_t measured_from; /* monotonic us; 0: no measurement runs */
    uint64_t measured_us;
};

struct ValkeyModuleBlockedClient *moduleBlockCreate(struct ValkeyModuleCtx *ctx);
/* Blocks the client of bc until the module unblocks it; then the handler runs again. */
void moduleBlockClient(struct ValkeyModuleBlockedClient *bc);
/* Runs a callback of a blocked client: the handler of its command runs again. */
void moduleBlockRunCallback(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc);
/* Detaches the client from its handle because it does not wait any more (`left`
 * of struct blockingOptions). */
void moduleBlockDetach(struct client *c, void *bc);
/* Blocks a client from a subscriber to keyspace events (block_event.c). */
struct ValkeyModuleBlockedClient *moduleBlockInEvent(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply,
                                                     ValkeyModuleCmdFunc timeout,
                                                     void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                     int64_t timeout_ms);
