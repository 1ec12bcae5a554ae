/* SPDX-License-Identifier: BSD-3-Clause */
/* data_hooks.c - see data_hooks.h; and CLIENT IMPORT-SOURCE, which one of them asks about. */
#include "command/data_hooks.h"

#include "client/client.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/propagate.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/hooks.h"
#include "data/server_state/import_mode.h"
#include "data/server_state/role.h"

/* Also when a module's call propagates nothing: no replica deletes an expired key by itself. */
static void dataHooksPropagateDelete(int dbid, struct str key, bool async) {
    propagateNow(dbid, 2, (struct str[]){async ? STR("UNLINK") : STR("DEL"), key});
}

bool (*client_imports_slots)(const struct client *c);

/* To our primary, to who imports into a primary, and to who brings slots here, keys are as they are. */
static bool dataHooksClientSeesExpired(void) {
    bool replica = roleIsReplica();
    if (client_imports_slots && callOwner() && client_imports_slots(callOwner())) return true;
    struct client *c = replica || import_mode ? callOwner() : NULL;
    return c && c->flags & (replica ? CLIENT_PRIMARY : CLIENT_IMPORT_SOURCE);
}

void clientImportSourceCommand(struct client *c) {
    bool on = strIs(c->argv[2], "on");
    bool off = strIs(c->argv[2], "off");
    if (!off && !import_mode) {
        replyError(c, "ERR Server is not in import mode");
    } else if (!on && !off) {
        replySyntaxError(c);
    } else {
        c->flags = (c->flags & ~(uint32_t)CLIENT_IMPORT_SOURCE) | (on ? CLIENT_IMPORT_SOURCE : 0);
        replyOk(c);
    }
}

void dataHooksInit(void) {
    data_hooks.propagateDelete = dataHooksPropagateDelete;
    data_hooks.clientSeesExpired = dataHooksClientSeesExpired;
}
