/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine.h - the decisions of a cluster node: which nodes are alive, which one owns a slot, which one
 * is elected. It is a state machine that knows neither sockets nor clocks nor data. Time, random numbers and
 * messages come in as arguments; effects go out through a table of functions (struct engineEnv). A simulator
 * runs hundreds of engines in virtual time (simulation_test.c); node.c runs one in the server.
 *
 *                   messages, links, ticks               send, connect, close, save,
 *     the environment ──────────────────────▶ struct engine ─────────────────────────▶ the environment
 *                   commands of users                    follow, pause, delete keys, log
 *
 * The parts: cluster_engine.c creates the engine and orders its work; cluster_engine_members.c handshake,
 * links, gossip; cluster_engine_failure.c heartbeat, failure detection, cluster state; cluster_engine_slots.c
 * claims, epochs, UPDATE; cluster_engine_election.c ranks, votes; cluster_engine_fence.c acknowledgements
 * that stop for an election (min-replicas-sync); cluster_engine_manual.c manual failover;
 * cluster_engine_orphans.c replicas that move; cluster_engine_send.c messages.
 *
 * Invariants
 *
 *  - In one epoch a node votes once; the vote is on disk before the answer leaves (env->save with `sync`).
 *  - config_epoch of this node only grows, and never exceeds current_epoch.
 *  - A slot passes from one owner to another only to a higher config_epoch, or by the owner's own will.
 *  - An epoch is won by votes, or reserved before it is taken (cluster_engine_slots.c). Two exceptions:
 *    epochs that a user requests, and epochs of nodes without replicas.
 *  - Functions of the environment never call the engine: it is not reentered.
 *
 * Functions get now_ms of the wall clock, which goes into files and replies and measures all intervals. When
 * the clock is set back, what was measured is set back with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/log_limit.h"
#include "cluster/bus.h"
#include "cluster/topology.h"

/* One connection of the bus. The environment embeds this struct in its own one. */
struct busLink {
    struct clusterNode *node; /* the node on the other side; NULL: not known yet (inbound only) */
    bool inbound;
    bool ponged; /* outbound: a PONG has arrived on this link, so the other side knows this node */
    int64_t created_ms;
    char peer_ip[NODE_IP_LEN]; /* address of the other end of the socket */
    char own_ip[NODE_IP_LEN];
};

/* Whether a replica is never elected, or not while it has no data at all. */
enum noFailover { NO_FAILOVER_NO, NO_FAILOVER_YES, NO_FAILOVER_IF_EMPTY };

/* Settings that may change at any time: the directives of the same names, and what tests and modules set. */
struct engineSettings {
    int64_t node_timeout_ms, ping_interval_ms; /* 0: half of the time-out */
    int64_t manual_failover_timeout_ms, blacklist_ttl_s;
    int64_t replica_validity_factor, migration_barrier, gossip_percent;
    int64_t repl_ping_period_s;
    int64_t sync_replicas; /* min-replicas-sync; 0: off */
    bool require_full_coverage, allow_replica_migration;
    bool unclean_failover;    /* an election is won without the answers that min-replicas-sync needs */
    int replica_no_failover;  /* enum noFailover */
    bool tls;                 /* tls-cluster: the bus announces the TLS port as "the port" */
    const char *announced_ip; /* "": the address of the sockets */
    bool failover_on_request; /* a module has taken over: this node fails over only on request */
    bool no_random_pings;     /* DEBUG DISABLE-CLUSTER-RANDOM-PING */
    bool keeps_epoch;         /* slots are about to be claimed above this node's epoch, which must stay */
};

/* The state of this node's replication, at the time of the call. */
struct engineReplication {
    uint64_t offset; /* a primary's own offset, or what a replica has processed */
    bool link_up;    /* the link of a replica to its primary */
    bool whole;      /* a replica's data is complete and from the history of its primary */
    int64_t data_ms; /* when a replica's data was last as new as its primary's; 0: not since the start */
};

struct engineEnv {
    /* Opens an outbound link to this address. Returns NULL if no attempt is possible; otherwise engineLinkUp
     * or engineLinkDown follows later. */
    struct busLink *(*connect)(void *ctx, const char *ip, uint16_t bus_port);
    void (*close)(void *ctx, struct busLink *link); /* link is freed when this returns */
    /* Sends a whole message; the caller keeps the bytes. */
    void (*send)(void *ctx, struct busLink *link, const char *bytes, size_t len);
    /* Saves nodes.conf. sync: it is on disk when this returns. */
    void (*save)(void *ctx, bool sync);
    uint64_t (*random)(void *ctx);

    struct engineReplication (*replication)(void *ctx);
    /* Replicates `primary`; NULL: becomes a primary. full_sync: the data here is of another shard. */
    void (*follow)(void *ctx, struct clusterNode *primary, bool full_sync);
    void (*pause)(void *ctx, int64_t until_ms); /* pauses writes; 0: ends the pause */
    void (*holdAcks)(void *ctx, bool hold);     /* whether a replica sends no acknowledgements */
    uint64_t (*history)(void *ctx);             /* identifies the history of the data here */
    uint64_t (*keysInSlot)(void *ctx, int slot);
    void (*deleteSlot)(void *ctx, int slot); /* deletes the keys of the slot, and propagates that */
    void (*slotsChanged)(void *ctx);         /* owners or open slots have changed */
    void (*stateChanged)(void *ctx, bool ok);
    /* Returns whether an atomic migration of this node granted the slot to `to`, whose
     * claim then needs no epoch. */
    bool (*slotGranted)(void *ctx, int slot, const struct clusterNode *to);
    /* Messages that are not about the cluster itself. */
    void (*published)(void *ctx, struct clusterNode *by, bool shard, struct str channel, struct str message);
    void (*moduleMessage)(void *ctx, struct clusterNode *by, uint64_t id, uint8_t type, struct str payload);
    void (*log)(void *ctx, int level, const char *line);
};

/* Reasons why a replica cannot take over, for the log. */
enum cannotFailover {
    CAN_FAILOVER,
    CANNOT_EMPTY,
    CANNOT_NOT_WHOLE,
    CANNOT_DATA_AGE,
    CANNOT_WAITING_DELAY,
    CANNOT_EXPIRED,
    CANNOT_WAITING_VOTES,
    CANNOT_WAITING_ACKS
};

struct engineElection {
    int64_t start_ms; /* when requests go out or went out; 0: not scheduled */
    uint64_t epoch;   /* the epoch of the votes */
    int votes, rank, primary_rank;
    bool sent, force_ack;
    enum { FENCE_NONE, FENCE_ASKED, FENCE_WITHDRAWN } fence; /* WITHDRAWN: it cannot be won any more */
    int64_t fence_asked_ms;
    enum cannotFailover reason; /* as last logged */
    int64_t reason_ms;          /* when the reason was last logged */
};

struct engineManual {
    int64_t end_ms;              /* 0: no manual failover */
    struct clusterNode *replica; /* the replica for which a primary is paused */
    uint64_t paused_offset;      /* offset of a replica's primary, valid if has_offset */
    bool has_offset, can_start;
};

/* The data that this node acknowledges as a replica (cluster_engine_fence.c). */
struct engineFence {
    uint64_t history; /* of the data here; 0: not synchronized since the start */
    uint64_t reign;   /* the epoch of the primary with that history, when it was first synchronized with */
    bool held;        /* nothing is acknowledged at present */
};

/* An epoch to be taken without votes (cluster_engine_slots.c). */
struct engineReservation {
    uint64_t epoch;       /* 0: none; the epoch above it has been announced */
    int64_t announced_ms; /* when it was last announced to all voters */
    bool holds;           /* a majority knows: no node can be elected with `epoch` any more */
};

enum downReason { DOWN_NOT, DOWN_STARTING, DOWN_COVERAGE, DOWN_MINORITY };

/* Work for the end of the turn (engineFlush). */
enum {
    TODO_SAVE = 1,
    TODO_SYNC = 2, /* TODO_SAVE, and sync to disk */
    TODO_STATE = 4,
    TODO_ELECTION = 8,
    TODO_BROADCAST = 16, /* a PONG to all nodes: this node's role or slots have changed */
    TODO_SLOTS = 32,     /* env->slotsChanged */
};

struct busStats {
    uint64_t sent[BUS_TYPES], received[BUS_TYPES], bytes_sent, bytes_received;
    uint64_t pubsub_bytes_sent, pubsub_bytes_received, module_bytes_sent, module_bytes_received;
};

struct engine {
    struct topology t;
    struct engineSettings settings;
    const struct engineEnv *env;
    void *ctx;
    int64_t now_ms;
    int64_t started_ms, minority_ms; /* start; last time in a minority */
    struct busLink *receiving;       /* whose message is being processed; NULL: none, or it was dropped */
    uint64_t ticks;
    enum downReason down; /* the state of the cluster, as this node sees it */
    enum downReason logged_down;
    int64_t logged_down_ms;
    uint64_t self_assigned_epoch; /* the last epoch that this node took without votes; not saved */
    int64_t announce_ms;          /* when the role is announced once more; 0: no need */
    unsigned todo;                /* TODO_… */
    struct engineElection election;
    struct engineManual manual;
    struct engineFence fence;
    struct engineReservation reservation;
    struct busStats stats;
    struct logLimit hostile_log; /* for messages that anybody can send */
};
static inline bool engineIsClusterOk(const struct engine *e) {
    return e->down == DOWN_NOT;
}

/* Makes an engine with an empty topology, to be read from a file or filled by engineCreateMyself. The caller
 * fills the settings. */
void engineInit(struct engine *e, const struct engineEnv *env, void *ctx, int64_t now_ms);
void engineCreateMyself(struct engine *e); /* this becomes a node with a new id that knows no others */
/* The topology and the settings have been read. With min-replicas-sync, a replica acknowledges nothing until
 * it knows that no election waits for what it may have answered before the start (cluster_engine_fence.c). */
void engineStart(struct engine *e);
void engineDestroy(struct engine *e); /* links have been closed before */
/* Adds TODO_… to the work for the end of the turn. */
static inline void engineAddTodo(struct engine *e, unsigned what) {
    e->todo |= what;
}

/* A handshake that takes longer is given up. */
#define HANDSHAKE_MIN_MS 1000
static inline int64_t engineHandshakeTimeout(const struct engine *e) {
    int64_t timeout = e->settings.node_timeout_ms;
    return timeout < HANDSHAKE_MIN_MS ? HANDSHAKE_MIN_MS : timeout;
}

/* ---- Events ---- */
void engineTick(struct engine *e, int64_t now_ms); /* called every ENGINE_TICK_MS */
#define ENGINE_TICK_MS 100
void engineLinkUp(struct engine *e, struct busLink *link, int64_t now_ms);   /* outbound links only */
void engineLinkDown(struct engine *e, struct busLink *link, int64_t now_ms); /* the caller frees it */
/* Processes one message of the link. False: the link is detached from its node, and the caller frees it. */
bool engineReceive(struct engine *e, struct busLink *link, const uint8_t *packet, uint32_t len,
                   int64_t now_ms);
/* Does the work that was put off in this turn, before replies leave. */
void engineFlush(struct engine *e, int64_t now_ms);

/* Returns the offset that is announced to other nodes. It is 0 for a replica whose data is
 * incomplete or of another shard. */
uint64_t engineAnnouncedOffset(const struct engine *e);

/* ---- Requests of users ---- */
/* Begins a handshake, unless one with that address is under way. */
enum meetVerdict { MEET_BEGUN, MEET_UNDER_WAY, MEET_NO_ADDRESS };
enum meetVerdict engineMeet(struct engine *e, const char *ip, uint16_t port, uint16_t bus_port,
                            int64_t now_ms);
/* Removes a node that is neither myself nor my primary, and refuses it for blacklist_ttl_s. */
void engineForget(struct engine *e, struct clusterNode *n, int64_t now_ms);
/* Makes this node a replica of `primary`; its slots lose their owner. full_sync: the primary's data is no
 * continuation of the data here. */
void engineFollow(struct engine *e, struct clusterNode *primary, bool full_sync);
/* Makes a replica an empty primary of a shard of its own. */
void engineLeaveShard(struct engine *e);
enum failoverKind { FAILOVER_ASK, FAILOVER_FORCE, FAILOVER_TAKEOVER };
void engineFailover(struct engine *e, enum failoverKind kind, int64_t now_ms); /* this node is a replica */
void engineReset(struct engine *e, bool hard, int64_t now_ms);
/* Takes the reserved epoch, or else one above all that are known, without votes. Returns false if the epoch
 * of this node was the greatest already and no other node had it. */
bool engineBumpEpoch(struct engine *e, int64_t now_ms);
/* Prepares an epoch to be taken: announces the epoch above it to all voters, which vote in no lower one then.
 * Repeated calls announce it again; answers since the last announcement count. */
void engineReserveEpoch(struct engine *e, int64_t now_ms);
/* Reserves a new epoch that is also above any that another node may have taken by itself
 * from the epochs known now. */
void engineReserveNewEpoch(struct engine *e, int64_t now_ms);
bool engineIsEpochReserved(struct engine *e);
/* Returns whether n is among those that have answered. If so, the reserved epoch is above its own. */
bool engineIsReservationKnownBy(const struct engine *e, const struct clusterNode *n);
/* Returns the node's name for the log: id (human name, or address). The buffer is reused by
 * the third call from now. */
const char *nodeLogName(const struct clusterNode *n);

/* ---- Messages that are not about the cluster itself ---- */
/* Sends to all nodes, or to those of this shard. */
void engineSendPublish(struct engine *e, bool shard, struct str channel, struct str message, int64_t now_ms);
/* Sends to one node, or to all if `to` is NULL. */
void engineModuleSend(struct engine *e, struct clusterNode *to, uint64_t id, uint8_t type, struct str payload,
                      int64_t now_ms);
