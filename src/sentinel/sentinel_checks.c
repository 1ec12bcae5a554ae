/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_checks.c - checks that the handlers of SENTINEL share; see sentinel_commands.h. */
#include "client/reply.h"
#include "sentinel/sentinel_commands.h"

struct supervisor sentinel; /* defined here, so that a test of the commands links without sentinel_env.c */

struct instance *sentinelFindPrimary(struct str name) {
    for (int i = 0; i < sentinel.primaries.count; i++) {
        struct instance *primary = sentinel.primaries.items[i];
        if (strEq(sdsview(primary->name), name)) return primary;
    }
    return NULL;
}

struct instance *sentinelParsePrimaryArg(struct client *c, struct str name) {
    struct instance *primary = sentinelFindPrimary(name);
    if (!primary) replyError(c, "ERR No such master with that name");
    return primary;
}

bool sentinelRefuseControls(struct client *c, int first, const char *command) {
    for (int i = first; i < c->argc; i++) {
        for (size_t k = 0; k < c->argv[i].len; k++) {
            unsigned char byte = (unsigned char)c->argv[i].ptr[k];
            if (byte > 0x1f && byte != 0x7f) continue;
            replyErrorFmt(c, "ERR Invalid argument at index %d for %s: control characters are not allowed", i,
                          command);
            return true;
        }
    }
    return false;
}

bool sentinelSaveOrReply(struct client *c) {
    if (supervisorSave(&sentinel)) return true;
    return replyError(c, "ERR Failed to save config file. Check server logs.");
}
