/* replicas.h - the replicas of this server, whether it is a primary or a replica itself: what they say
 * (REPLCONF), what they ask for (PSYNC, SYNC), and the stream that they are sent.
 *
 *     connection ── REPLCONF ... ──▶ PSYNC ─┬─ +CONTINUE ────────────────────────────────▶ ONLINE
 *                                           └─ WAIT_START ─▶ WAIT_END ─▶ SEND ─▶ ONLINE      (repl/full_sync.h)
 *
 * A replica has a place in the stream (reader) from the moment at which its snapshot is taken; the stream is
 * sent once it is `streaming`. The bytes are the chain's (repl/chain.h), shared by all.
 *
 * A connection has a struct replicaClient as soon as it has said something by REPLCONF; it is a replica, and
 * listed, when it has asked for a synchronization (state not REPLICA_NONE). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/sds.h"
#include "client/client.h"
#include "repl/chain.h"

enum replicaState {
    REPLICA_NONE,
    REPLICA_WAIT_START,      /* for a snapshot to be begun    wait_bgsave */
    REPLICA_WAIT_END,        /* of the child, on disk         wait_bgsave */
    REPLICA_SEND,            /* is sent the snapshot          send_bulk */
    REPLICA_ONLINE,          /* is sent the stream            online */
    REPLICA_BG_TRANSFER,     /* main channel of two           bg_transfer */
    REPLICA_RDB_TRANSMITTED, /* has got all that it asked for rdb_transmitted */
};
enum { CAPA_EOF = 1, CAPA_PSYNC2 = 2, CAPA_DUAL_CHANNEL = 4, CAPA_SKIP_RDB_CHECKSUM = 8 };

struct replicaClient {
    struct client *client;
    struct listNode node; /* in `replicas`, when state is not REPLICA_NONE */
    enum replicaState state;

    /* What it has told. */
    int listening_port;
    sds address;      /* NULL: that of its connection */
    unsigned capa;    /* CAPA_* */
    uint32_t version; /* 0xAABBCC; 0: not told */
    bool rdb_only, rdb_channel;
    bool without_functions, without_keys; /* rdb-filter-only */
    char node_id[41];

    /* Its place in the stream. */
    struct chainReader reader;
    bool has_place;
    bool streaming;          /* what is in the chain may be sent */
    bool old_protocol;       /* SYNC: it sends no ACK */
    bool wait_for_ack;       /* the stream starts with its first ACK */
    uint64_t start_offset;   /* of +FULLRESYNC or +CONTINUE */
    uint64_t acked, fsynced; /* offsets */
    int64_t acked_ms;        /* when it was last heard of */
    int64_t asked_ms;        /* when it asked for the synchronization */

    void *transfer;         /* full_sync.c */
    uint64_t rdb_client_id; /* main channel: of the connection for the snapshot; 0: none */
};
extern struct list replicas; /* of struct replicaClient by node, in the order in which they asked */

/* Its part of c, made when there is none. */
struct replicaClient *replicaPart(struct client *c);
/* "ip:port" for the log, as it calls itself; good until the next call. */
const char *replicaName(const struct replicaClient *r);

/* The snapshot of r is taken now: +FULLRESYNC is sent (not to old ones), the stream is kept for it from here
 * on, and begins with a SELECT. False: it is being closed. */
bool replicaSetup(struct replicaClient *r, uint64_t offset);
/* The snapshot has been sent: state ONLINE; the stream follows, at once or with its first ACK. */
void replicaOnline(struct replicaClient *r, bool at_once);

/* How many are online and have acknowledged `offset` (synced: on their disks). Of struct waitSources. */
int replicasWith(uint64_t offset, bool synced);
/* How many are online and have been heard of within min-replicas-max-lag. */
int replicasGood(void);
/* All connections end; they will come back and ask how to go on. (Our own history has changed.) */
void replicasDisconnect(void);
/* REPLCONF GETACK * with the next turn. */
void replicasAskForAck(void);

void replicasInit(void); /* commands, directives, INFO fields, jobs */
