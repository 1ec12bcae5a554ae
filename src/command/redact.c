/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.c - see redact.h. */
#include "command/redact.h"

#include "base/assert.h"
#include "command/call.h"
#include "command/command.h"

#define RULES_MAX 16

static struct redactRule {
    const char *fullname;
    secretArg *fn;
} rules[RULES_MAX];
static int rule_count;

void redactRegister(const char *fullname, secretArg *fn) {
    serverAssert(rule_count < RULES_MAX);
    rules[rule_count++] = (struct redactRule){fullname, fn};
}

/* What the command itself has said, of the request that runs; other commands' requests do not clear it. */
static bool hiddenByCommand(const struct serverCommand *cmd, const struct str *argv, int i) {
    if (!(cmd->flags & CMD_MODULE) || !call_running) return false;
    const struct request *r = call_running->request;
    return r->argv == argv && (i < 32 ? r->redacted >> i & 1 : r->redacted == UINT32_MAX);
}

struct str redactedArg(const struct serverCommand *cmd, const struct str *argv, int argc, int i) {
    int name_words = cmd->parent ? 2 : 1;
    if (hiddenByCommand(cmd, argv, i)) return STR("(redacted)");
    for (int r = 0; r < rule_count && i >= name_words; r++) {
        if (strcmp(rules[r].fullname, cmd->fullname) == 0 && rules[r].fn(argv, argc, i))
            return STR("(redacted)");
    }
    return argv[i];
}

bool redactAll(const struct str *argv, int argc, int i) {
    (void)argv, (void)argc, (void)i;
    return true;
}
