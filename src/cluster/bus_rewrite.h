/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_rewrite.h - test helpers that write a parsed message again. */
#pragma once

#include <string.h>

#include "base/assert.h"
#include "cluster/bus.h"

/* Leaves out extensions whose data is not valid. */
static sds busRewriteExtensions(sds s, const struct busMessage *m) {
    struct busExtension x;
    for (size_t at = 0; busExtensionNext(m, &at, &x);) {
        const char *id = busExtensionId(&x);
        uint64_t number = busExtensionNumber(&x);
        if (x.type == EXT_FORGOTTEN || x.type == EXT_SHARD_ID) {
            if (id) s = x.type == EXT_SHARD_ID ? busAddShardId(s, 0, id) : busAddForgotten(s, 0, id, number);
        } else if (x.type == EXT_CLIENT_PORT || x.type == EXT_CLIENT_TLS_PORT) {
            s = busAddPort(s, 0, (enum busExtensionType)x.type, (uint16_t)number);
        } else if (x.type == EXT_REPLICA_PRIORITY) {
            s = busAddReplicaPriority(s, 0, (uint32_t)number);
        } else {
            serverAssert(!memchr(x.data.ptr, '\0', x.data.len));
            s = busAddText(s, 0, (enum busExtensionType)x.type, x.data);
        }
    }
    return s;
}

static sds busRewrite(const struct busMessage *m) {
    sds s =
        m->light ? busBeginLight(sdsempty(), (enum busType)m->header.type) : busBegin(sdsempty(), &m->header);
    for (int i = 0; i < m->header.gossip_count; i++) {
        struct busGossip g;
        busGossipRead(m, i, &g);
        s = busAddGossip(s, 0, &g);
    }
    s = busRewriteExtensions(s, m);
    struct slotSet slots;
    switch (m->header.type) {
    case BUS_FAIL: s = busAddFail(s, m->about.id); break;
    case BUS_UPDATE:
        memcpy(&slots, m->about.slots, sizeof slots);
        s = busAddUpdate(s, m->about.id, m->about.config_epoch, &slots);
        break;
    case BUS_PUBLISH:
    case BUS_PUBLISHSHARD: s = busAddPublish(s, m->channel, m->message); break;
    case BUS_MODULE: s = busAddModule(s, m->module.id, m->module.type, m->module.payload); break;
    default: break;
    }
    busEnd(s, 0);
    return s;
}
