/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c - see view.h. */
#include "cluster/view.h"

#include <string.h>

#include "cluster/cluster_commands.h"
#include "cluster/redirect.h"
#include "cluster/slot_tag.h"
#include "cluster/state.h"
#include "cluster/topology_file.h"
#include "data/server_state/cluster_view.h"

_Static_assert(CLUSTER_VIEW_ID == NODE_ID_LEN, "ids are those of the bus");

static const char *viewGetMyId(void) {
    return clusterMyself()->id;
}

static size_t viewListNodes(const char **ids, size_t *usable) {
    size_t n = 0;
    for (int i = 0; ids && i < clusterTopology()->count; i++) {
        const struct clusterNode *node = clusterTopology()->nodes[i];
        if (!(node->flags & NODE_HANDSHAKE)) ids[n++] = node->id;
    }
    if (usable) *usable = n;
    return (size_t)clusterTopology()->count;
}

/* Reads exactly NODE_ID_LEN bytes of id, which need not end with a NUL. */
static bool viewDescribe(const char *id, struct client *for_client, struct clusterViewNode *node) {
    const struct clusterNode *n = topologyFind(clusterTopology(), id);
    if (!n || n->flags & NODE_HANDSHAKE) return false;
    int audience = for_client                    ? clusterAudienceOf(for_client)
                   : cluster_engine.settings.tls ? LINE_TLS_FILE
                                                 : LINE_FILE;
    *node = (struct clusterViewNode){
        .port = nodeClientPort(n, (enum nodeLineAudience)audience),
        .myself = n->flags & NODE_MYSELF,
        .primary = n->flags & NODE_PRIMARY,
        .replica = n->flags & NODE_REPLICA,
        .maybe_failed = n->flags & NODE_PFAIL,
        .failed = n->flags & NODE_FAIL,
        .no_failover = n->flags & NODE_NOFAILOVER,
    };
    strncpy(node->ip, nodeClientIp(n, (enum nodeLineAudience)audience), sizeof node->ip - 1);
    if (n->primary) memcpy(node->primary_id, n->primary->id, sizeof node->primary_id);
    return true;
}

static bool viewSendTo(const char *id, uint64_t module, uint8_t type, struct str payload) {
    struct clusterNode *n = id ? topologyFind(clusterTopology(), id) : NULL;
    if (id && (!n || !n->out)) return false;
    engineModuleSend(&cluster_engine, n, module, type, payload, clusterNow());
    return true;
}

static void viewSetFlags(bool no_failover, bool no_redirection) {
    if (no_failover) cluster_engine.settings.failover_on_request = true;
    if (no_redirection) redirectDisable();
}

void viewInit(void) {
    cluster_view = (struct clusterView){.myId = viewGetMyId,
                                        .nodes = viewListNodes,
                                        .describe = viewDescribe,
                                        .send = viewSendTo,
                                        .setFlags = viewSetFlags,
                                        .slotTag = slotTag};
}
