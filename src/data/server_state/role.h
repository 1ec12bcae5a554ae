/* SPDX-License-Identifier: BSD-3-Clause */
/* role.h - is this server a primary, or somebody's replica? repl/ (or cluster/) says so, everybody may ask.
 *
 * A replica stays one while the link to its primary is down. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

extern bool role_replica;
static inline bool roleIsReplica(void) {
    return role_replica;
}
/* Would a replica refuse what clients write (replica-read-only)? repl/ says so. */
extern bool role_read_only;
/* This says what ends the server when something replayed meets an error (propagation-error-behavior, a
 * directive of repl/). */
enum { PROPAGATION_ERRORS_IGNORE, PROPAGATION_ERRORS_PANIC, PROPAGATION_ERRORS_PANIC_ON_REPLICAS };
extern int role_propagation_errors;
/* Is the data of a replica out of date, and not to be shown (replica-serve-stale-data no)? repl/ knows. */
extern bool (*role_data_stale)(void);
static inline bool roleDataIsStale(void) {
    return role_replica && role_data_stale && role_data_stale();
}
extern const char err_masterdown[]; /* what is answered then */
/* Is this server a node of a cluster? A directive of cluster/, which does not change while it runs. */
extern bool cluster_enabled;
/* Is it a Sentinel? Known before anything is registered, from the program's name and arguments. */
extern bool sentinel_mode;
const char *roleModeText(void); /* "standalone", "cluster", "sentinel" */
struct replicationState;
/* What a cluster, and modules, ask of replication. repl/ fills it in. */
struct replicationControl {
    uint64_t (*offset)(void); /* of a primary its own, of a replica what it has applied */
    bool (*linkIsUp)(void);   /* of a replica, to its primary: the stream comes in */
    /* Of a replica: are its data whole, and of the history of its primary? *fresh_ms: when they were last as
     * new as the primary's (Unix time in ms; 0: not since the start). A cluster may know that they are not.
     */
    bool (*dataWhole)(int64_t *fresh_ms);
    void (*setDataWhole)(bool whole);
    void (*follow)(struct str host, int port); /* fine when it does already */
    void (*becomePrimary)(void);
    int (*replicas)(void); /* how many are online */
    /* The id of a node that replicates us, has told it, and has all up to this offset. NULL: there is none;
     * or *legacy, because one of them is too old to take over when it is told so. */
    const char *(*successor)(uint64_t offset, bool *legacy);
    void (*describe)(struct replicationState *now);
    /* The dataset becomes another one, without a command for it: replicas shall ask for all of it. */
    void (*forget)(void);
};
extern struct replicationControl replication_control;

/* Where this server stands, for who describes it. */
struct replicationState {
    const char *host; /* of our primary; NULL: we are one */
    int port;
    const char *id, *id2;
    uint64_t offset;
    bool read_only;  /* replica-read-only */
    int64_t offset2; /* up to which id2 is good; -1: it is none */
    enum replicationLink {
        REPLICATION_DOWN,
        REPLICATION_CONNECTING,
        REPLICATION_TRANSFER,
        REPLICATION_UP
    } link;
};

/* What replication asks of the cluster. cluster/ fills it in; NULL: we are none. */
struct clusterMembership {
    struct str (*myId)(void);
    bool (*knows)(struct str id); /* the id of a node */
};
extern const struct clusterMembership *cluster_membership;

/* For repl/ and cluster/. Those who have registered are told when it changes, in order. */
void roleSet(bool replica);
void roleOnChange(void (*fn)(bool replica));
