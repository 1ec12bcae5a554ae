/* SPDX-License-Identifier: BSD-3-Clause */
/* api_dict.c - dictionaries of modules: a radix tree, in the order of the keys' bytes. The tree holds even
 * addresses only, but a value may be any pointer, so each value lies in a box. */
#include <string.h>

#include "base/zmalloc.h"
#include "ds/rax.h"
#include "module/api.h"
#include "module/parts.h"

struct ValkeyModuleDict {
    struct rax tree;
};
struct ValkeyModuleDictIter {
    struct raxIterator it;
    bool fresh; /* the element of the last seek has not been returned yet */
};
struct box {
    void *value;
};

struct ValkeyModuleDict *vmCreateDict(struct ValkeyModuleCtx *ctx) {
    struct ValkeyModuleDict *d = zmalloc(sizeof *d);
    raxInit(&d->tree);
    contextAutoAdd(ctx, AUTO_DICT, d);
    return d;
}

static void apiDictFreeDict(void *what) {
    struct ValkeyModuleDict *d = what;
    raxDestroy(&d->tree, zfree);
    zfree(d);
}

void vmFreeDict(struct ValkeyModuleCtx *ctx, struct ValkeyModuleDict *d) {
    contextAutoRemove(ctx, AUTO_DICT, d);
    apiDictFreeDict(d);
}

uint64_t vmDictSize(struct ValkeyModuleDict *d) {
    return d->tree.size;
}

size_t vmMallocSizeDict(struct ValkeyModuleDict *dict) {
    return zmallocSize(dict) + dict->tree.bytes + dict->tree.size * zmallocGoodSize(sizeof(struct box));
}

/* ---- Keys ---- */

static struct box *apiDictFind(const struct ValkeyModuleDict *d, struct str key) {
    void *box;
    return raxFind(&d->tree, key, &box) ? box : NULL;
}

static void apiDictAdd(struct ValkeyModuleDict *d, struct str key, void *value) {
    struct box *box = zmalloc(sizeof *box);
    box->value = value;
    raxInsert(&d->tree, key, box, NULL);
}

static int apiDictSetNew(struct ValkeyModuleDict *d, struct str key, void *value) {
    if (apiDictFind(d, key)) return VALKEYMODULE_ERR;
    apiDictAdd(d, key, value);
    return VALKEYMODULE_OK;
}

static int apiDictReplace(struct ValkeyModuleDict *d, struct str key, void *value) {
    struct box *box = apiDictFind(d, key);
    if (!box) return apiDictSetNew(d, key, value);
    box->value = value;
    return VALKEYMODULE_ERR;
}

static void *apiDictGet(struct ValkeyModuleDict *d, struct str key, int *nokey) {
    struct box *box = apiDictFind(d, key);
    if (nokey) *nokey = box == NULL;
    return box ? box->value : NULL;
}

static int apiDictDel(struct ValkeyModuleDict *d, struct str key, void *oldval) {
    void *box;
    if (!raxRemove(&d->tree, key, &box)) return VALKEYMODULE_ERR;
    if (oldval) memcpy(oldval, &((struct box *)box)->value, sizeof(void *));
    zfree(box);
    return VALKEYMODULE_OK;
}

int vmDictSetC(struct ValkeyModuleDict *d, void *key, size_t keylen, void *ptr) {
    return apiDictSetNew(d, strN(key, keylen), ptr);
}
int vmDictSet(struct ValkeyModuleDict *d, struct ValkeyModuleString *key, void *ptr) {
    return apiDictSetNew(d, stringText(key), ptr);
}
int vmDictReplaceC(struct ValkeyModuleDict *d, void *key, size_t keylen, void *ptr) {
    return apiDictReplace(d, strN(key, keylen), ptr);
}
int vmDictReplace(struct ValkeyModuleDict *d, struct ValkeyModuleString *key, void *ptr) {
    return apiDictReplace(d, stringText(key), ptr);
}
void *vmDictGetC(struct ValkeyModuleDict *d, void *key, size_t keylen, int *nokey) {
    return apiDictGet(d, strN(key, keylen), nokey);
}
void *vmDictGet(struct ValkeyModuleDict *d, struct ValkeyModuleString *key, int *nokey) {
    return apiDictGet(d, stringText(key), nokey);
}
int vmDictDelC(struct ValkeyModuleDict *d, void *key, size_t keylen, void *oldval) {
    return apiDictDel(d, strN(key, keylen), oldval);
}
int vmDictDel(struct ValkeyModuleDict *d, struct ValkeyModuleString *key, void *oldval) {
    return apiDictDel(d, stringText(key), oldval);
}

/* ---- Iterators ---- */

/* Returns false if op is no operator. A seek to an absent element puts the iterator at its end. */
static bool apiDictSeek(struct ValkeyModuleDictIter *di, const char *op, struct str key) {
    static const char *const operators[] = {"^", "$", ">", ">=", "<", "<=", "=="};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(op, operators[i]) != 0) continue;
        di->fresh = raxSeek(&di->it, strcmp(op, "==") == 0 ? "=" : op, key);
        return true;
    }
    return false;
}

static struct ValkeyModuleDictIter *apiDictCreateIterator(struct ValkeyModuleDict *d, const char *op,
                                                          struct str key) {
    struct ValkeyModuleDictIter *di = zcalloc(1, sizeof *di);
    raxStart(&di->it, &d->tree);
    apiDictSeek(di, op, key);
    return di;
}

struct ValkeyModuleDictIter *vmDictIteratorStartC(struct ValkeyModuleDict *d, const char *op, void *key,
                                                  size_t keylen) {
    return apiDictCreateIterator(d, op, strN(key, keylen));
}
struct ValkeyModuleDictIter *vmDictIteratorStart(struct ValkeyModuleDict *d, const char *op,
                                                 struct ValkeyModuleString *key) {
    return apiDictCreateIterator(d, op, key ? stringText(key) : strN("", 0));
}
void vmDictIteratorStop(struct ValkeyModuleDictIter *di) {
    raxStop(&di->it);
    zfree(di);
}
int vmDictIteratorReseekC(struct ValkeyModuleDictIter *di, const char *op, void *key, size_t keylen) {
    return apiDictSeek(di, op, strN(key, keylen));
}
int vmDictIteratorReseek(struct ValkeyModuleDictIter *di, const char *op, struct ValkeyModuleString *key) {
    return apiDictSeek(di, op, key ? stringText(key) : strN("", 0));
}

/* Returns the element of the last seek first, then moves. */
static bool apiDictStep(struct ValkeyModuleDictIter *di, bool (*move)(struct raxIterator *it),
                        void **dataptr) {
    if (!di->it.valid) return false;
    if (!di->fresh && !move(&di->it)) return false;
    di->fresh = false;
    if (dataptr) *dataptr = ((struct box *)di->it.value)->value;
    return true;
}

void *vmDictNextC(struct ValkeyModuleDictIter *di, size_t *keylen, void **dataptr) {
    if (!apiDictStep(di, raxNext, dataptr)) return NULL;
    if (keylen) *keylen = di->it.key.len;
    return (void *)di->it.key.ptr;
}
void *vmDictPrevC(struct ValkeyModuleDictIter *di, size_t *keylen, void **dataptr) {
    if (!apiDictStep(di, raxPrev, dataptr)) return NULL;
    if (keylen) *keylen = di->it.key.len;
    return (void *)di->it.key.ptr;
}
struct ValkeyModuleString *vmDictNext(struct ValkeyModuleCtx *ctx, struct ValkeyModuleDictIter *di,
                                      void **dataptr) {
    return apiDictStep(di, raxNext, dataptr) ? vmCreateString(ctx, di->it.key.ptr, di->it.key.len) : NULL;
}
struct ValkeyModuleString *vmDictPrev(struct ValkeyModuleCtx *ctx, struct ValkeyModuleDictIter *di,
                                      void **dataptr) {
    return apiDictStep(di, raxPrev, dataptr) ? vmCreateString(ctx, di->it.key.ptr, di->it.key.len) : NULL;
}

static int apiDictCompare(struct ValkeyModuleDictIter *di, const char *op, struct str key) {
    if (!di->it.valid) return VALKEYMODULE_ERR;
    int cmp = strCmp(di->it.key, key);
    bool holds = op[0] == '>'   ? cmp > 0 || (op[1] == '=' && cmp == 0)
                 : op[0] == '<' ? cmp < 0 || (op[1] == '=' && cmp == 0)
                                : op[0] == '=' && cmp == 0;
    return holds ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}
int vmDictCompareC(struct ValkeyModuleDictIter *di, const char *op, void *key, size_t keylen) {
    return apiDictCompare(di, op, strN(key, keylen));
}
int vmDictCompare(struct ValkeyModuleDictIter *di, const char *op, struct ValkeyModuleString *key) {
    return apiDictCompare(di, op, stringText(key));
}

void dictPartInit(void) {
    contextSetAutoFree(AUTO_DICT, apiDictFreeDict);
}
