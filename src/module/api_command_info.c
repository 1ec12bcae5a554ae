/* SPDX-License-Identifier: BSD-3-Clause */
/* api_command_info.c - what COMMAND tells of modules' commands: SetCommandInfo checks and copies it, and
 * where keys are. Part of api_command.h.
 *
 * The module's arrays are stepped through with the sizes that its header knew (info->version). */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "module/api_command.h"
#include "net/io_thread.h"

#define KEY_WAYS    (KEY_RO | KEY_RW | KEY_OW | KEY_RM)
#define KEY_CHANGES (KEY_INSERT | KEY_DELETE | KEY_UPDATE)

static const void *element(const void *array, size_t size, int i) {
    return (const char *)array + size * (size_t)i;
}

static bool refuse(const char *why) {
    serverLog(LL_WARNING, "Invalid command info: %s", why);
    return false;
}

static bool exactlyOne(uint64_t bits) {
    return bits && !(bits & (bits - 1));
}

/* ---- Is it good? ---- */

static bool historyIsGood(const ValkeyModuleCommandInfo *info) {
    const ValkeyModuleCommandHistoryEntry *h;
    for (int i = 0; info->history; i++) {
        h = element(info->history, info->version->sizeof_historyentry, i);
        if (!h->since) break;
        if (!h->changes) return refuse("a change without a text");
    }
    return true;
}

static bool keySpecIsGood(const ValkeyModuleCommandKeySpec *k) {
    if (!exactlyOne(k->flags & KEY_WAYS)) return refuse("a key spec needs one of RO, RW, OW and RM");
    if (k->flags & KEY_CHANGES && !exactlyOne(k->flags & KEY_CHANGES))
        return refuse("a key spec has at most one of INSERT, DELETE and UPDATE");
    if (k->begin_search_type < VALKEYMODULE_KSPEC_BS_UNKNOWN ||
        k->begin_search_type > VALKEYMODULE_KSPEC_BS_KEYWORD)
        return refuse("unknown way to begin the search for keys");
    if (k->begin_search_type == VALKEYMODULE_KSPEC_BS_KEYWORD && !k->bs.keyword.keyword)
        return refuse("a key spec without its keyword");
    if ((int)k->find_keys_type < VALKEYMODULE_KSPEC_FK_OMITTED ||
        k->find_keys_type > VALKEYMODULE_KSPEC_FK_KEYNUM)
        return refuse("unknown way to find keys");
    return true;
}

static int keySpecCount(const ValkeyModuleCommandInfo *info) {
    int n = 0;
    const ValkeyModuleCommandKeySpec *k = info->key_specs;
    while (k && k->begin_search_type) k = element(info->key_specs, info->version->sizeof_keyspec, ++n);
    return n;
}

static bool keySpecsAreGood(const ValkeyModuleCommandInfo *info) {
    for (int i = 0, n = keySpecCount(info); i < n; i++) {
        if (!keySpecIsGood(element(info->key_specs, info->version->sizeof_keyspec, i))) return false;
    }
    return true;
}

static bool argsAreGood(const ValkeyModuleCommandArg *args, const ValkeyModuleCommandInfo *info, int keys);

static bool argIsGood(const ValkeyModuleCommandArg *a, const ValkeyModuleCommandInfo *info, int keys) {
    bool is_key = a->type == VALKEYMODULE_ARG_TYPE_KEY;
    bool has_parts = a->type == VALKEYMODULE_ARG_TYPE_ONEOF || a->type == VALKEYMODULE_ARG_TYPE_BLOCK;
    unsigned known =
        VALKEYMODULE_CMD_ARG_OPTIONAL | VALKEYMODULE_CMD_ARG_MULTIPLE | VALKEYMODULE_CMD_ARG_MULTIPLE_TOKEN;
    if ((int)a->type < 0 || a->type > VALKEYMODULE_ARG_TYPE_BLOCK) return refuse("unknown type of argument");
    if (a->type == VALKEYMODULE_ARG_TYPE_PURE_TOKEN && !a->token) return refuse("a token without its text");
    if (is_key && (a->key_spec_index < 0 || a->key_spec_index >= keys))
        return refuse("an argument that is a key without its key spec");
    if (!is_key && a->key_spec_index != 0 && a->key_spec_index != -1)
        return refuse("an argument with a key spec that is no key");
    if ((unsigned)a->flags & ~known) return refuse("unknown flags of an argument");
    if (has_parts != (a->subargs != NULL)) return refuse("only a choice and a block have parts, and always");
    return !a->subargs || argsAreGood(a->subargs, info, keys);
}

static bool argsAreGood(const ValkeyModuleCommandArg *args, const ValkeyModuleCommandInfo *info, int keys) {
    for (int i = 0; args; i++) {
        const ValkeyModuleCommandArg *a = element(args, info->version->sizeof_arg, i);
        if (!a->name) break;
        if (!argIsGood(a, info, keys)) return false;
    }
    return true;
}

/* ---- Copies ---- */

static char *copyText(const char *s) {
    return s ? zstrdup(s) : NULL;
}

static struct commandChange *copyHistory(const ValkeyModuleCommandInfo *info) {
    if (!info->history) return NULL;
    struct commandChange *copy = NULL;
    for (int i = 0;; i++) {
        const ValkeyModuleCommandHistoryEntry *h =
            element(info->history, info->version->sizeof_historyentry, i);
        copy = zrealloc(copy, (size_t)(i + 1) * sizeof *copy);
        copy[i] = (struct commandChange){0};
        if (!h->since) return copy;
        copy[i] = (struct commandChange){copyText(h->since), copyText(h->changes)};
    }
}

static const char **copyTips(const char *text) {
    if (!text) return NULL;
    int n;
    sds *words = sdssplitlen(text, strlen(text), " ", 1, &n);
    const char **tips = zcalloc((size_t)n + 1, sizeof *tips);
    for (int i = 0; i < n; i++) tips[i] = zstrdup(words[i]);
    sdsfreesplitres(words, n);
    return tips;
}

static struct keySpec copyKeySpec(const ValkeyModuleCommandKeySpec *k) {
    static const uint8_t begins[] = {KEYS_BEGIN_NONE, KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX,
                                     KEYS_BEGIN_KEYWORD};
    static const uint8_t finds[] = {KEYS_FIND_RANGE, KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM};
    struct keySpec s = {.flags = (unsigned)k->flags,
                        .notes = copyText(k->notes),
                        .begin = begins[k->begin_search_type],
                        .find = finds[k->find_keys_type]};
    if (s.begin == KEYS_BEGIN_INDEX) s.pos = k->bs.index.pos;
    if (s.begin == KEYS_BEGIN_KEYWORD) {
        s.keyword = copyText(k->bs.keyword.keyword);
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

static struct commandArg *copyArgs(const ValkeyModuleCommandArg *args, const ValkeyModuleCommandInfo *info) {
    struct commandArg *copy = NULL;
    for (int i = 0; args; i++) {
        const ValkeyModuleCommandArg *a = element(args, info->version->sizeof_arg, i);
        copy = zrealloc(copy, (size_t)(i + 1) * sizeof *copy);
        copy[i] = (struct commandArg){0};
        if (!a->name) break;
        copy[i] = (struct commandArg){
            .name = copyText(a->name),
            .type = (enum commandArgType)a->type, /* in the same order */
            .key_spec = a->type == VALKEYMODULE_ARG_TYPE_KEY ? a->key_spec_index + 1 : 0,
            .token = copyText(a->token),
            .since = copyText(a->since),
            .deprecated_since = copyText(a->deprecated_since),
            .summary = copyText(a->summary),
            .display = copyText(a->display_text),
            .flags = (unsigned)a->flags,
            .args = copyArgs(a->subargs, info),
        };
    }
    return copy;
}

/* ---- SetCommandInfo ---- */

static void freeKeySpecs(struct commandSpec *spec) {
    for (int i = 0; i < spec->key_spec_count; i++) {
        zfree((void *)spec->key_specs[i].notes);
        zfree((void *)spec->key_specs[i].keyword);
    }
    zfree((void *)spec->key_specs);
}

/* They take the place of the triple's. */
static void takeKeySpecs(struct commandSpec *spec, const ValkeyModuleCommandInfo *info) {
    int n = keySpecCount(info);
    if (!n) return;
    freeKeySpecs(spec);
    struct keySpec *copy = zcalloc((size_t)n, sizeof *copy);
    for (int i = 0; i < n; i++)
        copy[i] = copyKeySpec(element(info->key_specs, info->version->sizeof_keyspec, i));
    spec->key_specs = copy;
    spec->key_spec_count = n;
}

int vmSetCommandInfo(struct ValkeyModuleCommand *command, const ValkeyModuleCommandInfo *info) {
    bool good = info->version || refuse("no version");
    good = good && historyIsGood(info) && keySpecsAreGood(info);
    good = good && argsAreGood(info->args, info, keySpecCount(info));
    if (!good || command->has_info) {
        errno = good ? EEXIST : EINVAL;
        return VALKEYMODULE_ERR;
    }
    struct commandSpec *spec = &command->spec;
    spec->summary = copyText(info->summary);
    spec->complexity = copyText(info->complexity);
    spec->since = copyText(info->since);
    spec->history = copyHistory(info);
    spec->tips = copyTips(info->tips);
    spec->args = copyArgs(info->args, info);
    ioThreadsHold(); /* they look at it */
    if (info->arity) spec->arity = info->arity;
    ioThreadsRelease();
    takeKeySpecs(spec, info);
    moduleCommandChooseKeys(command);
    command->has_info = true;
    commandRefresh(command->command);
    return VALKEYMODULE_OK;
}

/* ---- Its end ---- */

static void freeArgs(const struct commandArg *args) {
    for (const struct commandArg *a = args; a && a->name; a++) {
        freeArgs(a->args);
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
    freeArgs(spec->args);
    freeKeySpecs(spec);
}

/* ---- The keys of any command ---- */

/* Two arrays of the module's; errno says why there is none: ENOENT, EINVAL, or 0: it has no keys. */
int *vmGetCommandKeysWithFlags(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc,
                               int *num_keys, int **out_flags) {
    (void)ctx;
    struct str *views = zmalloc((size_t)(argc > 0 ? argc : 1) * sizeof *views);
    for (int i = 0; i < argc; i++) views[i] = stringText(argv[i]);
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
