/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.c - see bus.h. */
#include "cluster/bus.h"

#include <string.h>

#include "base/assert.h"

#define BUS_VERSION   1
#define LIGHT_BIT     0x8000
#define EXTENSION_LEN 8 /* header of an extension */

const char *const bus_type_names[BUS_TYPES] = {"ping",    "pong",     "meet",        "fail",
                                               "publish", "auth-req", "auth-ack",    "update",
                                               "mfstart", "module",   "publishshard"};

/* Offsets of the fields in a full header. */
enum {
    AT_LENGTH = 4,
    AT_VERSION = 8,
    AT_PORT = 10,
    AT_TYPE = 12,
    AT_COUNT = 14,
    AT_CURRENT_EPOCH = 16,
    AT_CONFIG_EPOCH = 24,
    AT_OFFSET = 32,
    AT_SENDER = 40,
    AT_SLOTS = 80,
    AT_PRIMARY = 2128,
    AT_IP = 2168,
    AT_EXTENSIONS = 2214,
    AT_SYNC_REPLICAS = 2228, /* reserved by Valkey, as are the 12 bytes before it */
    AT_HISTORY = 2230,
    AT_REIGN = 2238,
    AT_OTHER_PORT = 2246,
    AT_BUS_PORT = 2248,
    AT_FLAGS = 2250,
    AT_STATE = 2252,
    AT_MESSAGE_FLAGS = 2253,
};
_Static_assert(AT_PRIMARY == AT_SLOTS + sizeof(struct slotSet) && AT_EXTENSIONS == AT_IP + NODE_IP_LEN &&
                   AT_REIGN + 8 == AT_OTHER_PORT && AT_MESSAGE_FLAGS + 3 == BUS_HEADER_LEN,
               "the header has no gaps but its reserved bytes");

/* ---- Numbers ---- */

static uint16_t busGet16(const uint8_t *p) {
    return (uint16_t)(p[0] << 8 | p[1]);
}
static uint32_t busGet32(const uint8_t *p) {
    return (uint32_t)busGet16(p) << 16 | busGet16(p + 2);
}
static uint64_t busGet64(const uint8_t *p) {
    return (uint64_t)busGet32(p) << 32 | busGet32(p + 4);
}
static void busPut16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static void busPut32(uint8_t *p, uint32_t v) {
    busPut16(p, (uint16_t)(v >> 16));
    busPut16(p + 2, (uint16_t)v);
}
static void busPut64(uint8_t *p, uint64_t v) {
    busPut32(p, (uint32_t)(v >> 32));
    busPut32(p + 4, (uint32_t)v);
}

/* Copies a text that may fill all NODE_IP_LEN bytes, and ends it with a NUL. */
static void busGetIp(char ip[NODE_IP_LEN], const uint8_t *p) {
    memcpy(ip, p, NODE_IP_LEN);
    ip[NODE_IP_LEN - 1] = '\0';
}

/* ---- Reading ---- */

uint32_t busLength(const uint8_t prefix[BUS_PREFIX]) {
    if (memcmp(prefix, "RCmb", 4) != 0) return 0;
    uint32_t length = busGet32(prefix + AT_LENGTH);
    uint32_t least = busGet16(prefix + AT_TYPE) & LIGHT_BIT ? BUS_LIGHT_LEN : BUS_HEADER_LEN;
    return length < least || length > BUS_LENGTH_MAX ? 0 : length;
}

static void busReadHeader(const uint8_t *p, struct busHeader *h) {
    h->type = busGet16(p + AT_TYPE);
    h->port = busGet16(p + AT_PORT);
    h->gossip_count = busGet16(p + AT_COUNT);
    h->current_epoch = busGet64(p + AT_CURRENT_EPOCH);
    h->config_epoch = busGet64(p + AT_CONFIG_EPOCH);
    h->offset = busGet64(p + AT_OFFSET);
    memcpy(h->sender, p + AT_SENDER, NODE_ID_LEN);
    memcpy(&h->slots, p + AT_SLOTS, sizeof h->slots);
    memcpy(h->primary, p + AT_PRIMARY, NODE_ID_LEN);
    busGetIp(h->ip, p + AT_IP);
    h->extension_count = busGet16(p + AT_EXTENSIONS);
    h->other_port = busGet16(p + AT_OTHER_PORT);
    h->bus_port = busGet16(p + AT_BUS_PORT);
    h->node_flags = busGet16(p + AT_FLAGS);
    h->state = p[AT_STATE];
    h->flags = p[AT_MESSAGE_FLAGS];
    bool fences = h->flags & BUS_FENCES;
    h->sync_replicas = fences ? busGet16(p + AT_SYNC_REPLICAS) : 0;
    h->history = fences ? busGet64(p + AT_HISTORY) : 0;
    h->reign = fences ? busGet64(p + AT_REIGN) : 0;
}

/* Sums up the lengths of all extensions. Returns false if they do not fit into `room` bytes. */
static bool busMeasureExtensions(const uint8_t *p, size_t room, int count, size_t *len) {
    *len = 0;
    for (; count > 0; count--) {
        if (room - *len < EXTENSION_LEN) return false;
        size_t one = busGet32(p + *len);
        if (one < EXTENSION_LEN || one % 8 || one > room - *len) return false;
        *len += one;
    }
    return true;
}

static enum busVerdict busReadGossip(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    size_t gossip = (size_t)out->header.gossip_count * BUS_GOSSIP_LEN;
    *need = gossip;
    if (gossip > room) return BUS_WRONG_LENGTH;
    out->gossip = p;
    out->extensions = p + gossip;
    if (!(out->header.flags & BUS_HAS_EXTENSIONS)) out->header.extension_count = 0;
    if (!busMeasureExtensions(out->extensions, room - gossip, out->header.extension_count,
                              &out->extensions_len))
        return BUS_BROKEN;
    *need += out->extensions_len;
    return BUS_READ;
}

static enum busVerdict busReadPublish(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    *need = 8;
    if (room < 8) return BUS_WRONG_LENGTH;
    uint64_t channel = busGet32(p), message = busGet32(p + 4);
    *need = 8 + channel + message;
    if (*need > room) return BUS_WRONG_LENGTH;
    out->channel = strN((const char *)p + 8, channel);
    out->message = strN((const char *)p + 8 + channel, message);
    return BUS_READ;
}

static enum busVerdict busReadModule(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    *need = 13;
    if (room < 13) return BUS_WRONG_LENGTH;
    memcpy(&out->module.id, p, 8); /* in the byte order of the sender's processor */
    uint32_t len = busGet32(p + 8);
    *need += len;
    if (*need > room) return BUS_WRONG_LENGTH;
    out->module.type = p[12];
    out->module.payload = strN((const char *)p + 13, len);
    return BUS_READ;
}

static enum busVerdict busReadFail(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    *need = NODE_ID_LEN;
    if (room < *need) return BUS_WRONG_LENGTH;
    memcpy(out->about.id, p, NODE_ID_LEN);
    return BUS_READ;
}

static enum busVerdict busReadUpdate(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    *need = 8 + NODE_ID_LEN + sizeof(struct slotSet);
    if (room < *need) return BUS_WRONG_LENGTH;
    out->about.config_epoch = busGet64(p);
    memcpy(out->about.id, p + 8, NODE_ID_LEN);
    out->about.slots = p + 8 + NODE_ID_LEN;
    return BUS_READ;
}

static bool busHasGossip(uint16_t type) {
    return type == BUS_PING || type == BUS_PONG || type == BUS_MEET;
}

/* Parses what follows the header. *need: how many bytes that should be. */
static enum busVerdict busReadPayload(const uint8_t *p, size_t room, struct busMessage *out, uint64_t *need) {
    *need = 0;
    if (busHasGossip(out->header.type)) return busReadGossip(p, room, out, need);
    out->header.gossip_count = out->header.extension_count = 0; /* other types have none */
    switch (out->header.type) {
    case BUS_FAIL: return busReadFail(p, room, out, need);
    case BUS_PUBLISH:
    case BUS_PUBLISHSHARD: return busReadPublish(p, room, out, need);
    case BUS_UPDATE: return busReadUpdate(p, room, out, need);
    case BUS_MODULE: return busReadModule(p, room, out, need);
    case BUS_AUTH_REQUEST:
    case BUS_AUTH_ACK:
    case BUS_MFSTART: return BUS_READ;
    default: *need = room; return BUS_UNKNOWN_TYPE;
    }
}

static bool busMayBeLight(uint16_t type) {
    return type == BUS_PUBLISH || type == BUS_PUBLISHSHARD || type == BUS_MODULE;
}

enum busVerdict busRead(const uint8_t *packet, uint32_t len, struct busMessage *out, uint32_t *expected) {
    debugAssert(len == busLength(packet));
    if (busGet16(packet + AT_VERSION) != BUS_VERSION) return BUS_OTHER_VERSION;
    memset(out, 0, sizeof *out);
    *expected = len; /* used by verdicts that do not compute a length */
    uint16_t type = busGet16(packet + AT_TYPE);
    size_t header = BUS_HEADER_LEN;
    if (type & LIGHT_BIT) {
        out->light = true;
        out->header.type = type & (uint16_t)~LIGHT_BIT;
        header = BUS_LIGHT_LEN;
        if (out->header.type >= BUS_TYPES) return BUS_UNKNOWN_TYPE;
        if (!busMayBeLight(out->header.type)) return BUS_BROKEN;
    } else {
        busReadHeader(packet, &out->header);
    }
    uint64_t need;
    enum busVerdict verdict = busReadPayload(packet + header, len - header, out, &need);
    *expected = (uint32_t)(header + need);
    if (verdict == BUS_READ && header + need != len) return BUS_WRONG_LENGTH;
    return verdict;
}

void busGossipRead(const struct busMessage *m, int i, struct busGossip *out) {
    debugAssert(i >= 0 && i < m->header.gossip_count);
    const uint8_t *p = m->gossip + (size_t)i * BUS_GOSSIP_LEN;
    memcpy(out->id, p, NODE_ID_LEN);
    out->ping_sent_s = busGet32(p + 40);
    out->pong_received_s = busGet32(p + 44);
    busGetIp(out->ip, p + 48);
    out->port = busGet16(p + 94);
    out->bus_port = busGet16(p + 96);
    out->flags = busGet16(p + 98);
    out->other_port = busGet16(p + 100);
}

bool busIsIdValid(const char id[NODE_ID_LEN]) {
    for (int i = 0; i < NODE_ID_LEN; i++) {
        bool digit = id[i] >= '0' && id[i] <= '9', letter = id[i] >= 'a' && id[i] <= 'z';
        if (!digit && !letter) return false;
    }
    return true;
}

bool busExtensionNext(const struct busMessage *m, size_t *at, struct busExtension *out) {
    debugAssert(m && at && out);
    if (*at >= m->extensions_len) return false;
    const uint8_t *p = m->extensions + *at;
    size_t len = busGet32(p);
    out->type = busGet16(p + 4);
    out->data = strN((const char *)p + EXTENSION_LEN, len - EXTENSION_LEN);
    *at += len;
    bool text = out->type != EXT_FORGOTTEN && out->type != EXT_SHARD_ID && out->type != EXT_CLIENT_PORT &&
                out->type != EXT_CLIENT_TLS_PORT && out->type != EXT_REPLICA_PRIORITY;
    if (text) out->data.len = strnlen(out->data.ptr, out->data.len);
    return true;
}

uint64_t busExtensionNumber(const struct busExtension *x) {
    const uint8_t *p = (const uint8_t *)x->data.ptr;
    if (x->type == EXT_FORGOTTEN) return x->data.len < NODE_ID_LEN + 8 ? 0 : busGet64(p + NODE_ID_LEN);
    if (x->type == EXT_REPLICA_PRIORITY) return x->data.len < 4 ? 0 : busGet32(p);
    return x->data.len < 2 ? 0 : busGet16(p);
}

const char *busExtensionId(const struct busExtension *x) {
    return x->data.len >= NODE_ID_LEN && busIsIdValid(x->data.ptr) ? x->data.ptr : NULL;
}

/* ---- Writing ---- */

static uint8_t *busMessageAt(sds s, size_t at) {
    debugAssert(at < sdslen(s));
    return (uint8_t *)s + at;
}

sds busBegin(sds s, const struct busHeader *h) {
    serverAssert(s && h && h->type < BUS_TYPES);
    uint8_t p[BUS_HEADER_LEN] = "RCmb";
    busPut16(p + AT_VERSION, BUS_VERSION);
    busPut16(p + AT_PORT, h->port);
    busPut16(p + AT_TYPE, h->type);
    busPut64(p + AT_CURRENT_EPOCH, h->current_epoch);
    busPut64(p + AT_CONFIG_EPOCH, h->config_epoch);
    busPut64(p + AT_OFFSET, h->offset);
    memcpy(p + AT_SENDER, h->sender, NODE_ID_LEN);
    memcpy(p + AT_SLOTS, &h->slots, sizeof h->slots);
    memcpy(p + AT_PRIMARY, h->primary, NODE_ID_LEN);
    memcpy(p + AT_IP, h->ip, strnlen(h->ip, NODE_IP_LEN));
    busPut16(p + AT_OTHER_PORT, h->other_port);
    busPut16(p + AT_BUS_PORT, h->bus_port);
    busPut16(p + AT_FLAGS, h->node_flags);
    p[AT_STATE] = h->state;
    p[AT_MESSAGE_FLAGS] = h->flags;
    if (h->flags & BUS_FENCES) {
        busPut16(p + AT_SYNC_REPLICAS, h->sync_replicas);
        busPut64(p + AT_HISTORY, h->history);
        busPut64(p + AT_REIGN, h->reign);
    }
    return sdscatlen(s, p, sizeof p);
}

sds busBeginLight(sds s, enum busType type) {
    uint8_t p[BUS_LIGHT_LEN] = "RCmb";
    busPut16(p + AT_VERSION, BUS_VERSION);
    busPut16(p + AT_TYPE, (uint16_t)(type | LIGHT_BIT));
    return sdscatlen(s, p, sizeof p);
}

static void busIncrementCount(sds s, size_t at, size_t field) {
    uint8_t *p = busMessageAt(s, at) + field;
    busPut16(p, (uint16_t)(busGet16(p) + 1));
}

sds busAddGossip(sds s, size_t at, const struct busGossip *g) {
    uint8_t p[BUS_GOSSIP_LEN] = {0};
    memcpy(p, g->id, NODE_ID_LEN);
    busPut32(p + 40, g->ping_sent_s);
    busPut32(p + 44, g->pong_received_s);
    memcpy(p + 48, g->ip, strnlen(g->ip, NODE_IP_LEN));
    busPut16(p + 94, g->port);
    busPut16(p + 96, g->bus_port);
    busPut16(p + 98, g->flags);
    busPut16(p + 100, g->other_port);
    busIncrementCount(s, at, AT_COUNT);
    return sdscatlen(s, p, sizeof p);
}

/* Appends the data, followed by at least `zeros` NUL bytes and padded to a multiple of 8. */
static sds busAddExtension(sds s, size_t at, enum busExtensionType type, struct str data, size_t zeros) {
    uint8_t p[EXTENSION_LEN] = {0};
    size_t padded = (data.len + zeros + 7) & ~(size_t)7;
    busPut32(p, (uint32_t)(EXTENSION_LEN + padded));
    busPut16(p + 4, (uint16_t)type);
    busIncrementCount(s, at, AT_EXTENSIONS);
    s = sdscatstr(sdscatlen(s, p, sizeof p), data);
    memset(p, 0, sizeof p);
    return sdscatlen(s, p, padded - data.len);
}

sds busAddText(sds s, size_t at, enum busExtensionType type, struct str text) {
    return busAddExtension(s, at, type, text, 1);
}

sds busAddPort(sds s, size_t at, enum busExtensionType type, uint16_t port) {
    uint8_t p[2];
    busPut16(p, port);
    return busAddExtension(s, at, type, strN((char *)p, sizeof p), 0);
}

sds busAddReplicaPriority(sds s, size_t at, uint32_t priority) {
    uint8_t p[4];
    busPut32(p, priority);
    return busAddExtension(s, at, EXT_REPLICA_PRIORITY, strN((char *)p, sizeof p), 0);
}

sds busAddForgotten(sds s, size_t at, const char id[NODE_ID_LEN], uint64_t ttl_s) {
    uint8_t p[NODE_ID_LEN + 8];
    memcpy(p, id, NODE_ID_LEN);
    busPut64(p + NODE_ID_LEN, ttl_s);
    return busAddExtension(s, at, EXT_FORGOTTEN, strN((char *)p, sizeof p), 0);
}

sds busAddShardId(sds s, size_t at, const char id[NODE_ID_LEN]) {
    return busAddExtension(s, at, EXT_SHARD_ID, strN(id, NODE_ID_LEN), 0);
}

sds busAddFail(sds s, const char id[NODE_ID_LEN]) {
    return sdscatlen(s, id, NODE_ID_LEN);
}

sds busAddUpdate(sds s, const char id[NODE_ID_LEN], uint64_t config_epoch, const struct slotSet *slots) {
    uint8_t p[8];
    busPut64(p, config_epoch);
    s = sdscatlen(sdscatlen(s, p, sizeof p), id, NODE_ID_LEN);
    return sdscatlen(s, slots, sizeof *slots);
}

sds busAddPublish(sds s, struct str channel, struct str message) {
    uint8_t p[8];
    busPut32(p, (uint32_t)channel.len);
    busPut32(p + 4, (uint32_t)message.len);
    return sdscatstr(sdscatstr(sdscatlen(s, p, sizeof p), channel), message);
}

sds busAddModule(sds s, uint64_t id, uint8_t type, struct str payload) {
    uint8_t p[13];
    memcpy(p, &id, 8);
    busPut32(p + 8, (uint32_t)payload.len);
    p[12] = type;
    return sdscatstr(sdscatlen(s, p, sizeof p), payload);
}

void busEnd(sds s, size_t at) {
    serverAssert(sdslen(s) >= at + BUS_LIGHT_LEN);
    busPut32(busMessageAt(s, at) + AT_LENGTH, (uint32_t)(sdslen(s) - at));
}
