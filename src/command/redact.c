/* redact.c - see redact.h. */
#include "command/redact.h"

#include "base/assert.h"
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

struct str redactedArg(const struct serverCommand *cmd, const struct str *argv, int argc, int i) {
    int name_words = cmd->parent ? 2 : 1;
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
