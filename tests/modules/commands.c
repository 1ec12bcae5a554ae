/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.c - how a module describes its commands, and what it can find out about the server; for
 * tests/unit/modules/commands.tcl, with our server and 9.1.2. */
#include <errno.h>
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)
typedef ValkeyModuleCommandArg Arg;

static const char *commandsText(ValkeyModuleString *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

/* Replies how it is called. */
COMMAND(called) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithCString(ctx, ValkeyModule_GetCurrentCommandName(ctx));
}

/* commands.getkeys N key ... [FROM key]: reports its keys itself. */
COMMAND(tellsKeys) {
    long long n = 0;
    if (argc > 1) ValkeyModule_StringToLongLong(argv[1], &n);
    if (ValkeyModule_IsKeysPositionRequest(ctx)) {
        for (int i = 0; i < n && 2 + i < argc; i++) {
            if (i % 2)
                ValkeyModule_KeyAtPos(ctx, 2 + i);
            else
                ValkeyModule_KeyAtPosWithFlags(ctx, 2 + i,
                                               VALKEYMODULE_CMD_KEY_RO | VALKEYMODULE_CMD_KEY_ACCESS);
        }
        ValkeyModule_KeyAtPos(ctx, 0); /* is ignored */
        return VALKEYMODULE_OK;
    }
    ValkeyModule_KeyAtPos(ctx, 1); /* so is this */
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* commands.keysof COMMAND ...: [position, flags ...] as the server finds them. */
COMMAND(keysOf) {
    int n = 0, m = 0, *flags = NULL;
    errno = 0;
    int *keys = ValkeyModule_GetCommandKeysWithFlags(ctx, argv + 1, argc - 1, &n, &flags);
    if (!keys) {
        return ValkeyModule_ReplyWithSimpleString(ctx, errno == ENOENT   ? "ENOENT"
                                                       : errno == EINVAL ? "EINVAL"
                                                       : errno           ? "other"
                                                                         : "none");
    }
    int *again = ValkeyModule_GetCommandKeys(ctx, argv + 1, argc - 1, &m);
    ValkeyModule_ReplyWithArray(ctx, 2 * n + 1);
    for (int i = 0; i < n; i++) {
        ValkeyModule_ReplyWithLongLong(ctx, keys[i]);
        ValkeyModule_ReplyWithLongLong(ctx, flags[i]);
    }
    ValkeyModule_ReplyWithLongLong(ctx, m == n && memcmp(keys, again, (size_t)n * sizeof *keys) == 0);
    ValkeyModule_Free(keys), ValkeyModule_Free(again), ValkeyModule_Free(flags);
    return VALKEYMODULE_OK;
}

/* What may be created in OnLoad only. */
COMMAND(late) {
    (void)argv, (void)argc;
    ValkeyModuleCommand *mine = ValkeyModule_GetCommand(ctx, "commands.box");
    ValkeyModule_ReplyWithArray(ctx, 7);
    ValkeyModule_ReplyWithLongLong(ctx,
                                   ValkeyModule_CreateCommand(ctx, "commands.late", called, "", 0, 0, 0));
    ValkeyModule_ReplyWithLongLong(ctx, mine != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetCommand(ctx, "get") != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CreateSubcommand(mine, "late", called, "", 0, 0, 0));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_SetCommandACLCategories(mine, "read"));
    errno = 0;
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_AddACLCategory(ctx, "late"));
    return ValkeyModule_ReplyWithLongLong(ctx, errno == EINVAL);
}

COMMAND(constants) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 8);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetContextFlagsAll());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetKeyspaceNotificationFlagsAll());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetModuleOptionsAll());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetOpenKeyModesAll());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetServerVersion());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetTypeMethodVersion());
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_IsModuleNameBusy("commands"));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_IsModuleNameBusy("nobody"));
}

/* Random bytes and the time: is it what it should be? */
COMMAND(env) {
    (void)argv, (void)argc;
    unsigned char a[32], b[32];
    char hex[40];
    int bad = 0;
    ValkeyModule_GetRandomBytes(a, sizeof a);
    ValkeyModule_GetRandomBytes(b, sizeof b);
    ValkeyModule_GetRandomHexChars(hex, sizeof hex);
    for (size_t i = 0; i < sizeof hex; i++) bad += !strchr("0123456789abcdef", hex[i]);
    bad += memcmp(a, b, sizeof a) == 0;
    long long ms = ValkeyModule_Milliseconds(), us = ValkeyModule_Microseconds();
    bad += us / 1000 < ms || us / 1000 > ms + 1000;
    bad += ValkeyModule_CachedMicroseconds() > us || ValkeyModule_CachedMicroseconds() < us - 10000000;
    uint64_t before = ValkeyModule_MonotonicMicroseconds();
    bad += ValkeyModule_MonotonicMicroseconds() < before;
    ValkeyModule_LatencyAddSample("commands-event", 5000);
    return ValkeyModule_ReplyWithLongLong(ctx, bad);
}

/* commands.info SECTION FIELD: as text, as a number of each kind (and whether it was one). "": the default.
 */
COMMAND(info) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    const char *section = commandsText(argv[1]), *field = commandsText(argv[2]);
    ValkeyModuleServerInfoData *data = ValkeyModule_GetServerInfo(ctx, *section ? section : NULL);
    int e1, e2, e3;
    long long ll = ValkeyModule_ServerInfoGetFieldSigned(data, field, &e1);
    unsigned long long ull = ValkeyModule_ServerInfoGetFieldUnsigned(data, field, &e2);
    double d = ValkeyModule_ServerInfoGetFieldDouble(data, field, &e3);
    ValkeyModuleString *s = ValkeyModule_ServerInfoGetField(ctx, data, field);
    const char *c = ValkeyModule_ServerInfoGetFieldC(data, field);
    ValkeyModule_ReplyWithArray(ctx, 8);
    if (s)
        ValkeyModule_ReplyWithString(ctx, s), ValkeyModule_FreeString(ctx, s);
    else
        ValkeyModule_ReplyWithNull(ctx);
    if (c)
        ValkeyModule_ReplyWithCString(ctx, c);
    else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_ReplyWithLongLong(ctx, ll);
    ValkeyModule_ReplyWithLongLong(ctx, e1);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ull);
    ValkeyModule_ReplyWithLongLong(ctx, e2);
    ValkeyModule_ReplyWithDouble(ctx, d);
    ValkeyModule_ReplyWithLongLong(ctx, e3);
    ValkeyModule_FreeServerInfo(ctx, data);
    return VALKEYMODULE_OK;
}

/* An answer with an attribute, and what a caller sees of it. */
COMMAND(withAttribute) {
    (void)argv, (void)argc;
    if (ValkeyModule_ReplyWithAttribute(ctx, 1) == VALKEYMODULE_OK) {
        ValkeyModule_ReplyWithCString(ctx, "name");
        ValkeyModule_ReplyWithCString(ctx, "value");
    }
    return ValkeyModule_ReplyWithLongLong(ctx, 5);
}
COMMAND(seesAttribute) {
    (void)argv, (void)argc;
    size_t len = 0;
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, "commands.withattribute", "3"), *key = NULL,
                          *value = NULL;
    long long n = ValkeyModule_CallReplyInteger(r);
    ValkeyModuleCallReply *attribute = ValkeyModule_CallReplyAttribute(r);
    ValkeyModule_ReplyWithArray(ctx, 5);
    ValkeyModule_ReplyWithLongLong(ctx, n);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_CallReplyLength(attribute));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyAttributeElement(attribute, 0, &key, &value));
    const char *name = key ? ValkeyModule_CallReplyStringPtr(key, &len) : "";
    ValkeyModule_ReplyWithStringBuffer(ctx, name, len);
    return ValkeyModule_ReplyWithLongLong(ctx,
                                          ValkeyModule_CallReplyAttributeElement(attribute, 1, &key, &value));
}

/* Functions that this server has not. */
COMMAND(absent) {
    (void)argv, (void)argc;
    long n = 0;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
#define ASK(type, name, parameters)                                                                          \
    if (!ValkeyModule_##name) n++, ValkeyModule_ReplyWithCString(ctx, #name);
    VALKEYMODULE_FUNCTIONS(ASK)
    ValkeyModule_ReplySetArrayLength(ctx, n);
    return VALKEYMODULE_OK;
}

COMMAND(assertion) {
    (void)ctx, (void)argv;
    ValkeyModule_Assert(argc > 100);
    return VALKEYMODULE_OK;
}

/* ---- OnLoad: refusals are kept, to be read later ---- */

static char refusals[64];
static void commandsNoteResult(int result) {
    size_t n = strlen(refusals);
    if (n + 1 < sizeof refusals) refusals[n] = result == VALKEYMODULE_OK ? '+' : errno == EEXIST ? 'e' : '-';
}
COMMAND(refused) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithCString(ctx, refusals);
}

static Arg block_parts[] = {{.name = "member", .type = VALKEYMODULE_ARG_TYPE_STRING},
                            {.name = "score", .type = VALKEYMODULE_ARG_TYPE_DOUBLE, .summary = "how much"},
                            {0}};
static Arg choices[] = {
    {.name = "nx", .type = VALKEYMODULE_ARG_TYPE_PURE_TOKEN, .token = "NX"},
    {.name = "xx", .type = VALKEYMODULE_ARG_TYPE_PURE_TOKEN, .token = "XX", .deprecated_since = "2.0.0"},
    {0}};
static Arg args[] = {
    {.name = "key", .type = VALKEYMODULE_ARG_TYPE_KEY, .key_spec_index = 0, .display_text = "the-key"},
    {.name = "how",
     .type = VALKEYMODULE_ARG_TYPE_ONEOF,
     .flags = VALKEYMODULE_CMD_ARG_OPTIONAL,
     .since = "1.5.0",
     .subargs = choices},
    {.name = "pair",
     .type = VALKEYMODULE_ARG_TYPE_BLOCK,
     .flags = VALKEYMODULE_CMD_ARG_MULTIPLE | VALKEYMODULE_CMD_ARG_MULTIPLE_TOKEN,
     .token = "PAIR",
     .subargs = block_parts},
    {0}};
static ValkeyModuleCommandHistoryEntry history[] = {{"1.1.0", "Something."}, {"1.5.0", "`NX`."}, {0}};
static ValkeyModuleCommandKeySpec specs[] = {{.notes = "the one",
                                              .flags = VALKEYMODULE_CMD_KEY_RW | VALKEYMODULE_CMD_KEY_UPDATE,
                                              .begin_search_type = VALKEYMODULE_KSPEC_BS_INDEX,
                                              .bs.index = {1},
                                              .find_keys_type = VALKEYMODULE_KSPEC_FK_OMITTED},
                                             {.flags = VALKEYMODULE_CMD_KEY_RO | VALKEYMODULE_CMD_KEY_ACCESS,
                                              .begin_search_type = VALKEYMODULE_KSPEC_BS_KEYWORD,
                                              .bs.keyword = {"FROM", 2},
                                              .find_keys_type = VALKEYMODULE_KSPEC_FK_RANGE,
                                              .fk.range = {-1, 1, 0}},
                                             {.flags = VALKEYMODULE_CMD_KEY_OW,
                                              .begin_search_type = VALKEYMODULE_KSPEC_BS_UNKNOWN,
                                              .find_keys_type = VALKEYMODULE_KSPEC_FK_UNKNOWN},
                                             {0}};

COMMAND(withCase) {
    (void)argv;
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithCString(ctx, ValkeyModule_GetCurrentCommandName(ctx));
}

static void commandsDescribe(ValkeyModuleCtx *ctx) {
    ValkeyModuleCommandInfo info = {.version = VALKEYMODULE_COMMAND_INFO_VERSION,
                                    .summary = "Does nothing.",
                                    .complexity = "O(1)",
                                    .since = "1.0.0",
                                    .history = history,
                                    .tips = "nondeterministic_output request_policy:all_shards",
                                    .arity = -2,
                                    .key_specs = specs,
                                    .args = args};
    ValkeyModuleCommand *told = ValkeyModule_GetCommand(ctx, "commands.told");
    commandsNoteResult(ValkeyModule_SetCommandInfo(told, &info));
    errno = 0;
    commandsNoteResult(ValkeyModule_SetCommandInfo(told, &info)); /* once only */
    ValkeyModuleCommand *other = ValkeyModule_GetCommand(ctx, "commands.triple");
    ValkeyModuleCommandInfo bad = {.version = VALKEYMODULE_COMMAND_INFO_VERSION};
    Arg bad_args[3][2] = {{{.name = "t", .type = VALKEYMODULE_ARG_TYPE_PURE_TOKEN}, {0}},
                          {{.name = "k", .type = VALKEYMODULE_ARG_TYPE_STRING, .key_spec_index = 2}, {0}},
                          {{.name = "o", .type = VALKEYMODULE_ARG_TYPE_ONEOF}, {0}}};
    for (int i = 0; i < 3; i++) {
        errno = 0;
        bad.args = bad_args[i];
        commandsNoteResult(ValkeyModule_SetCommandInfo(other, &bad));
    }
    ValkeyModuleCommandKeySpec two_ways[] = {{.flags = VALKEYMODULE_CMD_KEY_RW | VALKEYMODULE_CMD_KEY_RO,
                                              .begin_search_type = VALKEYMODULE_KSPEC_BS_INDEX,
                                              .bs.index = {1}},
                                             {0}};
    bad = (ValkeyModuleCommandInfo){.version = VALKEYMODULE_COMMAND_INFO_VERSION, .key_specs = two_ways};
    commandsNoteResult(ValkeyModule_SetCommandInfo(other, &bad));
    ValkeyModuleCommandHistoryEntry no_text[] = {{"1.0", NULL}, {0}};
    bad = (ValkeyModuleCommandInfo){.version = VALKEYMODULE_COMMAND_INFO_VERSION, .history = no_text};
    commandsNoteResult(ValkeyModule_SetCommandInfo(other, &bad));
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "commands", 3, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
        const char *flags;
        int first, last, step;
    } commands[] = {
        {"commands.getkeys", tellsKeys, "readonly getkeys-api", 0, 0, 0},
        {"commands.keysof", keysOf, "readonly", 0, 0, 0},
        {"commands.late", late, "", 0, 0, 0},
        {"commands.constants", constants, "fast allow-loading allow-stale", 0, 0, 0},
        {"commands.world", env, "no-monitor no-slowlog random", 0, 0, 0},
        {"commands.info", info, "admin", 0, 0, 0},
        {"commands.refused", refused, "allow-busy no-mandatory-keys", 0, 0, 0},
        {"commands.told", called, "write deny-oom", 0, 0, 0},
        {"commands.triple", called, "write", 1, -1, 2},
        {"commands.one", called, "readonly", 2, 2, 1},
        {"Commands.WithCase", withCase, "write deny-oom admin fast deny-script allow-busy", 1, 1, 1},
        {"commands.box", NULL, "", 0, 0, 0},
        {"commands.absent", absent, "", 0, 0, 0},
        {"commands.withattribute", withAttribute, "", 0, 0, 0},
        {"commands.attribute", seesAttribute, "", 0, 0, 0},
        {"commands.assert", assertion, "", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags,
                                       commands[i].first, commands[i].last, commands[i].step))
            return VALKEYMODULE_ERR;
    }
    static const char *const bad_names[] = {"get", "a b", "a|b", "a@b", "a=b", "a,b"};
    for (size_t i = 0; i < 6; i++)
        commandsNoteResult(ValkeyModule_CreateCommand(ctx, bad_names[i], called, "", 0, 0, 0));
    commandsNoteResult(
        ValkeyModule_CreateCommand(ctx, "commands.words", called, "readonly nonsense", 0, 0, 0));
    ValkeyModuleCommand *box = ValkeyModule_GetCommand(ctx, "commands.box");
    commandsNoteResult(ValkeyModule_CreateSubcommand(box, "open", called, "readonly", 2, 2, 1));
    commandsNoteResult(ValkeyModule_CreateSubcommand(box, "open", called, "", 0, 0, 0)); /* it is there */
    ValkeyModuleCommand *open = ValkeyModule_GetCommand(ctx, "commands.box|open");
    commandsNoteResult(ValkeyModule_CreateSubcommand(open, "deeper", called, "", 0, 0, 0));
    commandsNoteResult(ValkeyModule_CreateSubcommand(ValkeyModule_GetCommand(ctx, "commands.one"), "sub",
                                                     called, "", 0, 0, 0));
    commandsNoteResult(ValkeyModule_AddACLCategory(ctx, "boxes"));
    commandsNoteResult(ValkeyModule_AddACLCategory(ctx, "boxes"));
    commandsNoteResult(ValkeyModule_AddACLCategory(ctx, "read"));
    commandsNoteResult(ValkeyModule_AddACLCategory(ctx, "a b"));
    commandsNoteResult(ValkeyModule_SetCommandACLCategories(open, "boxes read"));
    commandsNoteResult(ValkeyModule_SetCommandACLCategories(box, "nonsense"));
    commandsDescribe(ctx);
    return VALKEYMODULE_OK;
}
