/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.h - the layout of messages on the cluster bus. It knows nothing of nodes, sockets or clocks.
 *
 * The format is that of Valkey 7.2 to 9.1; Redis 7 has it without light headers and without the later
 * extensions. All numbers are big-endian, except for the id of a module.
 *
 *     full:   | RCmb | length:32 | version:16 | ... sender, slots, primary, flags ... | payload |
 *     light:  | RCmb | length:32 | version:16 | 0:16 | type | 0x8000 | 0:16 | payload |
 *
 *     payload of PING, PONG, MEET:  gossip entries of 104 bytes, then extensions
 *     extension:                    | length:32, a multiple of 8 | type:16 | 0:16 | data, padded by 0 |
 *
 * Reading gives views of the packet, allocates nothing, and never touches a byte outside the packet. Writing
 * appends to an sds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "cluster/slot_set.h"

#define NODE_ID_LEN     40
#define NODE_IP_LEN     46    /* with its NUL */
#define BUS_PORT_OFFSET 10000 /* default distance of the bus port from the port of clients */

enum busType {
    BUS_PING,
    BUS_PONG,
    BUS_MEET,
    BUS_FAIL,
    BUS_PUBLISH,
    BUS_AUTH_REQUEST,
    BUS_AUTH_ACK,
    BUS_UPDATE,
    BUS_MFSTART,
    BUS_MODULE,
    BUS_PUBLISHSHARD,
    BUS_TYPES
};
extern const char *const bus_type_names[BUS_TYPES]; /* as CLUSTER INFO prints them: "ping", "auth-req" */

/* Flags of a node, as they are sent and stored. */
enum {
    NODE_PRIMARY = 1 << 0,
    NODE_REPLICA = 1 << 1,
    NODE_PFAIL = 1 << 2, /* this node cannot reach it */
    NODE_FAIL = 1 << 3,  /* most voters cannot reach it */
    NODE_MYSELF = 1 << 4,
    NODE_HANDSHAKE = 1 << 5, /* its own id is not known yet */
    NODE_NOADDR = 1 << 6,
    NODE_MEET = 1 << 7,          /* it gets a MEET as first message */
    NODE_MIGRATE_TO = 1 << 8,    /* replicas of other primaries may move to it */
    NODE_NOFAILOVER = 1 << 9,    /* it never tries a failover */
    NODE_EXTENSIONS = 1 << 10,   /* understands extensions */
    NODE_LIGHT_PUBSUB = 1 << 11, /* accepts light headers of PUBLISH and PUBLISHSHARD */
    NODE_LIGHT_MODULE = 1 << 12, /* accepts light headers of MODULE, and repeated MEETs */
    NODE_PRIMARY_FAIL = 1 << 13, /* it says that its primary has failed */
};
/* Flags of a message. The last two are of this server; others ignore them, and the bytes that they announce.
 */
enum {
    BUS_PAUSED = 1,
    BUS_FORCE_ACK = 2,
    BUS_HAS_EXTENSIONS = 4,
    BUS_ELECTING = 64, /* the sender may still win its election (cluster_engine_fence.c) */
    BUS_FENCES = 128,  /* the sender answers such elections; sync_replicas, history and reign are set */
};

struct busHeader { /* header of a full message, in host order */
    uint16_t type;
    uint16_t port; /* port of clients, on the transport of the bus */
    uint16_t other_port, bus_port;
    uint16_t node_flags;
    uint16_t gossip_count, extension_count;
    uint8_t state; /* 0: the sender's cluster is ok */
    uint8_t flags; /* BUS_PAUSED ... */
    uint64_t current_epoch, config_epoch, offset;
    uint16_t sync_replicas;  /* min-replicas-sync, at most UINT16_MAX; these three only with BUS_FENCES */
    uint64_t history, reign; /* the history that `offset` counts in, and its primary's epoch; 0: unknown */
    char sender[NODE_ID_LEN];
    char primary[NODE_ID_LEN]; /* all NUL: the sender is a primary */
    char ip[NODE_IP_LEN];      /* NUL-terminated; "": the address of the socket */
    struct slotSet slots;
};

/* ---- Reading ---- */
#define BUS_PREFIX     14 /* bytes from which the length of a message can be computed */
#define BUS_HEADER_LEN 2256
#define BUS_LIGHT_LEN  16
#define BUS_GOSSIP_LEN 104
#define BUS_LENGTH_MAX                                                                                       \
    (512u << 20) /* a message that claims to be longer is rejected like one with a wrong                     \
                  * signature */
/* Returns the length of the whole message, at least that of a light header, or 0
 * if no message begins here. */
uint32_t busLength(const uint8_t prefix[BUS_PREFIX]);

struct busMessage {
    bool light;              /* only header.type is set in a light message */
    struct busHeader header; /* a copy */
    const uint8_t *gossip;   /* header.gossip_count entries */
    const uint8_t *extensions;
    size_t extensions_len;
    struct str channel, message; /* PUBLISH, PUBLISHSHARD */
    struct {
        char id[NODE_ID_LEN]; /* FAIL, UPDATE: the node that the message is about */
        uint64_t config_epoch;
        const uint8_t *slots; /* UPDATE; 2048 bytes */
    } about;
    struct {
        uint64_t id;
        uint8_t type;
        struct str payload;
    } module;
};
enum busVerdict {
    BUS_READ,
    BUS_WRONG_LENGTH, /* *expected is what the length should be */
    BUS_UNKNOWN_TYPE, /* the header is right */
    BUS_OTHER_VERSION,
    BUS_BROKEN /* of a known type, with impossible counts, lengths or light header */
};
/* Parses a message of `len` bytes, the value of busLength. Views last as long as the packet. */
enum busVerdict busRead(const uint8_t *packet, uint32_t len, struct busMessage *out, uint32_t *expected);

struct busGossip {
    char id[NODE_ID_LEN];
    uint32_t ping_sent_s, pong_received_s;
    char ip[NODE_IP_LEN];
    uint16_t port, other_port, bus_port, flags;
};
void busGossipRead(const struct busMessage *m, int i, struct busGossip *out);
bool busIsIdValid(const char id[NODE_ID_LEN]); /* 0-9, a-z */

enum busExtensionType {
    EXT_HOSTNAME,
    EXT_HUMAN_NAME,
    EXT_FORGOTTEN, /* id, and the seconds for which it stays forgotten */
    EXT_SHARD_ID,
    EXT_CLIENT_IPV4,
    EXT_CLIENT_IPV6,
    EXT_CLIENT_PORT,
    EXT_CLIENT_TLS_PORT,
    EXT_AVAILABILITY_ZONE,
    EXT_REPLICA_PRIORITY, /* 32 bits; left out by nodes whose priority is 0 */
    EXT_TYPES
};
struct busExtension {
    uint16_t type;
    struct str data; /* a text ends before its NUL; other data includes the padding */
};
/* Reads the extension at *at, which starts with 0, and moves *at behind it. Returns false at the end. The
 * lengths have been checked by busRead. */
bool busExtensionNext(const struct busMessage *m, size_t *at, struct busExtension *out);
/* Returns the port, the priority, or the seconds of EXT_FORGOTTEN; 0 if there is too little data. */
uint64_t busExtensionNumber(const struct busExtension *x);
/* Returns the id in EXT_FORGOTTEN and EXT_SHARD_ID, or NULL if it is not valid. */
const char *busExtensionId(const struct busExtension *x);

/* ---- Writing ---- */
/* Appends a full header. The functions that append gossip and extensions count them in the header; busEnd
 * sets the length. `at` is where the message begins in s. */
sds busBegin(sds s, const struct busHeader *h);
sds busBeginLight(sds s, enum busType type);
sds busAddGossip(sds s, size_t at, const struct busGossip *g);
sds busAddText(sds s, size_t at, enum busExtensionType type, struct str text);
sds busAddPort(sds s, size_t at, enum busExtensionType type, uint16_t port);
sds busAddReplicaPriority(sds s, size_t at, uint32_t priority);
sds busAddForgotten(sds s, size_t at, const char id[NODE_ID_LEN], uint64_t ttl_s);
sds busAddShardId(sds s, size_t at, const char id[NODE_ID_LEN]);
sds busAddFail(sds s, const char id[NODE_ID_LEN]);
sds busAddUpdate(sds s, const char id[NODE_ID_LEN], uint64_t config_epoch, const struct slotSet *slots);
sds busAddPublish(sds s, struct str channel, struct str message);
sds busAddModule(sds s, uint64_t id, uint8_t type, struct str payload);
void busEnd(sds s, size_t at);
