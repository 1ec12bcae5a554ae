/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_simulation_private.h - what the parts of the simulation of Sentinels share: sentinel_simulation.c
 * runs Sentinels and checks invariants, sentinel_simulation_servers.c models servers and answers requests,
 * and sentinel_simulation_network.c has the connections. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "tests/sim/sentinel_simulation.h"
#include "tests/sim/sim_queue.h"

#define SIM_PROCESSES_MAX    32
#define SIM_CONNECT_FAILS_MS 20
#define SIM_TICK_MS          100
#define SIM_SERVER_PORT      6379
#define SIM_SENTINEL_PORT    26379

enum sentinelSimEventKind { SIM_TICK, SIM_CONNECTED, SIM_REQUEST, SIM_REPLY, SIM_CLOSED };

/* One object for both ends of a connection. Bytes that are sent become an event at the other end, later than
 * everything sent before them. Nothing passes a dead connection. Its Sentinel gets an event about the death,
 * or, when the other end cannot be reached, no event at all. */
struct sentinelSimChannel {
    uint64_t number;
    int from, to; /* processes: the Sentinel that connected, and its peer */
    uint64_t to_life;
    struct peerLink *link;
    enum channel ch;
    bool dead;
    bool subscribed;
    bool multi;
    sds *queued; /* requests after MULTI */
    int queued_count;
    int64_t request_ms, reply_ms; /* when the newest message of each direction arrives */
};

struct sentinelSimVotes { /* of one Sentinel, by epoch */
    char (*leader)[RUN_ID_LEN + 1];
    uint64_t room, highest;
};

struct sentinelSimProcess {
    struct sentinelSim *sim;
    int index, side;
    bool alive, hung;
    uint64_t life; /* counts restarts */
    int64_t clock_off_ms;
    struct simEvent *held; /* events that came while it hung */
    int held_count;
    /* A Sentinel. */
    struct supervisor supervisor;
    sds disk, events;
    struct sentinelSimVotes votes;
    uint64_t config_epoch; /* the highest so far */
    /* A server. */
    char run_id[RUN_ID_LEN + 1];
    int following, disk_following; /* -1: a primary */
    uint64_t offset;
    int64_t synced_ms;    /* when it gets in sync with its primary, if that is still alive then */
    int64_t link_lost_ms; /* 0: it is in sync */
    int64_t loading_until_ms, loading_ms;
    int priority;
    bool never_syncs;
    uint64_t behind;  /* its offset stays so much less than its primary's */
    int branch;       /* of the history: its data are that branch's up to `offset` */
    int acked_branch; /* its last acknowledgement */
    uint64_t acked_offset;
    int64_t acks_paused_until_ms[SIM_PROCESSES_MAX]; /* by Sentinel */
    enum sentinelSimFailoverMode failover;
    int failover_to;
    int64_t failover_until_ms; /* 0: no failover in progress */
};

/* Each promotion begins a branch of the history, where the parent's data end. */
struct sentinelSimBranch {
    int parent;           /* -1: the first */
    uint64_t from, acked; /* what clients know to be kept: as many replicas as they wanted have it */
};

struct sentinelSim {
    struct sentinelSimOptions o;
    struct sentinelSimBranch *branches;
    int branch_count;
    int64_t now_ms;
    uint64_t random, numbers;
    struct simQueue queue;
    struct sentinelSimChannel **channels; /* ascending by number */
    int channel_count;
    struct sentinelSimProcess process[SIM_PROCESSES_MAX];
    int count;
    int *winner,
        *place; /* by epoch: the Sentinel that won it, the server that is its primary; -1: none yet */
    uint64_t epochs;
};

static inline bool sentinelSimIsSentinel(const struct sentinelSimProcess *p) {
    return p->index < p->sim->o.sentinels;
}
static inline bool sentinelSimReaches(const struct sentinelSimProcess *a,
                                      const struct sentinelSimProcess *b) {
    return a->side == b->side;
}

/* ---- sentinel_simulation_network.c ---- */
int64_t sentinelSimLatency(struct sentinelSim *s); /* of one message, in milliseconds */
void sentinelSimNewRunId(struct sentinelSim *s, char id[RUN_ID_LEN + 1]);
int64_t sentinelSimWallClock(const struct sentinelSimProcess *p); /* milliseconds */
int sentinelSimProcessAt(const char *ip);                         /* -1: no process has this address */

struct sentinelSimChannel *sentinelSimFindChannel(struct sentinelSim *s, uint64_t number); /* NULL: gone */
struct sentinelSimChannel *sentinelSimAddChannel(struct sentinelSim *s, struct sentinelSimChannel channel);
void sentinelSimDropQueued(struct sentinelSimChannel *c);
void sentinelSimFreeChannel(struct sentinelSim *s, struct sentinelSimChannel *c);
/* An event of that connection at one of its ends. */
struct simEvent sentinelSimEventAt(const struct sentinelSim *s, const struct sentinelSimChannel *c,
                                   int process, int64_t at_ms, enum sentinelSimEventKind kind);
/* The peer closes the connection; the event arrives after everything that was sent before. */
void sentinelSimBreakChannel(struct sentinelSim *s, struct sentinelSimChannel *c);
/* Sends bytes, which it takes over: SIM_REQUEST to the peer, SIM_REPLY to the Sentinel. */
void sentinelSimTransmit(struct sentinelSim *s, struct sentinelSimChannel *c, enum sentinelSimEventKind kind,
                         sds bytes);

/* ---- sentinel_simulation_servers.c ---- */
bool sentinelSimInSync(const struct sentinelSimProcess *p); /* has it all data of its primary right now? */
void sentinelSimFollow(struct sentinelSimProcess *p, int primary); /* -1: it becomes a primary */
int sentinelSimAddBranch(struct sentinelSim *s, int parent, uint64_t from);
bool sentinelSimAcksArePaused(const struct sentinelSimProcess *p);
void sentinelSimServerTick(struct sentinelSimProcess *p);
void sentinelSimOnRequest(struct sentinelSimProcess *p, struct sentinelSimChannel *c, sds bytes);
void sentinelSimOnReply(struct sentinelSimProcess *p, struct sentinelSimChannel *c, sds bytes);
