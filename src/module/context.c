/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c - contexts of modules: memory that is freed when a callback returns, and clients that contexts
 * borrow. See api.h. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "data/keyspace/db.h"
#include "module/api.h"

#define POOL_BLOCK_SIZE 8192
#define SPARE_CLIENTS   16

/* ---- AutoMemory ---- */

struct autoItem {
    enum autoKind kind;
    void *what; /* NULL: freed or kept by the module */
};
static void (*release[AUTO_KINDS])(void *what);

void contextSetAutoFree(enum autoKind kind, void (*fn)(void *what)) {
    release[kind] = fn;
}

void contextAutoAdd(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what) {
    if (!ctx || !(ctx->flags & CTX_AUTO_MEMORY) || !what) return;
    if (ctx->auto_count == ctx->auto_capacity) {
        ctx->auto_capacity = ctx->auto_capacity ? 2 * ctx->auto_capacity : 16;
        ctx->autos = zrealloc(ctx->autos, (size_t)ctx->auto_capacity * sizeof *ctx->autos);
    }
    ctx->autos[ctx->auto_count++] = (struct autoItem){.kind = kind, .what = what};
}

/* The list is searched from its end, since modules mostly free what they created last. */
bool contextAutoRemove(struct ValkeyModuleCtx *ctx, enum autoKind kind, void *what) {
    if (!ctx || !(ctx->flags & CTX_AUTO_MEMORY)) return false;
    for (int i = ctx->auto_count - 1; i >= 0; i--) {
        struct autoItem *item = &ctx->autos[i];
        if (item->what != what || item->kind != kind) continue;
        item->what = NULL;
        while (ctx->auto_count && !ctx->autos[ctx->auto_count - 1].what) ctx->auto_count--;
        return true;
    }
    return false;
}

static void contextReleaseAutos(struct ValkeyModuleCtx *ctx) {
    /* Releasing an item may take another one from the list. */
    for (int i = 0; i < ctx->auto_count; i++) {
        struct autoItem item = ctx->autos[i];
        ctx->autos[i].what = NULL;
        if (item.what) release[item.kind](item.what);
    }
    zfree(ctx->autos);
}

void vmAutoMemory(struct ValkeyModuleCtx *ctx) {
    ctx->flags |= CTX_AUTO_MEMORY;
}

/* ---- PoolAlloc ---- */

struct poolBlock {
    struct poolBlock *next;
    size_t size, used;
    char bytes[];
};

/* Small objects have the alignment of their size, at most that of a pointer. */
static size_t contextPoolAlignment(size_t bytes) {
    size_t align = sizeof(void *);
    while (align > bytes) align /= 2;
    return align;
}

void *vmPoolAlloc(struct ValkeyModuleCtx *ctx, size_t bytes) {
    if (!bytes) return NULL;
    struct poolBlock *b = ctx->pool;
    size_t align = contextPoolAlignment(bytes);
    size_t at = b ? (b->used + align - 1) & ~(align - 1) : 0;
    if (!b || b->size - b->used < bytes || at > b->size - bytes) {
        size_t size = bytes > POOL_BLOCK_SIZE ? bytes : POOL_BLOCK_SIZE;
        b = zmalloc(sizeof *b + size);
        *b = (struct poolBlock){.next = ctx->pool, .size = size};
        ctx->pool = b;
        at = 0;
    }
    b->used = at + bytes;
    return b->bytes + at;
}

static void contextReleasePool(struct ValkeyModuleCtx *ctx) {
    while (ctx->pool) {
        struct poolBlock *next = ctx->pool->next;
        zfree(ctx->pool);
        ctx->pool = next;
    }
}

/* ---- Clients of the pool ---- */

static struct client *spare[SPARE_CLIENTS];
static int spare_count;

struct client *poolClientAcquire(void) {
    struct client *c = spare_count ? spare[--spare_count] : clientCreate(NULL);
    c->flags |= CLIENT_DENY_BLOCKING;
    return c;
}

/* Tells whether commands have left state in the client: a transaction, subscriptions, a name. */
static bool contextClientHasState(const struct client *c) {
    return c->session || c->limits || c->blocked || c->multi || c->pubsub || c->tracking || c->replica ||
           c->flags & (CLIENT_CLOSE_ASAP | CLIENT_MONITOR | CLIENT_MULTI);
}

void poolClientReturn(struct client *c) {
    replyFreeChain(c);
    if (spare_count == SPARE_CLIENTS || contextClientHasState(c)) {
        clientFreeNow(c);
        return;
    }
    c->resp = 2;
    c->flags = 0;
    c->errors_held = ERRORS_COUNT;
    c->db = dbGet(0);
    c->user = NULL;
    spare[spare_count++] = c;
}

struct db *contextDb(const struct ValkeyModuleCtx *ctx) {
    return ctx->client ? ctx->client->db : dbGet(ctx->dbid);
}

struct client *contextClient(struct ValkeyModuleCtx *ctx) {
    if (!ctx->client) {
        ctx->client = poolClientAcquire();
        ctx->client->db = dbGet(ctx->dbid);
        if (ctx->thread_reply) ctx->client->resp = ctx->thread_reply->resp;
        ctx->flags |= CTX_BORROWED;
    }
    return ctx->client;
}

/* ---- Opening and closing ---- */

void contextOpen(struct ValkeyModuleCtx *ctx, struct module *m, struct client *c, unsigned flags) {
    *ctx = (struct ValkeyModuleCtx){.get_api = vmGetApi, .module = m, .client = c, .flags = flags};
}

void contextClose(struct ValkeyModuleCtx *ctx) {
    if (ctx->postponed) contextFinishReplies(ctx);
    if (ctx->autos) contextReleaseAutos(ctx);
    contextReleasePool(ctx);
    zfree(ctx->positions);
    if (ctx->flags & CTX_BORROWED) poolClientReturn(ctx->client);
}
