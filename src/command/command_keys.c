/* SPDX-License-Identifier: BSD-3-Clause */
/* command_keys.c - finds out which arguments of a command are keys.
 *
 * A key spec has two steps: where to begin (a position, or behind a keyword), and which arguments from there
 * on are keys (a range, or as many as a number says).
 *
 *     ZUNIONSTORE dst 2 a b WEIGHTS 1 2        spec 1: begin at 1, range 0 by 1          -> dst
 *                 ^1  ^2                       spec 2: begin at 2, number at +0, keys from +1 -> a b
 *
 * Both steps result in the same three numbers, a run (first, last, step), so there is one place that checks
 * bounds and one that writes the result. Commands whose keys no spec can express have a function. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "commands/cmd_string.h"

struct keyRun {
    int64_t first, last, step;
};

/* Returns the argument at which the spec begins, 0 when its keyword is missing, or is the last argument. */
static int commandKeysBegin(const struct keySpec *spec, const struct str *argv, int argc) {
    if (spec->begin == KEYS_BEGIN_INDEX) return spec->pos;
    if (spec->begin != KEYS_BEGIN_KEYWORD) return 0;
    int step = spec->pos < 0 ? -1 : 1;
    for (int i = spec->pos < 0 ? argc + spec->pos : spec->pos; i > 0 && i < argc - 1; i += step) {
        if (strIs(argv[i], spec->keyword)) return i + 1;
    }
    return 0;
}

/* Returns whether the command was called without the optional keys of this spec. */
static bool commandKeysAreLeftOut(const struct keySpec *spec, int begin, int argc) {
    return spec->begin == KEYS_BEGIN_INDEX && spec->find == KEYS_FIND_RANGE && spec->lastkey < 0 &&
           begin == argc;
}

/* Computes the run. False: the arguments do not fit the spec. A module's spec may contain any numbers. */
static bool commandKeysFind(const struct keySpec *spec, int64_t begin, const struct str *argv, int argc,
                            struct keyRun *run) {
    if (spec->find == KEYS_FIND_RANGE) {
        run->first = begin;
        run->step = spec->step > 0 ? spec->step : 1;
        if (spec->lastkey >= 0)
            run->last = begin + spec->lastkey;
        else if (spec->limit <= 1)
            run->last = argc + spec->lastkey;
        else
            run->last = begin + (argc - begin) / spec->limit + spec->lastkey;
        return run->first > 0 && run->last >= run->first && run->last < argc;
    }
    int64_t count, at = begin + spec->keynumidx;
    if (at < 1 || at >= argc || !string2ll(argv[at], &count)) return false;
    if (count < 0 || count > argc) return false;
    run->first = begin + spec->firstkey;
    run->step = spec->keynum_step > 0 ? spec->keynum_step : 1;
    run->last = run->first + (count - 1) * run->step;
    return run->first > 0 && run->last < argc;
}

int keyRefsAdd(struct keyRef **keys, int count, int first, int last, int step, unsigned flags) {
    if (last < first) return count;
    *keys = zrealloc(*keys, (size_t)(count + (last - first) / step + 1) * sizeof **keys);
    for (int64_t pos = first; pos <= last; pos += step) (*keys)[count++] = (struct keyRef){(int)pos, flags};
    return count;
}

/* SET only reads the old value with GET or a comparison. */
int setGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    static const char *const reads[] = {"get", "ifeq", "ifne", "ifdeq", "ifdne"};
    unsigned flags = KEY_OW | KEY_UPDATE;
    for (int i = 3; i < argc; i++) {
        for (size_t k = 0; k < sizeof reads / sizeof *reads; k++)
            if (strIs(argv[i], reads[k])) flags = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    return keyRefsAdd(keys, 0, 1, 1, 1, flags);
}

/* Finds the keys of all specs without any of the `skipped` flags. */
static int commandKeysGetRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                              unsigned skipped, struct keyRef **keys) {
    const struct commandSpec *command = cmd->spec;
    *keys = NULL;
    if (command->getkeys) return command->getkeys(cmd, argv, argc, keys);

    int count = 0;
    for (int i = 0; i < command->key_spec_count; i++) {
        const struct keySpec *spec = &command->key_specs[i];
        int begin = spec->flags & skipped ? 0 : commandKeysBegin(spec, argv, argc);
        if (begin == 0 || commandKeysAreLeftOut(spec, begin, argc)) continue;
        struct keyRun run;
        bool fits = commandKeysFind(spec, begin, argv, argc, &run);
        bool none = fits && run.last < run.first;
        if (!fits || (none && !(cmd->flags & CMD_NO_MANDATORY_KEYS))) {
            zfree(*keys);
            *keys = NULL;
            return -1;
        }
        count = keyRefsAdd(keys, count, (int)run.first, (int)run.last, (int)run.step, spec->flags);
    }
    return count;
}

int commandGetKeyRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                      struct keyRef **keys) {
    return commandKeysGetRefs(cmd, argv, argc, KEY_NOT_KEY, keys);
}

int commandGetRoutes(const struct serverCommand *cmd, const struct str *argv, int argc,
                     struct keyRef **keys) {
    return commandKeysGetRefs(cmd, argv, argc, 0, keys);
}
