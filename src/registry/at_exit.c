/* SPDX-License-Identifier: BSD-3-Clause */
/* at_exit.c - see at_exit.h. */
#include "registry/at_exit.h"

#include "base/assert.h"

#define HOOKS_MAX 8

static bool (*hooks[HOOKS_MAX])(int flags);
static int hook_count;

void atExitRegister(bool (*fn)(int flags)) {
    serverAssert(hook_count < HOOKS_MAX);
    hooks[hook_count++] = fn;
}

bool atExitRun(int flags) {
    for (int i = 0; i < hook_count; i++) {
        if (!hooks[i](flags) && !(flags & SHUTDOWN_FORCE)) return false;
    }
    return true;
}
