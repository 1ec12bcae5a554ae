/* SPDX-License-Identifier: BSD-3-Clause */
/* config.c - the configuration: one registry of directives, filled by the modules, and three ways to set
 * them.
 *
 *     file, stdin, options --> configLoadText --> words ----+
 *     CONFIG SET --> configChange (saved, set, applied) ----+--> configDirectiveSet --> the module's variable
 *     configSet (internal) ---------------------------------+
 *
 * A directive is a name, a type and a pointer to the variable that its module reads; everything here works on
 * words and on that pointer, so a module never parses text itself unless its directive is SPECIAL. A value is
 * checked in full before the variable is touched.
 *
 * Several directives are one change: all old values are saved first, then all new ones set, then the modules
 * are notified (apply). Any failure puts everything back. Permissions and replies to clients are in
 * server/config_commands.c. */
#include "registry/config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/hash_function.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "ds/hashtable.h"

#define CONFIG_ERROR_MAX     512       /* longest reason for a refused value */
#define CONFIG_INCLUDE_DEPTH 16        /* files that include files */
#define CONFIG_FILE_MAX      (1 << 30) /* bytes of one configuration file */

/* A directive has an entry for its name and one for its alias. */
struct configName {
    const char *name;
    struct configDirective *directive;
    uint64_t found; /* number of the last configMatch that found it */
};

static struct str configNameKey(const void *entry) {
    return strOf(((const struct configName *)entry)->name);
}

static const struct hashtableType config_names_type = {
    .entryKey = configNameKey, .hash = hashStrNoCase, .keyEqual = strEqNoCase, .entryFree = zfree};
static struct hashtable config_names = {.type = &config_names_type};

static struct configDirective **directives; /* in order of registration */
static size_t directive_count;

static sds config_path; /* absolute */
static void (**reset_stat_hooks)(void);
static size_t reset_stat_count;

/* ---- Registry ---- */

static struct configName *configFindName(struct str name) {
    return hashtableFind(&config_names, name);
}

static bool configTakeName(const char *name, struct configDirective *d) {
    struct configName *entry = zmalloc(sizeof *entry);
    *entry = (struct configName){.name = name, .directive = d};
    if (hashtableAdd(&config_names, entry)) return true;
    zfree(entry);
    return false;
}

static void configAddName(const char *name, struct configDirective *d) {
    if (!configTakeName(name, d)) serverPanic("cannot register the directive '%s': its name is taken", name);
}

/* ---- Values as text ---- */

static const char *configEnumName(const struct configDirective *d, int value) {
    for (const struct configEnum *e = d->names; e->name; e++) {
        if (e->value == value) return e->name;
    }
    return "unknown";
}

static sds configIntText(const struct configDirective *d, int64_t v) {
    if ((d->flags & CONFIG_PERCENT) && v < 0) return sdscatprintf(sdsempty(), "%lld%%", (long long)-v);
    if (d->flags & CONFIG_OCTAL) return sdscatprintf(sdsempty(), "%llo", (unsigned long long)v);
    return sdsfromll(v);
}

sds configText(const struct configDirective *d) {
    switch (d->type) {
    case CONFIG_TYPE_BOOL: return sdsnew(*d->var.b ? "yes" : "no");
    case CONFIG_TYPE_INT: return d->get ? d->get(d) : configIntText(d, *d->var.i);
    case CONFIG_TYPE_STRING: return *d->var.s ? sdsdup(*d->var.s) : sdsempty();
    case CONFIG_TYPE_ENUM: return sdsnew(configEnumName(d, *d->var.e));
    case CONFIG_TYPE_SPECIAL: return d->get(d);
    }
    serverUnreachable();
}

/* ---- Values from words ---- */

/* Buffer for reasons that are not constant. */
const char *configReason(const char *fmt, ...) {
    static char reason[CONFIG_ERROR_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    return reason;
}

static bool configSetBool(const struct configDirective *d, struct str word, const char **err) {
    bool yes = strIs(word, "yes");
    if (!yes && !strIs(word, "no")) {
        *err = "argument must be 'yes' or 'no'";
        return false;
    }
    if (d->valid && !d->valid(yes ? "yes" : "no", err)) return false;
    *d->var.b = yes;
    return true;
}

static bool configParseOctal(struct str word, int64_t *v) {
    *v = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '7' || *v > INT64_MAX / 8) return false;
        *v = *v * 8 + (word.ptr[i] - '0');
    }
    return word.len > 0;
}

/* Percentages are stored negative, so that one variable holds either. */
static bool configParsePercent(struct str word, int64_t *v) {
    if (word.len < 2 || word.ptr[word.len - 1] != '%') return false;
    word.len--;
    if (!string2ll(word, v) || *v < 0) return false;
    *v = -*v;
    return true;
}

/* Parses a number without a unit, a unit without a number (which is 0, as clients may rely on it), or both. A
 * value that does not fit into 63 bits is OUT_OF_RANGE, which no directive allows. */
#define OUT_OF_RANGE INT64_MIN
static bool configParseMemory(const struct configDirective *d, struct str word, int64_t *v) {
    uint64_t bytes;
    size_t digits = 0;
    bool negative = d->min < 0 && !(d->flags & CONFIG_PERCENT) && word.len > 1 && word.ptr[0] == '-';
    if (negative) word.ptr++, word.len--;
    while (digits < word.len && word.ptr[digits] >= '0' && word.ptr[digits] <= '9') digits++;
    if (digits) {
        if (!memtoull(word, &bytes)) return false;
        if (bytes > INT64_MAX)
            *v = d->clamp_max ? d->clamp_max : OUT_OF_RANGE;
        else
            *v = negative ? -(int64_t)bytes : (int64_t)bytes;
        return true;
    }
    sds unit = sdscatlen(sdsnew("1"), word.ptr, word.len);
    bool known = memtoull(sdsview(unit), &bytes);
    sdsfree(unit);
    *v = 0;
    return known;
}

static bool configParseInt(const struct configDirective *d, struct str word, int64_t *v, const char **err) {
    if (d->flags & CONFIG_PERCENT) {
        *err = "argument must be a memory or percent value";
        return configParsePercent(word, v) || (configParseMemory(d, word, v) && *v != OUT_OF_RANGE);
    }
    if (d->flags & CONFIG_MEMORY) {
        *err = "argument must be a memory value";
        return configParseMemory(d, word, v);
    }
    if (d->flags & CONFIG_OCTAL) {
        *err = "argument couldn't be parsed as an octal number";
        return configParseOctal(word, v);
    }
    *err = "argument couldn't be parsed into an integer";
    return string2ll(word, v);
}

static bool configSetInt(const struct configDirective *d, struct str word, const char **err) {
    int64_t v;
    if (!configParseInt(d, word, &v, err)) return false;
    if ((d->flags & CONFIG_PERCENT) && v < 0) {
        if (v < d->min) {
            *err = configReason("percentage argument must be less or equal to %lld", (long long)-d->min);
            return false;
        }
    } else if (v < d->min || v > d->max) {
        sds min = configIntText(d, d->min), max = configIntText(d, d->max);
        *err = configReason("argument must be between %s and %s inclusive", min, max);
        sdsfree(min);
        sdsfree(max);
        return false;
    }
    if (d->clamp_min || d->clamp_max)
        v = v < d->clamp_min ? d->clamp_min : v > d->clamp_max ? d->clamp_max : v;
    *d->var.i = v;
    return true;
}

static bool configSetString(const struct configDirective *d, struct str word, const char **err) {
    if (d->valid && word.len && memchr(word.ptr, '\0', word.len)) {
        *err = "argument contains a NUL byte"; /* `valid` would only see the part before it */
        return false;
    }
    sds value = word.len == 0 && (d->flags & CONFIG_EMPTY_IS_NULL) ? NULL : sdsnewstr(word);
    if (d->valid && !d->valid(value ? value : "", err)) {
        sdsfree(value);
        return false;
    }
    sdsfree(*d->var.s);
    *d->var.s = value;
    return true;
}

static bool configSetEnum(const struct configDirective *d, struct str word, const char **err) {
    for (const struct configEnum *e = d->names; e->name; e++) {
        if (!strIs(word, e->name)) continue;
        if (d->valid && !d->valid(e->name, err)) return false;
        *d->var.e = e->value;
        return true;
    }
    sds names = sdsempty();
    for (const struct configEnum *e = d->names; e->name; e++)
        names = sdscatprintf(names, "%s%s", e == d->names ? "" : ", ", e->name);
    *err = configReason("argument(s) must be one of the following: %s", names);
    sdsfree(names);
    return false;
}

static bool configDirectiveSet(const struct configDirective *d, int argc, const struct str *argv,
                               const char **err) {
    if (argc < 1 || (argc > 1 && !(d->flags & CONFIG_MULTI_ARG))) {
        *err = "wrong number of arguments";
        return false;
    }
    switch (d->type) {
    case CONFIG_TYPE_BOOL: return configSetBool(d, argv[0], err);
    case CONFIG_TYPE_INT: return configSetInt(d, argv[0], err);
    case CONFIG_TYPE_STRING: return configSetString(d, argv[0], err);
    case CONFIG_TYPE_ENUM: return configSetEnum(d, argv[0], err);
    case CONFIG_TYPE_SPECIAL: return d->set(d, argc, argv, err);
    }
    serverUnreachable();
}

bool configParse(const struct configDirective *d, struct str word, const char **err) {
    return configDirectiveSet(d, 1, &word, err);
}

/* Sets the whole value from one text, as in CONFIG SET. Blanks separate several words. */
static bool configDirectiveSetText(const struct configDirective *d, struct str text, const char **err) {
    if (!(d->flags & CONFIG_MULTI_ARG) || text.len == 0) return configDirectiveSet(d, 1, &text, err);
    int n;
    sds *tokens = sdssplitlen(text.ptr, text.len, " ", 1, &n);
    struct str *words = zmalloc((size_t)n * sizeof *words);
    for (int i = 0; i < n; i++) words[i] = sdsview(tokens[i]);
    bool ok = configDirectiveSet(d, n, words, err);
    zfree(words);
    sdsfreesplitres(tokens, n);
    return ok;
}

/* ---- Defaults ---- */

static void configDirectiveSetDefault(struct configDirective *d) {
    const char *err = NULL;
    switch (d->type) {
    case CONFIG_TYPE_BOOL: *d->var.b = d->def; break;
    case CONFIG_TYPE_INT: *d->var.i = d->def; break;
    case CONFIG_TYPE_STRING: *d->var.s = d->def_string ? sdsnew(d->def_string) : NULL; break;
    case CONFIG_TYPE_ENUM: *d->var.e = (int)d->def; break;
    case CONFIG_TYPE_SPECIAL:
        if (d->def_string && !configDirectiveSetText(d, strOf(d->def_string), &err))
            serverPanic("the default of '%s' is refused: %s", d->name, err);
        break;
    }
}

/* The module of a SPECIAL directive may set the variable itself. The value before the first change is the
 * default; it is noted when the first configuration is loaded or changed. */
static size_t defaults_noted; /* number of directives whose default is noted */
static void configNoteDefaults(void) {
    for (; defaults_noted < directive_count; defaults_noted++) {
        struct configDirective *d = directives[defaults_noted];
        if (d->type != CONFIG_TYPE_SPECIAL || d->def_string) continue;
        sds text = d->get(d);
        d->def_string = zstrdup(text);
        sdsfree(text);
    }
}

bool configIsDefault(const struct configDirective *d) {
    switch (d->type) {
    case CONFIG_TYPE_BOOL: return *d->var.b == (d->def != 0);
    case CONFIG_TYPE_INT: return *d->var.i == d->def;
    case CONFIG_TYPE_ENUM: return *d->var.e == (int)d->def;
    default: break;
    }
    sds text = configText(d);
    bool same = strcmp(text, d->def_string ? d->def_string : "") == 0;
    sdsfree(text);
    return same;
}

void configRegister(struct configDirective *list, size_t count) {
    directives = zrealloc(directives, (directive_count + count) * sizeof *directives);
    for (size_t i = 0; i < count; i++) {
        configAddName(list[i].name, &list[i]);
        if (list[i].alias) configAddName(list[i].alias, &list[i]);
        directives[directive_count++] = &list[i];
        configDirectiveSetDefault(&list[i]);
    }
}

/* ---- Adding and removing at run time ---- */

bool configAdd(struct configDirective *d) {
    serverAssert(d->type == CONFIG_TYPE_SPECIAL && d->def_string && !d->alias);
    if (!configTakeName(d->name, d)) return false;
    directives = zrealloc(directives, (directive_count + 1) * sizeof *directives);
    directives[directive_count++] = d;
    return true;
}

void configRemove(struct configDirective *d) {
    size_t i = 0;
    while (directives[i] != d) i++;
    memmove(directives + i, directives + i + 1, (--directive_count - i) * sizeof *directives);
    if (i < defaults_noted) defaults_noted--;
    zfree(hashtablePop(&config_names, strOf(d->name)));
}

/* ---- A change: several directives, all or nothing ---- */

struct savedChange {
    const struct configDirective *directive;
    const char *name; /* as registered: the name or the alias */
    struct str value;
    bool b;
    int64_t i;
    int e;
    sds text;     /* the old value, as text */
    bool is_null; /* strings: there was no old value */
    bool applied;
};

static void configChangeSave(struct savedChange *ch) {
    const struct configDirective *d = ch->directive;
    ch->text = configText(d);
    if (d->type == CONFIG_TYPE_BOOL)
        ch->b = *d->var.b;
    else if (d->type == CONFIG_TYPE_INT)
        ch->i = *d->var.i;
    else if (d->type == CONFIG_TYPE_ENUM)
        ch->e = *d->var.e;
    else if (d->type == CONFIG_TYPE_STRING)
        ch->is_null = *d->var.s == NULL;
}

static void configChangeUndo(const struct savedChange *ch) {
    const struct configDirective *d = ch->directive;
    const char *err = NULL;
    switch (d->type) {
    case CONFIG_TYPE_BOOL: *d->var.b = ch->b; break;
    case CONFIG_TYPE_INT: *d->var.i = ch->i; break;
    case CONFIG_TYPE_ENUM: *d->var.e = ch->e; break;
    case CONFIG_TYPE_STRING:
        sdsfree(*d->var.s);
        *d->var.s = ch->is_null ? NULL : sdsdup(ch->text);
        break;
    case CONFIG_TYPE_SPECIAL:
        if (!configDirectiveSetText(d, sdsview(ch->text), &err))
            serverLog(LL_WARNING, "The old value of '%s' could not be put back: %s", d->name, err);
        break;
    }
}

static bool configChangeIsReal(const struct savedChange *ch) {
    sds now = configText(ch->directive);
    bool real = sdscmp(now, ch->text) != 0;
    sdsfree(now);
    return real;
}

static bool configCanApply(const struct configDirective *d) {
    return d->apply || d->apply_with;
}

static bool configApplyOne(const struct configDirective *d, const char **err) {
    return d->apply_with ? d->apply_with->fn(d->apply_with, err) : d->apply(err);
}

/* Calls apply functions; one that several directives share is called once. */
static bool configChangesApply(struct savedChange *changes, int count, const char **failed,
                               const char **err) {
    for (int i = 0; i < count; i++) {
        const struct configDirective *d = changes[i].directive;
        bool volatile_one = d->flags & CONFIG_VOLATILE;
        bool done = !configCanApply(d) || (!volatile_one && !configChangeIsReal(&changes[i]));
        for (int j = 0; j < i && !done; j++) {
            const struct configDirective *other = changes[j].directive;
            done = changes[j].applied && other->apply == d->apply && other->apply_with == d->apply_with;
        }
        if (done) continue;
        changes[i].applied = true;
        if (configApplyOne(d, err)) continue;
        *failed = d->short_name ? d->short_name : changes[i].name;
        return false;
    }
    return true;
}

static void configChangesRollback(struct savedChange *changes, int count) {
    for (int i = 0; i < count; i++) configChangeUndo(&changes[i]);
    for (int i = 0; i < count; i++) {
        const char *err = NULL;
        const struct configDirective *d = changes[i].directive;
        if (changes[i].applied && !configApplyOne(d, &err))
            serverLog(LL_WARNING, "The old value of '%s' could not be applied again: %s", d->name,
                      err ? err : "unknown reason");
    }
}

/* Makes changes that are not saved yet. */
static bool configChangesRun(struct savedChange *changes, int count, const char **failed, const char **err) {
    configNoteDefaults();
    for (int i = 0; i < count; i++) configChangeSave(&changes[i]);
    bool ok = true;
    int set = 0;
    for (; set < count && ok; set++) {
        ok = configDirectiveSetText(changes[set].directive, changes[set].value, err);
        if (!ok) *failed = changes[set].name;
    }
    ok = ok && configChangesApply(changes, count, failed, err);
    if (!ok) {
        sds reason = *err ? sdsnew(*err) : NULL; /* undoing may overwrite the reason */
        configChangesRollback(changes, set);
        *err = reason ? configReason("%s", reason) : NULL;
        sdsfree(reason);
    }
    for (int i = 0; i < count; i++) sdsfree(changes[i].text);
    return ok;
}

#define CHANGE_HOOKS_MAX 4
static void (*change_hooks[CHANGE_HOOKS_MAX])(void);
static size_t change_hook_count;

bool configChange(const struct configPair *pairs, int count, const char **failed, const char **err) {
    struct savedChange *changes = zmalloc((size_t)count * sizeof *changes);
    for (int i = 0; i < count; i++) {
        const struct configName *found = configFindName(pairs[i].name);
        serverAssert(found);
        changes[i] =
            (struct savedChange){.directive = found->directive, .name = found->name, .value = pairs[i].value};
    }
    bool ok = configChangesRun(changes, count, failed, err);
    zfree(changes);
    for (size_t i = 0; ok && i < change_hook_count; i++) change_hooks[i]();
    return ok;
}

void configOnChange(void (*fn)(void)) {
    serverAssert(change_hook_count < CHANGE_HOOKS_MAX);
    change_hooks[change_hook_count++] = fn;
}

/* ---- Files ---- */

/* Lines are counted over everything that is loaded, as if it were one text. Messages name the line only:
 * tools that start servers look for exactly this text. */
static int lines_before;
static int current_number;
static const char *current_text;
static int include_depth;

static void configLoadLines(const char *text, int first_line);

void configFatal(int line_number, const char *line, const char *reason) {
    fprintf(stderr, "\n*** FATAL CONFIG FILE ERROR (Version %s) ***\n", VALKEY_VERSION);
    fprintf(stderr, "Reading the configuration file, at line %d\n>>> '%s'\n%s\n", line_number, line, reason);
    exit(1);
}

int configLine(const char **text) {
    *text = current_text;
    return current_number;
}

static sds configReadFile(const char *path) {
    FILE *f = fopen(path, "r");
    sds text = sdsempty();
    char buf[16 * 1024];
    size_t n;
    while (f && (n = fread(buf, 1, sizeof buf, f)) > 0 && sdslen(text) < CONFIG_FILE_MAX)
        text = sdscatlen(text, buf, n);
    if (!f || ferror(f)) {
        serverLog(LL_WARNING, "The configuration file '%s' could not be opened: %s", path, strerror(errno));
        exit(1);
    }
    fclose(f);
    return text;
}

/* Loads the files that match a pattern, in alphabetical order; a name without wildcards must exist. */
static bool configInclude(const char *pattern, const char **err) {
    if (include_depth >= CONFIG_INCLUDE_DEPTH) {
        *err = "include files are nested too deeply";
        return false;
    }
    include_depth++;
    glob_t found = {0};
    bool is_pattern = strpbrk(pattern, "*?[") != NULL;
    if (is_pattern) glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < (is_pattern ? found.gl_pathc : 1); i++) {
        sds text = configReadFile(is_pattern ? found.gl_pathv[i] : pattern);
        configLoadLines(text, 1);
        sdsfree(text);
    }
    globfree(&found);
    include_depth--;
    return true;
}

/* Directives of older versions without effect. Files may still have them, with one word. */
static bool configIsRetired(struct str name) {
    static const char *const retired[] = {"list-max-ziplist-entries",
                                          "list-max-ziplist-value",
                                          "lua-replicate-commands",
                                          "io-threads-do-reads",
                                          "dynamic-hz",
                                          "events-per-io-thread"};
    for (size_t i = 0; i < sizeof retired / sizeof *retired; i++) {
        if (strIs(name, retired[i])) return true;
    }
    return false;
}

static bool (*on_dotted)(int argc, const struct str *argv, const char **err);

void configOnDotted(bool (*fn)(int argc, const struct str *argv, const char **err)) {
    on_dotted = fn;
}

/* Tools look for the first line of this text. */
static const char *configUnknown(struct str name) {
    const char *suggestion = configSuggest(name, false);
    if (!suggestion) return "Bad directive or wrong number of arguments";
    return configReason("Bad directive or wrong number of arguments\nDid you mean '%s'?", suggestion);
}

bool configSetFromFile(int argc, const struct str *argv, const char **err) {
    configNoteDefaults();
    if (argc == 2 && configIsRetired(argv[0])) return true;
    if (on_dotted && memchr(argv[0].ptr, '.', argv[0].len)) return on_dotted(argc, argv, err);
    const struct configName *name = configFindName(argv[0]);
    if (!name) {
        *err = configUnknown(argv[0]);
        return false;
    }
    const struct configDirective *d = name->directive;
    if (argc == 1 && d->flags & CONFIG_MAY_STAND_ALONE) return configDirectiveSetText(d, STR(""), err);
    /* Several words may be quoted as one, except where each line stands for itself. */
    if (argc == 2 && !(d->flags & CONFIG_LINES)) return configDirectiveSetText(d, argv[1], err);
    return configDirectiveSet(d, argc - 1, argv + 1, err);
}

static void configLoadLine(const char *line, int line_number) {
    int argc;
    sds *tokens = sdssplitargs(line, strlen(line), &argc);
    if (!tokens) configFatal(line_number, line, "Unbalanced quotes in configuration line");
    const char *err = NULL;
    bool ok = true;
    current_number = line_number;
    current_text = line;
    if (argc == 2 && strcasecmp(tokens[0], "include") == 0) {
        ok = configInclude(tokens[1], &err);
    } else if (argc > 0) {
        struct str *words = zmalloc((size_t)argc * sizeof *words);
        for (int i = 0; i < argc; i++) words[i] = sdsview(tokens[i]);
        ok = configSetFromFile(argc, words, &err);
        zfree(words);
    }
    if (!ok) configFatal(line_number, line, err ? err : "");
    sdsfreesplitres(tokens, argc);
}

static void configLoadLines(const char *text, int first_line) {
    int n;
    sds *lines = sdssplitlen(text, strlen(text), "\n", 1, &n);
    for (int i = 0; i < n; i++) {
        lines[i] = sdstrim(lines[i], " \t\r\n");
        if (lines[i][0] != '#' && lines[i][0] != '\0') configLoadLine(lines[i], first_line + i);
    }
    sdsfreesplitres(lines, n);
}

void configLoadText(const char *text) {
    configLoadLines(text, lines_before + 1);
    for (const char *p = text; (p = strchr(p, '\n')); p++) lines_before++;
}

void configLoadFile(const char *path) {
    sdsfree(config_path);
    config_path = fileAbsolutePath(path);
    sds text = configReadFile(config_path);
    configLoadText(text);
    sdsfree(text);
}

const char *configFilePath(void) {
    return config_path ? config_path : "";
}

/* ---- Internal changes ---- */

bool configSet(const char *name, struct str value, const char **err) {
    struct configPair pair = {strOf(name), value};
    const char *failed;
    if (configFind(pair.name)) return configChange(&pair, 1, &failed, err);
    *err = "unknown directive";
    return false;
}

sds configGet(const char *name) {
    const struct configDirective *d = configFind(strOf(name));
    return d ? configText(d) : NULL;
}

int64_t configNumber(const char *name) {
    sds text = configGet(name);
    int64_t number = text ? atoll(text) : 0;
    sdsfree(text);
    return number;
}

struct configDirective *configFind(struct str name) {
    struct configName *entry = configFindName(name);
    return entry ? entry->directive : NULL;
}

void configForEach(void (*fn)(void *priv, struct configDirective *d), void *priv) {
    for (size_t i = 0; i < directive_count; i++) fn(priv, directives[i]);
}

/* Each name is found once, however many patterns it matches. */
struct search {
    configFoundFn *fn;
    void *priv;
    uint64_t number;
};

static void configSearchFound(const struct search *search, struct configName *entry, struct str name) {
    if (entry->found == search->number) return;
    entry->found = search->number;
    search->fn(search->priv, name, entry->directive);
}

static void configSearchMatching(const struct search *search, struct str pattern) {
    for (size_t i = 0; i < directive_count; i++) {
        const struct configDirective *d = directives[i];
        if (d->flags & (CONFIG_HIDDEN | CONFIG_LINES)) continue;
        const char *names[] = {d->name, d->alias};
        for (int j = 0; j < 2 && names[j]; j++) {
            struct str name = strOf(names[j]);
            if (globMatch(pattern, name, true)) configSearchFound(search, configFindName(name), name);
        }
    }
}

void configMatch(const struct str *patterns, int count, configFoundFn *fn, void *priv) {
    static uint64_t searches;
    struct search search = {fn, priv, ++searches};
    for (int i = 0; i < count; i++) {
        struct str word = patterns[i];
        bool is_pattern = memchr(word.ptr, '*', word.len) || memchr(word.ptr, '?', word.len) ||
                          memchr(word.ptr, '[', word.len);
        struct configName *entry = is_pattern ? NULL : configFindName(word);
        if (is_pattern)
            configSearchMatching(&search, word);
        else if (entry && !(entry->directive->flags & CONFIG_LINES))
            configSearchFound(&search, entry, word);
    }
}

bool configRewrite(bool with_defaults) {
    configNoteDefaults();
    if (config_path) return configRewriteFile(config_path, with_defaults);
    errno = EFAULT; /* no file was given */
    return false;
}

void configOnResetStat(void (*fn)(void)) {
    reset_stat_hooks = zrealloc(reset_stat_hooks, (reset_stat_count + 1) * sizeof *reset_stat_hooks);
    reset_stat_hooks[reset_stat_count++] = fn;
}

void configResetStats(void) {
    for (size_t i = 0; i < reset_stat_count; i++) reset_stat_hooks[i]();
}
