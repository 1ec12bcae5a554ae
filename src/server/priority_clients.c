/* SPDX-License-Identifier: BSD-3-Clause */
/* priority_clients.c - see priority_clients.h. */
#include "server/priority_clients.h"

#include "base/assert.h"
#include "client/client.h"
#include "net/connection.h"
#include "net/subnet.h"
#include "registry/config.h"
#include "registry/info.h"

static sds subnets_text;          /* priority-subnets */
static struct subnetList subnets; /* the same */
static int64_t reserved;
static size_t connected;
static uint64_t rejected;

static bool priorityClientsCheckSubnets(const char *value, const char **err) {
    struct subnetList list;
    if (subnetsParse(strOf(value), &list)) {
        subnetsFree(&list);
        return true;
    }
    *err = "Invalid IP address or CIDR subnet";
    return false;
}

static bool priorityClientsApply(const char **err) {
    (void)err;
    subnetsFree(&subnets);
    bool valid = subnetsParse(sdsview(subnets_text), &subnets);
    serverAssert(valid); /* it was checked when it was set */
    return true;
}

void priorityClientsStart(void) {
    priorityClientsApply(NULL);
}

bool priorityClientsInclude(const struct connection *conn) {
    uint8_t address[SUBNET_ADDRESS];
    return subnets.count && connPeerAddress(conn, address) && subnetsContain(&subnets, address);
}

void priorityClientsAdd(struct client *c) {
    c->priority = true;
    connSetPriority(c->conn);
    connected++;
}

bool priorityClientsLeaveRoom(size_t maxclients) {
    if (!reserved || !subnets.count) return true;
    size_t most = (size_t)reserved < maxclients ? maxclients - (size_t)reserved : 0;
    return clients.length - connected < most;
}

void priorityClientsCountRejected(void) {
    rejected++;
}

static void priorityClientsOnFree(struct client *c) {
    if (c->priority) connected--;
}

static sds priorityClientsShowClients(sds s) {
    return infoField(s, "connected_priority_clients:%zu", connected);
}

static sds priorityClientsShowStats(sds s) {
    return infoField(s, "rejected_priority_connections:%llu", (unsigned long long)rejected);
}

static void priorityClientsResetStats(void) {
    rejected = 0;
}

void priorityClientsInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("priority-subnets", NULL, CONFIG_MODIFIABLE, &subnets_text, "",
                      priorityClientsCheckSubnets, priorityClientsApply),
        CONFIG_INT("maxclients-reserved", NULL, CONFIG_MODIFIABLE, &reserved, 0, 0, UINT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("clients", priorityClientsShowClients);
    infoRegister("stats", priorityClientsShowStats);
    configOnResetStat(priorityClientsResetStats);
    clientOnFree(priorityClientsOnFree);
}
