/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.c - see redact.h. */
#include "command/redact.h"

#include "base/assert.h"
#include "command/command.h"
#include "command/request.h"

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

/* A module hides arguments of its command while it runs. */
static bool redactIsHidden(const struct request *r, int i) {
    return r && (i < 32 ? r->redacted >> i & 1 : r->redacted == UINT32_MAX);
}

struct str redactedArg(const struct client *c, int i) {
    int name_words = c->cmd->parent ? 2 : 1;
    if (redactIsHidden(c->request, i)) return STR("(redacted)");
    for (int r = 0; r < rule_count && i >= name_words; r++) {
        if (strcmp(rules[r].fullname, c->cmd->fullname) == 0 && rules[r].fn(c->argv, c->argc, i))
            return STR("(redacted)");
    }
    return c->argv[i];
}

bool redactAll(const struct str *argv, int argc, int i) {
    (void)argv, (void)argc, (void)i;
    return true;
}
