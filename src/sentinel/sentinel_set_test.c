/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_set_test.c - which arguments of SENTINEL are secrets, wherever a command is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "command/command.h"
#include "command/redact.h"
#include "commands/cmd_sentinel.h"

static struct serverCommand sentinel_command;

/* Returns the line as it is shown, in words. */
static sds sentinelSetTestShown(commandIsSecret *is_secret, const char *line) {
    int argc;
    sds *words = sdssplitargs(line, strlen(line), &argc), text = sdsempty();
    struct str *argv = zmalloc((size_t)argc * sizeof *argv);
    for (int i = 0; i < argc; i++) argv[i] = sdsview(words[i]);
    struct commandSpec spec = {.is_secret = is_secret};
    struct serverCommand cmd = {.spec = &spec, .parent = &sentinel_command};
    struct client c = {.argv = argv, .argc = argc, .cmd = &cmd};
    for (int i = 0; i < argc; i++) {
        if (i) text = sdscat(text, " ");
        text = sdscatstr(text, redactedArg(&c, i));
    }
    zfree(argv);
    sdsfreesplitres(words, argc);
    return text;
}

static void sentinelSetTestCheck(commandIsSecret *is_secret, const char *line, const char *expected) {
    sds text = sentinelSetTestShown(is_secret, line);
    assert_string_equal(text, expected);
    sdsfree(text);
}

static void passwordsAreSecret(void **state) {
    (void)state;
    sentinelSetTestCheck(sentinelSetIsSecret, "SENTINEL SET m auth-pass geheim",
                         "SENTINEL SET m auth-pass (redacted)");
    sentinelSetTestCheck(sentinelSetIsSecret, "sentinel set m quorum 2 AUTH-PASS a auth-user b",
                         "sentinel set m quorum 2 AUTH-PASS (redacted) auth-user b");
    sentinelSetTestCheck(sentinelConfigIsSecret, "sentinel config set sentinel-user u Sentinel-Pass p",
                         "sentinel config set sentinel-user u Sentinel-Pass (redacted)");
}

static void theRestIsShown(void **state) {
    (void)state;
    sentinelSetTestCheck(sentinelSetIsSecret, "sentinel set auth-pass quorum 2",
                         "sentinel set auth-pass quorum 2");
    sentinelSetTestCheck(sentinelSetIsSecret, "sentinel set m auth-pass", "sentinel set m auth-pass");
    sentinelSetTestCheck(sentinelConfigIsSecret, "sentinel config get sentinel-pass x",
                         "sentinel config get sentinel-pass x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwordsAreSecret),
        cmocka_unit_test(theRestIsShown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
