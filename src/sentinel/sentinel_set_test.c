/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_set_test.c - which arguments of SENTINEL are secrets, wherever a command is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "command/command.h"
#include "command/redact.h"
#include "sentinel/sentinel_commands.h"

static struct serverCommand sentinel_command;

/* The line as it is shown, in words. */
static sds shown(const char *fullname, const char *line) {
    int argc;
    sds *words = sdssplitargs(line, strlen(line), &argc), text = sdsempty();
    struct str *argv = zmalloc((size_t)argc * sizeof *argv);
    for (int i = 0; i < argc; i++) argv[i] = sdsview(words[i]);
    struct serverCommand cmd = {.fullname = sdsnew(fullname), .parent = &sentinel_command};
    for (int i = 0; i < argc; i++) {
        if (i) text = sdscat(text, " ");
        text = sdscatstr(text, redactedArg(&cmd, argv, argc, i));
    }
    sdsfree(cmd.fullname);
    zfree(argv);
    sdsfreesplitres(words, argc);
    return text;
}

static void check(const char *fullname, const char *line, const char *expected) {
    sds text = shown(fullname, line);
    assert_string_equal(text, expected);
    sdsfree(text);
}

static void passwordsAreSecret(void **state) {
    (void)state;
    check("sentinel|set", "SENTINEL SET m auth-pass geheim", "SENTINEL SET m auth-pass (redacted)");
    check("sentinel|set", "sentinel set m quorum 2 AUTH-PASS a auth-user b",
          "sentinel set m quorum 2 AUTH-PASS (redacted) auth-user b");
    check("sentinel|config", "sentinel config set sentinel-user u Sentinel-Pass p",
          "sentinel config set sentinel-user u Sentinel-Pass (redacted)");
}

static void theRestIsShown(void **state) {
    (void)state;
    check("sentinel|set", "sentinel set auth-pass quorum 2", "sentinel set auth-pass quorum 2");
    check("sentinel|set", "sentinel set m auth-pass", "sentinel set m auth-pass");
    check("sentinel|config", "sentinel config get sentinel-pass x", "sentinel config get sentinel-pass x");
    check("sentinel|master", "sentinel master auth-pass", "sentinel master auth-pass");
}

static int setup(void **state) {
    (void)state;
    sentinelSetInit();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwordsAreSecret),
        cmocka_unit_test(theRestIsShown),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
