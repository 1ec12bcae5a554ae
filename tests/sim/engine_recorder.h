/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_recorder.h - the environment of one engine in a test. It records the engine's requests in
 * `recorded_env`, and answers with what the test has put there. A test that needs more copies engine_recorder
 * and replaces members of the copy. */
#pragma once

#include "cluster/cluster_engine.h"

#define RECORDED_LINKS_MAX 64

struct engineRecord {
    struct busLink links[RECORDED_LINKS_MAX]; /* outbound ones, in the order of their creation */
    int link_count, closed_count;
    int follow_count;                     /* calls of follow */
    char followed_ip[NODE_IP_LEN];        /* the primary of the last call that named one */
    bool follows_none;                    /* the last call named none: the node became a primary */
    bool follows_full_sync;               /* the last call requested a full synchronization */
    struct engineReplication replication; /* the answer */
    uint64_t history;                     /* the answer */
    bool holds_acks;                      /* as last requested */
};
extern struct engineRecord recorded_env;
extern const struct engineEnv engine_recorder;

/* Forgets what was recorded. The replication is complete and its link is up, with data as of now. */
void engineRecorderReset(int64_t now_ms);
