/* SPDX-License-Identifier: BSD-3-Clause */
/* function_set.c - sets of libraries; see function_set.h. */
#include "script/function_set.h"

#include "base/assert.h"

/* ---- Tables ---- */

static struct str functionSetLibraryName(const void *entry) {
    return sdsview(((const struct functionLibrary *)entry)->name);
}
static struct str functionSetName(const void *entry) {
    return sdsview(((const struct function *)entry)->name);
}
static const struct hashtableType libraries_type = {.entryKey = functionSetLibraryName};
static const struct hashtableType functions_type = {
    .entryKey = functionSetName, .hash = hashStrNoCase, .keyEqual = strEqNoCase};

void functionSetInit(struct functionSet *set) {
    *set = (struct functionSet){0};
    hashtableInit(&set->libraries, &libraries_type);
    hashtableInit(&set->functions, &functions_type);
}

void functionSetRelease(struct functionSet *set, bool before_reset) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &set->libraries, false);
    while (hashtableNext(&it, &entry)) {
        struct functionLibrary *lib = entry;
        if (!before_reset || !lib->engine->methods->reset_releases) functionLibraryRelease(lib);
    }
    hashtableStopIterator(&it);
}

void functionSetFree(struct functionSet *set) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &set->libraries, false);
    while (hashtableNext(&it, &entry)) functionLibraryFree(entry);
    hashtableStopIterator(&it);
    hashtableDestroy(&set->libraries);
    hashtableDestroy(&set->functions);
}

struct functionLibrary *functionSetLibrary(struct functionSet *set, struct str name) {
    return hashtableFind(&set->libraries, name);
}

struct function *functionSetFind(struct functionSet *set, struct str name) {
    return hashtableFind(&set->functions, name);
}

static void functionSetAddLibrary(struct functionSet *set, struct functionLibrary *lib) {
    bool added = hashtableAdd(&set->libraries, lib);
    serverAssert(added);
    for (struct function *f = lib->functions; f; f = f->next) hashtableAdd(&set->functions, f);
    set->function_count += lib->count;
    lib->memory = functionLibraryMemory(lib);
    set->memory += lib->memory;
}

static void functionSetRemoveLibrary(struct functionSet *set, struct functionLibrary *lib) {
    hashtablePop(&set->libraries, sdsview(lib->name));
    for (struct function *f = lib->functions; f; f = f->next) {
        hashtablePop(&set->functions, sdsview(f->name));
    }
    set->function_count -= lib->count;
    set->memory -= lib->memory;
}

static void functionSetFreeLibrary(struct functionLibrary *lib) {
    functionLibraryRelease(lib);
    functionLibraryFree(lib);
}

void functionSetDrop(struct functionSet *set, struct functionLibrary *lib) {
    functionSetRemoveLibrary(set, lib);
    functionSetFreeLibrary(lib);
}

void functionSetDropEngine(struct functionSet *set, const struct scriptEngine *e) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &set->libraries, true);
    while (hashtableNext(&it, &entry)) {
        struct functionLibrary *lib = entry;
        if (lib->engine == e) functionSetDrop(set, lib);
    }
    hashtableStopIterator(&it);
}

/* ---- Adding ---- */

/* Checks that no other library has functions of lib's names. Libraries for which `goes` is true do not
 * count, because they will be removed. */
static bool functionSetNamesFree(struct functionSet *set, const struct functionLibrary *lib,
                                 bool (*is_removed)(const struct functionLibrary *holder, void *priv),
                                 void *priv, sds *error) {
    for (const struct function *f = lib->functions; f; f = f->next) {
        const struct function *holder = functionSetFind(set, sdsview(f->name));
        if (!holder || is_removed(holder->library, priv)) continue;
        *error = sdscatprintf(sdsempty(), "ERR Function %s already exists", f->name);
        return false;
    }
    return true;
}

static bool functionSetIsReplacedBy(const struct functionLibrary *holder, void *old) {
    return holder == old;
}

struct functionLibrary *functionSetLoad(struct functionSet *set, struct str text, enum functionPolicy policy,
                                        int limit_ms, sds *error) {
    struct functionLibrary *lib = functionLibraryCreate(text, error);
    if (!lib) return NULL;
    struct functionLibrary *old = functionSetLibrary(set, sdsview(lib->name));
    if (old && policy == FUNCTIONS_APPEND) {
        *error = sdscatprintf(sdsempty(), "ERR Library '%s' already exists", lib->name);
    } else if (functionLibraryLoad(lib, old, limit_ms, error)) {
        functionSetNamesFree(set, lib, functionSetIsReplacedBy, old, error);
    }
    if (*error) {
        functionSetFreeLibrary(lib);
        return NULL;
    }
    if (old) functionSetDrop(set, old);
    functionSetAddLibrary(set, lib);
    return lib;
}

/* ---- Joining ---- */

static bool functionSetIsReplaced(const struct functionLibrary *holder, void *from) {
    return functionSetLibrary(from, sdsview(holder->name)) != NULL;
}

static bool functionSetFits(struct functionSet *to, struct functionSet *from,
                            const struct functionLibrary *lib, enum functionPolicy policy, sds *error) {
    if (policy == FUNCTIONS_APPEND && functionSetLibrary(to, sdsview(lib->name))) {
        *error = sdscatprintf(sdsempty(), "ERR Library %s already exists", lib->name);
        return false;
    }
    return functionSetNamesFree(to, lib, functionSetIsReplaced, from, error);
}

static bool functionSetAllFit(struct functionSet *to, struct functionSet *from, enum functionPolicy policy,
                              sds *error) {
    struct hashtableIterator it;
    void *entry;
    bool ok = true;
    hashtableInitIterator(&it, &from->libraries, false);
    while (ok && hashtableNext(&it, &entry)) ok = functionSetFits(to, from, entry, policy, error);
    hashtableStopIterator(&it);
    return ok;
}

/* Drops all replaced libraries before any is added, since a function may move from one library to another. */
static void functionSetDropReplaced(struct functionSet *to, struct functionSet *from) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &from->libraries, false);
    while (hashtableNext(&it, &entry)) {
        struct functionLibrary *old = functionSetLibrary(to, functionSetLibraryName(entry));
        if (old) functionSetDrop(to, old);
    }
    hashtableStopIterator(&it);
}

bool functionSetJoin(struct functionSet *to, struct functionSet *from, enum functionPolicy policy,
                     sds *error) {
    struct hashtableIterator it;
    void *entry;
    *error = NULL;
    if (!functionSetAllFit(to, from, policy, error)) return false;
    functionSetDropReplaced(to, from);
    hashtableInitIterator(&it, &from->libraries, false);
    while (hashtableNext(&it, &entry)) functionSetAddLibrary(to, entry);
    hashtableStopIterator(&it);
    hashtableDestroy(&from->libraries);
    hashtableDestroy(&from->functions);
    functionSetInit(from);
    return true;
}
