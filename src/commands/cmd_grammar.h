/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_grammar.h - how the facts of src/commands/ are written: where a command's keys are, which arguments it
 * takes, and what changed when. */
#pragma once

#include "commands/cmd_spec.h"

enum { KEYS_BEGIN_NONE, KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX, KEYS_BEGIN_KEYWORD };
enum { KEYS_FIND_NONE, KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM };

struct keySpec {
    unsigned flags;
    const char *notes;
    uint8_t begin, find;
    int pos;                  /* INDEX: position; KEYWORD: startfrom */
    const char *keyword;      /* KEYWORD */
    int lastkey, step, limit; /* RANGE: lastkey is relative to the first key, or negative from the end */
    int keynumidx, firstkey, keynum_step; /* KEYNUM: relative to begin */
};

enum commandArgType {
    ARG_STRING,
    ARG_INTEGER,
    ARG_DOUBLE,
    ARG_KEY,
    ARG_PATTERN,
    ARG_UNIX_TIME,
    ARG_PURE_TOKEN,
    ARG_ONEOF,
    ARG_BLOCK,
};
#define ARG_OPTIONAL       1
#define ARG_MULTIPLE       2
#define ARG_MULTIPLE_TOKEN 4
struct commandArg { /* arrays end with a NULL name */
    const char *name;
    enum commandArgType type;
    int key_spec; /* index + 1 of the key spec for ARG_KEY; 0: none */
    const char *token, *since, *deprecated_since, *summary;
    const char *display; /* the name that is shown; NULL: `name` */
    unsigned flags;
    const struct commandArg *args;
};

struct commandChange { /* a change of a command in some version */
    const char *since, *what;
};

/* Where a command's keys are: KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}, ...), one for each key spec. */
#define KEYS(...)                                                                                            \
    .key_specs = (const struct keySpec[]){__VA_ARGS__},                                                      \
    .key_spec_count = sizeof((const struct keySpec[]){__VA_ARGS__}) / sizeof(struct keySpec)
/* The only key is argument `at`. */
#define KEY_AT(at) KEYS_AT(at), KEYS_RANGE(0, 1)
/* Keys start at argument `at`. KEYS_RANGE or KEYS_COUNTED says how many there are. */
#define KEYS_AT(at) .begin = KEYS_BEGIN_INDEX, .pos = (at)
/* Every `by`-th argument is a key up to `last` (relative to the first; negative: counted from the end). */
#define KEYS_RANGE(last, by) .find = KEYS_FIND_RANGE, .lastkey = (last), .step = (by)
/* The number at `num` is the count of keys, which start at `first` (both relative to the start). */
#define KEYS_COUNTED(num, first)                                                                             \
    .find = KEYS_FIND_KEYNUM, .keynumidx = (num), .firstkey = (first), .keynum_step = 1

/* The changes of a command: HISTORY({"6.2.0", "`GET`."}, {"7.0.0", "..."}) */
#define HISTORY(...)                                                                                         \
    (const struct commandChange[]) {                                                                         \
        __VA_ARGS__, {                                                                                       \
            NULL, NULL                                                                                       \
        }                                                                                                    \
    }

/* The arguments of a command with few: ARGS({.name = "count", .type = ARG_INTEGER}, ...) */
#define ARGS(...)                                                                                            \
    (const struct commandArg[]) {                                                                            \
        __VA_ARGS__, {                                                                                       \
            0                                                                                                \
        }                                                                                                    \
    }

/* The tips of a command: TIPS("nondeterministic_output", ...) */
#define TIPS(...)                                                                                            \
    (const char *const[]) {                                                                                  \
        __VA_ARGS__, NULL                                                                                    \
    }
