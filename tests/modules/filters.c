/* SPDX-License-Identifier: BSD-3-Clause */
/* filters.c - command filters, arguments hidden from logs, and channels and databases that commands
 * report; for tests/unit/modules/filters.tcl. */
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)

static ValkeyModuleCommandFilter *words, *also;
static long long calls, late_calls;

static ValkeyModuleString *filtersMakeText(const char *s) {
    return ValkeyModule_CreateString(NULL, s, strlen(s));
}

static int filtersTextIs(const ValkeyModuleString *arg, const char *word) {
    size_t len;
    const char *p = ValkeyModule_StringPtrLen(arg, &len);
    return len == strlen(word) && !memcmp(p, word, len);
}

/* One argument, by what it is. */
static void filterArg(ValkeyModuleCommandFilterCtx *f, int i) {
    ValkeyModuleString *arg = ValkeyModule_CommandFilterArgGet(f, i);
    int count = ValkeyModule_CommandFilterArgsCount(f);
    if (filtersTextIs(arg, "@delete")) {
        ValkeyModule_CommandFilterArgDelete(f, i);
    } else if (filtersTextIs(arg, "@replace")) {
        ValkeyModule_CommandFilterArgReplace(f, i, filtersMakeText("replaced"));
    } else if (filtersTextIs(arg, "@insert")) {
        ValkeyModule_CommandFilterArgReplace(f, i, filtersMakeText("behind"));
        ValkeyModule_CommandFilterArgInsert(f, i, filtersMakeText("before"));
    } else if (filtersTextIs(arg, "@append")) {
        ValkeyModule_CommandFilterArgReplace(f, i, filtersMakeText("last but one"));
        ValkeyModule_CommandFilterArgInsert(f, count, filtersMakeText("last"));
    } else if (filtersTextIs(arg, "@count")) {
        ValkeyModule_CommandFilterArgReplace(f, i, ValkeyModule_CreateStringFromLongLong(NULL, count));
    } else if (filtersTextIs(arg, "@client")) {
        ValkeyModule_CommandFilterArgReplace(
            f, i,
            ValkeyModule_CreateStringFromLongLong(NULL, (long long)ValkeyModule_CommandFilterGetClientId(f)));
    } else if (filtersTextIs(arg, "@range")) {
        ValkeyModuleString *s = filtersMakeText("unused");
        int wrong = ValkeyModule_CommandFilterArgInsert(f, -1, s) +
                    ValkeyModule_CommandFilterArgInsert(f, count + 1, s) +
                    ValkeyModule_CommandFilterArgReplace(f, -1, s) +
                    ValkeyModule_CommandFilterArgReplace(f, count, s) +
                    ValkeyModule_CommandFilterArgDelete(f, -1) +
                    ValkeyModule_CommandFilterArgDelete(f, count);
        wrong += !ValkeyModule_CommandFilterArgGet(f, -1) + !ValkeyModule_CommandFilterArgGet(f, count);
        ValkeyModule_FreeString(NULL, s);
        ValkeyModule_CommandFilterArgReplace(f, i, ValkeyModule_CreateStringFromLongLong(NULL, wrong));
    }
}

static void byWord(ValkeyModuleCommandFilterCtx *f) {
    calls++;
    if (filtersTextIs(ValkeyModule_CommandFilterArgGet(f, 0), "say"))
        ValkeyModule_CommandFilterArgReplace(f, 0, filtersMakeText("echo"));
    for (int i = 0; i < ValkeyModule_CommandFilterArgsCount(f); i++) filterArg(f, i);
}

/* It sees what the first one has made. */
static void filtersSecondFilter(ValkeyModuleCommandFilterCtx *f) {
    late_calls++;
    for (int i = 0; i < ValkeyModule_CommandFilterArgsCount(f); i++) {
        if (filtersTextIs(ValkeyModule_CommandFilterArgGet(f, i), "replaced"))
            ValkeyModule_CommandFilterArgReplace(f, i, filtersMakeText("replaced twice"));
    }
}

/* filters.start FLAGS; filters.stop */
COMMAND(start) {
    long long flags = 0;
    if (argc == 2) ValkeyModule_StringToLongLong(argv[1], &flags);
    words = ValkeyModule_RegisterCommandFilter(ctx, byWord, (int)flags);
    return ValkeyModule_ReplyWithLongLong(ctx, words != NULL);
}
COMMAND(stop) {
    (void)argv, (void)argc;
    int result = ValkeyModule_UnregisterCommandFilter(ctx, words);
    words = NULL;
    return ValkeyModule_ReplyWithLongLong(ctx, result);
}
/* filters.second 1|0 */
COMMAND(startSecond) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    if (filtersTextIs(argv[1], "1"))
        also = ValkeyModule_RegisterCommandFilter(ctx, filtersSecondFilter, 0);
    else
        ValkeyModule_UnregisterCommandFilter(ctx, also);
    return ValkeyModule_ReplyWithNull(ctx);
}
/* filters.calls: how often both have been called since the last time, this call included */
COMMAND(tellCalls) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, calls);
    ValkeyModule_ReplyWithLongLong(ctx, late_calls);
    calls = late_calls = 0;
    return VALKEYMODULE_OK;
}

/* filters.hide POSITION argument ... */
COMMAND(hide) {
    long long pos;
    if (argc < 2 || ValkeyModule_StringToLongLong(argv[1], &pos)) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_RedactClientCommandArgument(ctx, (int)pos));
}

static int replyWoken(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithSimpleString(ctx, "woken");
}

/* filters.hideAndBlock POSITION argument ... */
COMMAND(hideAndBlock) {
    long long pos;
    if (argc < 2 || ValkeyModule_StringToLongLong(argv[1], &pos)) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_RedactClientCommandArgument(ctx, (int)pos);
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, replyWoken, NULL, NULL, 0);
    return ValkeyModule_UnblockClient(bc, NULL);
}

/* filters.channel FLAGS channel ... */
COMMAND(channel) {
    long long flags = 0;
    if (argc > 1) ValkeyModule_StringToLongLong(argv[1], &flags);
    if (!ValkeyModule_IsChannelsPositionRequest(ctx)) return ValkeyModule_ReplyWithLongLong(ctx, argc);
    for (int i = 2; i < argc; i++) ValkeyModule_ChannelAtPosWithFlags(ctx, i, (int)flags);
    ValkeyModule_ChannelAtPosWithFlags(ctx, 0, (int)flags);
    return VALKEYMODULE_OK;
}

/* filters.everywhere: a command that touches all databases */
COMMAND(everywhere) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
        const char *flags;
    } commands[] = {{"filters.start", start, ""},
                    {"filters.stop", stop, ""},
                    {"filters.second", startSecond, ""},
                    {"filters.calls", tellCalls, ""},
                    {"filters.hide", hide, ""},
                    {"filters.hideandblock", hideAndBlock, ""},
                    {"filters.channel", channel, "getchannels-api"},
                    {"filters.everywhere", everywhere, "write all-dbs"}};
    if (ValkeyModule_Init(ctx, "filters", 1, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags, 0, 0, 0))
            return VALKEYMODULE_ERR;
    }
    if (argc && filtersTextIs(argv[0], "filter")) words = ValkeyModule_RegisterCommandFilter(ctx, byWord, 0);
    return VALKEYMODULE_OK;
}
