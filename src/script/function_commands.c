/* SPDX-License-Identifier: BSD-3-Clause */
/* function_commands.c - the commands FUNCTION and FCALL. Part of functions.h. */
#include "base/glob.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_scripting.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "script/function_set.h"
#include "script/functions.h"

/* ---- FCALL ---- */

static void functionFcall(struct client *c, bool read_only) {
    const struct function *f = functionSetFind(&functions, c->argv[1]);
    if (!f) {
        replyError(c, "ERR Function not found");
        return;
    }
    int keys;
    if (!scriptParseKeyCount(c, &keys, "ERR Bad number of keys provided")) return;
    struct scriptCode code = {.engine = f->library->engine,
                              .name = f->name,
                              .kind = SCRIPT_FUNCTION,
                              .flags = f->flags,
                              .code = f->code};
    scriptExecute(c, &code, keys, read_only);
}

void fcallCommand(struct client *c) {
    functionFcall(c, false);
}
void fcallRoCommand(struct client *c) {
    functionFcall(c, true);
}

/* Flags for the checks before FCALL runs, from the function's own flags. */
uint64_t fcallFlags(const struct client *c, uint64_t command_flags) {
    const struct function *f = functionSetFind(&functions, c->argv[1]);
    return f ? scriptCommandFlags(f->flags, command_flags) : command_flags;
}

/* ---- Changes ---- */

/* Libraries from a file are loaded without a limit, because they have been loaded before. */
static int functionLoadLimit(const struct client *c) {
    return c->conn ? LIBRARY_LOAD_LIMIT_MS : 0;
}

void functionLoadCommand(struct client *c) {
    enum functionPolicy policy = FUNCTIONS_APPEND;
    for (int i = 2; i < c->argc - 1; i++) {
        if (!strIs(c->argv[i], "replace")) {
            replyErrorSds(c, sdscatstr(sdsnew("ERR Unknown option given: "), c->argv[i]));
            return;
        }
        policy = FUNCTIONS_REPLACE;
    }
    sds error;
    struct str text = c->argv[c->argc - 1];
    const struct functionLibrary *lib =
        functionSetLoad(&functions, text, policy, functionLoadLimit(c), &error);
    if (!lib) {
        replyErrorSds(c, error);
        return;
    }
    changesCount(1);
    replyBulk(c, sdsview(lib->name));
}

void functionDeleteCommand(struct client *c) {
    struct functionLibrary *lib = functionSetLibrary(&functions, c->argv[2]);
    if (!lib) {
        replyError(c, "ERR Library not found");
        return;
    }
    functionSetDrop(&functions, lib);
    changesCount(1);
    replyOk(c);
}

void functionFlushCommand(struct client *c) {
    bool async;
    if (c->argc > 3) {
        replySubcommandError(c);
    } else if (!scriptParseFlushMode(c, &async)) {
        replyError(c, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
    } else {
        functionsFlush(async);
        changesCount(1);
        replyOk(c);
    }
}

void functionKillCommand(struct client *c) {
    scriptKill(c, SCRIPT_FUNCTION);
}

/* ---- DUMP and RESTORE ---- */

void functionDumpCommand(struct client *c) {
    sds body = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &body);
    functionsSave(&w);
    rioFlush(&w);
    rioWriterFree(&w);
    body = rdbDumpSeal(body, RDB_VERSION);
    replyBulk(c, sdsview(body));
    sdsfree(body);
}

/* Loads one library of the payload into the set. */
static bool functionRestoreOne(struct rdbReader *r, struct functionSet *set, int limit_ms, sds *error) {
    uint8_t opcode;
    struct str code;
    if (!rioReadByte(&r->io, &opcode)) {
        *error = sdsnew("ERR failed loading type");
    } else if (opcode != RDB_OP_FUNCTION) {
        *error = sdsnew("ERR given type is not a function");
    } else if (!rdbReadString(r, &code)) {
        *error = sdsnew("ERR Failed loading library payload");
    } else {
        return functionSetLoad(set, code, FUNCTIONS_APPEND, limit_ms, error) != NULL;
    }
    return false;
}

static bool functionRestoreAll(struct str body, int version, struct functionSet *set, int limit_ms,
                               sds *error) {
    struct rdbReader r = {.version = version, .deep = true, .from_client = true};
    rioReaderInitMemory(&r.io, body);
    bool ok = true;
    while (ok && !rioAtEnd(&r.io)) ok = functionRestoreOne(&r, set, limit_ms, error);
    rdbReaderFree(&r);
    return ok;
}

/* Adds the libraries of the payload to those in use. With FLUSH it replaces them; this happens only after
 * the whole payload has been compiled. */
static bool functionInstallSet(struct functionSet *set, bool flush, enum functionPolicy policy, sds *error) {
    if (!flush) return functionSetJoin(&functions, set, policy, error);
    struct functionSet old = functions;
    functions = *set;
    *set = old;
    return true;
}

/* Valkey does not read payloads of Redis's versions, which differ in nothing else here. */
static void functionPropagateRestore(struct client *c, struct str body, int version) {
    if (!rdbVersionIsRedis(version)) return;
    sds payload = rdbDumpSeal(sdsnewlen(body.ptr, body.len), RDB_VERSION);
    struct str argv[4] = {c->argv[0], c->argv[1], sdsview(payload), c->argc == 4 ? c->argv[3] : STR("")};
    propagateRewrite(c, c->argc, argv);
    sdsfree(payload);
}

void functionRestoreCommand(struct client *c) {
    if (c->argc > 4) {
        replySubcommandError(c);
        return;
    }
    bool flush = c->argc == 4 && strIs(c->argv[3], "flush");
    bool replace = c->argc == 4 && strIs(c->argv[3], "replace");
    if (c->argc == 4 && !flush && !replace && !strIs(c->argv[3], "append")) {
        replyError(c, "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
        return;
    }
    struct str body;
    int version;
    if (!rdbDumpValid(c->argv[2], &body, &version)) {
        replyError(c, "ERR DUMP payload version or checksum are wrong");
        return;
    }
    struct functionSet set;
    sds error = NULL;
    functionSetInit(&set);
    if (functionRestoreAll(body, version, &set, functionLoadLimit(c), &error) &&
        functionInstallSet(&set, flush, replace ? FUNCTIONS_REPLACE : FUNCTIONS_APPEND, &error)) {
        changesCount(1);
        functionPropagateRestore(c, body, version);
        replyOk(c);
    } else {
        replyErrorSds(c, error);
    }
    functionSetRelease(&set, false);
    functionSetFree(&set); /* what failed, or the replaced libraries */
}

/* ---- LIST ---- */

struct listOptions {
    bool has_pattern, with_code;
    struct str pattern;
};

static bool functionParseListOptions(struct client *c, struct listOptions *o) {
    for (int i = 2; i < c->argc; i++) {
        if (!o->with_code && strIs(c->argv[i], "withcode")) {
            o->with_code = true;
        } else if (!o->has_pattern && strIs(c->argv[i], "libraryname")) {
            if (i + 1 == c->argc) return replyError(c, "ERR library name argument was not given");
            o->has_pattern = true;
            o->pattern = c->argv[++i];
        } else {
            return replyErrorSds(c, sdscatstr(sdsnew("ERR Unknown argument "), c->argv[i]));
        }
    }
    return true;
}

static void functionReply(struct client *c, const struct function *f) {
    replyMapLen(c, 3);
    replyBulkCstr(c, "name");
    replyBulk(c, sdsview(f->name));
    replyBulkCstr(c, "description");
    if (f->description)
        replyBulk(c, sdsview(f->description));
    else
        replyNull(c);
    replyBulkCstr(c, "flags");
    replySetLen(c, __builtin_popcount(f->flags & ((1u << SCRIPT_FLAGS) - 1)));
    for (int bit = 0; bit < SCRIPT_FLAGS; bit++) {
        if (f->flags & 1u << bit) replyStatus(c, scriptFlagName(bit));
    }
}

static void functionReplyLibrary(struct client *c, const struct functionLibrary *lib, bool with_code) {
    replyMapLen(c, with_code ? 4 : 3);
    replyBulkCstr(c, "library_name");
    replyBulk(c, sdsview(lib->name));
    replyBulkCstr(c, "engine");
    replyBulkCstr(c, lib->engine->name);
    replyBulkCstr(c, "functions");
    replyArrayLen(c, (int64_t)lib->count);
    for (const struct function *f = lib->functions; f; f = f->next) functionReply(c, f);
    if (!with_code) return;
    replyBulkCstr(c, "library_code");
    replyBulk(c, sdsview(lib->text));
}

void functionListCommand(struct client *c) {
    struct listOptions options = {0};
    if (!functionParseListOptions(c, &options)) return;
    struct hashtableIterator it;
    void *entry;
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(c);
    hashtableInitIterator(&it, &functions.libraries, false);
    while (hashtableNext(&it, &entry)) {
        const struct functionLibrary *lib = entry;
        if (options.has_pattern && !globMatch(options.pattern, sdsview(lib->name), true)) continue;
        functionReplyLibrary(c, lib, options.with_code);
        n++;
    }
    hashtableStopIterator(&it);
    replySetArrayLen(c, mark, n);
}

/* ---- STATS ---- */

static void functionReplyRunning(struct client *c) {
    if (!script_run.name) {
        replyNull(c);
        return;
    }
    const struct client *caller = script_run.caller;
    replyMapLen(c, 3);
    replyBulkCstr(c, "name");
    replyBulkCstr(c, script_run.name);
    replyBulkCstr(c, "command");
    replyArrayLen(c, caller->argc);
    for (int i = 0; i < caller->argc; i++) replyBulk(c, caller->argv[i]);
    replyBulkCstr(c, "duration_ms");
    replyLongLong(c, (int64_t)(scriptRunUs() / 1000));
}

static void functionCountByEngine(const struct scriptEngine *e, int64_t *libraries,
                                  int64_t *functions_of_engine) {
    struct hashtableIterator it;
    void *entry;
    *libraries = *functions_of_engine = 0;
    hashtableInitIterator(&it, &functions.libraries, false);
    while (hashtableNext(&it, &entry)) {
        const struct functionLibrary *lib = entry;
        if (lib->engine != e) continue;
        ++*libraries;
        *functions_of_engine += (int64_t)lib->count;
    }
    hashtableStopIterator(&it);
}

static void functionReplyEngines(struct client *c) {
    int64_t libraries, functions_of_engine, engines = 0;
    for (const struct scriptEngine *e = script_engines; e; e = e->next) engines++;
    replyMapLen(c, engines);
    for (const struct scriptEngine *e = script_engines; e; e = e->next) {
        functionCountByEngine(e, &libraries, &functions_of_engine);
        replyBulkCstr(c, e->name);
        replyMapLen(c, 2);
        replyBulkCstr(c, "libraries_count");
        replyLongLong(c, libraries);
        replyBulkCstr(c, "functions_count");
        replyLongLong(c, functions_of_engine);
    }
}

void functionStatsCommand(struct client *c) {
    if (script_run.name && script_run.kind == SCRIPT_EVAL) {
        scriptReplyBusy(c);
        return;
    }
    replyMapLen(c, 2);
    replyBulkCstr(c, "running_script");
    functionReplyRunning(c);
    replyBulkCstr(c, "engines");
    functionReplyEngines(c);
}

void functionHelpCommand(struct client *c) {
    static const char *lines[] = {"DELETE <library-name>",
                                  "    Delete a library and its functions.",
                                  "DUMP",
                                  "    Return all libraries as a payload for FUNCTION RESTORE.",
                                  "FLUSH [ASYNC|SYNC]",
                                  "    Delete all libraries. Without a mode, lazyfree-lazy-user-flush",
                                  "    decides whether memory is freed in the background.",
                                  "KILL",
                                  "    Stop the function that runs now, unless it has written.",
                                  "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
                                  "    Describe the libraries whose names match, and their functions.",
                                  "LOAD [REPLACE] <code>",
                                  "    Load a library, and return its name. Its first line is",
                                  "    '#!<engine> name=<library-name>'.",
                                  "RESTORE <payload> [FLUSH|APPEND|REPLACE]",
                                  "    Load the libraries of a payload, all or none. APPEND, the default,",
                                  "    refuses names that exist; REPLACE replaces libraries of the same",
                                  "    name; FLUSH replaces all libraries.",
                                  "STATS",
                                  "    Show the running function, and count libraries and functions.",
                                  NULL};
    replyHelp(c, lines);
}
