/* SPDX-License-Identifier: BSD-3-Clause */
/* module_io.c - values of modules in files: in RDB files (values, and auxiliary data that belongs to no
 * key), in DUMP, and as commands for the append-only file.
 *
 *     value      | id | item ... | 0 |                    after the type and the key
 *     auxiliary  | 247 | id | 2 | when | item ... | 0 |   before and behind all keys
 *     item       | 2 number | 3 float | 4 double | 5 string |
 *
 * Numbers are written like lengths in RDB (data/rdb/rdb.h). A module that has not declared that it handles
 * read errors would continue with incomplete data, so in that case the server ends. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "data/forkless/forkless.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rdb_dataset.h"
#include "data/rdb/rewrite.h"
#include "module/module_call_format.h"
#include "module/module_key.h"
#include "module/module_type.h"
#include "module/parts.h"

enum moduleIoItem { ITEM_END = 0, ITEM_NUMBER = 2, ITEM_FLOAT = 3, ITEM_DOUBLE = 4, ITEM_STRING = 5 };
#define LONG_DOUBLE_TEXT 64

struct ValkeyModuleIO {
    const struct ValkeyModuleType *type;
    struct rioWriter *w; /* one of both is set */
    struct rdbReader *r;
    bool commands; /* the output is commands for the append-only file */
    bool failed;
    uint64_t start_offset; /* offset of the reader at the beginning */
    bool head_pending;     /* the head of auxiliary data has to be written with the first item */
    int when;
    struct str key; /* ptr NULL: none */
    const struct object *o;
    int dbid;                        /* or DB_BY_OBJECT, or -1 */
    struct ValkeyModuleString *name; /* name of the key, once it has been requested */
    bool has_context;
    struct ValkeyModuleCtx context;
};

static void moduleIoFree(struct ValkeyModuleIO *io) {
    if (io->has_context) contextClose(&io->context);
    if (io->name) stringRelease(io->name);
}

static bool moduleIoFailed(const struct ValkeyModuleIO *io) {
    return io->failed || (io->w && io->w->error) || (io->r && rioFailed(&io->r->io));
}

int vmIsIOError(struct ValkeyModuleIO *io) {
    return moduleIoFailed(io);
}

struct ValkeyModuleCtx *vmGetContextFromIO(struct ValkeyModuleIO *io) {
    if (!io->has_context) contextOpen(&io->context, io->type->module, NULL, 0);
    io->has_context = true;
    return &io->context;
}

const struct ValkeyModuleString *vmGetKeyNameFromIO(struct ValkeyModuleIO *io) {
    if (!io->name && io->key.ptr) io->name = stringNew(io->key);
    return io->name;
}

int vmGetDbIdFromIO(struct ValkeyModuleIO *io) {
    if (io->dbid == DB_BY_OBJECT) io->dbid = moduleFindDb(io->o);
    return io->dbid;
}

void vmLogIOError(struct ValkeyModuleIO *io, const char *levelstr, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    moduleLogV(io->type->module, levelstr, fmt, ap);
    va_end(ap);
}

/* ---- Saving ---- */

static void moduleIoWriteAuxHead(struct ValkeyModuleIO *io) {
    rioWriteByte(io->w, RDB_OP_MODULE_AUX);
    rdbWriteLen(io->w, io->type->id);
    rdbWriteLen(io->w, ITEM_NUMBER);
    rdbWriteLen(io->w, (uint64_t)io->when);
    io->head_pending = false;
}

static bool moduleIoBeginItem(struct ValkeyModuleIO *io, enum moduleIoItem item) {
    if (!io->w || io->commands || moduleIoFailed(io)) return false;
    if (io->head_pending) moduleIoWriteAuxHead(io);
    rdbWriteLen(io->w, item);
    return true;
}

void vmSaveUnsigned(struct ValkeyModuleIO *io, uint64_t value) {
    if (moduleIoBeginItem(io, ITEM_NUMBER)) rdbWriteLen(io->w, value);
}
void vmSaveSigned(struct ValkeyModuleIO *io, int64_t value) {
    vmSaveUnsigned(io, (uint64_t)value);
}
void vmSaveStringBuffer(struct ValkeyModuleIO *io, const char *str, size_t len) {
    if (moduleIoBeginItem(io, ITEM_STRING)) rdbWriteString(io->w, strN(str, len));
}
void vmSaveString(struct ValkeyModuleIO *io, struct ValkeyModuleString *s) {
    vmSaveStringBuffer(io, stringText(s).ptr, stringText(s).len);
}
void vmSaveDouble(struct ValkeyModuleIO *io, double value) {
    if (moduleIoBeginItem(io, ITEM_DOUBLE)) rdbWriteDouble(io->w, value);
}
void vmSaveFloat(struct ValkeyModuleIO *io, float value) {
    if (moduleIoBeginItem(io, ITEM_FLOAT)) rioWrite(io->w, &value, sizeof value);
}
void vmSaveLongDouble(struct ValkeyModuleIO *io, long double value) {
    char text[LONG_DOUBLE_TEXT];
    int len = snprintf(text, sizeof text, "%La", value);
    vmSaveStringBuffer(io, text, (size_t)len);
}

/* Checks that values of the type can be read back: the server would not start with such a file. On failure
 * w->error is set. */
static bool moduleIoCanBeSaved(struct rioWriter *w, const struct ValkeyModuleType *type) {
    if (type->methods.rdb_save && type->methods.rdb_load) return true;
    if (!w->error)
        serverLog(LL_WARNING,
                  "Values of the module data type '%s' cannot be saved: it has no rdb_save or no rdb_load",
                  type->name);
    w->error = w->error ? w->error : ENOTSUP;
    return false;
}

void moduleTypeSave(struct rioWriter *w, const struct object *o) {
    const struct moduleValue *v = moduleValueOf(o);
    if (readRefuses()) return; /* modules' functions run on the main thread */
    if (!moduleIoCanBeSaved(w, v->type)) return;
    struct ValkeyModuleIO io = {.type = v->type, .w = w, .key = objectKey(o), .o = o, .dbid = DB_BY_OBJECT};
    rdbWriteLen(w, v->type->id);
    v->type->methods.rdb_save(&io, v->value);
    rdbWriteLen(w, ITEM_END);
    moduleIoFree(&io);
}

/* ---- Loading ---- */

/* Handles a read error; returns false if the module handles it, too. */
static bool moduleIoLoadFails(struct ValkeyModuleIO *io) {
    struct rdbReader *r = io->r;
    io->failed = true;
    if (io->type->module->options & VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS) return false;
    serverPanic(
        "Module '%s' failed to read a value of its type '%s' from the RDB data after %llu bytes; the key "
        "is '%.*s'.",
        io->type->module->name, io->type->name, (unsigned long long)(rioOffset(&r->io) - io->start_offset),
        io->key.ptr ? (int)io->key.len : 6, io->key.ptr ? io->key.ptr : "(null)");
}

static bool moduleIoNextItem(struct ValkeyModuleIO *io, enum moduleIoItem item) {
    uint64_t found;
    if (!io->r || io->failed) return false;
    if (!rdbReadLen(io->r, &found)) return moduleIoLoadFails(io);
    if (found == item) return true;
    rioFail(&io->r->io, "module type '%s' asks for an item of kind %d where there is one of kind %llu",
            io->type->name, item, (unsigned long long)found);
    return moduleIoLoadFails(io);
}

uint64_t vmLoadUnsigned(struct ValkeyModuleIO *io) {
    uint64_t n;
    if (!moduleIoNextItem(io, ITEM_NUMBER)) return 0;
    if (rdbReadLen(io->r, &n)) return n;
    return moduleIoLoadFails(io);
}

int64_t vmLoadSigned(struct ValkeyModuleIO *io) {
    return (int64_t)vmLoadUnsigned(io);
}

/* Reads a text as a view that is valid until the next read. */
static bool moduleIoLoadText(struct ValkeyModuleIO *io, struct str *text) {
    return moduleIoNextItem(io, ITEM_STRING) && (rdbReadString(io->r, text) || moduleIoLoadFails(io));
}

struct ValkeyModuleString *vmLoadString(struct ValkeyModuleIO *io) {
    struct str text;
    return moduleIoLoadText(io, &text) ? stringNew(text) : NULL;
}

char *vmLoadStringBuffer(struct ValkeyModuleIO *io, size_t *lenptr) {
    struct str text;
    if (!moduleIoLoadText(io, &text)) return NULL;
    char *bytes = vmAlloc(text.len ? text.len : 1);
    memcpy(bytes, text.ptr, text.len);
    if (lenptr) *lenptr = text.len;
    return bytes;
}

double vmLoadDouble(struct ValkeyModuleIO *io) {
    double d;
    if (!moduleIoNextItem(io, ITEM_DOUBLE)) return 0;
    if (rdbReadDouble(io->r, &d)) return d;
    return moduleIoLoadFails(io);
}

float vmLoadFloat(struct ValkeyModuleIO *io) {
    float f;
    if (!moduleIoNextItem(io, ITEM_FLOAT)) return 0;
    if (rioRead(&io->r->io, &f, sizeof f)) return f;
    return moduleIoLoadFails(io);
}

long double vmLoadLongDouble(struct ValkeyModuleIO *io) {
    char digits[LONG_DOUBLE_TEXT];
    struct str text;
    if (!moduleIoLoadText(io, &text)) return 0;
    if (text.len >= sizeof digits) text.len = sizeof digits - 1;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = '\0';
    return strtold(digits, NULL);
}

/* Loads a value; NULL on failure. */
static void *moduleIoLoadValue(const struct ValkeyModuleType *type, struct rdbReader *r, uint64_t id) {
    struct ValkeyModuleIO io = {.type = type,
                                .r = r,
                                .start_offset = rioOffset(&r->io),
                                .key = r->key,
                                .dbid = r->key.ptr ? r->dbid : -1};
    void *value = type->methods.rdb_load ? type->methods.rdb_load(&io, TYPE_VERSION_OF(id)) : NULL;
    bool whole = !moduleIoFailed(&io);
    moduleIoFree(&io);
    if (whole || !value) return value;
    moduleValueFree(type, value);
    return NULL;
}

static bool moduleIoReadEnd(struct rdbReader *r, const struct ValkeyModuleType *type) {
    uint64_t end;
    if (!rdbReadLen(r, &end)) return false;
    return end == ITEM_END ||
           rioFail(&r->io, "the end mark after a value of the module '%s' is missing", type->module->name);
}

enum rdbLoaded moduleTypeLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    (void)rdb_type;
    uint64_t id;
    if (!rdbReadLen(r, &id)) return RDB_FAILED;
    const struct ValkeyModuleType *type = moduleTypeById(id);
    if (!type) return rdbReadUnknownModule(r, id);
    void *value = moduleIoLoadValue(type, r, id);
    if (!moduleIoReadEnd(r, type)) {
        if (value) moduleValueFree(type, value);
        return RDB_FAILED;
    }
    if (!value) {
        rioFail(&r->io, "the module of the type '%s' could not load a value; it may have logged why",
                type->module->name);
        return RDB_FAILED;
    }
    *v = moduleValueCreate(type, value);
    return RDB_LOADED;
}

/* ---- Auxiliary data ---- */

static void moduleIoSaveAuxOfType(const struct ValkeyModuleType *type, struct rioWriter *w, int when) {
    const ValkeyModuleTypeMethods *methods = &type->methods;
    if (!(methods->aux_save_triggers & when) || (!methods->aux_save2 && !methods->aux_save)) return;
    struct ValkeyModuleIO io = {.type = type, .w = w, .dbid = -1, .when = when, .head_pending = true};
    if (methods->aux_save2) {
        methods->aux_save2(&io, when);
    } else {
        moduleIoWriteAuxHead(&io);
        methods->aux_save(&io, when);
    }
    if (!io.head_pending) rdbWriteLen(w, ITEM_END);
    moduleIoFree(&io);
}

static void moduleIoSaveAux(struct rioWriter *w, bool behind) {
    int when = behind ? VALKEYMODULE_AUX_AFTER_RDB : VALKEYMODULE_AUX_BEFORE_RDB;
    for (const struct ValkeyModuleType *t = module_types; t; t = t->next) moduleIoSaveAuxOfType(t, w, when);
}

static bool moduleIoKnowsAuxType(uint64_t id) {
    return moduleTypeById(id) != NULL;
}

static bool moduleIoLoadAux(struct rdbReader *r, uint64_t id) {
    const struct ValkeyModuleType *type = moduleTypeById(id);
    uint64_t kind, when;
    if (!rdbReadLen(r, &kind) || !rdbReadLen(r, &when)) return false;
    if (kind != ITEM_NUMBER)
        return rioFail(&r->io, "auxiliary data of a module does not say when it is to be loaded");
    if (!type->methods.aux_load)
        return rioFail(&r->io, "there is auxiliary data of the module type '%s', which does not load any",
                       type->name);
    struct ValkeyModuleIO io = {.type = type, .r = r, .start_offset = rioOffset(&r->io), .dbid = -1};
    bool ok = type->methods.aux_load(&io, TYPE_VERSION_OF(id), (int)when) == VALKEYMODULE_OK &&
              !moduleIoFailed(&io);
    moduleIoFree(&io);
    if (!ok)
        return rioFail(
            &r->io, "the module of the type '%s' could not load its auxiliary data; it may have logged why",
            type->name);
    return moduleIoReadEnd(r, type);
}

/* ---- Loading from a primary's stream ---- */

static const char *moduleIoWhyViaDisk(bool beside) {
    for (const struct ValkeyModuleType *t = module_types; t; t = t->next) {
        if (!(t->module->options & VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS))
            return "do not handle errors of reading";
    }
    for (const struct module *m = modules; m && beside; m = m->next) {
        if (!(m->options & VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD))
            return "do not support asynchronous loading";
    }
    return NULL;
}

/* ---- Snapshots without a fork ---- */

/* A thread would call the methods of a type beside the commands of its module, so no type takes part. */
static const char *moduleIoAgainstForkless(void) {
    static char reason[128]; /* names of types and modules that are longer are cut */
    const char *why = "has data types", *name = NULL;
    if (module_types) name = module_types->module->name;
    for (const struct module *m = modules; m && !name; m = m->next) {
        bool built_in = !m->file;
        if (built_in || m->options & VALKEYMODULE_OPTIONS_HANDLE_FORKLESS) continue;
        name = m->name;
        why = "does not support it";
    }
    if (!name) return moduleKeyAnyWritable() ? "a module has opened a key for writing" : NULL;
    snprintf(reason, sizeof reason, "the module %s %s", name, why);
    return reason;
}

/* ---- Commands ---- */

static void moduleIoFailEmit(struct ValkeyModuleIO *io, const char *what, const char *cmdname,
                             const char *more) {
    serverLog(LL_WARNING, "The AOF rewrite method of the module type '%s' tried to %s '%s'%s", io->type->name,
              what, cmdname, more);
    io->failed = true;
    errno = EINVAL;
}

void vmEmitAOF(struct ValkeyModuleIO *io, const char *cmdname, const char *fmt, ...) {
    struct callArguments a;
    va_list ap;
    if (!io->commands || moduleIoFailed(io)) return;
    if (!(io->type->module->options & VALKEYMODULE_OPTIONS_SKIP_COMMAND_VALIDATION) &&
        !commandLookupName(strOf(cmdname))) {
        moduleIoFailEmit(io, "emit unknown command", cmdname, "");
        return;
    }
    va_start(ap, fmt);
    if (callArgumentsParse(&a, cmdname, fmt, ap)) {
        rewriteCommand(io->w, a.argc);
        for (int i = 0; i < a.argc; i++) rewriteArg(io->w, a.argv[i]);
    } else {
        moduleIoFailEmit(io, "call ValkeyModule_EmitAOF() with wrong format specifiers", fmt, "");
    }
    va_end(ap);
    callArgumentsFree(&a);
}

/* Writes a value as RESTORE because its type has no rewrite method. */
static void moduleIoRewriteAsRestore(struct rioWriter *w, struct str key, const struct object *o) {
    sds payload = rdbDump(o, 0);
    rewriteCommand(w, 4);
    rewriteWord(w, "RESTORE");
    rewriteArg(w, key);
    rewriteArgInt(w, 0);
    rewriteArg(w, sdsview(payload));
    sdsfree(payload);
}

void moduleTypeRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    const struct moduleValue *v = moduleValueOf(o);
    if (!v->type->methods.aof_rewrite) {
        if (moduleIoCanBeSaved(w, v->type)) moduleIoRewriteAsRestore(w, key, o);
        return;
    }
    struct ValkeyModuleIO io = {
        .type = v->type, .w = w, .commands = true, .key = key, .o = o, .dbid = DB_BY_OBJECT};
    vmGetKeyNameFromIO(&io);
    v->type->methods.aof_rewrite(&io, io.name, v->value);
    if (io.failed && !w->error) w->error = EINVAL;
    moduleIoFree(&io);
}

/* ---- Strings ---- */

struct ValkeyModuleString *vmSaveDataTypeToString(struct ValkeyModuleCtx *ctx, void *data,
                                                  const struct ValkeyModuleType *mt) {
    sds text = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &text);
    struct ValkeyModuleIO io = {.type = mt, .w = &w, .dbid = -1};
    if (mt->methods.rdb_save) mt->methods.rdb_save(&io, data);
    bool ok = mt->methods.rdb_save && rioFlush(&w) && !io.failed;
    moduleIoFree(&io);
    rioWriterFree(&w);
    if (!ok) {
        sdsfree(text);
        return NULL;
    }
    struct ValkeyModuleString *s = stringFromSds(text);
    contextAutoAdd(ctx, AUTO_STRING, s);
    return s;
}

void *vmLoadDataTypeFromStringEncver(const struct ValkeyModuleString *str, const struct ValkeyModuleType *mt,
                                     int encver) {
    struct rdbReader r = {.version = RDB_VERSION, .from_client = true};
    rioReaderInitMemory(&r.io, stringText(str));
    void *value = moduleIoLoadValue(mt, &r, (uint64_t)encver & TYPE_VERSION_MAX);
    rdbReaderFree(&r);
    return value;
}

void *vmLoadDataTypeFromString(const struct ValkeyModuleString *str, const struct ValkeyModuleType *mt) {
    return vmLoadDataTypeFromStringEncver(str, mt, 0);
}

void moduleIoInit(void) {
    rdb_modules.knowsAside = moduleIoKnowsAuxType;
    rdb_modules.loadAside = moduleIoLoadAux;
    rdb_modules.saveAside = moduleIoSaveAux;
    rdb_modules.wantDisk = moduleIoWhyViaDisk;
    forkless_module_veto = moduleIoAgainstForkless;
}
