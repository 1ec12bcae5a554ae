/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.c - an example of a module: which members are in demand at the moment.
 *
 * A key counts how often its members are used, and old uses fade: after each half-life a count is worth
 * half. This finds trending articles, noisy clients and popular searches without cleaning up old counts.
 *
 *     HEAT.ADD key member [WEIGHT w] [AT unix-ms] [HALFLIFE ms]   its heat now
 *     HEAT.GET key member                                         its heat now, or nil
 *     HEAT.TOP key [count]                                        [member, heat] of the hottest (10), the hottest first
 *     HEAT.COOL key threshold                                     removes colder members; how many these were
 *
 *     heat.half-life      ms, for new keys                                (3600000)
 *     heat.sweep-seconds  how often the coldest are removed; 0: never           (0)
 *
 * It shows a data type (saved, rewritten, copied, measured, digested), commands with documentation,
 * directives, a timer, and replication of commands that depend on the clock. Compile it with `make`,
 * load it with `loadmodule /path/heat.so`; docs/modules.md explains the rest.
 *
 * The idea: counts are never decreased. All counts of a key refer to one time in the past (`since`), and
 * later uses weigh more, by 2 to the power of the half-lives between. The order of members never
 * changes, and the heat now is one multiplication away. When the factor becomes large, `since` is moved
 * forward. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "valkeymodule.h"

#define HALF_LIVES_MAX 500 /* 2^500 is far from the largest double */
#define SWEEP_KEYS     100 /* keys checked per run of the timer, roughly */
#define TOP_DEFAULT    10
#define COLD           0.01 /* the timer removes members below this */

struct heat {
    long long since, half_life; /* unix ms; ms */
    ValkeyModuleDict *counts;   /* member -> double *, as of `since` */
};

static ValkeyModuleType *heat_type;
static long long half_life, sweep_seconds; /* the directives */
static ValkeyModuleTimerID timer;
static int timer_runs;
static ValkeyModuleScanCursor *sweep_cursor;

/* ---- Values ---- */

static struct heat *heatCreate(long long since, long long half_life_ms) {
    struct heat *h = ValkeyModule_Alloc(sizeof *h);
    *h = (struct heat){since, half_life_ms, ValkeyModule_CreateDict(NULL)};
    return h;
}

/* Returns the count of a member, which is created if necessary. */
static double *countOf(struct heat *h, const char *member, size_t len) {
    double *count = ValkeyModule_DictGetC(h->counts, (void *)member, len, NULL);
    if (count) return count;
    count = ValkeyModule_Calloc(1, sizeof *count);
    ValkeyModule_DictSetC(h->counts, (void *)member, len, count);
    return count;
}

/* Calls fn for each member, in the order of their bytes. */
static void forEach(const struct heat *h,
                    void (*fn)(void *priv, const char *member, size_t len, double *count), void *priv) {
    size_t len;
    void *count;
    ValkeyModuleDictIter *it = ValkeyModule_DictIteratorStartC(h->counts, "^", NULL, 0);
    for (const char *member; (member = ValkeyModule_DictNextC(it, &len, &count));)
        fn(priv, member, len, count);
    ValkeyModule_DictIteratorStop(it);
}

static void freeCount(void *priv, const char *member, size_t len, double *count) {
    (void)priv, (void)member, (void)len;
    ValkeyModule_Free(count);
}

/* A background thread may call this. */
static void heatFree(void *value) {
    struct heat *h = value;
    forEach(h, freeCount, NULL);
    ValkeyModule_FreeDict(NULL, h->counts);
    ValkeyModule_Free(h);
}

/* Returns the factor from counts as of `since` to that time; 1 / factor leads back. */
static double factorAt(const struct heat *h, long long ms) {
    return exp2((double)(h->since - ms) / (double)h->half_life);
}

static void heatScaleCount(void *priv, const char *member, size_t len, double *count) {
    (void)member, (void)len;
    *count *= *(double *)priv;
}

static double heatAdd(struct heat *h, const char *member, size_t len, double weight, long long at) {
    if ((double)(at - h->since) > (double)h->half_life * HALF_LIVES_MAX) {
        double factor = factorAt(h, at);
        forEach(h, heatScaleCount, &factor);
        h->since = at;
    }
    double *count = countOf(h, member, len);
    *count += weight / factorAt(h, at);
    return *count * factorAt(h, at);
}

/* ---- Files, copies, memory ---- */

static void saveCount(void *priv, const char *member, size_t len, double *count) {
    ValkeyModule_SaveStringBuffer(priv, member, len);
    ValkeyModule_SaveDouble(priv, *count);
}
static void heatSave(ValkeyModuleIO *io, void *value) {
    struct heat *h = value;
    ValkeyModule_SaveSigned(io, h->since);
    ValkeyModule_SaveSigned(io, h->half_life);
    ValkeyModule_SaveUnsigned(io, ValkeyModule_DictSize(h->counts));
    forEach(h, saveCount, io);
}

/* Loads a value. Any of these calls may fail: the file may be truncated, or the bytes may come from a
 * client (RESTORE). NULL reports an error. */
static void *heatLoad(ValkeyModuleIO *io, int encver) {
    if (encver != 0) return NULL;
    long long since = ValkeyModule_LoadSigned(io), half_life_ms = ValkeyModule_LoadSigned(io);
    uint64_t count = ValkeyModule_LoadUnsigned(io);
    if (ValkeyModule_IsIOError(io) || half_life_ms <= 0) return NULL;
    struct heat *h = heatCreate(since, half_life_ms);
    for (uint64_t i = 0; i < count; i++) {
        size_t len;
        char *member = ValkeyModule_LoadStringBuffer(io, &len);
        double value = ValkeyModule_LoadDouble(io);
        if (member) *countOf(h, member, len) = value;
        ValkeyModule_Free(member);
        if (!ValkeyModule_IsIOError(io)) continue;
        heatFree(h);
        return NULL;
    }
    return h;
}

/* Writes a double as text from which the same double can be read. */
static int doubleText(char text[32], double value) {
    return snprintf(text, 32, "%.17g", value);
}

struct rewriting {
    ValkeyModuleIO *io;
    ValkeyModuleString *key;
    const struct heat *h;
};
static void rewriteCount(void *priv, const char *member, size_t len, double *count) {
    struct rewriting *w = priv;
    char text[32];
    doubleText(text, *count);
    ValkeyModule_EmitAOF(w->io, "HEAT.ADD", "sbccclcl", w->key, member, len, "WEIGHT", text, "AT",
                         w->h->since, "HALFLIFE", w->h->half_life);
}
static void heatRewrite(ValkeyModuleIO *io, ValkeyModuleString *key, void *value) {
    struct rewriting w = {io, key, value};
    forEach(value, rewriteCount, &w);
}

static void copyCount(void *priv, const char *member, size_t len, double *count) {
    *countOf(priv, member, len) = *count;
}
static void *heatCopy(ValkeyModuleString *from, ValkeyModuleString *to, const void *value) {
    (void)from, (void)to;
    const struct heat *h = value;
    struct heat *copy = heatCreate(h->since, h->half_life);
    forEach(h, copyCount, copy);
    return copy;
}

static void digestCount(void *priv, const char *member, size_t len, double *count) {
    char text[32];
    ValkeyModule_DigestAddStringBuffer(priv, member, len);
    ValkeyModule_DigestAddStringBuffer(priv, text, (size_t)doubleText(text, *count));
    ValkeyModule_DigestEndSequence(priv);
}
static void heatDigest(ValkeyModuleDigest *digest, void *value) {
    forEach(value, digestCount, digest);
}

static void measureCount(void *priv, const char *member, size_t len, double *count) {
    (void)member;
    *(size_t *)priv += len + ValkeyModule_MallocSize(count);
}
static size_t heatMemory(const void *value) {
    size_t bytes = sizeof(struct heat);
    forEach(value, measureCount, &bytes);
    return bytes;
}
/* Returns the effort of freeing; from 64 on the value is freed in the background. */
static size_t heatEffort(ValkeyModuleString *key, const void *value) {
    (void)key;
    return ValkeyModule_DictSize(((const struct heat *)value)->counts);
}

/* ---- Commands ---- */

/* Returns the key's value, or NULL if there is none. For another type it replies an error and sets *ok
 * to false. */
static struct heat *valueOf(ValkeyModuleCtx *ctx, ValkeyModuleKey *key, int *ok) {
    *ok = 1;
    if (ValkeyModule_KeyType(key) == VALKEYMODULE_KEYTYPE_EMPTY) return NULL;
    if (ValkeyModule_ModuleTypeGetType(key) == heat_type) return ValkeyModule_ModuleTypeGetValue(key);
    *ok = 0;
    ValkeyModule_ReplyWithError(ctx, VALKEYMODULE_ERRORMSG_WRONGTYPE);
    return NULL;
}

/* Reads the options after the member, which come in pairs. After an error it has replied, and returns
 * false. */
static int readOptions(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc, double *weight,
                       long long *at, long long *half_life_ms) {
    for (int i = 3; i < argc; i += 2) {
        const char *name = ValkeyModule_StringPtrLen(argv[i], NULL);
        int bad = i + 1 == argc;
        if (!bad && !strcasecmp(name, "WEIGHT"))
            bad = ValkeyModule_StringToDouble(argv[i + 1], weight) || !isfinite(*weight) || *weight < 0;
        else if (!bad && !strcasecmp(name, "AT"))
            bad = ValkeyModule_StringToLongLong(argv[i + 1], at) || *at < 0;
        else if (!bad && !strcasecmp(name, "HALFLIFE"))
            bad = ValkeyModule_StringToLongLong(argv[i + 1], half_life_ms) || *half_life_ms <= 0;
        else
            bad = 1;
        if (bad) {
            ValkeyModule_ReplyWithError(ctx, "ERR syntax error");
            return 0;
        }
    }
    return 1;
}

static int addCommand(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_AutoMemory(ctx); /* frees keys and strings at the end */
    double weight = 1;
    long long at = ValkeyModule_Milliseconds(), half_life_ms = half_life;
    if (!readOptions(ctx, argv, argc, &weight, &at, &half_life_ms)) return VALKEYMODULE_OK;
    int ok;
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    struct heat *h = valueOf(ctx, key, &ok);
    if (!ok) return VALKEYMODULE_OK;
    if (!h) {
        h = heatCreate(at, half_life_ms);
        ValkeyModule_ModuleTypeSetValue(key, heat_type, h);
    }
    size_t len;
    const char *member = ValkeyModule_StringPtrLen(argv[2], &len);
    double now = heatAdd(h, member, len, weight, at);
    /* Replicas and the append-only file get a command that does not depend on their clock and
     * directives. */
    char text[32];
    doubleText(text, weight);
    ValkeyModule_Replicate(ctx, "HEAT.ADD", "ssccclcl", argv[1], argv[2], "WEIGHT", text, "AT", at,
                           "HALFLIFE", h->half_life);
    ValkeyModule_NotifyKeyspaceEvent(ctx, VALKEYMODULE_NOTIFY_MODULE, "heat.add", argv[1]);
    return ValkeyModule_ReplyWithDouble(ctx, now);
}

static int heatGetCommand(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_AutoMemory(ctx);
    int ok;
    struct heat *h = valueOf(ctx, ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ), &ok);
    if (!ok) return VALKEYMODULE_OK;
    double *count = h ? ValkeyModule_DictGet(h->counts, argv[2], NULL) : NULL;
    if (!count) return ValkeyModule_ReplyWithNull(ctx);
    return ValkeyModule_ReplyWithDouble(ctx, *count * factorAt(h, ValkeyModule_Milliseconds()));
}

struct place {
    const char *member;
    size_t len;
    double count;
};
static void notePlace(void *priv, const char *member, size_t len, double *count) {
    struct place **next = priv;
    char *copy = ValkeyModule_Alloc(len + 1); /* a member is valid until the iterator's next step */
    memcpy(copy, member, len);
    *(*next)++ = (struct place){copy, len, *count};
}
static int hottestFirst(const void *a, const void *b) {
    double x = ((const struct place *)a)->count, y = ((const struct place *)b)->count;
    return (x < y) - (x > y);
}

static int topCommand(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    long long wanted = TOP_DEFAULT;
    if (argc < 2 || argc > 3) return ValkeyModule_WrongArity(ctx);
    if (argc == 3 && (ValkeyModule_StringToLongLong(argv[2], &wanted) || wanted < 0))
        return ValkeyModule_ReplyWithError(ctx, "ERR the count is not a number, or negative");
    ValkeyModule_AutoMemory(ctx);
    int ok;
    struct heat *h = valueOf(ctx, ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ), &ok);
    if (!ok) return VALKEYMODULE_OK;
    if (!h) return ValkeyModule_ReplyWithEmptyArray(ctx);
    long long count = (long long)ValkeyModule_DictSize(h->counts);
    struct place *places = ValkeyModule_Alloc((size_t)count * sizeof *places), *next = places;
    forEach(h, notePlace, &next);
    qsort(places, (size_t)count, sizeof *places, hottestFirst);
    double factor = factorAt(h, ValkeyModule_Milliseconds());
    if (wanted > count) wanted = count;
    ValkeyModule_ReplyWithArray(ctx, wanted);
    for (long long i = 0; i < count; i++) {
        if (i < wanted) {
            ValkeyModule_ReplyWithArray(ctx, 2);
            ValkeyModule_ReplyWithStringBuffer(ctx, places[i].member, places[i].len);
            ValkeyModule_ReplyWithDouble(ctx, places[i].count * factor);
        }
        ValkeyModule_Free((void *)places[i].member);
    }
    ValkeyModule_Free(places);
    return VALKEYMODULE_OK;
}

/* Removes the members below the threshold and returns how many there were. A key without members is
 * deleted. */
static long long heatRemoveColder(ValkeyModuleKey *key, struct heat *h, double threshold) {
    double limit = threshold / factorAt(h, ValkeyModule_Milliseconds()), *count;
    long long before = (long long)ValkeyModule_DictSize(h->counts);
    size_t len;
    ValkeyModuleDictIter *it = ValkeyModule_DictIteratorStartC(h->counts, "^", NULL, 0);
    for (const char *member; (member = ValkeyModule_DictNextC(it, &len, (void **)&count));) {
        if (*count >= limit) continue;
        ValkeyModuleString *gone = ValkeyModule_CreateString(NULL, member, len);
        ValkeyModule_DictDel(h->counts, gone, NULL);
        ValkeyModule_DictIteratorReseek(it, ">", gone); /* the dictionary has changed */
        ValkeyModule_FreeString(NULL, gone);
        ValkeyModule_Free(count);
    }
    ValkeyModule_DictIteratorStop(it);
    long long left = (long long)ValkeyModule_DictSize(h->counts);
    if (!left) ValkeyModule_DeleteKey(key);
    return before - left;
}

static int coolCommand(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    double threshold;
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    if (ValkeyModule_StringToDouble(argv[2], &threshold))
        return ValkeyModule_ReplyWithError(ctx, "ERR the threshold is not a number");
    ValkeyModule_AutoMemory(ctx);
    int ok;
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    struct heat *h = valueOf(ctx, key, &ok);
    if (!ok) return VALKEYMODULE_OK;
    long long gone = h ? heatRemoveColder(key, h, threshold) : 0;
    if (gone) ValkeyModule_ReplicateVerbatim(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, gone);
}

/* ---- The timer ---- */

static void sweepKey(ValkeyModuleCtx *ctx, ValkeyModuleString *name, ValkeyModuleKey *key, void *priv) {
    (void)key;
    ValkeyModuleDict *names = priv; /* a scan must not change keys */
    ValkeyModule_DictSet(names, name, NULL);
    (void)ctx;
}

static void startTimer(ValkeyModuleCtx *ctx);

static void heatSweepKeys(ValkeyModuleCtx *ctx, void *data) {
    (void)data;
    timer_runs = 0;
    startTimer(ctx); /* a timer fires once */
    if (ValkeyModule_GetContextFlags(ctx) & VALKEYMODULE_CTX_FLAGS_REPLICA)
        return; /* the primary does that */
    ValkeyModuleDict *names = ValkeyModule_CreateDict(NULL);
    int more = 1;
    while (more && ValkeyModule_DictSize(names) < SWEEP_KEYS)
        more = ValkeyModule_Scan(ctx, sweep_cursor, sweepKey, names);
    if (!more) ValkeyModule_ScanCursorRestart(sweep_cursor);
    ValkeyModuleDictIter *it = ValkeyModule_DictIteratorStartC(names, "^", NULL, 0);
    for (ValkeyModuleString *name; (name = ValkeyModule_DictNext(NULL, it, NULL));) {
        ValkeyModuleKey *key =
            ValkeyModule_OpenKey(ctx, name, VALKEYMODULE_WRITE | VALKEYMODULE_OPEN_KEY_NOEFFECTS);
        if (ValkeyModule_ModuleTypeGetType(key) == heat_type &&
            heatRemoveColder(key, ValkeyModule_ModuleTypeGetValue(key), COLD))
            ValkeyModule_Replicate(ctx, "HEAT.COOL", "sc", name, "0.01");
        ValkeyModule_CloseKey(key);
        ValkeyModule_FreeString(NULL, name);
    }
    ValkeyModule_DictIteratorStop(it);
    ValkeyModule_FreeDict(NULL, names);
}

static void startTimer(ValkeyModuleCtx *ctx) {
    if (timer_runs) ValkeyModule_StopTimer(ctx, timer, NULL);
    timer_runs = sweep_seconds > 0;
    if (timer_runs) timer = ValkeyModule_CreateTimer(ctx, sweep_seconds * 1000, heatSweepKeys, NULL);
}

/* ---- Directives ---- */

static long long getNumber(const char *name, void *priv) {
    (void)name;
    return *(long long *)priv;
}
static int setNumber(const char *name, long long value, void *priv, ValkeyModuleString **err) {
    (void)name, (void)err;
    *(long long *)priv = value;
    return VALKEYMODULE_OK;
}
/* Called after CONFIG SET, but not while the module loads. */
static int applyPeriod(ValkeyModuleCtx *ctx, void *priv, ValkeyModuleString **err) {
    (void)priv, (void)err;
    startTimer(ctx);
    return VALKEYMODULE_OK;
}

/* ---- Loading and unloading ---- */

/* Describes a command for COMMAND DOCS, COMMAND INFO and ACLs: which arguments are keys, and how they
 * are used. */
static int heatDescribeCommand(ValkeyModuleCtx *ctx, const char *name, const char *summary,
                               const char *category, int arity, uint64_t key_flags,
                               ValkeyModuleCommandArg *args) {
    ValkeyModuleCommandKeySpec keys[] = {{.flags = key_flags,
                                          .begin_search_type = VALKEYMODULE_KSPEC_BS_INDEX,
                                          .bs.index.pos = 1,
                                          .find_keys_type = VALKEYMODULE_KSPEC_FK_RANGE,
                                          .fk.range = {.lastkey = 0, .keystep = 1, .limit = 0}},
                                         {0}};
    ValkeyModuleCommandInfo info = {.version = VALKEYMODULE_COMMAND_INFO_VERSION,
                                    .summary = summary,
                                    .since = "1.0.0",
                                    .arity = arity,
                                    .key_specs = keys,
                                    .args = args};
    ValkeyModuleCommand *command = ValkeyModule_GetCommand(ctx, name);
    return ValkeyModule_SetCommandInfo(command, &info) ||
           ValkeyModule_SetCommandACLCategories(command, category);
}

static int describeAll(ValkeyModuleCtx *ctx) {
    enum { READS = VALKEYMODULE_CMD_KEY_RO | VALKEYMODULE_CMD_KEY_ACCESS };
    enum { ADDS = VALKEYMODULE_CMD_KEY_RW | VALKEYMODULE_CMD_KEY_ACCESS | VALKEYMODULE_CMD_KEY_UPDATE };
    enum { DROPS = VALKEYMODULE_CMD_KEY_RW | VALKEYMODULE_CMD_KEY_DELETE };
    ValkeyModuleCommandArg key = {.name = "key", .type = VALKEYMODULE_ARG_TYPE_KEY, .key_spec_index = 0};
    ValkeyModuleCommandArg member = {.name = "member", .type = VALKEYMODULE_ARG_TYPE_STRING};
    int optional = VALKEYMODULE_CMD_ARG_OPTIONAL;
    ValkeyModuleCommandArg add[] = {
        key,
        member,
        {.name = "weight", .type = VALKEYMODULE_ARG_TYPE_DOUBLE, .token = "WEIGHT", .flags = optional},
        {.name = "unix-ms", .type = VALKEYMODULE_ARG_TYPE_INTEGER, .token = "AT", .flags = optional},
        {.name = "ms", .type = VALKEYMODULE_ARG_TYPE_INTEGER, .token = "HALFLIFE", .flags = optional},
        {0}};
    ValkeyModuleCommandArg get[] = {key, member, {0}};
    ValkeyModuleCommandArg top[] = {
        key, {.name = "count", .type = VALKEYMODULE_ARG_TYPE_INTEGER, .flags = optional}, {0}};
    ValkeyModuleCommandArg cools[] = {key, {.name = "threshold", .type = VALKEYMODULE_ARG_TYPE_DOUBLE}, {0}};
    return heatDescribeCommand(ctx, "heat.add", "Adds to the heat of a member.", "write fast", -3, ADDS,
                               add) ||
           heatDescribeCommand(ctx, "heat.get", "The heat of a member.", "read fast", 3, READS, get) ||
           heatDescribeCommand(ctx, "heat.top", "The hottest members.", "read slow", -2, READS, top) ||
           heatDescribeCommand(ctx, "heat.cool", "Removes members below a threshold.", "write slow", 3,
                               DROPS, cools);
}

static int makeDirectives(ValkeyModuleCtx *ctx) {
    return ValkeyModule_RegisterNumericConfig(ctx, "half-life", 3600000, VALKEYMODULE_CONFIG_DEFAULT, 1,
                                              1LL << 40, getNumber, setNumber, NULL, &half_life) ||
           ValkeyModule_RegisterNumericConfig(ctx, "sweep-seconds", 0, VALKEYMODULE_CONFIG_DEFAULT, 0, 86400,
                                              getNumber, setNumber, applyPeriod, &sweep_seconds) ||
           ValkeyModule_LoadConfigs(ctx);
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "heat", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    /* heatLoad checks IsIOError, and the module allows loading a dataset beside the current one. */
    ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS |
                                           VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD |
                                           VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION);
    ValkeyModuleTypeMethods methods = {.version = VALKEYMODULE_TYPE_METHOD_VERSION,
                                       .rdb_load = heatLoad,
                                       .rdb_save = heatSave,
                                       .aof_rewrite = heatRewrite,
                                       .mem_usage = heatMemory,
                                       .digest = heatDigest,
                                       .free = heatFree,
                                       .free_effort = heatEffort,
                                       .copy = heatCopy};
    heat_type = ValkeyModule_CreateDataType(ctx, "heat-heat", 0, &methods);
    if (!heat_type ||
        ValkeyModule_CreateCommand(ctx, "heat.add", addCommand, "write deny-oom fast", 1, 1, 1) ||
        ValkeyModule_CreateCommand(ctx, "heat.get", heatGetCommand, "readonly fast", 1, 1, 1) ||
        ValkeyModule_CreateCommand(ctx, "heat.top", topCommand, "readonly", 1, 1, 1) ||
        ValkeyModule_CreateCommand(ctx, "heat.cool", coolCommand, "write", 1, 1, 1) || describeAll(ctx) ||
        makeDirectives(ctx))
        return VALKEYMODULE_ERR;
    sweep_cursor = ValkeyModule_ScanCursorCreate();
    startTimer(ctx);
    return VALKEYMODULE_OK;
}

/* The server never unloads a module with a data type or a timer, but it calls this when it ends. */
int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    (void)ctx;
    ValkeyModule_ScanCursorDestroy(sweep_cursor);
    return VALKEYMODULE_OK;
}
