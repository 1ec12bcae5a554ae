/* SPDX-License-Identifier: BSD-3-Clause */
/* role.h - whether this server is a primary or a replica. repl/ or cluster/ sets it; any module may read it.
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
/* Whether a replica refuses writes of clients (replica-read-only). repl/ sets it. */
extern bool role_read_only;
/* Tells whether the server ends when a replayed command fails (propagation-error-behavior, a directive of
 * repl/). */
enum { PROPAGATION_ERRORS_IGNORE, PROPAGATION_ERRORS_PANIC, PROPAGATION_ERRORS_PANIC_ON_REPLICAS };
extern int role_propagation_errors;
/* Whether the data of a replica is out of date and must not be shown (replica-serve-stale-data no).
 * repl/ sets it. */
extern bool (*role_data_stale)(void);
static inline bool roleDataIsStale(void) {
    return role_replica && role_data_stale && role_data_stale();
}
extern const char err_masterdown[]; /* the error that clients get then */
/* Whether this server is a node of a cluster. A directive of cluster/, which does not change while
 * the server runs. */
extern bool cluster_enabled;
/* Whether this is a Sentinel. Known before anything is registered, from the program's name and arguments. */
extern bool sentinel_mode;
const char *roleModeText(void); /* "standalone", "cluster", "sentinel" */
struct replicationState;
/* The functions of replication that the cluster and modules use. repl/ fills them in. */
struct replicationControl {
    uint64_t (*offset)(void); /* a primary's own offset; what a replica has applied */
    bool (*linkIsUp)(void);   /* a replica's link to its primary: the stream arrives */
    /* For a replica: whether its data are whole and of the history of its primary. *fresh_ms gets when they
     * were last as new as the primary's (Unix time in ms; 0: not since the start). A cluster may know that
     * they are not. */
    bool (*dataWhole)(int64_t *fresh_ms);
    void (*setDataWhole)(bool whole);
    void (*follow)(struct str host, int port); /* no effect when it does already */
    void (*becomePrimary)(void);
    void (*holdAcks)(bool hold); /* a replica sends no acknowledgements until this is called with false */
    uint64_t (*history)(void);   /* a number that stands for the replication ID of the data here */
    int (*replicas)(void);       /* number of replicas online */
    /* Returns the id of a node that replicates us, has sent its id, and has everything up to this offset.
     * NULL: there is none; or, with *legacy, one of them is too old to take over when it is told to. */
    const char *(*successor)(uint64_t offset, bool *legacy);
    void (*describe)(struct replicationState *now);
    /* The dataset becomes another one without a command for it: replicas have to fetch all of it. */
    void (*forget)(void);
};
extern struct replicationControl replication_control;

/* The state of replication, for descriptions (INFO, ROLE). */
struct replicationState {
    const char *host; /* of our primary; NULL: this is a primary */
    int port;
    const char *id, *id2;
    uint64_t offset;
    bool read_only;  /* replica-read-only */
    int64_t offset2; /* offset up to which id2 is valid; -1: there is no id2 */
    enum replicationLink {
        REPLICATION_DOWN,
        REPLICATION_CONNECTING,
        REPLICATION_TRANSFER,
        REPLICATION_UP
    } link;
};

/* The functions of the cluster that replication uses. cluster/ fills them in; NULL: this server is no node.
 */
struct clusterMembership {
    struct str (*myId)(void);
    bool (*knows)(struct str id); /* whether this is the id of a known node */
};
extern const struct clusterMembership *cluster_membership;

/* Called by repl/ and cluster/. When the role changes, registered functions are called in the order of
 * registration. */
void roleSet(bool replica);
void roleOnChange(void (*fn)(bool replica));
