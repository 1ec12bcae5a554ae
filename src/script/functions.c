/* SPDX-License-Identifier: BSD-3-Clause */
/* functions.c - the libraries in use, and how they are saved and loaded; see functions.h. */
#include "script/functions.h"

#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "registry/background.h"
#include "registry/memory_report.h"
#include "script/function_set.h"

struct functionSet functions;

/* ---- All libraries ---- */

static bool beside_used;
static struct functionSet beside; /* loaded together with a dataset beside the one in use */

static void functionsFreeSet(void *arg) {
    functionSetFree(arg);
    zfree(arg);
}

static void functionsDropSet(struct functionSet set, bool async) {
    struct functionSet *copy = zmalloc(sizeof *copy);
    *copy = set;
    if (async)
        bioSubmit(BIO_LAZY_FREE, functionsFreeSet, copy);
    else
        functionsFreeSet(copy);
}

/* Drops all libraries. Engines are reset unless there is a set beside, which uses them, too. */
void functionsFlush(bool async) {
    struct functionSet old = functions;
    functionSetInit(&functions);
    functionSetRelease(&old, !beside_used);
    if (!beside_used) scriptEnginesReset(SCRIPT_FUNCTION, async);
    functionsDropSet(old, async);
}

/* ---- The set beside the one in use ---- */

static void functionsSwapSets(void) {
    struct functionSet set = functions;
    functions = beside;
    beside = set;
}

/* Loads one library, after its opcode. It replaces a library of the same name: files have each name once,
 * and may be merged into the present dataset. There is no time limit, because the library has been loaded
 * before. Returns false after rioFail. */
static bool functionsLoad(struct rdbReader *r) {
    struct str code;
    sds error;
    if (!rdbReadString(r, &code)) return false;
    if (functionSetLoad(&functions, code, FUNCTIONS_REPLACE, 0, &error)) return true;
    rioFail(&r->io, "Failed creating the library: %s", error);
    sdsfree(error);
    return false;
}

/* Loads into the set beside. functionsLoad uses the set in use, so both are exchanged meanwhile. */
static bool functionsLoadBeside(struct rdbReader *r) {
    if (!beside_used) functionSetInit(&beside);
    beside_used = true;
    functionsSwapSets();
    bool ok = functionsLoad(r);
    functionsSwapSets();
    return ok;
}

/* Installs the set beside if `take` is set, else drops it. If no library was loaded into it, the new
 * dataset has none. */
static void functionsExchangeBeside(bool install) {
    if (!beside_used) {
        if (install) functionsFlush(true);
        return;
    }
    if (install) functionsSwapSets();
    functionSetRelease(&beside, false);
    functionsDropSet(beside, true);
    beside_used = false;
}

static void functionsDropOfEngine(struct scriptEngine *e) {
    functionSetDropEngine(&functions, e);
    if (beside_used) functionSetDropEngine(&beside, e);
}

/* ---- Files ---- */

/* Calls fn with the text of each library until it returns false. */
static void functionsForEachCode(bool (*fn)(void *priv, struct str code), void *priv) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &functions.libraries, false);
    while (hashtableNext(&it, &entry)) {
        if (!fn(priv, sdsview(((struct functionLibrary *)entry)->text))) break;
    }
    hashtableStopIterator(&it);
}

static bool functionsSaveOne(void *priv, struct str code) {
    struct rioWriter *w = priv;
    rioWriteByte(w, RDB_OP_FUNCTION);
    rdbWriteString(w, code);
    return !w->error;
}

void functionsSave(struct rioWriter *w) {
    functionsForEachCode(functionsSaveOne, w);
}

/* ---- Sizes ---- */

size_t functionsCount(void) {
    return functions.function_count;
}

size_t functionsLibraryCount(void) {
    return hashtableSize(&functions.libraries);
}

static size_t functionsMemoryOf(const struct functionSet *set) {
    return set->memory + hashtableMemory(&set->libraries) + hashtableMemory(&set->functions);
}

size_t functionsMemory(void) {
    return functionsMemoryOf(&functions) + (beside_used ? functionsMemoryOf(&beside) : 0);
}

static bool functionsRewriteOne(void *priv, struct str code) {
    struct rioWriter *w = priv;
    rewriteCommand(w, 3);
    rewriteWord(w, "FUNCTION");
    rewriteWord(w, "LOAD");
    rewriteArg(w, code);
    return !w->error;
}

static void functionsRewriteAll(struct rioWriter *w) {
    functionsForEachCode(functionsRewriteOne, w);
}

static void functionsDropAll(void) {
    functionsFlush(false);
}

void functionsInit(void) {
    static const struct rdbSection section = {.opcode = RDB_OP_FUNCTION,
                                              .save = functionsSave,
                                              .load = functionsLoad,
                                              .rewrite = functionsRewriteAll,
                                              .empty = functionsDropAll,
                                              .loadAside = functionsLoadBeside,
                                              .exchange = functionsExchangeBeside};
    rdbSectionRegister(&section);
    memoryAddPart(MEMORY_FUNCTION_CACHES, functionsMemory);
    scriptEngineOnRemove(functionsDropOfEngine);
    functionSetInit(&functions);
}
