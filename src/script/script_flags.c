/* SPDX-License-Identifier: BSD-3-Clause */
/* script_flags.c - flags that scripts and functions declare: the first line "#!lua flags=no-writes,..." and
 * the names of the flags (see script_private.h). */
#include "base/zmalloc.h"
#include "command/command.h"
#include "script/script_private.h"

static const char *const names[SCRIPT_FLAGS] = {"no-writes", "allow-oom", "allow-stale", "no-cluster",
                                                "allow-cross-slot-keys"};

const char *scriptFlagName(int bit) {
    return names[bit];
}

unsigned scriptFlagByName(struct str name, bool any_case) {
    for (int bit = 0; bit < SCRIPT_FLAGS; bit++) {
        if (any_case ? strIs(name, names[bit]) : strEq(name, strOf(names[bit]))) return 1u << bit;
    }
    return 0;
}

uint64_t scriptCommandFlags(unsigned flags, uint64_t command_flags) {
    command_flags &= ~CMD_MAY_REPLICATE; /* the flags say whether it may */
    if (!(flags & SCRIPT_NO_WRITES)) command_flags |= CMD_WRITE;
    if (!(flags & (SCRIPT_NO_WRITES | SCRIPT_ALLOW_OOM))) command_flags |= CMD_DENYOOM;
    if (!(flags & SCRIPT_ALLOW_STALE)) command_flags &= ~CMD_STALE;
    return command_flags;
}

/* ---- The first line ---- */

sds *scriptSplitShebang(struct str *code, int *count) {
    const char *end = memchr(code->ptr, '\n', code->len);
    if (!end) return NULL;
    size_t len = (size_t)(end - code->ptr);
    sds *words = sdssplitargs(code->ptr, len, count);
    if (words) *code = strN(end, code->len - len);
    return words;
}

static sds scriptFlagsReadFlags(struct str list, unsigned *flags) {
    int count;
    sds error = NULL;
    sds *words = sdssplitlen(list.ptr, list.len, ",", 1, &count);
    for (int i = 0; i < count && !error; i++) {
        unsigned flag = scriptFlagByName(sdsview(words[i]), false);
        *flags |= flag;
        if (!flag) error = sdscatprintf(sdsempty(), "ERR Unexpected flag in script shebang: %s", words[i]);
    }
    sdsfreesplitres(words, count);
    return error;
}

static sds scriptFlagsFindEngine(const char *name, struct scriptEngine **engine) {
    *engine = scriptEngineByName(strOf(name));
    return *engine ? NULL : sdscatprintf(sdsempty(), "ERR Could not find scripting engine '%s'", name);
}

static sds scriptFlagsReadWords(sds *words, int count, unsigned *flags, struct scriptEngine **engine) {
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], "flags=", 6)) {
            return sdscatprintf(sdsempty(), "ERR Unknown lua shebang option: %s", words[i]);
        }
        sds error = scriptFlagsReadFlags(strN(words[i] + 6, sdslen(words[i]) - 6), flags);
        if (error) return error;
    }
    return scriptFlagsFindEngine(count ? words[0] + 2 : "", engine);
}

sds scriptParseShebang(struct str *code, unsigned *flags, struct scriptEngine **engine) {
    if (code->len < 2 || memcmp(code->ptr, "#!", 2)) return scriptFlagsFindEngine("lua", engine);
    int count = 0;
    sds *words = scriptSplitShebang(code, &count);
    if (!words && !memchr(code->ptr, '\n', code->len)) return sdsnew("ERR Invalid script shebang");
    if (!words) return sdsnew("ERR Invalid engine in script shebang");
    *flags |= SCRIPT_SHEBANG;
    sds error = scriptFlagsReadWords(words, count, flags, engine);
    sdsfreesplitres(words, count);
    return error;
}
