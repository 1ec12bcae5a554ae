/* SPDX-License-Identifier: BSD-3-Clause */
/* debug.c - see debug.h. */
#include "registry/debug.h"

#include <stddef.h>

#include "base/assert.h"

#define REGISTERED_MAX 64

struct debugSwitches debug_switches;

static const struct debugSubcommand *registered[REGISTERED_MAX];
static int registered_count;

void debugRegister(const struct debugSubcommand *sub) {
    int lines = 0;
    while (sub->help[lines]) lines++;
    serverAssert(registered_count < REGISTERED_MAX && lines <= DEBUG_HELP_LINES);
    registered[registered_count++] = sub;
}

int debugRegisteredCount(void) {
    return registered_count;
}

const struct debugSubcommand *debugRegistered(int i) {
    serverAssert(i >= 0 && i < registered_count);
    return registered[i];
}
