/* SPDX-License-Identifier: BSD-3-Clause */
/* function_library.c - one library; see function_library.h. */
#include "script/function_library.h"

#include <ctype.h>

#include "base/zmalloc.h"

#define BAD_NAME                                                                                             \
    " names can only contain letters, numbers, or underscores(_) and must be at least one character long"

/* ---- The first line ---- */

static bool functionLibraryNameIsValid(struct str name) {
    for (size_t i = 0; i < name.len; i++) {
        if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_') return false;
    }
    return name.len > 0;
}

/* Parses the words behind the engine: name=NAME, once. Returns NULL and sets *error if they differ or the
 * engine is unknown. */
static sds functionLibraryReadName(sds *words, int count, struct scriptEngine **engine, sds *error) {
    sds name = NULL;
    for (int i = 1; i < count && !*error; i++) {
        if (strncasecmp(words[i], "name=", 5)) {
            *error = sdscatprintf(sdsempty(), "ERR Invalid metadata value given: %s", words[i]);
        } else if (name) {
            *error = sdsnew("ERR Invalid metadata value, name argument was given multiple times");
        } else {
            name = sdsnewlen(words[i] + 5, sdslen(words[i]) - 5);
        }
    }
    if (!*error && !name) *error = sdsnew("ERR Library name was not given");
    if (!*error && !functionLibraryNameIsValid(sdsview(name))) *error = sdsnew("ERR Library" BAD_NAME);
    *engine = *error ? NULL : scriptEngineByName(strOf(words[0] + 2));
    if (!*error && !*engine) *error = sdscatprintf(sdsempty(), "ERR Engine '%s' not found", words[0] + 2);
    if (!*error) return name;
    sdsfree(name);
    return NULL;
}

struct functionLibrary *functionLibraryCreate(struct str text, sds *error) {
    *error = NULL;
    if (text.len < 2 || memcmp(text.ptr, "#!", 2)) {
        *error = sdsnew("ERR Missing library metadata");
        return NULL;
    }
    int count;
    struct str body = text;
    sds *words = scriptSplitShebang(&body, &count);
    if (!words) {
        *error = sdsnew("ERR Invalid library metadata");
        return NULL;
    }
    struct scriptEngine *engine;
    sds name = functionLibraryReadName(words, count, &engine, error);
    sdsfreesplitres(words, count);
    if (!name) return NULL;
    struct functionLibrary *lib = zcalloc(1, sizeof *lib);
    lib->engine = engine;
    lib->name = name;
    lib->text = sdsnewstr(text);
    lib->body = text.len - body.len;
    lib->last = &lib->functions;
    return lib;
}

void functionLibraryRelease(struct functionLibrary *lib) {
    struct scriptEngine *e = lib->engine;
    for (struct function *f = lib->functions; f; f = f->next)
        e->methods->release(e, SCRIPT_FUNCTION, f->code);
    if (lib->whole) e->methods->release(e, SCRIPT_FUNCTION, lib->whole);
    lib->whole = 0;
}

void functionLibraryFree(struct functionLibrary *lib) {
    while (lib->functions) {
        struct function *f = lib->functions;
        lib->functions = f->next;
        sdsfree(f->name);
        sdsfree(f->description);
        zfree(f);
    }
    sdsfree(lib->name);
    sdsfree(lib->text);
    zfree(lib);
}

size_t functionLibraryMemory(const struct functionLibrary *lib) {
    size_t bytes = zmallocSize(lib) + sdsAllocSize(lib->name) + sdsAllocSize(lib->text);
    for (const struct function *f = lib->functions; f; f = f->next) {
        bytes += zmallocSize(f) + sdsAllocSize(f->name);
        if (f->description) bytes += sdsAllocSize(f->description);
        if (lib->engine->methods->codeMemory) bytes += lib->engine->methods->codeMemory(lib->engine, f->code);
    }
    return bytes;
}

/* ---- Loading ---- */

static bool functionLibraryHasFunction(const struct functionLibrary *lib, struct str name) {
    for (const struct function *f = lib->functions; f; f = f->next) {
        if (strEq(sdsview(f->name), name)) return true;
    }
    return false;
}

struct loadingLibrary {
    struct scriptCompilation job; /* first member */
    struct functionLibrary *lib;
};

static const char *functionLibraryAddFunction(struct scriptCompilation *job,
                                              const struct scriptFunction *compiled) {
    struct functionLibrary *lib = ((struct loadingLibrary *)job)->lib;
    if (functionLibraryHasFunction(lib, compiled->name)) return "ERR Function already exists in the library";
    if (!functionLibraryNameIsValid(compiled->name)) return "ERR Function" BAD_NAME;
    struct function *f = zcalloc(1, sizeof *f);
    *f = (struct function){.library = lib, .flags = compiled->flags, .code = compiled->code};
    f->name = sdsnewstr(compiled->name);
    if (compiled->description.ptr) f->description = sdsnewstr(compiled->description);
    *lib->last = f;
    lib->last = &f->next;
    lib->count++;
    return NULL;
}

bool functionLibraryLoad(struct functionLibrary *lib, const struct functionLibrary *old, int limit_ms,
                         sds *error) {
    bool same = old && old->engine == lib->engine && strEq(sdsview(old->text), sdsview(lib->text));
    struct loadingLibrary load = {.job = {.kind = SCRIPT_FUNCTION,
                                          .text = strN(lib->text + lib->body, sdslen(lib->text) - lib->body),
                                          .limit_ms = limit_ms,
                                          .before = same ? old->whole : 0,
                                          .add = functionLibraryAddFunction},
                                  .lib = lib};
    *error = NULL;
    bool ok = lib->engine->methods->compile(lib->engine, &load.job, error);
    lib->whole = load.job.whole;
    if (ok && !lib->count) *error = sdsnew("ERR No functions registered");
    return !*error;
}
