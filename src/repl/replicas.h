/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas.h - the replicas of this server, which may be a primary or a replica itself: what they send
 * (REPLCONF, PSYNC, SYNC), and the stream that they are sent.
 *
 *     connection ── REPLCONF ... ──▶ PSYNC ─┬─ +CONTINUE ────────────────────────────────▶ ONLINE
 *                                           └─ WAIT_START ─▶ WAIT_END ─▶ SEND ─▶ ONLINE
 *
 * The lower path is that of a snapshot (repl/full_sync.h).
 *
 * A replica has a place in the stream (reader) from the moment at which its snapshot is taken,
 * and is sent the stream once it is `streaming`. The bytes are those of the chain (repl/chain.h),
 * which all replicas share.
 *
 * A connection has a struct replicaClient as soon as it has sent a REPLCONF. It is a replica, and in the
 * list, once it has requested a synchronization (state not REPLICA_NONE). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compressed_stream.h"
#include "base/linked_list.h"
#include "base/sds.h"
#include "client/client.h"
#include "repl/chain.h"

enum replicaState {
    REPLICA_NONE,
    REPLICA_WAIT_START,      /* until a snapshot begins         wait_bgsave */
    REPLICA_WAIT_END,        /* until the child has written it  wait_bgsave */
    REPLICA_SEND,            /* is sent the snapshot            send_bulk */
    REPLICA_ONLINE,          /* is sent the stream              online */
    REPLICA_BG_TRANSFER,     /* main channel of two             bg_transfer */
    REPLICA_RDB_TRANSMITTED, /* has all that it asked for       rdb_transmitted */
};
enum {
    CAPA_EOF = 1,
    CAPA_PSYNC2 = 2,
    CAPA_DUAL_CHANNEL = 4,
    CAPA_SKIP_RDB_CHECKSUM = 8,
    CAPA_LZ4 = 16,
    CAPA_ZSTD = 32,
    CAPA_IDMP = 64 /* idempotence of streams: this server, or Redis 8.6's form of it */
};

#define CLUSTER_ID_LEN 40

struct replicaClient {
    struct client *client;
    struct listNode node; /* in `replicas`, when state is not REPLICA_NONE */
    enum replicaState state;

    /* Reported by REPLCONF. */
    int listening_port;
    sds address;                      /* NULL: the address of its connection */
    unsigned capa;                    /* CAPA_* */
    uint32_t version;                 /* 0xAABBCC; 0: not sent */
    char node_id[CLUSTER_ID_LEN + 1]; /* cluster node; "": not sent */
    bool rdb_only, rdb_channel;
    bool without_functions, without_keys; /* rdb-filter-only */

    struct chainReader reader;
    bool has_place;
    bool streaming;              /* bytes of the chain may be sent */
    bool old_protocol;           /* it used SYNC and sends no ACK */
    bool wait_for_ack;           /* the stream starts with its first ACK... */
    bool acked_snapshot;         /* ...which may come before we know that the child is done */
    struct packedStream *packed; /* its stream in compressed form; NULL: it is sent plain, or not yet */
    uint64_t start_offset;       /* the offset of +FULLRESYNC or +CONTINUE */
    uint64_t acked, fsynced;     /* offsets */
    int64_t acked_ms;            /* when its last sign of life came */
    uint64_t net_in_seen;        /* bytes that had come from it at the last tick */
    int64_t requested_ms;        /* when it requested the synchronization */

    void *transfer;         /* struct syncTransfer of full_sync_transfer.h */
    uint64_t rdb_client_id; /* main channel: client ID of the connection for the snapshot; 0: none */
};
/* Returns the name of the state in INFO. */
static inline const char *replicaStateName(const struct replicaClient *r) {
    static const char *const names[] = {"none",   "wait_bgsave", "wait_bgsave",    "send_bulk",
                                        "online", "bg_transfer", "rdb_transmitted"};
    return names[r->state];
}
/* Returns the codec for r: the strongest that both sides allow. */
enum streamCodec replicaCodec(const struct replicaClient *r);
extern struct list replicas; /* struct replicaClient by node, in the order of their requests */

/* Calls to the modules above this one; replication.c fills in all of them. */
struct replicaHooks {
    void (*requestSnapshot)(struct replicaClient *r); /* full_sync.h: fullSyncRequest ... */
    void (*forgetSnapshot)(struct replicaClient *r);
    bool (*writeSnapshot)(struct replicaClient *r);
    bool (*hasSnapshotOutput)(const struct replicaClient *r);
    bool (*snapshotAwaitsMain)(uint64_t rdb_client_id); /* full_sync_direct.h: syncDirectIsWaiting ... */
    void (*mainReadsStream)(uint64_t rdb_client_id);
    size_t (*countAwaitedMains)(void);
    size_t (*countKeptReaders)(void);
    void (*limitKeptStream)(void);
    void (*dropKeptStream)(void);
    bool (*primaryIsDown)(void); /* link.h: linkIsDown ... */
    void (*becomePrimary)(void);
    void (*acknowledge)(void);   /* sends our primary at once what we have applied */
    bool (*isFailingOver)(void); /* failover.h */
};
extern struct replicaHooks replica_hooks;

/* Returns the struct replicaClient of c, which is created when there is none. */
struct replicaClient *replicaGetOrCreate(struct client *c);
/* Returns "ip:port" for the log, as the replica announces itself. Valid until the next call. */
const char *replicaName(const struct replicaClient *r);
/* Returns the address that the replica announced, or its connection's. Valid until the next call. */
const char *replicaAddress(const struct replicaClient *r);
/* Sends protocol bytes before the stream (+FULLRESYNC, a header, "\n"), written at the end of the turn. */
void replicaSend(struct replicaClient *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The snapshot of r is taken now: sends +FULLRESYNC (not to old replicas), keeps the stream for
 * r from here on unless r wants the snapshot alone, and makes it begin with a SELECT. Returns
 * false when r is being closed. */
bool replicaBeginSnapshot(struct replicaClient *r, uint64_t offset);
/* The snapshot has been sent: the state becomes ONLINE. The stream follows at once or after the first ACK. */
void replicaMarkOnline(struct replicaClient *r, bool at_once);
/* Records a REPLCONF ACK: what the replica has applied, and what it has on disk (-1: not sent). */
void replicaNoteAck(struct replicaClient *r, int64_t offset, int64_t synced);
/* Makes r a replica. replicaContinue sends it the stream from position `at` on, which must be kept. */
void replicaJoin(struct replicaClient *r, enum replicaState state);
void replicaContinue(struct replicaClient *r, uint64_t at);

/* Returns how many replicas are online and have acknowledged `offset` (synced: as being on their
 * disks). For struct waitSources. */
int replicasCountAcked(uint64_t offset, bool synced);
/* Returns how many replicas are online and have shown a sign of life within min-replicas-max-lag. */
int replicasCountGood(void);
/* See replicationControl.successor. */
const char *replicasSuccessor(uint64_t offset, bool *legacy);
/* Closes the connections of all replicas, as our own history has changed. They will connect again
 * and request how to go on. */
void replicasDisconnect(void);
/* Disconnects the replicas and frees the backlog, as the dataset no longer is what our history says. */
void replicasDropHistory(void);
/* Schedules the new bytes of the stream for the next clientsWritePending. Called at the end of a turn. */
void replicasWriteLater(void);
/* Returns the offset behind the last change in the stream, without commands of our own that follow it. */
uint64_t replicasChangesEnd(void);
/* Sends REPLCONF GETACK * with the next turn. */
void replicasRequestAck(void);

/* Replies to ROLE on a primary. */
void replicasReplyRole(struct client *c);

void replicasInit(void);     /* the stream, directives, jobs */
void replicasInfoInit(void); /* INFO fields, memory, fields of CLIENT LIST (replicas_info.c) */
