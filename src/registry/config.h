/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h - the configuration registry. Each room registers its directives with the variables they set.
 *
 *     static bool lazy; ...
 *     static struct configDirective directives[] = {
 *         CONFIG_BOOL("lazyfree-lazy-expire", NULL, CONFIG_MODIFIABLE, &lazy, true, NULL),
 *         ...
 *     };
 *     configRegister(directives, sizeof directives / sizeof *directives); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

enum configType {
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_INT,
    CONFIG_TYPE_STRING,
    CONFIG_TYPE_ENUM,
    CONFIG_TYPE_SPECIAL
};
enum {
    CONFIG_MODIFIABLE = 1 << 0, /* by CONFIG SET */
    CONFIG_MEMORY = 1 << 1,     /* integer with units (1kb) */
    CONFIG_SENSITIVE = 1 << 2,  /* never logged */
    CONFIG_HIDDEN = 1 << 3,     /* not matched by patterns of CONFIG GET */
    CONFIG_MULTI_ARG = 1 << 4,  /* special: the file line has several words */
    CONFIG_PROTECTED = 1 << 5,  /* needs enable-protected-configs */
    /* A line of the file without a value means "". */
    CONFIG_MAY_STAND_ALONE = 1 << 11,
    CONFIG_OCTAL = 1 << 6,
    CONFIG_EMPTY_IS_NULL = 1 << 7, /* string: "" stores NULL */
    CONFIG_PERCENT = 1 << 8,       /* memory or a percentage (stored negative) */
    CONFIG_LINES =
        1 << 9, /* special: of the file only, any number of lines, each set once; get has them all */
    CONFIG_VOLATILE = 1 << 10,    /* what it names can change: apply, also when the value stays */
    CONFIG_KEEP_LINES = 1 << 12,  /* CONFIG REWRITE leaves its lines as they are, and adds none */
    CONFIG_NOT_LOADING = 1 << 13, /* not by CONFIG SET while a dataset is loaded */
};

struct configEnum {
    const char *name; /* ends with NULL; the first name of a value is printed */
    int value;
};

/* A directive with any number of lines that are about different things: a line is known by its second word.
 *
 *     sentinel monitor one 10.0.0.1 6379 2 ───┐ both are `monitor` lines: what is to be told of it goes
 *     sentinel myid 9c2e...                   │ into their places, in order; what there is more of goes
 *     sentinel monitor two 10.0.0.2 6379 2 ───┘ to the end, and a place that is not needed becomes empty */
struct configLineKinds {
    /* All lines, without the directive's name, each ended by a newline, and quoted as those of `lines` below.
     * `present` tells whether the file has a line of that kind. */
    sds (*lines)(bool (*present)(void *priv, struct str kind), void *priv);
    const char *const *aliases; /* pairs of other names of kinds and the kind; ends with NULL; may be NULL */
};

struct configDirective;
/* What several directives that come while the server runs share: fn is called once for all of a change. */
struct configApply {
    bool (*fn)(struct configApply *a, const char **err);
};

struct configDirective {
    const char *name, *alias; /* alias may be NULL */
    enum configType type;
    unsigned flags;
    union {
        bool *b;
        int64_t *i; /* all integers are int64 */
        sds *s;
        int *e;
    } var;
    int64_t def, min, max;
    /* Integers: a value within min and max, but outside of these, becomes the nearer one.
     * Both 0: none does. */
    int64_t clamp_min, clamp_max;
    const char *def_string;
    const struct configEnum *names;
    /* After the new value is in place. False with *err set refuses it: the old value is put back. NULL:
     * nothing to do. Not called while the file is loaded. */
    bool (*apply)(const char **err);
    struct configApply *apply_with; /* instead of it; may be NULL */
    const char *short_name;         /* how it is called when that refuses */
    /* Strings, and yes or no: may this be the value? */
    bool (*valid)(const char *value, const char **err);
    /* SPECIAL: set from words (argc >= 1; transactional: false changes nothing),
     * and print the current value. */
    bool (*set)(const struct configDirective *d, int argc, const struct str *argv, const char **err);
    sds (*get)(const struct configDirective *d);
    /* SPECIAL, may be NULL: what stands in a file, one line for each part, without the name. Words that are
     * not the server's own go through sdscatword or configAppendWords: a value must not make a line. */
    sds (*lines)(const struct configDirective *d);
    const struct configLineKinds
        *kinds; /* SPECIAL, with CONFIG_LINES; NULL: one line is as good as another */
};

#define CONFIG_BOOL(n, a, f, v, d, ap)                                                                       \
    { .name = n, .alias = a, .type = CONFIG_TYPE_BOOL, .flags = f, .var.b = v, .def = d, .apply = ap }
#define CONFIG_INT(n, a, f, v, d, lo, hi, ap)                                                                \
    {                                                                                                        \
        .name = n, .alias = a, .type = CONFIG_TYPE_INT, .flags = f, .var.i = v, .def = d, .min = lo,         \
        .max = hi, .apply = ap                                                                               \
    }
#define CONFIG_STRING(n, a, f, v, d, ok, ap)                                                                 \
    {                                                                                                        \
        .name = n, .alias = a, .type = CONFIG_TYPE_STRING, .flags = f, .var.s = v, .def_string = d,          \
        .valid = ok, .apply = ap                                                                             \
    }
#define CONFIG_ENUM(n, a, f, v, d, names_, ap)                                                               \
    {                                                                                                        \
        .name = n, .alias = a, .type = CONFIG_TYPE_ENUM, .flags = f, .var.e = v, .def = d, .names = names_,  \
        .apply = ap                                                                                          \
    }
#define CONFIG_SPECIAL(n, a, f, set_, get_, ap)                                                              \
    { .name = n, .alias = a, .type = CONFIG_TYPE_SPECIAL, .flags = f, .set = set_, .get = get_, .apply = ap }

/* The array must stay. Sets every variable to its default. Panics on a duplicate name. */
void configRegister(struct configDirective *directives, size_t count);
/* One that comes while the server runs, SPECIAL and with def_string; nothing is set. False: the name is
 * taken. It stays until configRemove. */
bool configAdd(struct configDirective *d);
void configRemove(struct configDirective *d);
/* Lines of the file whose first word has a dot are not for directives of the server. False: *err says why. */
void configOnDotted(bool (*fn)(int argc, const struct str *argv, const char **err));
/* Reads a word into the variable of a directive, which need not be registered. False: *err says why not. */
bool configParse(const struct configDirective *d, struct str word, const char **err);
/* A reason that is made, for *err; good until the next one. */
const char *configReason(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One directive from the file or the command line: before the server runs. False: *err says why (static or
 * valid until the next call). */
bool configSetFromFile(int argc, const struct str *argv, const char **err);
/* A whole text (file, standard input, command line). An error is told on stderr with its line, counted over
 * all that was loaded before, and ends the program with code 1. */
void configLoadFile(const char *path);
void configLoadText(const char *text);
const char *configFilePath(void); /* absolute, "" when none */
/* For who applies a line later than when it is set: the one that is being loaded, and how to refuse it. */
int configLine(const char **text);
void configFatal(int line_number, const char *line, const char *reason) __attribute__((noreturn));
/* One directive, from inside the server. */
bool configSet(const char *name, struct str value, const char **err);
/* Several directives as one change: all of them or, when one refuses, none. False: *failed is the name of
 * that one, *err says why (static or valid until the next call; NULL: it does not say). The names are known
 * ones; what their flags forbid is the caller's to look at. */
struct configPair {
    struct str name, value;
};
bool configChange(const struct configPair *pairs, int count, const char **failed, const char **err);
sds configGet(const char *name);                     /* NULL when unknown; owned by the caller */
int64_t configNumber(const char *name);              /* of an integer without units; 0 when unknown */
sds configText(const struct configDirective *d);     /* its value; owned by the caller */
struct configDirective *configFind(struct str name); /* by name or alias */
/* The name that is nearest to one that there is not, as far as an error in typing explains the difference;
 * NULL: none. settable: of those that CONFIG SET takes. */
const char *configSuggest(struct str wrong, bool settable);
void configForEach(void (*fn)(void *priv, struct configDirective *d), void *priv);
/* What the words name or, with * ? [ in them, match: fn is called once for each name and each alias. `name`
 * is the word that asked for it, or the directive's own. */
typedef void configFoundFn(void *priv, struct str name, const struct configDirective *d);
void configMatch(const struct str *patterns, int count, configFoundFn *fn, void *priv);

/* Is the value what it would be without a configuration file? */
bool configIsDefault(const struct configDirective *d);
/* Puts the values in use into the text of a configuration file: comments and order stay. Frees `old`.
 * with_defaults: even those that are what they would be without a line. */
sds configRewriteText(sds old, bool with_defaults);
/* Bytes with the largest unit that leaves no remainder, as a person would write them. */
sds configAppendMemory(sds s, int64_t bytes);
/* The words of a value, which blanks separate, each quoted when it needs that. */
sds configAppendWords(sds s, struct str text);
/* Puts the values in use into the file at `path`, all or nothing. False and errno. */
bool configRewriteFile(const char *path, bool with_defaults);
bool configRewrite(bool with_defaults); /* the file of the start; EFAULT: there was none */

/* Who depends on directives of other rooms is told after each change while the server runs. */
void configOnChange(void (*fn)(void));

/* What counts events since the start registers how its counters become zero again. */
void configOnResetStat(void (*fn)(void));
void configResetStats(void);
