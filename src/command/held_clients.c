/* SPDX-License-Identifier: BSD-3-Clause */
/* held_clients.c - see held_clients.h. The rule of admission is idle while nothing is held back. */
#include "command/held_clients.h"

#include <string.h>

#include "client/client.h"
#include "client/client_output.h"
#include "client/reply_gate.h"
#include "command/admission.h"
#include "command/command.h"
#include "command/turn.h"
#include "commands/cmd_cluster.h"
#include "commands/cmd_pubsub.h"
#include "commands/cmd_replication.h"
#include "commands/cmd_server.h"

#define HELD_OUTPUT_MAX (1024 * 1024)

static struct list waiting; /* clients with `gated`, in order of arrival */

/* Whether replies to the command tell nothing about the data: it is about the connection, or for those who
 * watch the server or follow it. */
static bool heldClientsTellsNothing(const struct serverCommand *cmd) {
    static commandProc *const procs[] = {infoCommand,      roleCommand,      configGetCommand,
                                         configSetCommand, replicaofCommand, psyncCommand,
                                         replconfCommand,  syncCommand,      publishCommand};
    if (cmd->spec->acl & ACL_CONNECTION) return true;
    if (cmd->spec->proc == clusterCommand)
        return strcmp(cmd->fullname, "cluster|getkeysinslot") &&
               strcmp(cmd->fullname, "cluster|countkeysinslot");
    for (size_t i = 0; i < sizeof procs / sizeof *procs; i++)
        if (cmd->spec->proc == procs[i]) return true;
    return false;
}

static bool heldClientsAsksNothing(const struct client *c) {
    return !c->asks_data && !c->tracking && !(c->flags & (CLIENT_PUBSUB | CLIENT_MONITOR | CLIENT_PRIMARY));
}

static bool heldClientsIsFull(const struct client *c) {
    return c->out.bytes > HELD_OUTPUT_MAX && c->out.head && replyBlockStops(c->out.head);
}

static enum admission heldClientsCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!heldClientsTellsNothing(r->cmd)) c->asks_data = true;
    if (!heldClientsIsFull(c)) return ADMITTED;
    c->gated = true;
    c->flags |= CLIENT_PAUSED;
    listAddTail(&waiting, &c->paused_node);
    return DEFERRED;
}

static void heldClientsResume(struct client *c) {
    c->gated = false;
    c->flags &= ~(uint32_t)CLIENT_PAUSED;
    listRemove(&waiting, &c->paused_node);
}

static void heldClientsOnOpened(struct client *c) {
    if (!c->gated || heldClientsIsFull(c)) return;
    heldClientsResume(c);
    turnQueueClient(c);
}

static void heldClientsFree(struct client *c) {
    if (c->gated) heldClientsResume(c);
}

/* A client that waits has sent a command that may get an answer about the data. */
static void heldClientsMarkBlocked(void *priv, struct client *c) {
    (void)priv;
    if (c->blocked) c->asks_data = true;
}

static void heldClientsOnGate(bool used) {
    admissionIdle(RULE_HELD, !used);
    if (used) clientForEach(heldClientsMarkBlocked, NULL);
}

void heldClientsInit(void) {
    listInit(&waiting);
    admissionFill(RULE_HELD, heldClientsCheck);
    admissionFillRead(RULE_HELD, admissionNoRead); /* threads run reads only while all is covered */
    admissionIdle(RULE_HELD, true);
    clientOnFree(heldClientsFree);
    client_on_opened = heldClientsOnOpened;
    replyGateExempt(heldClientsAsksNothing);
    replyGateOnUse(heldClientsOnGate);
}
