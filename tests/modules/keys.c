/* SPDX-License-Identifier: BSD-3-Clause */
/* keys.c - all ways in which a module's command declares keys and channels: the triple of CreateCommand,
 * key specs, its own functions, and mixtures. tests/unit/modules/keys.tcl tests the effects on limited
 * users.
 *
 * With arguments (FIRST LAST STEP, or BEGIN FIND and four numbers of one key spec) only the command
 * keys.odd is created. */
#include <strings.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;

#define RO  (VALKEYMODULE_CMD_KEY_RO | VALKEYMODULE_CMD_KEY_ACCESS)
#define OW  (VALKEYMODULE_CMD_KEY_OW | VALKEYMODULE_CMD_KEY_UPDATE)
#define RW  (VALKEYMODULE_CMD_KEY_RW | VALKEYMODULE_CMD_KEY_ACCESS | VALKEYMODULE_CMD_KEY_UPDATE)
#define DEL (VALKEYMODULE_CMD_KEY_RM | VALKEYMODULE_CMD_KEY_DELETE)
#define FAR 100 /* positions beyond the arguments */

static const struct word {
    const char *word; /* the argument behind it is a key or a channel, used in this way */
    int channel, flags, further;
} words[] = {
    {"read", 0, RO, 0},
    {"write", 0, OW, 0},
    {"delete", 0, DEL, 0},
    {"exists", 0, VALKEYMODULE_CMD_KEY_RO, 0},
    {"nothing", 0, 0, 0},
    {"far", 0, RO, FAR},
    {"subscribe", 1, VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE, 0},
    {"psubscribe", 1, VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE | VALKEYMODULE_CMD_CHANNEL_PATTERN, 0},
    {"publish", 1, VALKEYMODULE_CMD_CHANNEL_PUBLISH, 0},
    {"unsubscribe", 1, VALKEYMODULE_CMD_CHANNEL_UNSUBSCRIBE, 0},
    {"afar", 1, VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE, FAR},
};

static void keysDeclareWord(Ctx *ctx, const char *word, int pos, int channels) {
    if (!channels && !strcasecmp(word, "key")) ValkeyModule_KeyAtPos(ctx, pos);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].channel != channels || strcasecmp(word, words[i].word)) continue;
        if (channels)
            ValkeyModule_ChannelAtPosWithFlags(ctx, pos + words[i].further, words[i].flags);
        else
            ValkeyModule_KeyAtPosWithFlags(ctx, pos + words[i].further, words[i].flags);
    }
}

static int keysRun(Ctx *ctx, Text **argv, int argc) {
    int keys = ValkeyModule_IsKeysPositionRequest(ctx),
        channels = ValkeyModule_IsChannelsPositionRequest(ctx);
    if (!keys && !channels) return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
    for (int i = 1; i + 1 < argc; i++)
        keysDeclareWord(ctx, ValkeyModule_StringPtrLen(argv[i], NULL), i + 1, channels);
    return VALKEYMODULE_OK;
}

/* ---- Triples and functions ---- */

static const struct {
    const char *name, *flags;
    int first, last, step;
} triples[] = {
    {"keys.api", "getkeys-api", 0, 0, 0},
    {"keys.apiread", "readonly getkeys-api", 0, 0, 0},
    {"keys.apiwrite", "write getkeys-api", 0, 0, 0},
    {"keys.channels", "getchannels-api", 0, 0, 0},
    {"keys.both", "getkeys-api getchannels-api", 0, 0, 0},
    {"keys.mixed", "getkeys-api", 1, 1, 1},
    {"keys.one", "", 1, 1, 1},
    {"keys.onewrite", "write", 1, 1, 1},
    {"keys.pairs", "", 1, -1, 2},
    {"keys.butlast", "write", 1, -2, 1},
    {"keys.second", "", 2, 3, 1},
};

/* ---- Key specs ---- */

#define AT(pos_)               .begin_search_type = VALKEYMODULE_KSPEC_BS_INDEX, .bs.index.pos = pos_
#define BEHIND(word, from)     .begin_search_type = VALKEYMODULE_KSPEC_BS_KEYWORD, .bs.keyword = {word, from}
#define RANGE(last, step, lim) .find_keys_type = VALKEYMODULE_KSPEC_FK_RANGE, .fk.range = {last, step, lim}
#define COUNTED(at, from)      .find_keys_type = VALKEYMODULE_KSPEC_FK_KEYNUM, .fk.keynum = {at, from, 1}
#define INCOMPLETE             VALKEYMODULE_CMD_KEY_INCOMPLETE
#define VARIABLE               VALKEYMODULE_CMD_KEY_VARIABLE_FLAGS
#define NOT_KEY                VALKEYMODULE_CMD_KEY_NOT_KEY

static const struct {
    const char *name, *flags;
    ValkeyModuleCommandKeySpec specs[3];
} specified[] = {
    {"keys.spec", "", {{.flags = RO, AT(1), RANGE(0, 1, 0)}}},
    {"keys.two", "write", {{.flags = RO, AT(1), RANGE(0, 1, 0)}, {.flags = OW, AT(2), RANGE(0, 1, 0)}}},
    {"keys.gap", "write", {{.flags = RO, AT(1), RANGE(0, 1, 0)}, {.flags = OW, AT(3), RANGE(0, 1, 0)}}},
    {"keys.word", "", {{.flags = RO, BEHIND("KEYS", 1), RANGE(-1, 1, 0)}}},
    {"keys.from",
     "write",
     {{.flags = OW, AT(1), RANGE(0, 1, 0)}, {.flags = RO, BEHIND("FROM", 2), RANGE(0, 1, 0)}}},
    {"keys.counted", "readonly", {{.flags = RO, AT(1), COUNTED(0, 1)}}},
    {"keys.half", "readonly", {{.flags = RO, BEHIND("STREAMS", 1), RANGE(-1, 1, 2)}}},
    {"keys.notkey", "readonly", {{.flags = RO | NOT_KEY, AT(1), RANGE(0, 1, 0)}}},
    {"keys.delete", "write", {{.flags = DEL, AT(1), RANGE(-1, 1, 0)}}},
    {"keys.noflags", "readonly", {{.flags = VALKEYMODULE_CMD_KEY_RO, AT(1), RANGE(0, 1, 0)}}},
    {"keys.specapi", "getkeys-api", {{.flags = RO, AT(1), RANGE(0, 1, 0)}}},
    {"keys.wordapi", "getkeys-api", {{.flags = RO, BEHIND("KEYS", 1), RANGE(-1, 1, 0)}}},
    {"keys.partapi", "getkeys-api", {{.flags = RO | INCOMPLETE, AT(1), RANGE(0, 1, 0)}}},
    {"keys.variableapi", "getkeys-api", {{.flags = RW | VARIABLE, AT(1), RANGE(0, 1, 0)}}},
};

static int setSpecs(Ctx *ctx, const char *name, const ValkeyModuleCommandKeySpec *specs, int arity) {
    ValkeyModuleCommandInfo info = {.version = VALKEYMODULE_COMMAND_INFO_VERSION, .arity = arity};
    info.key_specs = (ValkeyModuleCommandKeySpec *)specs;
    return ValkeyModule_SetCommandInfo(ValkeyModule_GetCommand(ctx, name), &info);
}

static int makeOdd(Ctx *ctx, Text **argv, int argc) {
    long long n[6] = {0};
    for (int i = 0; i < argc && i < 6; i++) ValkeyModule_StringToLongLong(argv[i], &n[i]);
    if (argc == 3)
        return ValkeyModule_CreateCommand(ctx, "keys.odd", keysRun, "", (int)n[0], (int)n[1], (int)n[2]);
    ValkeyModuleCommandKeySpec specs[] = {
        {.flags = RO, .begin_search_type = (int)n[0], .find_keys_type = (int)n[1]}, {0}};
    if (n[0] == VALKEYMODULE_KSPEC_BS_INDEX)
        specs[0].bs.index.pos = (int)n[2];
    else
        specs[0].bs.keyword.keyword = "K", specs[0].bs.keyword.startfrom = (int)n[2];
    specs[0].fk.range.lastkey = (int)n[3]; /* or the place of the number, the first key, the step */
    specs[0].fk.range.keystep = (int)n[4];
    specs[0].fk.range.limit = (int)n[5];
    return ValkeyModule_CreateCommand(ctx, "keys.odd", keysRun, "", 0, 0, 0) ||
           setSpecs(ctx, "keys.odd", specs, -1);
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    if (ValkeyModule_Init(ctx, "keys", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    if (argc) return makeOdd(ctx, argv, argc);
    for (size_t i = 0; i < sizeof triples / sizeof *triples; i++) {
        if (ValkeyModule_CreateCommand(ctx, triples[i].name, keysRun, triples[i].flags, triples[i].first,
                                       triples[i].last, triples[i].step))
            return VALKEYMODULE_ERR;
    }
    for (size_t i = 0; i < sizeof specified / sizeof *specified; i++) {
        if (ValkeyModule_CreateCommand(ctx, specified[i].name, keysRun, specified[i].flags, 0, 0, 0) ||
            setSpecs(ctx, specified[i].name, specified[i].specs, -2))
            return VALKEYMODULE_ERR;
    }
    if (ValkeyModule_CreateCommand(ctx, "keys.box", NULL, "", 0, 0, 0)) return VALKEYMODULE_ERR;
    ValkeyModuleCommand *box = ValkeyModule_GetCommand(ctx, "keys.box");
    return ValkeyModule_CreateSubcommand(box, "api", keysRun, "getkeys-api getchannels-api", 0, 0, 0) ||
           ValkeyModule_CreateSubcommand(box, "one", keysRun, "write", 2, 2, 1);
}
