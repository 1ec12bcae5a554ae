/* cluster_bus.c - libFuzzer target for the messages of the cluster bus: reading them, and writing what was
 * read.
 *
 *     make fuzz-cluster_bus FUZZ_SECONDS=600
 *
 * An input is a packet; its length field is set to what it has, so that it is not refused for that. What is
 * read and written again is read as the same. */
#include <stdlib.h>

#include "base/assert.h"
#include "cluster/bus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void setLength(uint8_t *p, size_t len) {
    for (int i = 0; i < 4; i++) p[4 + i] = (uint8_t)(len >> (24 - 8 * i));
}

/* Extensions have a form of their own in our hands: those with data that are none are left out. */
static sds writeExtensions(sds s, const struct busMessage *m) {
    struct busExtension x;
    for (size_t at = 0; busExtensionNext(m, &at, &x);) {
        const char *id = busExtensionId(&x);
        uint64_t number = busExtensionNumber(&x);
        if (x.type == EXT_FORGOTTEN || x.type == EXT_SHARD_ID) {
            if (id) s = x.type == EXT_SHARD_ID ? busAddShardId(s, 0, id) : busAddForgotten(s, 0, id, number);
        } else if (x.type == EXT_CLIENT_PORT || x.type == EXT_CLIENT_TLS_PORT) {
            s = busAddPort(s, 0, (enum busExtensionType)x.type, (uint16_t)number);
        } else {
            serverAssert(!memchr(x.data.ptr, '\0', x.data.len));
            s = busAddText(s, 0, (enum busExtensionType)x.type, x.data);
        }
    }
    return s;
}

static sds written(const struct busMessage *m) {
    sds s =
        m->light ? busBeginLight(sdsempty(), (enum busType)m->header.type) : busBegin(sdsempty(), &m->header);
    for (int i = 0; i < m->header.gossip_count; i++) {
        struct busGossip g;
        busGossipRead(m, i, &g);
        s = busAddGossip(s, 0, &g);
    }
    s = writeExtensions(s, m);
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

/* Written and read once more, nothing changes any more. */
static void checkComesBack(const struct busMessage *m) {
    sds once = written(m);
    struct busMessage again;
    uint32_t expected;
    serverAssert(busLength((uint8_t *)once) == sdslen(once));
    enum busVerdict verdict = busRead((uint8_t *)once, (uint32_t)sdslen(once), &again, &expected);
    serverAssert(verdict == BUS_READ && expected == sdslen(once));
    serverAssert(again.header.type == m->header.type && again.light == m->light);
    sds twice = written(&again);
    serverAssert(sdslen(once) == sdslen(twice) && memcmp(once, twice, sdslen(once)) == 0);
    sdsfree(once);
    sdsfree(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < BUS_PREFIX) return 0;
    uint8_t *packet = malloc(size);
    memcpy(packet, data, size);
    memcpy(packet, "RCmb", 4);
    setLength(packet, size);
    if (busLength(packet)) {
        struct busMessage m;
        uint32_t expected;
        enum busVerdict verdict = busRead(packet, (uint32_t)size, &m, &expected);
        if (verdict == BUS_READ) {
            serverAssert(expected == size);
            checkComesBack(&m);
        } else if (verdict == BUS_WRONG_LENGTH || verdict == BUS_BROKEN) {
            serverAssert(m.header.type < BUS_TYPES); /* its name is logged */
        }
    }
    free(packet);
    return 0;
}
