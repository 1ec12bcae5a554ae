/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas.h - the replicas of this server, whether it is a primary or a replica itself: what they say
 * (REPLCONF), what they ask for (PSYNC, SYNC), and the stream that they are sent.
 *
 *     connection ── REPLCONF ... ──▶ PSYNC ─┬─ +CONTINUE ────────────────────────────────▶ ONLINE
 *                                           └─ WAIT_START ─▶ WAIT_END ─▶ SEND ─▶ ONLINE
 *
 * The lower way is that of a snapshot (repl/full_sync.h).
 *
 * A replica has a place in the stream (reader) from the moment at which its snapshot is taken; the stream is
 * sent once it is `streaming`. The bytes are the chain's (repl/chain.h), shared by all.
 *
 * A connection has a struct replicaClient as soon as it has said something by REPLCONF; it is a replica, and
 * listed, when it has asked for a synchronization (state not REPLICA_NONE). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/linked_list.h"
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

#define CLUSTER_ID_LEN 40

struct replicaClient {
    struct client *client;
    struct listNode node; /* in `replicas`, when state is not REPLICA_NONE */
    enum replicaState state;

    /* What it has told. */
    int listening_port;
    sds address;                      /* NULL: that of its connection */
    unsigned capa;                    /* CAPA_* */
    uint32_t version;                 /* 0xAABBCC; 0: not told */
    char node_id[CLUSTER_ID_LEN + 1]; /* of a cluster's node; "": not told */
    bool rdb_only, rdb_channel;
    bool without_functions, without_keys; /* rdb-filter-only */

    /* Its place in the stream. */
    struct chainReader reader;
    bool has_place;
    bool streaming;          /* what is in the chain may be sent */
    bool old_protocol;       /* SYNC: it sends no ACK */
    bool wait_for_ack;       /* the stream starts with its first ACK... */
    bool acked_snapshot;     /* ...which it may have sent before we knew that the child is done */
    uint64_t start_offset;   /* of +FULLRESYNC or +CONTINUE */
    uint64_t acked, fsynced; /* offsets */
    int64_t acked_ms;        /* when it was last heard of */
    uint64_t heard;          /* bytes of its until the last tick */
    int64_t asked_ms;        /* when it asked for the synchronization */

    void *transfer;         /* full_sync.c */
    uint64_t rdb_client_id; /* main channel: of the connection for the snapshot; 0: none */
};
/* As INFO says it. */
static inline const char *replicaStateName(const struct replicaClient *r) {
    static const char *const names[] = {"none",   "wait_bgsave", "wait_bgsave",    "send_bulk",
                                        "online", "bg_transfer", "rdb_transmitted"};
    return names[r->state];
}
extern struct list replicas; /* of struct replicaClient by node, in the order in which they asked */

/* What is asked of the parts that stand above this one. replication.c fills it in; NULL: nobody is there. */
struct replicaHooks {
    void (*requestSnapshot)(struct replicaClient *r); /* full_sync.h: fullSyncRequest ... */
    void (*forgetSnapshot)(struct replicaClient *r);
    bool (*writeSnapshot)(struct replicaClient *r);
    bool (*hasSnapshotOutput)(const struct replicaClient *r);
    bool (*joinChannels)(struct replicaClient *main, uint64_t rdb_client_id);
    void (*streamTaken)(const struct replicaClient *main);
    bool (*primaryIsDown)(void); /* link.h: linkIsDown ... */
    void (*becomePrimary)(void);
    void (*acknowledge)(void);    /* our primary wants to know at once what we have applied */
    bool (*isFailingOver)(void);  /* failover.h */
    size_t (*waitingPsync)(void); /* full_sync.h */
    size_t (*heldPlaces)(void);   /* in the stream, for main connections that have not come (full_sync.h) */
    void (*limitPlaces)(void);    /* ends those that keep too much of it */
};
extern struct replicaHooks replica_hooks;

/* Its part of c, made when there is none. */
struct replicaClient *replicaPart(struct client *c);
/* "ip:port" for the log, as it calls itself; good until the next call. */
const char *replicaName(const struct replicaClient *r);
/* Where it is: what it has told, or the address of its connection. Good until the next call. */
const char *replicaAddress(const struct replicaClient *r);
/* Protocol bytes in front of the stream (+FULLRESYNC, a header, "\n"); they leave with the next turn. */
void replicaSend(struct replicaClient *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The snapshot of r is taken now: +FULLRESYNC is sent (not to old ones), the stream is kept for it from here
 * on (unless it wants the snapshot alone), and begins with a SELECT. False: it is being closed. */
bool replicaSetup(struct replicaClient *r, uint64_t offset);
/* The snapshot has been sent: state ONLINE; the stream follows, at once or with its first ACK. */
void replicaOnline(struct replicaClient *r, bool at_once);
/* It says by REPLCONF ACK what it has applied, and has on its disk (-1: it did not say). */
void replicaAcked(struct replicaClient *r, int64_t offset, int64_t synced);
/* c follows from now on. replicaContinue: the stream from position `at` on, which is kept. */
void replicaJoin(struct replicaClient *r, enum replicaState state);
void replicaContinue(struct replicaClient *r, uint64_t at);

/* How many are online and have acknowledged `offset` (synced: on their disks). Of struct waitSources. */
int replicasWith(uint64_t offset, bool synced);
/* How many are online and have been heard of within min-replicas-max-lag. */
int replicasGood(void);
/* replicationControl.successor */
const char *replicasSuccessor(uint64_t offset, bool *legacy);
/* All connections end; they will come back and ask how to go on. (Our own history has changed.) */
void replicasDisconnect(void);
/* The dataset becomes another one: it is not what our history says any more, so the backlog goes, too. */
void replicasForget(void);
/* What has been added to the stream leaves with the next clientsWritePending; the end of a turn asks for it.
 */
void replicasWriteLater(void);
/* REPLCONF GETACK * with the next turn. */
void replicasRequestAck(void);

/* The reply of ROLE on a primary. */
void replicasReplyRole(struct client *c);

void replicasInit(void);     /* the stream, directives, jobs */
void replicasInfoInit(void); /* INFO fields, memory, fields of CLIENT LIST (replicas_info.c) */
