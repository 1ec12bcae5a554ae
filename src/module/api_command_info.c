/* SPDX-License-Identifier: BSD-3-Clause */
/* api_command_info.c - what COMMAND shows of modules' commands, which SetCommandInfo checks and copies, and
 * the positions of keys. Part of api_command.h.
 *
 * Elements of the module's arrays have the sizes that its version of the header knew (info->version). */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "module/api_command.h"
#include "net/io_thread.h"

#define KEY_WAYS    (KEY_RO | KEY_RW | KEY_OW | KEY_RM)
#define KEY_CHANGES (KEY_INSERT | KEY_DELETE | KEY_UPDATE)

static const void *apiCommandInfoElement(const void *array, size_t size, int i) {
    return (const char *)array + size * (size_t)i;
}

static bool apiCommandInfoRefuse(const char *why) {
    serverLog(LL_WARNING, "Invalid command info: %s", why);
    return false;
}

static bool apiCommandInfoExactlyOne(uint64_t bits) {
    return bits && !(bits & (bits - 1));
}

/* ---- Checks ---- */

static bool apiCommandInfoHistoryIsValid(const ValkeyModuleCommandInfo *info) {
    const ValkeyModuleCommandHistoryEntry *h;
    for (int i = 0; info->history; i++) {
        h = apiCommandInfoElement(info->history, info->version->sizeof_historyentry, i);
        if (!h->since) break;
        if (!h->changes) return apiCommandInfoRefuse("a change without a text");
    }
    return true;
}

static bool apiCommandInfoKeySpecIsValid(const ValkeyModuleCommandKeySpec *k) {
    if (!apiCommandInfoExactlyOne(k->flags & KEY_WAYS))
        return apiCommandInfoRefuse("a key spec needs one of RO, RW, OW and RM");
    if (k->flags & KEY_CHANGES && !apiCommandInfoExactlyOne(k->flags & KEY_CHANGES))
        return apiCommandInfoRefuse("a key spec has at most one of INSERT, DELETE and UPDATE");
    if (k->begin_search_type < VALKEYMODULE_KSPEC_BS_UNKNOWN ||
        k->begin_search_type > VALKEYMODULE_KSPEC_BS_KEYWORD)
        return apiCommandInfoRefuse("unknown way to begin the search for keys");
    if (k->begin_search_type == VALKEYMODULE_KSPEC_BS_KEYWORD && !k->bs.keyword.keyword)
        return apiCommandInfoRefuse("a key spec without its keyword");
    if ((int)k->find_keys_type < VALKEYMODULE_KSPEC_FK_OMITTED ||
        k->find_keys_type > VALKEYMODULE_KSPEC_FK_KEYNUM)
        return apiCommandInfoRefuse("unknown way to find keys");
    return true;
}

static int apiCommandInfoKeySpecCount(const ValkeyModuleCommandInfo *info) {
    int n = 0;
    const ValkeyModuleCommandKeySpec *k = info->key_specs;
    while (k && k->begin_search_type)
        k = apiCommandInfoElement(info->key_specs, info->version->sizeof_keyspec, ++n);
    return n;
}

static bool apiCommandInfoKeySpecsAreValid(const ValkeyModuleCommandInfo *info) {
    for (int i = 0, n = apiCommandInfoKeySpecCount(info); i < n; i++) {
        if (!apiCommandInfoKeySpecIsValid(
                apiCommandInfoElement(info->key_specs, info->version->sizeof_keyspec, i)))
            return false;
    }
    return true;
}

static bool apiCommandInfoArgsAreValid(const ValkeyModuleCommandArg *args,
                                       const ValkeyModuleCommandInfo *info, int keys);

static bool apiCommandInfoArgIsValid(const ValkeyModuleCommandArg *a, const ValkeyModuleCommandInfo *info,
                                     int keys) {
    bool is_key = a->type == VALKEYMODULE_ARG_TYPE_KEY;
    bool has_parts = a->type == VALKEYMODULE_ARG_TYPE_ONEOF || a->type == VALKEYMODULE_ARG_TYPE_BLOCK;
    unsigned known =
        VALKEYMODULE_CMD_ARG_OPTIONAL | VALKEYMODULE_CMD_ARG_MULTIPLE | VALKEYMODULE_CMD_ARG_MULTIPLE_TOKEN;
    if ((int)a->type < 0 || a->type > VALKEYMODULE_ARG_TYPE_BLOCK)
        return apiCommandInfoRefuse("unknown type of argument");
    if (a->type == VALKEYMODULE_ARG_TYPE_PURE_TOKEN && !a->token)
        return apiCommandInfoRefuse("a token without its text");
    if (is_key && (a->key_spec_index < 0 || a->key_spec_index >= keys))
        return apiCommandInfoRefuse("an argument that is a key without its key spec");
    if (!is_key && a->key_spec_index != 0 && a->key_spec_index != -1)
        return apiCommandInfoRefuse("an argument with a key spec that is no key");
    if ((unsigned)a->flags & ~known) return apiCommandInfoRefuse("unknown flags of an argument");
    if (has_parts != (a->subargs != NULL))
        return apiCommandInfoRefuse("only a choice and a block have parts, and always");
    return !a->subargs || apiCommandInfoArgsAreValid(a->subargs, info, keys);
}

static bool apiCommandInfoArgsAreValid(const ValkeyModuleCommandArg *args,
                                       const ValkeyModuleCommandInfo *info, int keys) {
    for (int i = 0; args; i++) {
        const ValkeyModuleCommandArg *a = apiCommandInfoElement(args, info->version->sizeof_arg, i);
        if (!a->name) break;
        if (!apiCommandInfoArgIsValid(a, info, keys)) return false;
    }
    return true;
}

/* ---- Copies ---- */

static char *apiCommandInfoCopyText(const char *s) {
    return s ? zstrdup(s) : NULL;
}

static struct commandChange *apiCommandInfoCopyHistory(const ValkeyModuleCommandInfo *info) {
    if (!info->history) return NULL;
    struct commandChange *copy = NULL;
    for (int i = 0;; i++) {
        const ValkeyModuleCommandHistoryEntry *h =
            apiCommandInfoElement(info->history, info->version->sizeof_historyentry, i);
        copy = zrealloc(copy, (size_t)(i + 1) * sizeof *copy);
        copy[i] = (struct commandChange){0};
        if (!h->since) return copy;
        copy[i] =
            (struct commandChange){apiCommandInfoCopyText(h->since), apiCommandInfoCopyText(h->changes)};
    }
}

static const char **apiCommandInfoCopyTips(const char *text) {
    if (!text) return NULL;
    int n;
    sds *words = sdssplitlen(text, strlen(text), " ", 1, &n);
    const char **tips = zcalloc((size_t)n + 1, sizeof *tips);
    for (int i = 0; i < n; i++) tips[i] = zstrdup(words[i]);
    sdsfreesplitres(words, n);
    return tips;
}

static struct keySpec apiCommandInfoCopyKeySpec(const ValkeyModuleCommandKeySpec *k) {
    static const uint8_t begins[] = {KEYS_BEGIN_NONE, KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX,
                                     KEYS_BEGIN_KEYWORD};
    static const uint8_t finds[] = {KEYS_FIND_RANGE, KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM};
    struct keySpec s = {.flags = (unsigned)k->flags,
                        .notes = apiCommandInfoCopyText(k->notes),
                        .begin = begins[k->begin_search_type],
                        .find = finds[k->find_keys_type]};
    if (s.begin == KEYS_BEGIN_INDEX) s.pos = k->bs.index.pos;
    if (s.begin == KEYS_BEGIN_KEYWORD) {
        s.keyword = apiCommandInfoCopyText(k->bs.keyword.keyword);
        s.pos = k->bs.keyword.startfrom;
    }
    if (k->find_keys_type == VALKEYMODULE_KSPEC_FK_OMITTED) {
        s.step = 1;
    } else if (s.find == KEYS_FIND_RANGE) {
        s.lastkey = k->fk.range.lastkey;
        s.step = k->fk.range.keystep;
        s.limit = k->fk.range.limit;
    } else if (s.find == KEYS_FIND_KEYNUM) {
        s.keynumidx = k->fk.keynum.keynumidx;
        s.firstkey = k->fk.keynum.firstkey;
        s.keynum_step = k->fk.keynum.keystep;
    }
    return s;
}

static struct commandArg *apiCommandInfoCopyArgs(const ValkeyModuleCommandArg *args,
                                                 const ValkeyModuleCommandInfo *info) {
    struct commandArg *copy = NULL;
    for (int i = 0; args; i++) {
        const ValkeyModuleCommandArg *a = apiCommandInfoElement(args, info->version->sizeof_arg, i);
        copy = zrealloc(copy, (size_t)(i + 1) * sizeof *copy);
        copy[i] = (struct commandArg){0};
        if (!a->name) break;
        copy[i] = (struct commandArg){
            .name = apiCommandInfoCopyText(a->name),
            .type = (enum commandArgType)a->type, /* both enums have the same order */
            .key_spec = a->type == VALKEYMODULE_ARG_TYPE_KEY ? a->key_spec_index + 1 : 0,
            .token = apiCommandInfoCopyText(a->token),
            .since = apiCommandInfoCopyText(a->since),
            .deprecated_since = apiCommandInfoCopyText(a->deprecated_since),
            .summary = apiCommandInfoCopyText(a->summary),
            .display = apiCommandInfoCopyText(a->display_text),
            .flags = (unsigned)a->flags,
            .args = apiCommandInfoCopyArgs(a->subargs, info),
        };
    }
    return copy;
}

/* ---- SetCommandInfo ---- */

static void apiCommandInfoFreeKeySpecs(struct commandSpec *spec) {
    for (int i = 0; i < spec->key_spec_count; i++) {
        zfree((void *)spec->key_specs[i].notes);
        zfree((void *)spec->key_specs[i].keyword);
    }
    zfree((void *)spec->key_specs);
}

/* Replaces the key spec that was made from the triple. */
static void apiCommandInfoTakeKeySpecs(struct commandSpec *spec, const ValkeyModuleCommandInfo *info) {
    int n = apiCommandInfoKeySpecCount(info);
    if (!n) return;
    apiCommandInfoFreeKeySpecs(spec);
    struct keySpec *copy = zcalloc((size_t)n, sizeof *copy);
    for (int i = 0; i < n; i++)
        copy[i] = apiCommandInfoCopyKeySpec(
            apiCommandInfoElement(info->key_specs, info->version->sizeof_keyspec, i));
    spec->key_specs = copy;
    spec->key_spec_count = n;
}

int vmSetCommandInfo(struct ValkeyModuleCommand *command, const ValkeyModuleCommandInfo *info) {
    bool valid = info->version || apiCommandInfoRefuse("no version");
    valid = valid && apiCommandInfoHistoryIsValid(info) && apiCommandInfoKeySpecsAreValid(info);
    valid = valid && apiCommandInfoArgsAreValid(info->args, info, apiCommandInfoKeySpecCount(info));
    if (!valid || command->has_info) {
        errno = valid ? EEXIST : EINVAL;
        return VALKEYMODULE_ERR;
    }
    struct commandSpec *spec = &command->spec;
    spec->summary = apiCommandInfoCopyText(info->summary);
    spec->complexity = apiCommandInfoCopyText(info->complexity);
    spec->since = apiCommandInfoCopyText(info->since);
    spec->history = apiCommandInfoCopyHistory(info);
    spec->tips = apiCommandInfoCopyTips(info->tips);
    spec->args = apiCommandInfoCopyArgs(info->args, info);
    ioThreadsHold(); /* they read the spec */
    if (info->arity) spec->arity = info->arity;
    ioThreadsRelease();
    apiCommandInfoTakeKeySpecs(spec, info);
    moduleCommandChooseKeys(command);
    command->has_info = true;
    commandRefresh(command->command);
    return VALKEYMODULE_OK;
}

/* ---- Freeing ---- */

static void apiCommandInfoFreeArgs(const struct commandArg *args) {
    for (const struct commandArg *a = args; a && a->name; a++) {
        apiCommandInfoFreeArgs(a->args);
        const char *const texts[] = {a->name,    a->token,  a->since, a->deprecated_since,
                                     a->summary, a->display};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) zfree((void *)texts[i]);
    }
    zfree((void *)args);
}

void moduleCommandInfoFree(struct ValkeyModuleCommand *command) {
    struct commandSpec *spec = &command->spec;
    zfree((void *)spec->summary);
    zfree((void *)spec->complexity);
    zfree((void *)spec->since);
    for (const struct commandChange *h = spec->history; h && h->since; h++) {
        zfree((void *)h->since);
        zfree((void *)h->what);
    }
    zfree((void *)spec->history);
    for (const char *const *tip = spec->tips; tip && *tip; tip++) zfree((void *)*tip);
    zfree((void *)spec->tips);
    apiCommandInfoFreeArgs(spec->args);
    apiCommandInfoFreeKeySpecs(spec);
}

/* ---- Keys of any command ---- */

/* Returns two arrays, which the module frees, or NULL with errno: ENOENT (no such command), EINVAL (arity),
 * 0 (no keys). */
int *vmGetCommandKeysWithFlags(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc,
                               int *num_keys, int **out_flags) {
    (void)ctx;
    struct str *views = stringViews(argv, (size_t)(argc > 0 ? argc : 0));
    const struct serverCommand *cmd = commandLookup(views, argc);
    struct keyRef *keys = NULL;
    int count = 0, *positions = NULL;
    *num_keys = 0;
    if (out_flags) *out_flags = NULL;
    errno = !cmd ? ENOENT : !commandArityOk(cmd, argc) ? EINVAL : 0;
    if (!errno && (count = commandGetKeyRefs(cmd, views, argc, &keys)) > 0) {
        positions = vmAlloc((size_t)count * sizeof *positions);
        if (out_flags) *out_flags = vmAlloc((size_t)count * sizeof **out_flags);
        for (int i = 0; i < count; i++) {
            positions[i] = keys[i].pos;
            if (out_flags) (*out_flags)[i] = (int)keys[i].flags;
        }
        *num_keys = count;
    }
    zfree(keys);
    zfree(views);
    return positions;
}

int *vmGetCommandKeys(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc,
                      int *num_keys) {
    return vmGetCommandKeysWithFlags(ctx, argv, argc, num_keys, NULL);
}
