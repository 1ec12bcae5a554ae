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

/* ---- All of them: the interpreter goes with the libraries ---- */

struct otherFunctions {
    lua_State *vm; /* NULL: there are none */
    struct functionSet set;
};

static void freeOthers(void *arg) {
    struct otherFunctions *others = arg;
    lua_close(others->vm);
    functionSetFree(&others->set, NULL);
    zfree(others);
}

static void dropOthers(struct otherFunctions others, bool async) {
    struct otherFunctions *copy = zmalloc(sizeof *copy);
    *copy = others;
    if (async)
        bioSubmit(BIO_LAZY_FREE, freeOthers, copy);
    else
        freeOthers(copy);
}

/* Those that were in use. */
static struct otherFunctions startAnew(void) {
    struct otherFunctions old = {.set = functions, .vm = scriptVmReplace(SCRIPT_FUNCTION)};
    functionSetInit(&functions);
    functionLibraryVmReady(scriptVm(SCRIPT_FUNCTION));
    return old;
}

void functionsFlush(bool async) {
    if (hashtableSize(&functions.libraries)) dropOthers(startAnew(), async);
}

/* ---- Beside those in use ---- */

static struct otherFunctions aside;

static void changePlaces(void) {
    struct functionSet set = functions;
    functions = aside.set;
    aside.set = set;
    aside.vm = scriptVmExchange(SCRIPT_FUNCTION, aside.vm);
}

/* Libraries load into those in use: which is another set for that time. */
static bool loadAside(struct rdbReader *r) {
    if (aside.vm)
        changePlaces();
    else
        aside = startAnew();
    bool ok = functionsLoad(r);
    changePlaces();
    return ok;
}

/* None were loaded: then none are what takes the place of those there. */
static void exchangeAside(bool take) {
    if (!aside.vm) {
        if (take) functionsFlush(true);
        return;
    }
    if (take) changePlaces();
    dropOthers(aside, true);
    aside = (struct otherFunctions){0};
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

static size_t memoryOf(const struct functionSet *set) {
    return set->memory + hashtableMemory(&set->libraries) + hashtableMemory(&set->functions);
}

size_t functionsMemory(void) {
    return memoryOf(&functions) + (aside.vm ? memoryOf(&aside.set) : 0);
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
                                              .empty = dropAll,
                                              .loadAside = loadAside,
                                              .exchange = exchangeAside};
    rdbSectionRegister(&section);
    memoryAddPart(MEMORY_FUNCTION_CACHES, functionsMemory);
}

void functionsStart(void) {
    startAnew();
}
