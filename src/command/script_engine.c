/* SPDX-License-Identifier: BSD-3-Clause */
/* script_engine.c - see script_engine.h. */
#include "command/script_engine.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "registry/background.h"

#define HOOKS_MAX 4

struct scriptEngine *script_engines;
static void (*on_remove[HOOKS_MAX])(struct scriptEngine *e);
static int hook_count;

struct scriptEngine *scriptEngineByName(struct str name) {
    struct scriptEngine *e = script_engines;
    while (e && !strIs(name, e->name)) e = e->next;
    return e;
}

void scriptEngineAdd(struct scriptEngine *e) {
    serverAssert(!scriptEngineByName(strOf(e->name)));
    struct scriptEngine **end = &script_engines;
    while (*end) end = &(*end)->next;
    *end = e;
    e->next = NULL;
}

void scriptEngineOnRemove(void (*fn)(struct scriptEngine *e)) {
    serverAssert(hook_count < HOOKS_MAX);
    on_remove[hook_count++] = fn;
}

void scriptEngineRemove(struct scriptEngine *e) {
    for (int i = 0; i < hook_count; i++) on_remove[i](e);
    struct scriptEngine **at = &script_engines;
    while (*at != e) at = &(*at)->next;
    *at = e->next;
}

static void scriptEngineFreeLeftover(void *arg) {
    struct scriptLeftover *left = arg;
    left->fn(left->arg);
    zfree(left);
}

static void scriptEngineReset(struct scriptEngine *e, enum scriptKind kind, bool async) {
    struct scriptLeftover left = e->methods->reset(e, kind, async);
    if (!left.fn) return;
    struct scriptLeftover *copy = zmalloc(sizeof *copy);
    *copy = left;
    if (async)
        bioSubmit(BIO_LAZY_FREE, scriptEngineFreeLeftover, copy);
    else
        scriptEngineFreeLeftover(copy);
}

void scriptEnginesReset(enum scriptKind kind, bool async) {
    for (struct scriptEngine *e = script_engines; e; e = e->next) scriptEngineReset(e, kind, async);
}
