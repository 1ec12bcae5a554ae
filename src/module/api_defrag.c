/* SPDX-License-Identifier: BSD-3-Clause */
/* api_defrag.c - defragmentation of what modules have allocated (data/lifetime/defrag.h). A large value is
 * done in pieces: the module saves its position in a cursor. */
#include "base/clock.h"
#include "base/zmalloc.h"
#include "module/module_type.h"
#include "module/parts.h"

struct ValkeyModuleDefragCtx {
    const struct object *o; /* NULL: memory that belongs to no key */
    int dbid;
    struct ValkeyModuleString *key;
    struct defragCursor *at; /* NULL: the whole value is done in one call */
};

void *vmDefragAlloc(struct ValkeyModuleDefragCtx *ctx, void *ptr) {
    (void)ctx;
    return ptr ? defragMove(NULL, ptr) : NULL;
}

/* A string that has other references is not moved. */
struct ValkeyModuleString *vmDefragValkeyModuleString(struct ValkeyModuleDefragCtx *ctx,
                                                      struct ValkeyModuleString *str) {
    if (!str || str->refs != 1) return NULL;
    if (str->grown) {
        sds grown = sdsMove(str->grown, defragMove, NULL);
        if (grown) str->grown = grown;
    }
    return vmDefragAlloc(ctx, str);
}

int vmDefragShouldStop(struct ValkeyModuleDefragCtx *ctx) {
    return ctx->at && monotonicUs() >= ctx->at->stop_us;
}

int vmDefragCursorSet(struct ValkeyModuleDefragCtx *ctx, unsigned long cursor) {
    if (!ctx->at) return VALKEYMODULE_ERR;
    ctx->at->at[0] = cursor;
    return VALKEYMODULE_OK;
}

int vmDefragCursorGet(struct ValkeyModuleDefragCtx *ctx, unsigned long *cursor) {
    if (!ctx->at) return VALKEYMODULE_ERR;
    *cursor = ctx->at->at[0];
    return VALKEYMODULE_OK;
}

const struct ValkeyModuleString *vmGetKeyNameFromDefragCtx(struct ValkeyModuleDefragCtx *ctx) {
    return ctx->key;
}
int vmGetDbIdFromDefragCtx(struct ValkeyModuleDefragCtx *ctx) {
    return ctx->dbid;
}

bool moduleTypeDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    bool late = at->stop_us != 0;
    struct moduleValue *v = defragMove(NULL, moduleValueOf(o));
    if (v)
        objectSetPtr(o, 0, v);
    else
        v = moduleValueOf(o);
    if (!v->type->methods.defrag) return false;
    struct ValkeyModuleDefragCtx ctx = {
        .o = o, .dbid = db->id, .key = stringNew(objectKey(o)), .at = late ? at : NULL};
    bool more = v->type->methods.defrag(&ctx, ctx.key, &v->value) != 0;
    stringRelease(ctx.key);
    return late && more;
}

/* ---- Memory that belongs to no key ---- */

struct globalDefrag {
    struct globalDefrag *next;
    struct module *module;
    ValkeyModuleDefragFunc fn;
};
static struct globalDefrag *globals;

int vmRegisterDefragFunc(struct ValkeyModuleCtx *ctx, ValkeyModuleDefragFunc func) {
    struct globalDefrag *g = globals;
    while (g && g->module != ctx->module) g = g->next;
    if (!g) {
        g = zmalloc(sizeof *g);
        *g = (struct globalDefrag){.next = globals, .module = ctx->module};
        globals = g;
    }
    g->fn = func;
    return VALKEYMODULE_OK;
}

static uint64_t apiDefragGlobals(uint64_t cursor) {
    (void)cursor;
    for (const struct globalDefrag *g = globals; g; g = g->next) {
        struct ValkeyModuleDefragCtx ctx = {.dbid = -1};
        if (g->fn) g->fn(&ctx);
    }
    return 0;
}

static void apiDefragDropGlobals(struct module *m) {
    moduleListRemoveIf(struct globalDefrag, g, globals, g->module == m) {
        zfree(g);
    }
}

void moduleDefragInit(void) {
    defragRegister(apiDefragGlobals);
    moduleOnUnload(apiDefragDropGlobals);
}
