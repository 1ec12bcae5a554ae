/* SPDX-License-Identifier: BSD-3-Clause */
/* data_hooks.c - see data_hooks.h. It also contains CLIENT IMPORT-SOURCE, on which one hook depends. */
#include "command/data_hooks.h"

#include "client/client.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/propagate.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/hooks.h"
#include "data/server_state/import_mode.h"
#include "data/server_state/role.h"

/* Propagates also when a module's call propagates nothing, as replicas delete no expired keys. */
static void dataHooksPropagateDelete(int dbid, struct str key, bool async) {
    propagateNow(dbid, 2, (struct str[]){async ? STR("UNLINK") : STR("DEL"), key});
}

bool (*client_imports_slots)(const struct client *c);

/* Clients that see expired keys as they are: our primary, an import source, and importers of slots. */
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
