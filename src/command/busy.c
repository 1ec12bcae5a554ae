/* SPDX-License-Identifier: BSD-3-Clause */
/* busy.c - see busy.h. */
#include "command/busy.h"

#include <string.h>

#include "base/assert.h"
#include "command/admission.h"
#include "registry/config.h"

int64_t busy_threshold_ms;
static void (*replyBusy)(struct client *c); /* NULL: not busy */

/* Returns whether a busy server runs this request. SHUTDOWN must not save half-done changes. */
static bool busyAllowedWhile(const struct request *r) {
    if (!(r->cmd->flags & CMD_ALLOW_BUSY)) return false;
    if (strcmp(r->cmd->spec->name, "shutdown")) return true;
    for (int i = 1; i < r->argc; i++) {
        if (strIs(r->argv[i], "nosave") || strIs(r->argv[i], "abort")) return true;
    }
    return false;
}

static enum admission busyCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (busyAllowedWhile(r)) return ADMITTED;
    replyBusy(c);
    return REFUSED;
}

void busyBegin(void (*reply)(struct client *c)) {
    serverAssert(!replyBusy);
    replyBusy = reply;
    admissionIdle(RULE_BUSY, false);
}

void busyEnd(void) {
    replyBusy = NULL;
    admissionIdle(RULE_BUSY, true);
}

bool busyIsActive(void) {
    return replyBusy != NULL;
}

void busyInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("busy-reply-threshold", "lua-time-limit", CONFIG_MODIFIABLE, &busy_threshold_ms, 5000, 0,
                   INT64_MAX, NULL),
    };
    configRegister(directives, 1);
    admissionFill(RULE_BUSY, busyCheck);
    admissionIdle(RULE_BUSY, true);
}
