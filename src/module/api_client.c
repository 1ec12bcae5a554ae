/* SPDX-License-Identifier: BSD-3-Clause */
/* api_client.c - clients for modules: their addresses, names and users, and the state of
 * the server (GetContextFlags). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_session.h"
#include "command/call.h"
#include "command/data_hooks.h"
#include "command/loading.h"
#include "command/pause.h"
#include "command/script_running.h"
#include "data/child.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/evict_marks.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "module/events.h"
#include "module/lock.h"
#include "module/module_load.h"
#include "net/tls.h"
#include "registry/config.h"
#include "registry/cron.h"

#define MEMORY_WARNING 0.75 /* share of maxmemory */

/* ---- Clients ---- */

unsigned long long vmGetClientId(struct ValkeyModuleCtx *ctx) {
    if (!ctx->client) return 0;
    bool aof = call_running && call_running->origin == ORIGIN_AOF && call_running->client == ctx->client;
    return aof ? UINT64_MAX : ctx->client->id;
}

/* name is "ip:port", "[ip]:port" or a path. */
static void apiClientSplitAddress(ValkeyModuleClientInfo *info, const char *name) {
    const char *colon = strrchr(name, ':');
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    if (*name == '[' && len > 1) {
        name++;
        len -= 2;
    }
    if (len >= sizeof info->addr) len = sizeof info->addr - 1;
    memcpy(info->addr, name, len);
    info->port = colon ? (uint16_t)atoi(colon + 1) : 0;
}

void clientInfoFill(ValkeyModuleClientInfo *info, struct client *c) {
    static const struct {
        uint32_t flag;
        uint64_t info_flag;
    } flags[] = {
        {CLIENT_PUBSUB, VALKEYMODULE_CLIENTINFO_FLAG_PUBSUB},
        {CLIENT_BLOCKED, VALKEYMODULE_CLIENTINFO_FLAG_BLOCKED},
        {CLIENT_UNIX_SOCKET, VALKEYMODULE_CLIENTINFO_FLAG_UNIXSOCKET},
        {CLIENT_MULTI, VALKEYMODULE_CLIENTINFO_FLAG_MULTI},
        {CLIENT_READONLY, VALKEYMODULE_CLIENTINFO_FLAG_READONLY},
        {CLIENT_PRIMARY, VALKEYMODULE_CLIENTINFO_FLAG_PRIMARY},
        {CLIENT_REPLICA, VALKEYMODULE_CLIENTINFO_FLAG_REPLICA},
        {CLIENT_MONITOR, VALKEYMODULE_CLIENTINFO_FLAG_MONITOR},
        {CLIENT_AUTHENTICATED,
         VALKEYMODULE_CLIENTINFO_FLAG_AUTHENTICATED | VALKEYMODULE_CLIENTINFO_FLAG_EVER_AUTHENTICATED},
        {CLIENT_FAKE, VALKEYMODULE_CLIENTINFO_FLAG_FAKE},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (c->flags & flags[i].flag) info->flags |= flags[i].info_flag;
    }
    if (c->tracking) info->flags |= VALKEYMODULE_CLIENTINFO_FLAG_TRACKING;
    if (c->conn && tlsIs(c->conn)) info->flags |= VALKEYMODULE_CLIENTINFO_FLAG_SSL;
    info->id = c->id;
    if (c->conn) apiClientSplitAddress(info, clientPeerName(c));
    info->db = (uint16_t)c->db->id;
}

int vmGetClientInfoById(void *ci, uint64_t id) {
    ValkeyModuleClientInfo *info = ci;
    struct client *c = clientById(id);
    if (!c) return VALKEYMODULE_ERR;
    if (!info) return VALKEYMODULE_OK;
    if (info->version != VALKEYMODULE_CLIENTINFO_VERSION) return VALKEYMODULE_ERR;
    *info = (ValkeyModuleClientInfo){.version = VALKEYMODULE_CLIENTINFO_VERSION};
    clientInfoFill(info, c);
    return VALKEYMODULE_OK;
}

struct ValkeyModuleString *vmGetClientNameById(struct ValkeyModuleCtx *ctx, uint64_t id) {
    struct client *c = clientById(id);
    struct str name = c ? clientLabel(c, CLIENT_NAME) : strN(NULL, 0);
    return name.ptr ? vmCreateString(ctx, name.ptr, name.len) : NULL;
}

int vmSetClientNameById(uint64_t id, struct ValkeyModuleString *name) {
    struct client *c = clientById(id);
    struct str text = name ? stringText(name) : STR("");
    errno = c ? 0 : ENOENT;
    for (size_t i = 0; c && i < text.len; i++) {
        if (text.ptr[i] < '!' || text.ptr[i] > '~') errno = EINVAL;
    }
    if (errno) return VALKEYMODULE_ERR;
    clientSetLabel(c, CLIENT_NAME, text);
    return VALKEYMODULE_OK;
}

struct ValkeyModuleString *vmGetClientUserNameById(struct ValkeyModuleCtx *ctx, uint64_t id) {
    struct client *c = clientById(id);
    errno = !c ? ENOENT : !c->user ? ENOTSUP : 0;
    if (errno) return NULL;
    struct str name = client_users->name(c);
    return vmCreateString(ctx, name.ptr, name.len);
}

struct ValkeyModuleString *vmGetClientCertificate(struct ValkeyModuleCtx *ctx, uint64_t id) {
    struct client *c = clientById(id);
    sds pem = c && c->conn && tlsIs(c->conn) ? tlsPeerCertificate(c->conn) : NULL;
    if (!pem) return NULL;
    struct ValkeyModuleString *s = stringFromSds(pem);
    contextAutoAdd(ctx, AUTO_STRING, s);
    return s;
}

/* Tells whether another node moves slots to us through this client. */
static bool apiClientBringsSlots(const struct client *c) {
    return client_imports_slots && client_imports_slots(c);
}

int vmMustObeyClient(struct ValkeyModuleCtx *ctx) {
    if (!ctx || !ctx->client) return 0;
    return ctx->client->flags & CLIENT_PRIMARY || apiClientBringsSlots(ctx->client) || callReplays();
}

/* ---- The state of the server ---- */

static int apiClientFlagsOfClient(const struct client *c) {
    int flags = 0;
    if (c->flags & CLIENT_DENY_BLOCKING) flags |= VALKEYMODULE_CTX_FLAGS_DENY_BLOCKING;
    if (c->flags & CLIENT_PRIMARY) flags |= VALKEYMODULE_CTX_FLAGS_REPLICATED;
    if (apiClientBringsSlots(c)) flags |= VALKEYMODULE_CTX_FLAGS_SLOT_IMPORT_CLIENT;
    if (c->resp == 3) flags |= VALKEYMODULE_CTX_FLAGS_RESP3;
    return flags;
}

/* Flags of the calls that are running: of c itself and of calls around it. */
static int apiClientFlagsOfCalls(const struct client *c) {
    int flags = script_run.name ? VALKEYMODULE_CTX_FLAGS_LUA : 0;
    for (const struct call *call = call_running; call; call = call->outer) {
        if (call->origin == ORIGIN_EXEC || call->client->flags & CLIENT_IN_EXEC)
            flags |= VALKEYMODULE_CTX_FLAGS_MULTI;
        if (c && call->client == c && call->client->flags & (CLIENT_DIRTY_CAS | CLIENT_DIRTY_EXEC))
            flags |= VALKEYMODULE_CTX_FLAGS_MULTI_DIRTY;
    }
    return flags;
}

static int apiClientFlagsOfReplica(void) {
    struct replicationState now;
    replication_control.describe(&now);
    int flags = VALKEYMODULE_CTX_FLAGS_REPLICA;
    if (now.read_only) flags |= VALKEYMODULE_CTX_FLAGS_READONLY;
    switch (now.link) {
    case REPLICATION_UP: return flags | VALKEYMODULE_CTX_FLAGS_REPLICA_IS_ONLINE;
    case REPLICATION_TRANSFER: flags |= VALKEYMODULE_CTX_FLAGS_REPLICA_IS_TRANSFERRING; break;
    case REPLICATION_CONNECTING: flags |= VALKEYMODULE_CTX_FLAGS_REPLICA_IS_CONNECTING; break;
    case REPLICATION_DOWN: break;
    }
    return flags | VALKEYMODULE_CTX_FLAGS_REPLICA_IS_STALE;
}

static int apiClientFlagsOfMemory(void) {
    size_t limit = evictLimit(), used = zmallocUsedMemory();
    int flags = 0;
    if (limit) {
        flags |= VALKEYMODULE_CTX_FLAGS_MAXMEMORY;
        if (evict_policy != NO_EVICTION) flags |= VALKEYMODULE_CTX_FLAGS_EVICT;
    }
    if (limit && (double)used > MEMORY_WARNING * (double)limit) flags |= VALKEYMODULE_CTX_FLAGS_OOM_WARNING;
    if (limit && used > limit) flags |= VALKEYMODULE_CTX_FLAGS_OOM;
    return flags;
}

static int apiClientFlagsOfServer(void) {
    int flags = roleIsReplica() ? apiClientFlagsOfReplica() : VALKEYMODULE_CTX_FLAGS_PRIMARY;
    if (cluster_enabled) flags |= VALKEYMODULE_CTX_FLAGS_CLUSTER;
    if (db_loading)
        flags |= VALKEYMODULE_CTX_FLAGS_LOADING;
    else if (loadingActive())
        flags |= VALKEYMODULE_CTX_FLAGS_ASYNC_LOADING;
    if (persistenceAofOn()) flags |= VALKEYMODULE_CTX_FLAGS_AOF;
    if (persistence.hasSavePoints()) flags |= VALKEYMODULE_CTX_FLAGS_RDB;
    if (childRunning() != CHILD_NONE) flags |= VALKEYMODULE_CTX_FLAGS_ACTIVE_CHILD;
    if (childIs()) flags |= VALKEYMODULE_CTX_FLAGS_IS_CHILD;
    if (modules_starting) flags |= VALKEYMODULE_CTX_FLAGS_SERVER_STARTUP;
    return flags;
}

int vmGetContextFlags(struct ValkeyModuleCtx *ctx) {
    const struct client *c = ctx ? ctx->client : NULL;
    /* Protocol of the blocked client. */
    bool resp3 = ctx && ctx->thread_reply && ctx->thread_reply->resp == 3;
    return (c ? apiClientFlagsOfClient(c) : 0) | (resp3 ? VALKEYMODULE_CTX_FLAGS_RESP3 : 0) |
           apiClientFlagsOfCalls(c) | apiClientFlagsOfServer() | apiClientFlagsOfMemory();
}

int vmAvoidReplicaTraffic(void) {
    return pause_level != PAUSE_NOTHING;
}

ustime_t vmCachedMicroseconds(void) {
    if (!moduleIsMainThread()) clockRefresh(); /* the cached time is each thread's own */
    return cmd_time_ms * 1000;
}
