/* SPDX-License-Identifier: BSD-3-Clause */
/* api_cluster.c - other nodes for modules, and messages to them (data/server_state/cluster_view.h).
 *
 * A message goes to the modules of the sender's name. On the bus the name is a number: the id that a type of
 * this name would have, or 0. */
#include <string.h>

#include "base/key_slot.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "data/server_state/cluster_view.h"
#include "data/server_state/role.h"
#include "module/api.h"
#include "module/module_type.h"
#include "module/parts.h"

_Static_assert(CLUSTER_VIEW_ID == VALKEYMODULE_NODE_ID_LEN, "ids are the interface's");

struct receiver {
    struct receiver *next;
    struct module *module;
    uint64_t id;
    uint8_t type;
    ValkeyModuleClusterMessageReceiver callback;
};
static struct receiver *receivers;

static uint64_t apiClusterModuleNumber(const struct module *m) {
    return moduleTypeId(m->name, 0);
}

/* ---- Messages ---- */

static struct receiver **apiClusterFind(uint64_t id, uint8_t type) {
    struct receiver **at = &receivers;
    while (*at && ((*at)->id != id || (*at)->type != type)) at = &(*at)->next;
    return at;
}

static void apiClusterDrop(struct receiver **at) {
    struct receiver *r = *at;
    *at = r->next;
    zfree(r);
}

static void apiClusterReceived(const char *from, uint64_t id, uint8_t type, struct str payload) {
    const struct receiver *r = *apiClusterFind(id, type);
    if (!r) return;
    char sender[CLUSTER_VIEW_ID + 1] = {0};
    memcpy(sender, from, CLUSTER_VIEW_ID);
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, r->module, NULL, 0);
    contextClient(&ctx);
    r->callback(&ctx, sender, type, (const unsigned char *)payload.ptr, (uint32_t)payload.len);
    contextClose(&ctx);
}

void vmRegisterClusterMessageReceiver(struct ValkeyModuleCtx *ctx, uint8_t type,
                                      ValkeyModuleClusterMessageReceiver callback) {
    if (!cluster_enabled) return;
    uint64_t id = apiClusterModuleNumber(ctx->module);
    struct receiver **at = apiClusterFind(id, type);
    if (!callback) {
        if (*at) apiClusterDrop(at);
        return;
    }
    if (!*at) *at = zcalloc(1, sizeof **at);
    **at = (struct receiver){
        .next = (*at)->next, .module = ctx->module, .id = id, .type = type, .callback = callback};
}

int vmSendClusterMessage(struct ValkeyModuleCtx *ctx, const char *target_id, uint8_t type, const char *msg,
                         uint32_t len) {
    if (!cluster_enabled) return VALKEYMODULE_ERR;
    bool sent = cluster_view.send(target_id, apiClusterModuleNumber(ctx->module), type, strN(msg, len));
    return sent ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* ---- Nodes ---- */

const char *vmGetMyClusterID(void) {
    return cluster_enabled ? cluster_view.myId() : NULL;
}

size_t vmGetClusterSize(void) {
    return cluster_enabled ? cluster_view.nodes(NULL, NULL) : 0;
}

/* Returns an array that ends with NULL, so that it can be freed without its count. */
char **vmGetClusterNodesList(struct ValkeyModuleCtx *ctx, size_t *numnodes) {
    (void)ctx;
    if (!cluster_enabled) return NULL;
    size_t count = cluster_view.nodes(NULL, NULL);
    const char **known = zmalloc((count + 1) * sizeof *known);
    cluster_view.nodes(known, numnodes);
    char **ids = zmalloc((*numnodes + 1) * sizeof *ids);
    for (size_t i = 0; i < *numnodes; i++) {
        ids[i] = zmalloc(CLUSTER_VIEW_ID);
        memcpy(ids[i], known[i], CLUSTER_VIEW_ID);
    }
    ids[*numnodes] = NULL;
    zfree(known);
    return ids;
}

void vmFreeClusterNodesList(char **ids) {
    if (!ids) return;
    for (size_t i = 0; ids[i]; i++) zfree(ids[i]);
    zfree(ids);
}

static int apiClusterNodeFlags(const struct clusterViewNode *n) {
    return (n->myself ? VALKEYMODULE_NODE_MYSELF : 0) | (n->primary ? VALKEYMODULE_NODE_PRIMARY : 0) |
           (n->replica ? VALKEYMODULE_NODE_REPLICA : 0) | (n->maybe_failed ? VALKEYMODULE_NODE_PFAIL : 0) |
           (n->failed ? VALKEYMODULE_NODE_FAIL : 0) | (n->no_failover ? VALKEYMODULE_NODE_NOFAILOVER : 0);
}

static int apiClusterDescribe(const char *id, struct client *viewer, char *ip, char *primary_id, int *port,
                              int *flags) {
    struct clusterViewNode node;
    if (!cluster_enabled || !cluster_view.describe(id, viewer, &node)) return VALKEYMODULE_ERR;
    if (ip) memcpy(ip, node.ip, sizeof node.ip);
    if (primary_id) memcpy(primary_id, node.primary_id, sizeof node.primary_id);
    if (port) *port = node.port;
    if (flags) *flags = apiClusterNodeFlags(&node);
    return VALKEYMODULE_OK;
}

int vmGetClusterNodeInfo(struct ValkeyModuleCtx *ctx, const char *id, char *ip, char *primary_id, int *port,
                         int *flags) {
    (void)ctx;
    return apiClusterDescribe(id, NULL, ip, primary_id, port, flags);
}

int vmGetClusterNodeInfoForClient(struct ValkeyModuleCtx *ctx, uint64_t client_id, const char *node_id,
                                  char *ip, char *primary_id, int *port, int *flags) {
    (void)ctx;
    struct client *c = clientById(client_id);
    return c ? apiClusterDescribe(node_id, c, ip, primary_id, port, flags) : VALKEYMODULE_ERR;
}

void vmSetClusterFlags(struct ValkeyModuleCtx *ctx, uint64_t flags) {
    (void)ctx;
    cluster_view.setFlags(flags & VALKEYMODULE_CLUSTER_FLAG_NO_FAILOVER,
                          flags & VALKEYMODULE_CLUSTER_FLAG_NO_REDIRECTION);
}

/* ---- Slots ---- */

unsigned int vmClusterKeySlot(struct ValkeyModuleString *key) {
    return (unsigned)keySlot(stringText(key));
}

unsigned int vmClusterKeySlotC(const char *key, size_t keylen) {
    return (unsigned)keySlot(strN(key, keylen));
}

const char *vmClusterCanonicalKeyNameInSlot(unsigned int slot) {
    return slot < KEY_SLOTS ? cluster_view.slotTag((int)slot) : NULL;
}

static void apiClusterForgetModule(struct module *m) {
    moduleListRemoveIf(struct receiver, r, receivers, r->module == m) {
        zfree(r);
    }
}

static const char *apiClusterModuleAgainstMigration(void) {
    for (const struct module *m = modules; m; m = m->next) {
        bool built_in = !m->file;
        if (!built_in && !(m->options & VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION)) return m->name;
    }
    return NULL;
}

void clusterPartInit(void) {
    cluster_view_message = apiClusterReceived;
    cluster_view_keeps_slots = apiClusterModuleAgainstMigration;
    moduleOnUnload(apiClusterForgetModule);
}
