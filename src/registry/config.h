/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h - the configuration registry. Each module registers its directives with the variables they set.
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
    /* a line of the file without a value means "" */
    CONFIG_MAY_STAND_ALONE = 1 << 11,
    CONFIG_OCTAL = 1 << 6,
    CONFIG_EMPTY_IS_NULL = 1 << 7, /* string: "" stores NULL */
    CONFIG_PERCENT = 1 << 8,       /* memory or a percentage (stored negative) */
    /* special: only in the file, on any number of lines, each set once; get returns them all */
    CONFIG_LINES = 1 << 9,
    /* The named object can change, so apply is called even when the value stays the same. */
    CONFIG_VOLATILE = 1 << 10,
    CONFIG_KEEP_LINES = 1 << 12,  /* CONFIG REWRITE leaves its lines as they are, and adds none */
    CONFIG_NOT_LOADING = 1 << 13, /* not by CONFIG SET while a dataset is loaded */
    CONFIG_DEBUG = 1 << 14,       /* for those who debug the server */
    CONFIG_MODULE = 1 << 15,      /* a module's */
    CONFIG_UNSIGNED = 1 << 16,    /* min and max are uint64_t: for `like` only */
};

struct configEnum {
    const char *name; /* ends with NULL; the first name of a value is printed */
    int value;
};

/* A directive with any number of lines for different things: the second word of a line is its kind.
 *
 *     sentinel monitor one 10.0.0.1 6379 2 ───┐ both are `monitor` lines: a rewrite puts the new lines of a
 *     sentinel myid 9c2e...                   │ kind into the places of the old ones, in order; surplus new
 *     sentinel monitor two 10.0.0.2 6379 2 ───┘ ones go to the end, and surplus old ones become empty */
struct configLineKinds {
    /* Returns all lines without the directive's name, each ended by a newline, quoted as those of `lines`
     * below. `present` says whether the file has a line of that kind. */
    sds (*lines)(bool (*present)(void *priv, struct str kind), void *priv);
    const char *const *aliases; /* pairs of an alias and its kind; ends with NULL; may be NULL */
};

struct configDirective;
/* An apply function that several directives added at run time share: fn is called once for a whole change. */
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
    /* For integers: a value within min and max, but outside of these, becomes the nearer one. 0 and 0:
     * none. */
    int64_t clamp_min, clamp_max;
    const char *def_string;
    const struct configEnum *names;
    /* Called after the new value is in place. False with *err set refuses it: the old value is put back.
     * NULL: nothing to do. Not called while the file is loaded. */
    bool (*apply)(const char **err);
    struct configApply *apply_with; /* instead of `apply`; may be NULL */
    const char *short_name;         /* its name in errors when apply_with refuses */
    /* For strings, names of enums, and yes or no: is this value allowed? */
    bool (*valid)(const char *value, const char **err);
    /* For SPECIAL: sets it from words (argc >= 1; false changes nothing), and returns the value. */
    bool (*set)(const struct configDirective *d, int argc, const struct str *argv, const char **err);
    /* Integers may have this, too: they show a percentage as what it is now. */
    sds (*get)(const struct configDirective *d);
    /* For SPECIAL: has the type, the names and the limits that CONFIG INFO shows for this directive. NULL:
     * there are none. */
    const struct configDirective *like;
    /* For SPECIAL, may be NULL: its lines in a file, without the name. Words that are not the server's own
     * have to be quoted by sdscatword or configAppendWords, so that a value cannot add a line. */
    sds (*lines)(const struct configDirective *d);
    /* For SPECIAL with CONFIG_LINES; NULL: its lines have no kinds. */
    const struct configLineKinds *kinds;
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
/* A SPECIAL directive whose value has words out of those of `k`, an enumeration. */
#define CONFIG_WORDS(n, f, set_, get_, k)                                                                    \
    { .name = n, .type = CONFIG_TYPE_SPECIAL, .flags = f, .set = set_, .get = get_, .like = k }

/* Registers directives and sets every variable to its default. The array must stay valid. Panics on a
 * duplicate name. */
void configRegister(struct configDirective *directives, size_t count);
/* Adds a directive at run time: a SPECIAL one with def_string, whose value is not set. The caller keeps it
 * until configRemove. False: the name is taken. */
bool configAdd(struct configDirective *d);
void configRemove(struct configDirective *d);
/* Sets what is called for lines whose first word has a dot (of modules). False: *err says why. */
void configOnDotted(bool (*fn)(int argc, const struct str *argv, const char **err));
/* Parses a word into the variable of a directive, which need not be registered. False: *err says why. */
bool configParse(const struct configDirective *d, struct str word, const char **err);
/* Formats a reason for *err, which is valid until the next call. */
const char *configReason(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets one directive from the file or the command line, before the server runs. False: *err says why (static
 * or valid until the next call). */
bool configSetFromFile(int argc, const struct str *argv, const char **err);
/* Loads a whole text (file, standard input, command line). An error is printed to stderr with its line,
 * counted over all that was loaded before, and ends the program with code 1. */
void configLoadFile(const char *path);
void configLoadText(const char *text);
const char *configFilePath(void); /* absolute, "" when none */
/* For modules that apply a line later than it is set: the line that is being loaded, and how to refuse it. */
int configLine(const char **text);
void configFatal(int line_number, const char *line, const char *reason) __attribute__((noreturn));
/* Sets one directive from inside the server. */
bool configSet(const char *name, struct str value, const char **err);
/* Sets several directives as one change: all of them or, when one is refused, none. False: *failed is the
 * name of that one, *err says why (static or valid until the next call; NULL: unknown). The names have to be
 * known; the caller checks what flags forbid. */
struct configPair {
    struct str name, value;
};
bool configChange(const struct configPair *pairs, int count, const char **failed, const char **err);
sds configGet(const char *name);                     /* NULL when unknown; owned by the caller */
int64_t configNumber(const char *name);              /* of an integer without units; 0 when unknown */
sds configText(const struct configDirective *d);     /* its value; owned by the caller */
struct configDirective *configFind(struct str name); /* by name or alias */
/* Suggests the known name that is nearest to a wrong one, if a typing error explains the difference; NULL:
 * none. settable: only names that CONFIG SET takes. */
const char *configSuggest(struct str wrong, bool settable);
void configForEach(void (*fn)(void *priv, struct configDirective *d), void *priv);
/* Finds what the patterns name or, with * ? [ in them, match: fn is called once for each name and each alias.
 * `name` is the word that named it, or the directive's own. */
typedef void configFoundFn(void *priv, struct str name, const struct configDirective *d);
void configMatch(const struct str *patterns, int count, configFoundFn *fn, void *priv);

/* Returns whether the value is what it would be without a configuration file. */
bool configIsDefault(const struct configDirective *d);
/* Puts the current values into the text of a configuration file: comments and order stay. Frees `old`.
 * with_defaults: also values that are the defaults. */
sds configRewriteText(sds old, bool with_defaults);
/* Appends bytes with the largest unit that leaves no remainder. */
sds configAppendMemory(sds s, int64_t bytes);
/* Appends the words of a value, separated by blanks, each quoted if necessary. */
sds configAppendWords(sds s, struct str text);
/* Puts the current values into the file at `path`, all or nothing. On errors returns false with errno. */
bool configRewriteFile(const char *path, bool with_defaults);
bool configRewrite(bool with_defaults); /* for the file given at start; EFAULT: there was none */

/* Adds a function that is called after each change at run time, for modules that use others' directives. */
void configOnChange(void (*fn)(void));

/* Adds a function that resets counters, for CONFIG RESETSTAT. */
void configOnResetStat(void (*fn)(void));
void configResetStats(void);
