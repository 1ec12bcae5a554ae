/* wait.c - see wait.h. */
#include "command/wait.h"

#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "commands/replication.h"

struct waitSources wait_sources;

/* ---- WAIT ---- */

static void replyNoReplicas(struct client *c) {
    replyLongLong(c, 0);
}

void waitCommand(struct client *c) {
    int64_t replicas, deadline_ms;
    if (!argLongLong(c, c->argv[1], &replicas, NULL)) return;
    if (!argTimeout(c, c->argv[2], true, &deadline_ms)) return;
    if (replicas <= 0 || c->flags & CLIENT_DENY_BLOCKING)
        replyNoReplicas(c);
    else
        blockForKeys(c, NULL, 0, 0, deadline_ms, replyNoReplicas, false);
}

void waitInit(void) {}
