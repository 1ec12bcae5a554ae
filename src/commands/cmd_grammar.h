/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_grammar.h - how the facts of src/commands/ are spelt: where a command's keys are, what arguments it
 * takes, and what was added to it when. */
#pragma once

#include "commands/cmd_spec.h"

enum { KEYS_BEGIN_NONE, KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX, KEYS_BEGIN_KEYWORD };
enum { KEYS_FIND_NONE, KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM };

struct keySpec {
    unsigned flags;
    const char *notes;
    uint8_t begin, find;
    int pos;                              /* INDEX: position; KEYWORD: startfrom */
    const char *keyword;                  /* KEYWORD */
    int lastkey, step, limit;             /* RANGE: lastkey relative to the first, or negative from the end */
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
struct commandArg { /* arrays end with name NULL */
    const char *name;
    enum commandArgType type;
    int key_spec; /* index + 1 of the key spec for ARG_KEY; 0: none */
    const char *token, *since, *deprecated_since, *summary;
    const char *display; /* how it is shown; NULL: by its name */
    unsigned flags;
    const struct commandArg *args;
};

struct commandChange { /* what is new in a command since a version */
    const char *since, *what;
};

/* Where a command's keys are: KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}, ...), one for each key spec. */
#define KEYS(...)                                                                                            \
    .key_specs = (const struct keySpec[]){__VA_ARGS__},                                                      \
    .key_spec_count = sizeof((const struct keySpec[]){__VA_ARGS__}) / sizeof(struct keySpec)
/* One key is argument `at`. */
#define KEY_AT(at) KEYS_AT(at), KEYS_RANGE(0, 1)
/* Keys start at argument `at` ... */
#define KEYS_AT(at) .begin = KEYS_BEGIN_INDEX, .pos = (at)
/* ... and go to `last` (relative to the first; negative: counted from the end of the line) by `by`, ... */
#define KEYS_RANGE(last, by) .find = KEYS_FIND_RANGE, .lastkey = (last), .step = (by)
/* ... or are as many as the number at `num` says, from `first` on (both relative to the start). */
#define KEYS_COUNTED(num, first)                                                                             \
    .find = KEYS_FIND_KEYNUM, .keynumidx = (num), .firstkey = (first), .keynum_step = 1

/* What has been added to a command: HISTORY({"6.2.0", "`GET`."}, {"7.0.0", "..."}) */
#define HISTORY(...)                                                                                         \
    (const struct commandChange[]) {                                                                         \
        __VA_ARGS__, {                                                                                       \
            NULL, NULL                                                                                       \
        }                                                                                                    \
    }

/* The arguments of a command that has few: ARGS({.name = "count", .type = ARG_INTEGER}, ...) */
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
