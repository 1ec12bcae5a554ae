/* command_keys.c - which arguments of a command are keys.
 *
 * A key spec tells in two steps: where to begin (a position, or behind a keyword), and which arguments from
 * there on are keys (a range, or as many as a number says).
 *
 *     ZUNIONSTORE dst 2 a b WEIGHTS 1 2        spec 1: begin at 1, range 0 by 1          -> dst
 *                 ^1  ^2                       spec 2: begin at 2, number at +0, keys from +1 -> a b
 *
 * Both steps end in the same three numbers, a run (first, last, step), so there is one place that checks
 * bounds and one that writes the result. Commands whose specs cannot tell have a function of their own. */
#include "commands/commands.h"

#include "base/num.h"
#include "base/zmalloc.h"
#include "core/command.h"

struct keyRun {
    int64_t first, last, step;
};

/* Argument number at which the spec begins, 0 when its keyword is not there. */
static int keysBegin(const struct keySpec *spec, const struct str *argv, int argc) {
    if (spec->begin == KEYS_BEGIN_INDEX) return spec->pos;
    if (spec->begin != KEYS_BEGIN_KEYWORD) return 0;
    int step = spec->pos < 0 ? -1 : 1;
    for (int i = spec->pos < 0 ? argc + spec->pos : spec->pos; i > 0 && i < argc; i += step) {
        if (strIs(argv[i], spec->keyword)) return i + 1;
    }
    return 0;
}

/* False: the arguments do not fit the spec. */
static bool keysFind(const struct keySpec *spec, int begin, const struct str *argv, int argc,
                     struct keyRun *run) {
    if (spec->find == KEYS_FIND_RANGE) {
        run->first = begin;
        run->step = spec->step;
        if (spec->lastkey >= 0)
            run->last = begin + spec->lastkey;
        else if (spec->limit <= 1)
            run->last = argc + spec->lastkey;
        else
            run->last = begin + (argc - begin) / spec->limit + spec->lastkey;
        return run->last >= run->first && run->last < argc;
    }
    int64_t count;
    if (begin + spec->keynumidx >= argc || !string2ll(argv[begin + spec->keynumidx], &count)) return false;
    if (count < 0 || count > argc) return false;
    run->first = begin + spec->firstkey;
    run->step = spec->keynum_step;
    run->last = run->first + (count - 1) * run->step;
    return run->last < argc;
}

static int keysAppend(struct keyRef **keys, int count, const struct keyRun *run, unsigned flags) {
    if (run->last < run->first) return count;
    int64_t n = (run->last - run->first) / run->step + 1;
    *keys = zrealloc(*keys, (size_t)(count + n) * sizeof **keys);
    for (int64_t pos = run->first; pos <= run->last; pos += run->step)
        (*keys)[count++] = (struct keyRef){(int)pos, flags};
    return count;
}

/* SET reads the old value only when asked to. */
int setGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    unsigned flags = KEY_OW | KEY_UPDATE;
    for (int i = 3; i < argc; i++) {
        if (strIs(argv[i], "get") || strIs(argv[i], "ifeq")) flags = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    *keys = NULL;
    return keysAppend(keys, 0, &(struct keyRun){1, 1, 1}, flags);
}

/* BITFIELD only reads when all of its operations are GET. */
int bitfieldGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    unsigned flags = KEY_RO | KEY_ACCESS;
    for (int i = 2; i < argc; i++) {
        if (strIs(argv[i], "set") || strIs(argv[i], "incrby")) flags = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    *keys = NULL;
    return keysAppend(keys, 0, &(struct keyRun){1, 1, 1}, flags);
}

/* SORT: the key, and that of the last STORE. What BY and GET read cannot be told without the elements. */
int sortGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    int store = 0;
    for (int i = 2; i < argc; i++) {
        if (strIs(argv[i], "limit"))
            i += 2;
        else if (strIs(argv[i], "get") || strIs(argv[i], "by"))
            i++;
        else if (strIs(argv[i], "store") && i + 1 < argc)
            store = i + 1;
    }
    *keys = NULL;
    int count = keysAppend(keys, 0, &(struct keyRun){1, 1, 1}, KEY_RO | KEY_ACCESS);
    if (store) count = keysAppend(keys, count, &(struct keyRun){store, store, 1}, KEY_OW | KEY_UPDATE);
    return count;
}

/* MIGRATE: one key where the specs say, or all behind KEYS when that one is empty. */
int migrateGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    struct keyRun run = {3, 3, 1};
    for (int i = 6; i < argc && argv[3].len == 0 && run.first == 3; i++) {
        if (strIs(argv[i], "auth"))
            i++;
        else if (strIs(argv[i], "auth2"))
            i += 2;
        else if (strIs(argv[i], "keys"))
            run = (struct keyRun){i + 1, argc - 1, 1};
    }
    *keys = NULL;
    return keysAppend(keys, 0, &run, KEY_RW | KEY_ACCESS | KEY_DELETE);
}

int commandGetKeyRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                      struct keyRef **keys) {
    const struct commandSpec *command = cmd->spec;
    *keys = NULL;
    if (command->getkeys) return command->getkeys(cmd, argv, argc, keys);

    int count = 0;
    for (int i = 0; i < command->key_spec_count; i++) {
        const struct keySpec *spec = &command->key_specs[i];
        int begin = spec->flags & KEY_NOT_KEY ? 0 : keysBegin(spec, argv, argc);
        if (begin == 0) continue;
        struct keyRun run;
        bool fits = keysFind(spec, begin, argv, argc, &run);
        bool none = fits && run.last < run.first;
        if (!fits || (none && !(cmd->flags & CMD_NO_MANDATORY_KEYS))) {
            zfree(*keys);
            *keys = NULL;
            return -1;
        }
        count = keysAppend(keys, count, &run, spec->flags);
    }
    return count;
}
