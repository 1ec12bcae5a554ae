/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_replicate.c - see debug_replicate.h. The command is sent when DEBUG itself, which is a unit
 * of propagation, has ended. */
#include "repl/debug_replicate.h"

#include "client/reply.h"
#include "command/propagate.h"
#include "command/request.h"
#include "registry/cron.h"
#include "registry/debug.h"

#define WORDS_BEFORE 2 /* DEBUG REPLICATE */

static struct requestQueue queue;

static void debugReplicateCommand(struct client *c) {
    struct request r = {.argv = c->argv + WORDS_BEFORE, .argc = c->argc - WORDS_BEFORE};
    requestQueueAdd(&queue, &r);
    replyOk(c);
}

static void debugReplicateSendQueued(void) {
    for (int i = 0; i < queue.count; i++) (void)propagateToReplicas(queue.at[i]->argc, queue.at[i]->argv);
    if (queue.count) requestQueueClear(&queue);
}

void debugReplicateInit(void) {
    static const char *const help[] = {
        "REPLICATE <argument> [<argument> ...]",
        "    Put a command into the replication stream, without running it.",
        NULL,
    };
    static const struct debugSubcommand replicate = {"replicate", 1, -1, debugReplicateCommand, help};
    debugRegister(&replicate);
    beforeSleepRegister(debugReplicateSendQueued);
}
