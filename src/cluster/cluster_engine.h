/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine.h - the decisions of a cluster node: who is alive, who owns what, who is elected. A state
 * machine that knows neither sockets nor clocks nor the data: time, random numbers and messages come in as
 * arguments, and what it wants done goes out through a table of functions (struct engineEnv). A simulator
 * runs hundreds of them in virtual time (simulation_test.c); cluster.c runs one in the environment.
 *
 *                   messages, links, ticks                    send, connect, close, save,
 *     the environment  ───────────────────────────▶  struct engine ─────────────────────────────▶  the environment
 *                   commands of users                         follow, pause, delete keys, log
 *
 * What is where: cluster_engine.c life and the order of things; cluster_engine_members.c handshake, links,
 * gossip; cluster_engine_failure.c heartbeat, failure detection, state; cluster_engine_slots.c claims,
 * epochs, UPDATE; cluster_engine_election.c ranks, votes; cluster_engine_manual.c manual failover;
 * cluster_engine_orphans.c replicas that move.
 *
 * Invariants
 *  - In one epoch a node votes once; the vote is on disk before the answer leaves (environment->save with `sync`).
 *  - config_epoch of this node only grows, and never exceeds current_epoch.
 *  - A slot passes from one owner to another only to a higher config_epoch, or by the owner's own will.
 *  - An epoch is won by votes, or reserved before it is taken (cluster_engine_slots.c); but for those that a user asks
 *    for, and of nodes without replicas.
 *  - Nothing is called from within a function of the environment: the engine is not reentered.
 *
 * Every function takes the time first of all: now_ms of the wall clock, which goes into files and replies,
 * and by which all is measured. When it is set back, what was measured goes back with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/log_limit.h"
#include "cluster/bus.h"
#include "cluster/topology.h"

/* One connection of the bus, one half of a pair. The environment has it embedded in what it knows of it. */
struct busLink {
    struct clusterNode *node; /* whose it is; NULL: not known yet (inbound only) */
    bool inbound;
    bool ponged; /* outbound: a PONG has come since it was made, so the other side knows us */
    int64_t created_ms;
    char peer_ip[NODE_IP_LEN]; /* of its socket */
    char own_ip[NODE_IP_LEN];
};

/* What may be set at any time; the directives of the same names. */
struct engineSettings {
    int64_t node_timeout_ms, ping_interval_ms; /* 0: half of the time-out */
    int64_t manual_failover_timeout_ms, blacklist_ttl_s;
    int64_t replica_validity_factor, migration_barrier, gossip_percent;
    int64_t repl_ping_period_s;
    bool require_full_coverage, allow_replica_migration, replica_no_failover;
    bool tls;                 /* tls-cluster: which port is "the port" on the bus */
    const char *announced_ip; /* "": that of the sockets */
    bool failover_is_others;  /* a module has said so: only when it is told, this node tries one */
    bool no_random_pings;     /* DEBUG DISABLE-CLUSTER-RANDOM-PING */
    bool keeps_epoch; /* slots of ours are about to be claimed, with an epoch above the one that we have */
};

/* Of the replication of this node, when it is asked. */
struct engineReplication {
    uint64_t offset; /* of a primary its own, of a replica what it has processed */
    bool link_up;    /* a replica's, to its primary */
    bool whole;      /* a replica's data: they came whole, and from the history of its primary */
    int64_t data_ms; /* when they were last as new as the primary's; 0: not since the start */
};

struct engineEnv {
    /* Links. A new outbound one to this address, or NULL when that cannot be tried; how it went is told by
     * engineLinkUp or engineLinkDown, later. */
    struct busLink *(*connect)(void *w, const char *ip, uint16_t bus_port);
    void (*close)(void *w, struct busLink *link); /* it is gone when this returns */
    /* Whole messages; the bytes are the caller's. */
    void (*send)(void *w, struct busLink *link, const char *bytes, size_t len);
    /* nodes.conf. sync: it is on disk when this returns. */
    void (*save)(void *w, bool sync);
    uint64_t (*random)(void *w);

    /* This server. */
    struct engineReplication (*replication)(void *w);
    /* NULL: become a primary. full_sync: the data here are of another shard. */
    void (*follow)(void *w, struct clusterNode *primary, bool full_sync);
    void (*pause)(void *w, int64_t until_ms); /* writes; 0: go on */
    uint64_t (*keysInSlot)(void *w, int slot);
    void (*deleteSlot)(void *w, int slot); /* its keys; propagated */
    void (*slotsChanged)(void *w); /* owners or open slots have: clients that wait are looked through, ... */
    void (*stateChanged)(void *w, bool ok);
    /* Was the slot granted to this node by an atomic migration of ours? Then its claim needs no epoch. */
    bool (*slotGranted)(void *w, int slot, const struct clusterNode *to);
    /* A message that is not about the cluster itself. */
    void (*published)(void *w, struct clusterNode *by, bool shard, struct str channel, struct str message);
    void (*moduleMessage)(void *w, struct clusterNode *by, uint64_t id, uint8_t type, struct str payload);
    void (*log)(void *w, int level, const char *line);
};

/* What keeps a replica from a failover, for the log. */
enum cannotFailover {
    CAN_FAILOVER,
    CANNOT_NOT_WHOLE,
    CANNOT_DATA_AGE,
    CANNOT_WAITING_DELAY,
    CANNOT_EXPIRED,
    CANNOT_WAITING_VOTES
};

struct engineElection {
    int64_t start_ms; /* when requests go out, or went; 0: none yet */
    uint64_t epoch;   /* of the votes */
    int votes, rank, primary_rank;
    bool sent, force_ack;
    enum cannotFailover reason; /* as last logged, */
    int64_t reason_ms;          /* then */
};

struct engineManual {
    int64_t end_ms;              /* 0: none */
    struct clusterNode *replica; /* of a primary: for whom it is paused */
    uint64_t paused_offset;      /* of a replica's primary, when has_offset */
    bool has_offset, can_start;
};

/* An epoch to be taken without votes (cluster_engine_slots.c). */
struct engineReservation {
    uint64_t epoch;   /* 0: none; the one above it has been told */
    int64_t asked_ms; /* when that was last told to all voters */
    bool holds;       /* enough of them know: nobody can be elected with `epoch` any more */
};

enum downReason { DOWN_NOT, DOWN_STARTING, DOWN_COVERAGE, DOWN_MINORITY };

/* To be done at the end of the turn (engineFlush). */
enum {
    TODO_SAVE = 1,
    TODO_SYNC = 2, /* and to disk */
    TODO_STATE = 4,
    TODO_ELECTION = 8,
    TODO_BROADCAST = 16, /* a PONG to everybody: what we are has changed */
    TODO_SLOTS = 32,     /* environment->slotsChanged */
};

struct busStats {
    uint64_t sent[BUS_TYPES], received[BUS_TYPES], bytes_sent, bytes_received;
    uint64_t pubsub_bytes_sent, pubsub_bytes_received, module_bytes_sent, module_bytes_received;
};

struct engine {
    struct topology t;
    struct engineSettings settings;
    const struct engineEnv *env;
    void *w;
    int64_t now_ms;
    int64_t started_ms, minority_ms; /* when it began; when it last was in a minority */
    struct busLink *receiving;       /* whose message is looked at; NULL: none, or it was dropped meanwhile */
    uint64_t ticks;
    enum downReason down; /* the state of the cluster, as seen from here */
    enum downReason logged_down;
    int64_t logged_down_ms;
    uint64_t given_epoch; /* the last one that this node gave itself, without votes; not in files */
    int64_t announce_ms;  /* when our role is told once more; 0: it need not be */
    unsigned todo;        /* TODO_… */
    struct engineElection election;
    struct engineManual manual;
    struct engineReservation bar;
    struct busStats stats;
    struct logLimit hostile_log; /* about messages that anybody can send */
};
static inline bool engineStateOk(const struct engine *e) {
    return e->down == DOWN_NOT;
}

/* With an empty topology: it is either read from a file, or engineCreated. The settings are the caller's to
 * fill. */
void engineInit(struct engine *e, const struct engineEnv *env, void *w, int64_t now_ms);
void engineCreated(struct engine *e); /* a node with a new id, that knows nobody */
void engineDestroy(struct engine *e); /* links have been closed */
/* What is to be done at the end of the turn. */
static inline void engineTodo(struct engine *e, unsigned what) {
    e->todo |= what;
}

/* Who has not said within that time who he is, is given up. */
#define HANDSHAKE_MIN_MS 1000
static inline int64_t handshakeTimeout(const struct engine *e) {
    int64_t timeout = e->settings.node_timeout_ms;
    return timeout < HANDSHAKE_MIN_MS ? HANDSHAKE_MIN_MS : timeout;
}

/* ---- What happens in the environment ---- */
void engineTick(struct engine *e, int64_t now_ms); /* every ENGINE_TICK_MS */
#define ENGINE_TICK_MS 100
void engineLinkUp(struct engine *e, struct busLink *link, int64_t now_ms);   /* an outbound one */
void engineLinkDown(struct engine *e, struct busLink *link, int64_t now_ms); /* the caller frees it then */
/* One message of that link. False: the link is of no use any more, and nobody's; the caller frees it. */
bool engineReceive(struct engine *e, struct busLink *link, const uint8_t *packet, uint32_t len,
                   int64_t now_ms);
/* At the end of a turn, before replies leave: what was put off by all that happened in it. */
void engineFlush(struct engine *e, int64_t now_ms);

/* The offset that others are told. 0: nothing that counts; of a replica, data that are of another shard, or
 * not whole, are nothing. */
uint64_t engineOffset(const struct engine *e);

/* ---- What users ask for ---- */
/* Begins a handshake, unless one with that address is under way. */
enum meetVerdict { MEET_BEGUN, MEET_UNDER_WAY, MEET_NO_ADDRESS };
enum meetVerdict engineMeet(struct engine *e, const char *ip, uint16_t port, uint16_t bus_port,
                            int64_t now_ms);
/* The node is not myself, nor my primary. */
void engineForget(struct engine *e, struct clusterNode *n, int64_t now_ms);
/* Its slots are nobody's then. `full_sync`: the data of the other one are not a continuation of ours. */
void engineFollow(struct engine *e, struct clusterNode *primary, bool full_sync);
/* A replica becomes an empty primary of a shard of its own. */
void engineLeaveShard(struct engine *e);
enum failoverKind { FAILOVER_ASK, FAILOVER_FORCE, FAILOVER_TAKEOVER };
void engineFailover(struct engine *e, enum failoverKind kind, int64_t now_ms); /* of a replica */
void engineReset(struct engine *e, bool hard, int64_t now_ms);
/* Takes the epoch that was reserved, or else one above all that are known, without asking anybody; false:
 * ours was the greatest already, and no other's. */
bool engineBumpEpoch(struct engine *e, int64_t now_ms);
/* Before that, by who can wait: all voters are told of an epoch above the one that is to be taken, and vote
 * in no lower one then. May be said again, until most of them have answered (since then). */
void engineReserveEpoch(struct engine *e, int64_t now_ms);
/* The same, for a new one that is also above what another node may have given itself of what is known: */
void engineReserveEpochAbove(struct engine *e, int64_t now_ms);
bool engineEpochReserved(struct engine *e);
/* Was that one among those who have answered? Then the reserved epoch is above its own. */
bool engineReservationKnownBy(const struct engine *e, const struct clusterNode *n);
/* The name of a node in the log: id (human name, or address). A buffer of its own, used again by the third
 * call from now. */
const char *nodeLogName(const struct clusterNode *n);

/* ---- Messages that are not about the cluster itself ---- */
/* To all nodes, or to those of this shard. */
void enginePublish(struct engine *e, bool shard, struct str channel, struct str message, int64_t now_ms);
/* To one node, or (NULL) all. */
void engineModuleSend(struct engine *e, struct clusterNode *to, uint64_t id, uint8_t type, struct str payload,
                      int64_t now_ms);
