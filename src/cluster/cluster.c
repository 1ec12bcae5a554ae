/* cluster.c - the commands of a cluster; see cluster.h. */
#include "cluster/cluster.h"

#include <string.h>

#include "base/crc.h"
#include "command/command.h"
#include "commands/cluster.h"
#include "client/reply.h"

int clusterKeySlot(struct str key) {
    const char *open = memchr(key.ptr, '{', key.len);
    if (open) {
        const char *tag = open + 1;
        size_t rest = key.len - (size_t)(tag - key.ptr);
        const char *close = memchr(tag, '}', rest);
        if (close && close > tag) key = strN(tag, (size_t)(close - tag));
    }
    return crc16(key.ptr, key.len) & (CLUSTER_SLOTS - 1);
}

void clusterDisabledCommand(struct client *c) {
    replyError(c, "ERR This instance has cluster support disabled");
}

void clusterKeyslotCommand(struct client *c) {
    replyLongLong(c, clusterKeySlot(c->argv[2]));
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
