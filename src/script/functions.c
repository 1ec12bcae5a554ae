/* SPDX-License-Identifier: BSD-3-Clause */
/* functions.c - the libraries in use, and their way into files and payloads (see functions.h). */
#include "script/functions.h"

#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "registry/background.h"
#include "registry/memory_report.h"
#include "script/function_set.h"

struct functionSet functions;

/* ---- All of them ---- */

static bool aside_used;
static struct functionSet aside; /* beside those in use, when a dataset is loaded there */

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

/* What engines keep goes with the libraries, unless there are some aside. */
void functionsFlush(bool async) {
    struct functionSet old = functions;
    functionSetInit(&functions);
    functionSetRelease(&old, !aside_used);
    if (!aside_used) scriptEnginesReset(SCRIPT_FUNCTION, async);
    functionsDropSet(old, async);
}

/* ---- Beside those in use ---- */

static void functionsChangePlaces(void) {
    struct functionSet set = functions;
    functions = aside;
    aside = set;
}

/* Reads one library, after the opcode. It replaces one of the same name: files have each name once, and may
 * be merged into what is there. Loading has no time limit, because the library was loaded before. False:
 * rioFail was called. */
static bool functionsLoad(struct rdbReader *r) {
    struct str code;
    sds error;
    if (!rdbReadString(r, &code)) return false;
    if (functionSetLoad(&functions, code, FUNCTIONS_REPLACE, 0, &error)) return true;
    rioFail(&r->io, "Failed creating the library: %s", error);
    sdsfree(error);
    return false;
}

/* functionsLoad loads into the set in use, so the set aside is exchanged with it meanwhile. */
static bool functionsLoadAside(struct rdbReader *r) {
    if (!aside_used) functionSetInit(&aside);
    aside_used = true;
    functionsChangePlaces();
    bool ok = functionsLoad(r);
    functionsChangePlaces();
    return ok;
}

/* None were loaded: then none are what takes the place of those there. */
static void functionsExchangeAside(bool take) {
    if (!aside_used) {
        if (take) functionsFlush(true);
        return;
    }
    if (take) functionsChangePlaces();
    functionSetRelease(&aside, false);
    functionsDropSet(aside, true);
    aside_used = false;
}

static void functionsDropOfEngine(struct scriptEngine *e) {
    functionSetDropOf(&functions, e);
    if (aside_used) functionSetDropOf(&aside, e);
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

/* ---- Figures ---- */

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
    return functionsMemoryOf(&functions) + (aside_used ? functionsMemoryOf(&aside) : 0);
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
                                              .loadAside = functionsLoadAside,
                                              .exchange = functionsExchangeAside};
    rdbSectionRegister(&section);
    memoryAddPart(MEMORY_FUNCTION_CACHES, functionsMemory);
    scriptEngineOnRemove(functionsDropOfEngine);
    functionSetInit(&functions);
}
