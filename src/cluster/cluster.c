/* cluster.c - the commands of a cluster; see cluster.h. */
#include "cluster/cluster.h"

#include "base/key_slot.h"
#include "command/command.h"
#include "commands/cluster.h"
#include "client/reply.h"

void clusterDisabledCommand(struct client *c) {
    replyError(c, "ERR This instance has cluster support disabled");
}

void clusterKeyslotCommand(struct client *c) {
    replyLongLong(c, keySlot(c->argv[2]));
}

void readonlyCommand(struct client *c) {
    c->flags |= CLIENT_READONLY;
    replyOk(c);
}

void readwriteCommand(struct client *c) {
    c->flags &= ~(uint32_t)CLIENT_READONLY;
    replyOk(c);
}

void clusterInit(void) {
    commandRegister(commandsCluster);
}
