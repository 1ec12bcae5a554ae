/* SPDX-License-Identifier: BSD-3-Clause */
/* config_test.c - the registry of directives: values, changes that fail half-way, loading, rewriting. */
#include "registry/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/num.h"

static bool flag, hidden;
static int64_t number, bytes, share, mode;
static sds text, maybe;
static int color, shade;
static sds pair[2];
static int applied, apply_limit = 1000;

static const struct configEnum colors[] = {{"red", 1}, {"crimson", 1}, {"blue", 2}, {NULL, 0}};

static bool applyNumber(const char **err) {
    applied++;
    *err = "too much";
    return number <= apply_limit;
}
static bool noBlanks(const char *value, const char **err) {
    *err = "no blanks please";
    return strchr(value, ' ') == NULL;
}
static bool noCrimson(const char *value, const char **err) {
    *err = "no crimson please";
    return strcmp(value, "crimson") != 0;
}
static bool setPair(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    *err = "two words, please";
    if (argc != 2) return false;
    for (int i = 0; i < 2; i++) {
        sdsfree(pair[i]);
        pair[i] = sdsnewstr(argv[i]);
    }
    return true;
}
static sds getPair(const struct configDirective *d) {
    (void)d;
    return sdscatprintf(sdsempty(), "%s %s", pair[0], pair[1]);
}

static sds configTestGetNothing(const struct configDirective *d) {
    (void)d;
    return sdsempty();
}

/* Lines with two-word names. */
static const char *things_text = "";
static bool things_have_color;
static sds thingsLines(bool (*present)(void *priv, struct str kind), void *priv) {
    things_have_color = present(priv, STR("color"));
    return sdsnew(things_text);
}
static int things_seen, things_line;
static bool setThing(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d, (void)argv, (void)err;
    const char *line;
    things_seen = argc;
    things_line = configLine(&line);
    return strcmp(line, "thing \"size one\"") == 0 || strcmp(line, "thing size one 1") == 0;
}
static const char *const things_aliases[] = {"height", "size", NULL};
static const struct configLineKinds things = {.lines = thingsLines, .aliases = things_aliases};

static struct configDirective directives[] = {
    CONFIG_BOOL("flag", NULL, CONFIG_MODIFIABLE, &flag, true, NULL),
    CONFIG_INT("number", "old-number", CONFIG_MODIFIABLE, &number, 7, 1, 5000, applyNumber),
    CONFIG_INT("bytes", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &bytes, 0, 0, INT64_MAX, NULL),
    CONFIG_INT("share", NULL, CONFIG_MODIFIABLE | CONFIG_PERCENT, &share, 0, -100, INT64_MAX, NULL),
    CONFIG_INT("mode", NULL, CONFIG_OCTAL, &mode, 0, 0, 0777, NULL),
    CONFIG_STRING("text", NULL, CONFIG_MODIFIABLE, &text, "hello", noBlanks, NULL),
    CONFIG_STRING("maybe", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, &maybe, NULL, NULL, NULL),
    CONFIG_ENUM("color", NULL, CONFIG_MODIFIABLE, &color, 2, colors, NULL),
    {.name = "shade",
     .type = CONFIG_TYPE_ENUM,
     .flags = CONFIG_MODIFIABLE,
     .var.e = &shade,
     .def = 2,
     .names = colors,
     .valid = noCrimson},
    CONFIG_SPECIAL("pair", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, setPair, getPair, NULL),
    CONFIG_BOOL("hidden", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &hidden, true, NULL),
    CONFIG_SPECIAL("lines", NULL, CONFIG_LINES, setPair, configTestGetNothing, NULL),
    {.name = "thing",
     .type = CONFIG_TYPE_SPECIAL,
     .flags = CONFIG_LINES | CONFIG_MULTI_ARG,
     .set = setThing,
     .get = configTestGetNothing,
     .kinds = &things},
};

static void expectValue(const char *name, const char *expected) {
    sds value = configGet(name);
    assert_non_null(value);
    assert_string_equal(value, expected);
    sdsfree(value);
}
static void expectSet(const char *name, const char *value, const char *expected) {
    const char *err = NULL;
    assert_true(configSet(name, strOf(value), &err));
    expectValue(name, expected);
}
static void expectRefused(const char *name, const char *value, const char *reason) {
    const char *err = NULL;
    sds before = configGet(name);
    assert_false(configSet(name, strOf(value), &err));
    assert_string_equal(err, reason);
    expectValue(name, before);
    sdsfree(before);
}

static void testDefaults(void **state) {
    (void)state;
    expectValue("flag", "yes");
    expectValue("number", "7");
    expectValue("OLD-Number", "7");
    expectValue("text", "hello");
    expectValue("maybe", "");
    assert_null(maybe);
    expectValue("color", "blue");
    expectValue("pair", "a b");
    assert_null(configGet("nothing"));
    assert_null(configFind(STR("a-name-that-is-much-longer-than-any-directive-name-can-be-in-this-server")));
    assert_ptr_equal(configFind(STR("old-number")), configFind(STR("number")));
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        assert_true(configIsDefault(&directives[i]) || directives[i].type == CONFIG_TYPE_SPECIAL);
}

static void testValues(void **state) {
    (void)state;
    expectSet("flag", "NO", "no");
    expectRefused("flag", "maybe", "argument must be 'yes' or 'no'");
    expectSet("number", "12", "12");
    expectSet("old-number", "13", "13");
    expectRefused("number", "0", "argument must be between 1 and 5000 inclusive");
    expectRefused("number", "1x", "argument couldn't be parsed into an integer");
    expectRefused("number", "", "argument couldn't be parsed into an integer");
    expectSet("bytes", "3mb", "3145728");
    expectRefused("bytes", "-1", "argument must be a memory value");
    expectSet("share", "40%", "40%");
    assert_int_equal(share, -40);
    expectSet("share", "1kb", "1024");
    expectRefused("share", "101%", "percentage argument must be less or equal to 100");
    expectRefused("share", "x", "argument must be a memory or percent value");
    expectSet("mode", "750", "750");
    assert_int_equal(mode, 0750);
    expectRefused("mode", "9", "argument couldn't be parsed as an octal number");
    expectRefused("mode", "1000", "argument must be between 0 and 777 inclusive");
    expectSet("text", "", "");
    assert_non_null(text);
    expectRefused("text", "a b", "no blanks please");
    expectSet("maybe", "x", "x");
    expectSet("maybe", "", "");
    assert_null(maybe);
    expectSet("color", "CRIMSON", "red");
    expectRefused("color", "green", "argument(s) must be one of the following: red, crimson, blue");
    expectSet("shade", "RED", "red");
    expectRefused("shade", "crimson", "no crimson please");
    expectSet("shade", "blue", "blue");
    expectRefused("shade", "green", "argument(s) must be one of the following: red, crimson, blue");
    expectSet("pair", "c d", "c d");
    expectRefused("pair", "c", "two words, please");
    expectRefused("pair", "", "two words, please");
}

static void testApply(void **state) {
    (void)state;
    expectSet("number", "20", "20");
    applied = 0;
    expectSet("number", "20", "20");
    assert_int_equal(applied, 0); /* nothing new to apply */
    expectSet("number", "21", "21");
    assert_int_equal(applied, 1);
    expectRefused("number", "1001", "too much");
    assert_int_equal(applied, 3); /* and once more for the value that was put back */
}

/* Appends what configMatch finds, as "name=value " each. */
static void configTestNoteFound(void *priv, struct str name, const struct configDirective *d) {
    sds *found = priv, value = configText(d);
    *found = sdscatprintf(*found, "%.*s=%s ", (int)name.len, name.ptr, value);
    sdsfree(value);
}

static void expectMatches(const struct str *words, int count, const char *expected) {
    sds found = sdsempty();
    configMatch(words, count, configTestNoteFound, &found);
    assert_string_equal(found, expected);
    sdsfree(found);
}

static void testMatch(void **state) {
    (void)state;
    expectSet("number", "7", "7");
    expectMatches((struct str[]){STR("NUMBER"), STR("number"), STR("nothing")}, 3, "NUMBER=7 ");
    expectMatches((struct str[]){STR("*NUM*")}, 1, "number=7 old-number=7 ");
    expectMatches((struct str[]){STR("old-number"), STR("*numbe[r]"), STR("?umber")}, 3,
                  "old-number=7 number=7 ");
    expectMatches((struct str[]){STR("hid*"), STR("lines")}, 2,
                  ""); /* a pattern does not find hidden directives, */
    expectMatches((struct str[]){STR("hidden")}, 1, "hidden=yes "); /* their names do */
}

/* Several directives change together, or none. */
static void testChange(void **state) {
    (void)state;
    const char *err = NULL;
    const char *failed = NULL;
    struct configPair good[] = {
        {STR("number"), STR("50")}, {STR("flag"), STR("no")}, {STR("pair"), STR("x y")}};
    assert_true(configChange(good, 3, &failed, &err));
    expectValue("number", "50");
    expectValue("flag", "no");
    expectValue("pair", "x y");
    struct configPair malformed[] = {
        {STR("number"), STR("51")}, {STR("pair"), STR("z z")}, {STR("flag"), STR("?")}};
    assert_false(configChange(malformed, 3, &failed, &err));
    assert_string_equal(failed, "flag");
    assert_string_equal(err, "argument must be 'yes' or 'no'");
    struct configPair not_applied[] = {{STR("pair"), STR("z z")}, {STR("old-number"), STR("1001")}};
    assert_false(configChange(not_applied, 2, &failed, &err));
    assert_string_equal(failed, "old-number");
    assert_string_equal(err, "too much");
    expectValue("number", "50");
    expectValue("flag", "no");
    expectValue("pair", "x y");
}

/* ---- Adding and removing at run time ---- */

static int shared_calls;
static bool applyShared(struct configApply *a, const char **err) {
    (void)a;
    shared_calls++;
    *err = NULL;
    return strcmp(pair[0], "bad") != 0;
}

static void testAddAndRemove(void **state) {
    (void)state;
    struct configApply apply = {applyShared};
    struct configDirective a =
        CONFIG_SPECIAL("mod.A", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, setPair, getPair, NULL);
    a.def_string = "a b";
    a.apply_with = &apply;
    a.short_name = "A";
    struct configDirective b = a, again = a;
    b.name = "mod.b";
    again.name = "MOD.a";
    assert_true(configAdd(&a));
    assert_true(configAdd(&b));
    assert_false(configAdd(&again)); /* names ignore case */
    assert_ptr_equal(configFind(STR("mod.a")), &a);
    const char *failed = NULL, *err = "";
    struct configPair both[] = {{STR("mod.a"), STR("c d")}, {STR("mod.b"), STR("e f")}};
    assert_true(configChange(both, 2, &failed, &err));
    assert_int_equal(shared_calls, 1);
    struct configPair refused = {STR("mod.a"), STR("bad one")};
    assert_false(configChange(&refused, 1, &failed, &err));
    assert_string_equal(failed, "A");
    assert_null(err);
    expectValue("mod.b", "e f");
    sds rewritten = configRewriteText(sdsnew("mod.a x y\nmod.c z\n# mod.c z\n"), false);
    assert_non_null(strstr(rewritten, "mod.A e f\n# ??? mod.c z\n# mod.c z\n"));
    sdsfree(rewritten);
    configRemove(&a);
    assert_null(configFind(STR("mod.A")));
    assert_ptr_equal(configFind(STR("mod.b")), &b);
    configRemove(&b);
    expectValue("lines", ""); /* others are unchanged */
}

static int resets;
static void countReset(void) {
    resets++;
}

static void testResetStats(void **state) {
    (void)state;
    configOnResetStat(countReset);
    configOnResetStat(countReset);
    configResetStats();
    assert_int_equal(resets, 2);
}

static void configTestLoad(void **state) {
    (void)state;
    char path[] = "/tmp/config_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    dprintf(fd, "  NUMBER 30  \r\ntext 'in\\'clude'\n");
    close(fd);
    sds lines = sdscatprintf(sdsempty(), "# number 1\n\nflag \"yes\"\npair e f\ninclude %s\n", path);
    applied = 0;
    configLoadText(lines);
    sdsfree(lines);
    assert_int_equal(applied, 0);
    expectValue("flag", "yes");
    expectValue("number", "30");
    expectValue("text", "in'clude");
    expectValue("pair", "e f");
    configLoadText("pair \"g h\"\nbytes 5\nbytes 1gb");
    expectValue("pair", "g h");
    expectValue("bytes", "1073741824");
    unlink(path);
}

/* Returns what a child that loads this text prints before it exits. */
static sds fatalText(const char *config) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 2);
        configLoadText(config);
        _exit(0);
    }
    close(fds[1]);
    char buf[1024];
    ssize_t n;
    sds said = sdsempty();
    while ((n = read(fds[0], buf, sizeof buf)) > 0) said = sdscatlen(said, buf, (size_t)n);
    close(fds[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    return said;
}

static void expectFatal(const char *config, const char *line, const char *reason) {
    sds said = fatalText(config);
    sds expected = sdscatprintf(sdsempty(), ">>> '%s'\n%s\n", line, reason);
    assert_non_null(strstr(said, "*** FATAL CONFIG FILE ERROR (Version "));
    assert_non_null(strstr(said, expected));
    sdsfree(said);
    sdsfree(expected);
}

static void testLoadErrors(void **state) {
    (void)state;
    expectFatal("flag yes\nnonsense 1", "nonsense 1", "Bad directive or wrong number of arguments");
    expectFatal("nubmer 1", "nubmer 1", "Bad directive or wrong number of arguments\nDid you mean 'number'?");
    expectFatal("  number", "number", "wrong number of arguments");
    expectFatal("number 1 2", "number 1 2", "wrong number of arguments");
    expectFatal("text \"x", "text \"x", "Unbalanced quotes in configuration line");
    expectFatal("number x", "number x", "argument couldn't be parsed into an integer");
    expectFatal("include", "include", "Bad directive or wrong number of arguments");
}

static void testRewrite(void **state) {
    (void)state;
    expectSet("flag", "yes", "yes");
    expectSet("number", "42", "42");
    expectSet("bytes", "2mb", "2097152");
    expectSet("share", "10%", "10%");
    expectSet("mode", "0", "0");
    expectSet("text", "q\"q", "q\"q");
    expectSet("maybe", "", "");
    expectSet("color", "blue", "blue");
    expectSet("pair", "i j", "i j");
    sds old = sdsnew("# keep me\n\n   old-number   1\nmaybe gone\nNUMBER 2\ninclude x.conf\ncolor red\n");
    sds fresh = configRewriteText(old, false);
    assert_string_equal(fresh, "# keep me\n\nnumber 42\ninclude x.conf\ncolor blue\n"
                               "\n# Generated by CONFIG REWRITE\n"
                               "bytes 2mb\nshare 10%\ntext \"q\\\"q\"\npair i j\n");
    sds full = configRewriteText(sdsnew("mode 1\n"), true);
    assert_string_equal(full, "mode 0\n\n# Generated by CONFIG REWRITE\nflag yes\nnumber 42\nbytes 2mb\n"
                              "share 10%\ntext \"q\\\"q\"\ncolor blue\nshade blue\npair i j\nhidden yes\n");
    sdsfree(full);
    sds again = configRewriteText(sdsdup(fresh), false);
    assert_string_equal(again, fresh);
    sdsfree(again);
    sdsfree(fresh);
}

static sds configTestRewritten(const char *old, const char *lines) {
    things_text = lines;
    return configRewriteText(sdsnew(old), false);
}

static void testRewriteKinds(void **state) {
    (void)state;
    const char *rest = "number 42\nbytes 2mb\nshare 10%\ntext \"q\\\"q\"\npair i j\n";
    sds old = sdscat(sdsnew("# c\nthing size one 1\nthing name me\nTHING Height two 2\nthing size three 3\n"),
                     rest);
    /* As many lines as before, in the places of their kind, whatever aliases are there. */
    sds text = configTestRewritten(old, "name you\nsize a 1\nsize b 2\nsize c 3\n");
    sds expected =
        sdscat(sdsnew("# c\nthing size a 1\nthing name you\nthing size b 2\nthing size c 3\n"), rest);
    assert_string_equal(text, expected);
    assert_false(things_have_color);
    sdsfree(text);
    /* Fewer lines: their places become empty, without two empty lines in a row. */
    text = configTestRewritten(old, "name you\nsize a 1\n");
    sdsfree(expected);
    expected = sdscat(sdsnew("# c\nthing size a 1\nthing name you\n\n"), rest);
    assert_string_equal(text, expected);
    sdsfree(text);
    /* More lines, and new ones: at the end, in their order. */
    text = configTestRewritten("thing color red\n", "size a 1\ncolor blue\nsize b 2\nself\n");
    assert_true(things_have_color);
    sdsfree(expected);
    expected = sdscat(sdsnew("thing color blue\n\n# Generated by CONFIG REWRITE\n"), rest);
    expected = sdscat(expected, "thing size a 1\nthing size b 2\nthing self\n");
    assert_string_equal(text, expected);
    sds again = configTestRewritten(text, "size a 1\ncolor blue\nsize b 2\nself\n");
    assert_string_equal(again, text);
    sdsfree(again);
    sdsfree(text);
    sdsfree(expected);
    sdsfree(old);
    /* Quoted words stay one word; the line that is being loaded can be read. */
    configLoadText("# one\nthing \"size one\"\n");
    assert_int_equal(things_seen, 1);
    int line = things_line;
    configLoadText("thing size one 1\n");
    assert_int_equal(things_seen, 3);
    assert_int_equal(things_line, line + 1);
}

static void testRewriteFile(void **state) {
    (void)state;
    char folder[] = "/tmp/config_test_XXXXXX";
    assert_non_null(mkdtemp(folder));
    sds path = sdscatprintf(sdsempty(), "%s/c.conf", folder);
    assert_true(configRewriteFile(path, false)); /* a deleted file is created again */
    FILE *f = fopen(path, "w");
    fputs("number 1", f);
    fclose(f);
    chmod(path, 0640);
    assert_true(configRewriteFile(path, false));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    char line[64];
    f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "number 42\n");
    fclose(f);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);           /* no other file was left in it */
    assert_false(configRewriteFile(path, false)); /* no such folder */
    sdsfree(path);
}

int main(void) {
    pair[0] = sdsnew("a");
    pair[1] = sdsnew("b");
    configRegister(directives, sizeof directives / sizeof *directives);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testDefaults),     cmocka_unit_test(testValues),
        cmocka_unit_test(testApply),        cmocka_unit_test(configTestLoad),
        cmocka_unit_test(testLoadErrors),   cmocka_unit_test(testRewrite),
        cmocka_unit_test(testRewriteKinds), cmocka_unit_test(testRewriteFile),
        cmocka_unit_test(testMatch),        cmocka_unit_test(testChange),
        cmocka_unit_test(testResetStats),   cmocka_unit_test(testAddAndRemove),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
