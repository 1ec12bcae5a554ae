/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c - a type whose values move with their slot, and the events of such a migration.
 *
 * Arguments of the load: `aware` (slots may move), `silent` (its type writes no commands: it moves as a
 * dump). */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static ValkeyModuleType *type;
static ValkeyModuleDict *told; /* number -> line */
static long long lines;

static const char *slotsText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

static void slotsAddLine(Text *line) {
    char number[24];
    snprintf(number, sizeof number, "%020lld", lines++);
    ValkeyModule_DictSetC(told, number, strlen(number), line);
}

/* The flags of a client's context about migrations, and whether the client must be obeyed. */
static void tellContext(Ctx *ctx, const char *what, const char *of) {
    int flags = ValkeyModule_GetContextFlags(ctx);
    slotsAddLine(ValkeyModule_CreateStringPrintf(
        NULL, "%s %s%s%s%s", what, of, flags & VALKEYMODULE_CTX_FLAGS_SLOT_IMPORT_CLIENT ? " import" : "",
        flags & VALKEYMODULE_CTX_FLAGS_SLOT_EXPORT_CLIENT ? " export" : "",
        ValkeyModule_MustObeyClient(ctx) ? " obeyed" : ""));
}

/* ---- The type: a string ---- */

static void *slotsLoadValue(ValkeyModuleIO *io, int version) {
    (void)version;
    return ValkeyModule_LoadString(io);
}
static void slotsSaveValue(ValkeyModuleIO *io, void *value) {
    ValkeyModule_SaveString(io, value);
}
static void slotsRewriteValue(ValkeyModuleIO *io, Text *key, void *value) {
    ValkeyModule_EmitAOF(io, "slots.put", "ss", key, value);
}
static void slotsFreeValue(void *value) {
    ValkeyModule_FreeString(NULL, value);
}

/* ---- Events ---- */

static void onMigration(Ctx *ctx, ValkeyModuleEvent e, uint64_t which, void *data) {
    static const char *const names[] = {"import started", "export started",   "import aborted",
                                        "export aborted", "import completed", "export completed"};
    const ValkeyModuleAtomicSlotMigrationInfo *info = data;
    (void)ctx, (void)e;
    Text *line = ValkeyModule_CreateStringPrintf(NULL, "%s %d", names[which], (int)strlen(info->job_name));
    for (uint32_t i = 0; i < info->num_slot_ranges; i++) {
        Text *longer =
            ValkeyModule_CreateStringPrintf(NULL, "%s %d-%d", slotsText(line),
                                            info->slot_ranges[i].start_slot, info->slot_ranges[i].end_slot);
        ValkeyModule_FreeString(NULL, line);
        line = longer;
    }
    slotsAddLine(line);
}

static int onKey(Ctx *ctx, int kind, const char *event, Text *key) {
    (void)kind;
    char what[64];
    snprintf(what, sizeof what, "event %s", event);
    tellContext(ctx, what, slotsText(key));
    return VALKEYMODULE_OK;
}

/* ---- Commands ---- */

/* slots.put KEY TEXT */
COMMAND(put) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    ValkeyModule_ModuleTypeSetValue(key, type, ValkeyModule_CreateStringFromString(NULL, argv[2]));
    ValkeyModule_CloseKey(key);
    tellContext(ctx, "put", slotsText(argv[1]));
    ValkeyModule_ReplicateVerbatim(ctx);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* slots.get KEY */
COMMAND(get) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ);
    bool ours = key && ValkeyModule_ModuleTypeGetType(key) == type;
    if (ours)
        ValkeyModule_ReplyWithString(ctx, ValkeyModule_ModuleTypeGetValue(key));
    else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* slots.told: the notes since its last call */
COMMAND(tellAll) {
    (void)argv, (void)argc;
    ValkeyModuleDictIter *it = ValkeyModule_DictIteratorStartC(told, "^", NULL, 0);
    Text *line;
    long count = 0;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    while (ValkeyModule_DictNextC(it, NULL, (void **)&line)) {
        ValkeyModule_ReplyWithString(ctx, line);
        ValkeyModule_FreeString(NULL, line);
        count++;
    }
    ValkeyModule_DictIteratorStop(it);
    ValkeyModule_ReplySetArrayLength(ctx, count);
    ValkeyModule_FreeDict(NULL, told);
    told = ValkeyModule_CreateDict(NULL);
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    ValkeyModuleTypeMethods methods = {.version = VALKEYMODULE_TYPE_METHOD_VERSION,
                                       .rdb_load = slotsLoadValue,
                                       .rdb_save = slotsSaveValue,
                                       .aof_rewrite = slotsRewriteValue,
                                       .free = slotsFreeValue};
    if (ValkeyModule_Init(ctx, "slots", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(slotsText(argv[i]), "aware"))
            ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION);
        if (!strcmp(slotsText(argv[i]), "silent")) methods.aof_rewrite = NULL;
    }
    type = ValkeyModule_CreateDataType(ctx, "slots-own", 0, &methods);
    if (!type || ValkeyModule_CreateCommand(ctx, "slots.put", put, "write", 1, 1, 1) ||
        ValkeyModule_CreateCommand(ctx, "slots.get", get, "readonly", 1, 1, 1) ||
        ValkeyModule_CreateCommand(ctx, "slots.told", tellAll, "", 0, 0, 0) ||
        ValkeyModule_SubscribeToKeyspaceEvents(
            ctx, VALKEYMODULE_NOTIFY_STRING | VALKEYMODULE_NOTIFY_GENERIC | VALKEYMODULE_NOTIFY_EXPIRED,
            onKey) ||
        ValkeyModule_SubscribeToServerEvent(ctx, ValkeyModuleEvent_AtomicSlotMigration, onMigration))
        return VALKEYMODULE_ERR;
    told = ValkeyModule_CreateDict(NULL);
    return VALKEYMODULE_OK;
}
