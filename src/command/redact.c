/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.c - see redact.h. */
#include "command/redact.h"

#include "command/command.h"
#include "command/request.h"

/* Returns whether a module hides this argument of its running command. */
static bool redactIsHidden(const struct request *r, int i) {
    return r && (i < 32 ? r->redacted >> i & 1 : r->redacted == UINT32_MAX);
}

struct str redactedArg(const struct client *c, int i) {
    commandIsSecret *is_secret = c->cmd->spec->is_secret;
    bool in_name = i < (c->cmd->parent ? 2 : 1);
    bool hidden = redactIsHidden(c->request, i) || (is_secret && !in_name && is_secret(c->argv, c->argc, i));
    return hidden ? STR("(redacted)") : c->argv[i];
}

bool redactAll(const struct str *argv, int argc, int i) {
    (void)argv, (void)argc, (void)i;
    return true;
}
