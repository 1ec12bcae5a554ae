/* SPDX-License-Identifier: BSD-3-Clause */
/* instance.h - what a Sentinel knows about each server: the primaries that it watches, their replicas, and
 * the other Sentinels that watch them. It has data only; the decisions are in supervisor.h.
 *
 *     primary "mymaster" ──┬── link ── command channel, pub/sub channel
 *                          ├── replicas[]  ── each with a link of its own
 *                          └── sentinels[] ── link: one for all primaries that the same Sentinel watches
 *                                             (same run id), without a pub/sub channel
 *
 * Times are milliseconds of the wall clock; 0 means that the event has not happened,
 * unless a field says otherwise. */
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

/* The address of a server. Two are the same if the ports are, and either the IP or
 * (ignoring case) the name. */
struct hostAddress {
    sds name;             /* as it was given: a host name or an IP */
    char ip[HOST_IP_LEN]; /* "": the name does not resolve */
    int port;
};

enum instanceKind { KIND_PRIMARY, KIND_REPLICA, KIND_SENTINEL };

/* In the order in which SENTINEL PRIMARY and similar replies show them. */
enum {
    FLAG_S_DOWN = 1 << 0,      /* down as this Sentinel sees it */
    FLAG_O_DOWN = 1 << 1,      /* down as enough Sentinels see it */
    FLAG_MASTER_DOWN = 1 << 2, /* Sentinel: it says that the primary is down */
    FLAG_FAILOVER_IN_PROGRESS = 1 << 3,
    FLAG_PROMOTED = 1 << 4,       /* replica: it becomes the primary */
    FLAG_RECONF_SENT = 1 << 5,    /* replica: it was sent the promoted one as its primary */
    FLAG_RECONF_INPROG = 1 << 6,  /* replica: it replicates the promoted one */
    FLAG_RECONF_DONE = 1 << 7,    /* replica: it is in sync with the promoted one */
    FLAG_FORCE_FAILOVER = 1 << 8, /* requested by a user: no votes are needed */
    FLAG_COORDINATED = 1 << 9,    /* by the servers' own FAILOVER command */
    FLAG_SCRIPT_KILL_SENT = 1 << 10,
    FLAG_REBOOT = 1 << 11, /* primary: its run id has changed, and it has not answered since */
};

/* Requests on a command channel that wait for a reply. */
enum peerRequest { REQ_OTHER, REQ_PING, REQ_INFO, REQ_PUBLISH, REQ_DOWN, REQ_PAUSE };
struct pendingReply {
    enum peerRequest what;
    uint64_t instance; /* its id: the instance may have been freed when the reply comes */
};

enum channel { CHANNEL_COMMAND, CHANNEL_PUBSUB };

/* The two connections to one process. */
struct peerLink {
    struct instance **owners; /* the instances that share it; only Sentinels share */
    int owner_count;
    void *channel[2]; /* by enum channel, owned by the environment; NULL: neither connected nor connecting */
    struct pendingReply *pending;
    int pending_count, pending_capacity;
    int64_t since_ms[2];        /* by channel: when it was opened */
    int64_t pubsub_received_ms; /* last message */
    int64_t reconnect_ms;       /* last attempt */
    int64_t ping_ms;            /* oldest PING without a reply; 0: none */
    int64_t last_ping_ms;       /* last PING sent */
    int64_t good_pong_ms;       /* last reply that counts as alive; initially the creation */
    int64_t pong_ms;            /* last reply of any kind to a PING */
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
const char *failoverStateText(enum sentinelFailoverState state); /* "none", "wait_start", ... as in replies */

/* A command that the servers of a primary know by another name. */
struct renamedCommand {
    sds from, to;
};

struct instances {
    struct instance **items;
    int count;
};

/* The state of a primary. */
struct primaryState {
    struct instances replicas, sentinels;
    int quorum, parallel_syncs;
    int64_t failover_timeout_ms;
    int64_t reboot_down_after_ms;             /* 0: a reboot has no special time */
    sds auth_user, auth_pass;                 /* NULL: none; also for its replicas */
    sds notification_script, reconfig_script; /* NULL: none */
    struct renamedCommand *renamed;
    int renamed_count;
    enum sentinelFailoverState failover_state;
    int64_t failover_state_ms;        /* start of that state */
    int64_t failover_begun_ms;        /* by this Sentinel */
    int64_t failover_start_ms;        /* last attempt, of this Sentinel or of the one that it voted for */
    int64_t failover_delay_logged_ms; /* the start whose delay has been logged */
    uint64_t failover_epoch;
    struct instance *promoted;   /* one of the replicas, or NULL */
    char leader[RUN_ID_LEN + 1]; /* the Sentinel with this one's vote; "": none */
    uint64_t leader_epoch;       /* epoch of that vote, or of the failover's election */
    bool knows_failover;         /* its INFO has master_failover_state */
    bool handing_over;           /* the failover under way uses the servers' own FAILOVER */
    int sync_replicas;           /* min-replicas-sync, from its INFO; -1: none has come */
    bool unclean_failover;       /* a setting: rather lose what has been acknowledged than have no primary */
    const char *pause_logged;    /* last reason why the failover under way waits or goes on; NULL: none yet */
};

/* Whether a replica acknowledges to the old primary, see supervisor_pause.c. */
enum ackPause {
    ACKS_GO_ON,
    ACKS_UNPAUSABLE, /* it does not know the order */
    ACKS_PAUSED,
    ACKS_REPORTED /* paused, and an INFO has come since */
};

/* The state of a replica, mostly from its INFO. */
struct sentinelReplicaState {
    int64_t link_down_ms; /* how long it has been without its primary */
    int priority;
    int64_t reconf_sent_ms;
    sds primary_host; /* NULL: not known yet */
    int primary_port;
    bool link_up;
    bool announced;
    uint64_t repl_offset;
    uint64_t fork_offset;   /* up to there, less one, its data are those of the history replid2 */
    int64_t conf_change_ms; /* since when its primary's address and its own failover state are unchanged */
    int sync_replicas;      /* its own min-replicas-sync, as far as INFO has it */
    enum ackPause acks;     /* in the failover under way */
    int64_t pause_asked_ms, pause_sure_ms; /* the last order; the last one that was obeyed */
    int64_t pause_channel_ms;              /* since_ms of the channel on which it was obeyed */
    int64_t paused_ms;                     /* since when its INFO reports a pause; 0: it does not */
};

/* The state of another Sentinel. */
struct sentinelState {
    int64_t hello_ms;            /* last hello */
    int64_t down_reply_ms;       /* last reply about the primary */
    char leader[RUN_ID_LEN + 1]; /* the Sentinel that it votes for; "": none */
    uint64_t leader_epoch;       /* epoch of that vote */
};

struct instance {
    uint64_t id; /* never reused */
    enum instanceKind kind;
    unsigned flags;
    sds name;                    /* a primary's own; ip:port of a replica; the run id of a Sentinel */
    char run_id[RUN_ID_LEN + 1]; /* "": not known yet */
    char replid[RUN_ID_LEN + 1], replid2[RUN_ID_LEN + 1]; /* its replication IDs; "": not known yet */
    uint64_t config_epoch;
    struct hostAddress address;
    struct peerLink *link;
    struct instance *primary; /* NULL: it is a primary */
    int64_t hello_sent_ms;
    int64_t s_down_ms, o_down_ms; /* start of these states */
    int64_t down_after_ms;
    int64_t info_ms;          /* last INFO */
    sds info;                 /* the text; NULL: none yet */
    bool reports_replica;     /* its reported role; initially the expected one */
    int64_t role_reported_ms; /* start of that role */
    bool failing_over;        /* it reports that a FAILOVER is under way */
    int64_t reboot_ms;        /* since FLAG_REBOOT */
    union {
        struct primaryState p;
        struct sentinelReplicaState r;
        struct sentinelState s;
    };
};

/* ---- Creation ---- */

/* Creates an instance without a connection, and adds it to the primaries, or to the replicas or
 * Sentinels of `primary`. Name (a Sentinel: its run id) and address are copied; the name of a replica
 * is made from the address. */
struct instance *instanceCreate(struct supervisor *s, enum instanceKind kind, const char *name,
                                const struct hostAddress *address, struct instance *primary);
/* Removes the instance from its list and frees it, with its replicas and Sentinels. Closes and frees its link
 * if no other instance shares it. */
void instanceRemove(struct supervisor *s, struct instance *i);

/* ---- Searching ---- */
struct instance *instancesFindName(const struct instances *all, const char *name); /* NULL: not found */
struct instance *instancesFindAddress(const struct instances *all, const struct hostAddress *address);
/* Finds a Sentinel; either of run_id and address may be NULL, and is ignored then. */
struct instance *instancesFindSentinel(const struct instances *all, const struct hostAddress *address,
                                       const char *run_id);
static inline struct instance *instancePrimary(struct instance *i) {
    return i->primary ? i->primary : i;
}
static inline const char *instanceKindText(const struct instance *i) {
    return i->kind == KIND_PRIMARY ? "master" : i->kind == KIND_REPLICA ? "slave" : "sentinel";
}
/* Returns whether a channel that it should have is missing. */
bool instanceIsDisconnected(const struct instance *i);
/* Returns "s_down,master,disconnected": the flags as replies show them. */
sds instanceFormatFlags(const struct instance *i);

/* ---- Addresses ---- */
/* Sets *a, which the caller frees even after a failure. Names are resolved only if `resolve-hostnames` is on.
 * Returns false if the host is no IP and cannot be resolved; with `accept_unresolved` such an address is
 * valid, with an empty ip. */
bool hostAddressInit(struct supervisor *s, struct hostAddress *a, const char *host, int port,
                     bool accept_unresolved);
void hostAddressCopy(struct hostAddress *to, const struct hostAddress *from); /* `to` is overwritten */
void hostAddressFree(struct hostAddress *a);
bool hostAddressIsSame(const struct hostAddress *a, const struct hostAddress *b);
/* Returns what is announced: the name if announce-hostnames is on, else the IP. */
const char *hostAddressText(const struct supervisor *s, const struct hostAddress *a);
