/* functions.c - the libraries in use, and their way into files and payloads (see functions.h). */
#include "script/functions.h"

#include "base/zmalloc.h"
#include "registry/background.h"
#include "registry/memory_report.h"
#include "data/rewrite.h"
#include "script/function_set.h"

struct functionSet functions;

bool functionsLoadLibrary(struct str code, bool replace, sds *error) {
    enum functionPolicy policy = replace ? FUNCTIONS_REPLACE : FUNCTIONS_APPEND;
    return functionSetLoad(&functions, code, policy, 0, error) != NULL;
}

/* ---- Flush: the interpreter goes with the libraries ---- */

struct oldFunctions {
    lua_State *vm;
    struct functionSet set;
};

static void freeOldFunctions(void *arg) {
    struct oldFunctions *old = arg;
    lua_close(old->vm);
    functionSetFree(&old->set, NULL);
    zfree(old);
}

static lua_State *startAnew(void) {
    lua_State *old = scriptVmReplace(SCRIPT_FUNCTION);
    functionSetInit(&functions);
    functionLibraryVmReady(scriptVm(SCRIPT_FUNCTION));
    return old;
}

void functionsFlush(bool async) {
    if (!hashtableSize(&functions.libraries)) return;
    struct oldFunctions *old = zmalloc(sizeof *old);
    old->set = functions;
    old->vm = startAnew();
    if (async)
        bioSubmit(BIO_LAZY_FREE, freeOldFunctions, old);
    else
        freeOldFunctions(old);
}

/* ---- Files ---- */

void functionsForEachCode(bool (*fn)(void *priv, struct str code), void *priv) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &functions.libraries, false);
    while (hashtableNext(&it, &entry)) {
        if (!fn(priv, sdsview(((struct functionLibrary *)entry)->text))) break;
    }
    hashtableStopIterator(&it);
}

static bool saveOne(void *priv, struct str code) {
    struct rioWriter *w = priv;
    rioWriteByte(w, RDB_OP_FUNCTION);
    rdbWriteString(w, code);
    return !w->error;
}

void functionsSave(struct rioWriter *w) {
    functionsForEachCode(saveOne, w);
}

/* One that is there already gives way: files hold each name once, and may be merged into what is there. */
bool functionsLoad(struct rdbReader *r) {
    struct str code;
    sds error;
    if (!rdbReadString(r, &code)) return false;
    if (functionsLoadLibrary(code, true, &error)) return true;
    rioFail(&r->io, "Failed creating the library: %s", error);
    sdsfree(error);
    return false;
}

/* ---- Figures ---- */

size_t functionsCount(void) {
    return functions.function_count;
}

size_t functionsLibraryCount(void) {
    return hashtableSize(&functions.libraries);
}

size_t functionsMemory(void) {
    return functions.memory + hashtableMemory(&functions.libraries) + hashtableMemory(&functions.functions);
}

static bool rewriteOne(void *priv, struct str code) {
    struct rioWriter *w = priv;
    rewriteCommand(w, 3);
    rewriteWord(w, "FUNCTION");
    rewriteWord(w, "LOAD");
    rewriteArg(w, code);
    return !w->error;
}

static void rewriteAll(struct rioWriter *w) {
    functionsForEachCode(rewriteOne, w);
}

static void dropAll(void) {
    functionsFlush(false);
}

void functionsInit(void) {
    static const struct rdbSection section = {.opcode = RDB_OP_FUNCTION,
                                              .save = functionsSave,
                                              .load = functionsLoad,
                                              .rewrite = rewriteAll,
                                              .empty = dropAll};
    rdbSectionRegister(&section);
    memoryAddPart(MEMORY_FUNCTION_CACHES, functionsMemory);
}

void functionsStart(void) {
    startAnew();
}
