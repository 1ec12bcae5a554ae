/* SPDX-License-Identifier: BSD-3-Clause */
/* instance.h - what a Sentinel knows of each server: of the primaries it watches, of their replicas, and of
 * the other Sentinels that watch them. Data only; who decides what is in supervisor.h.
 *
 *     primary "mymaster" ──┬── link ── command channel, pub/sub channel
 *                          ├── replicas[]  ── each with a link of its own
 *                          └── sentinels[] ── link: one for all primaries that the same Sentinel watches
 *                                             (same run id), without a pub/sub channel
 *
 * Times are milliseconds of the wall clock; 0 where nothing of the kind has happened, unless it says
 * otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define RUN_ID_LEN       40
#define HOST_IP_LEN      46 /* with its NUL */
#define REPLICA_PRIORITY 100

struct supervisor;
struct instance;

/* Where it is. Two are the same when the ports are, and either the IP or (ignoring case) the name. */
struct hostAddress {
    sds name;             /* as it was told: a host name or an IP */
    char ip[HOST_IP_LEN]; /* "": the name does not resolve */
    int port;
};

enum instanceKind { KIND_PRIMARY, KIND_REPLICA, KIND_SENTINEL };

/* In the order in which SENTINEL PRIMARY and its like show them. */
enum {
    FLAG_S_DOWN = 1 << 0,      /* down as this Sentinel sees it */
    FLAG_O_DOWN = 1 << 1,      /* down as enough Sentinels see it */
    FLAG_MASTER_DOWN = 1 << 2, /* of a Sentinel: it says that the primary is down */
    FLAG_FAILOVER_IN_PROGRESS = 1 << 3,
    FLAG_PROMOTED = 1 << 4,       /* of a replica: the one that becomes the primary */
    FLAG_RECONF_SENT = 1 << 5,    /* of a replica: told to follow the promoted one, */
    FLAG_RECONF_INPROG = 1 << 6,  /* which it does, */
    FLAG_RECONF_DONE = 1 << 7,    /* and is in step with */
    FLAG_FORCE_FAILOVER = 1 << 8, /* asked for by a user: no votes are needed */
    FLAG_COORDINATED = 1 << 9,    /* by the servers' own FAILOVER command */
    FLAG_SCRIPT_KILL_SENT = 1 << 10,
    FLAG_REBOOT = 1 << 11, /* of a primary: its run id has changed, and it has not answered since */
};

/* What waits for an answer on a command channel, oldest first. */
enum peerRequest { ASKED_NOTHING, ASKED_PING, ASKED_INFO, ASKED_PUBLISH, ASKED_DOWN };
struct pendingReply {
    enum peerRequest what;
    uint64_t instance; /* its id: it may be gone when the answer comes */
};

enum channel { CHANNEL_COMMAND, CHANNEL_PUBSUB };

/* The two connections to one process. */
struct peerLink {
    struct instance **owners; /* those that share it; more than one only of Sentinels */
    int owner_count;
    void *channel[2]; /* by enum channel: the environment's; NULL: not connected, nor on its way */
    struct pendingReply *pending;
    int pending_count, pending_capacity;
    int64_t since_ms[2];        /* by channel: when it was begun */
    int64_t pubsub_received_ms; /* the newest message */
    int64_t reconnect_ms;       /* the newest attempt */
    int64_t ping_ms;            /* when the oldest PING without an answer was sent; 0: there is none */
    int64_t last_ping_ms;       /* when the newest PING was sent */
    int64_t good_pong_ms;       /* the newest answer that counts as alive; at first, when it was created */
    int64_t pong_ms;            /* the newest answer of any kind to a PING */
};

enum sentinelFailoverState {
    FAILOVER_NONE,
    FAILOVER_WAIT_START,
    FAILOVER_SELECT_REPLICA,
    FAILOVER_SEND_REPLICAOF_NOONE,
    FAILOVER_WAIT_PROMOTION,
    FAILOVER_RECONF_REPLICAS,
    FAILOVER_UPDATE_CONFIG,
};
const char *
failoverStateText(enum sentinelFailoverState state); /* "none", "wait_start", ... as replies have it */

/* What a primary's servers call their commands. */
struct renamedCommand {
    sds from, to;
};

struct instances {
    struct instance **items;
    int count;
};

/* What only a primary has. */
struct primaryState {
    struct instances replicas, sentinels;
    int quorum, parallel_syncs;
    int64_t failover_timeout_ms;
    int64_t reboot_down_after_ms;             /* 0: a reboot is nothing special */
    sds auth_user, auth_pass;                 /* NULL: none; also for its replicas */
    sds notification_script, reconfig_script; /* NULL: none */
    struct renamedCommand *renamed;
    int renamed_count;
    enum sentinelFailoverState failover_state;
    int64_t failover_state_ms;        /* when it became that */
    int64_t failover_start_ms;        /* of the newest attempt, of us or of whom we voted for */
    int64_t failover_delay_logged_ms; /* the start for which the delay has been logged */
    uint64_t failover_epoch;
    struct instance *promoted;   /* one of the replicas, or NULL */
    char leader[RUN_ID_LEN + 1]; /* "": whom we voted for, */
    uint64_t leader_epoch;       /* in this epoch; or whom the failover counts as elected */
    bool knows_failover;         /* its INFO has master_failover_state */
    bool handing_over;           /* the failover under way is done by its own FAILOVER */
};

/* What only a replica has: mostly of its INFO. */
struct sentinelReplicaState {
    int64_t link_down_ms; /* for how long it has been without its primary */
    int priority;
    int64_t reconf_sent_ms;
    sds primary_host; /* NULL: not told yet */
    int primary_port;
    bool link_up;
    bool announced;
    uint64_t repl_offset;
    int64_t conf_change_ms; /* since when it has followed that primary, and its FAILOVER has been as it is */
};

/* What only another Sentinel has. */
struct sentinelState {
    int64_t hello_ms;            /* its newest hello */
    int64_t down_reply_ms;       /* its newest answer about the primary */
    char leader[RUN_ID_LEN + 1]; /* "": whom it votes for, */
    uint64_t leader_epoch;       /* in that epoch */
};

struct instance {
    uint64_t id; /* never used again */
    enum instanceKind kind;
    unsigned flags;
    sds name;                    /* a primary's own; ip:port of a replica; the run id of a Sentinel */
    char run_id[RUN_ID_LEN + 1]; /* "": not known yet */
    uint64_t config_epoch;
    struct hostAddress address;
    struct peerLink *link;
    struct instance *primary; /* NULL: it is one */
    int64_t hello_sent_ms;
    int64_t s_down_ms, o_down_ms; /* since when */
    int64_t down_after_ms;
    /* INFO */
    int64_t info_ms;          /* the newest */
    sds info;                 /* its text, NULL: none yet */
    bool reports_replica;     /* its role as it told it; at first what it is thought to be */
    int64_t role_reported_ms; /* since when */
    bool failing_over;        /* it says that a FAILOVER is under way */
    int64_t reboot_ms;        /* since FLAG_REBOOT */
    union {
        struct primaryState p;
        struct sentinelReplicaState r;
        struct sentinelState s;
    };
};

/* ---- Life ---- */

/* Not connected yet. Added to the primaries, or to those of `primary`. Name (of a Sentinel: its run id) and
 * address are copied; the name of a replica is made of the address. */
struct instance *instanceCreate(struct supervisor *s, enum instanceKind kind, const char *name,
                                const struct hostAddress *address, struct instance *primary);
/* Closes and frees its link when nobody shares it any more, takes it out of where it is, frees it with its
 * replicas and Sentinels. */
void instanceRemove(struct supervisor *s, struct instance *i);

/* ---- Looking ---- */
struct instance *instancesFindName(const struct instances *all, const char *name); /* NULL: there is none */
struct instance *instancesFindAddress(const struct instances *all, const struct hostAddress *address);
/* Of Sentinels: run_id or address may be NULL, then it is not looked at. */
struct instance *instancesFindSentinel(const struct instances *all, const struct hostAddress *address,
                                       const char *run_id);
static inline struct instance *instancePrimary(struct instance *i) {
    return i->primary ? i->primary : i;
}
static inline const char *instanceKindText(const struct instance *i) {
    return i->kind == KIND_PRIMARY ? "master" : i->kind == KIND_REPLICA ? "slave" : "sentinel";
}
/* Is a channel that it should have not there? */
bool instanceDisconnected(const struct instance *i);
/* "s_down,master,disconnected": as replies show them, in their order. */
sds instanceFlagsText(const struct instance *i);

/* ---- Addresses ---- */
/* Names are resolved only where `resolve-hostnames` says so. False: it is no IP, and cannot be resolved (with
 * `accept_unresolved` the address is good all the same, with an empty ip). *a is to be freed then, too. */
bool hostAddressInit(struct supervisor *s, struct hostAddress *a, const char *host, int port,
                     bool accept_unresolved);
void hostAddressCopy(struct hostAddress *to, const struct hostAddress *from); /* `to` is overwritten */
void hostAddressFree(struct hostAddress *a);
bool hostAddressSame(const struct hostAddress *a, const struct hostAddress *b);
/* What is told to others: the name where announce-hostnames says so, else the IP. */
const char *hostAddressText(const struct supervisor *s, const struct hostAddress *a);
