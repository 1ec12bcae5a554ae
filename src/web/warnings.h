/* SPDX-License-Identifier: BSD-3-Clause */
/* warnings.h - what an operator should know about this server: whole sentences, each with a page of docs/.
 *
 * warningsFind is a pure function of the numbers in struct warningFacts, which warning_facts.c reads from
 * INFO, the directives, recent samples and the checks of --check-system. A fact of 0, false or "" is one that
 * gives no reason to warn, so what is unknown stays so. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

enum warningSeverity {
    WARNING_NOTE,    /* useful to know */
    WARNING_WARNING, /* will become, or may hide, a failure */
    WARNING_ERROR,   /* something fails now */
};

#define WARNINGS_SYSTEM_MAX 16 /* checks of the host */

struct warningSystem {
    const char *name; /* of the check */
    sds advice;
    bool note;
};

struct warningFacts {
    double seconds; /* covered by the facts that are named ..._lately */

    /* ---- Settings, which only some users may see; settings_known false: none of them is set ---- */
    bool settings_known;
    bool no_password;         /* the default user needs none */
    bool open_to_others;      /* and other machines can connect: protected-mode no, and an address for them */
    bool saves;               /* there are save points */
    bool stops_writes;        /* when a save has failed */
    bool huge_pages_disabled; /* for this process */
    double min_replicas;      /* min-replicas-to-write */
    struct warningSystem system[WARNINGS_SYSTEM_MAX];
    int system_count;

    /* ---- Memory and keys ---- */
    double used_memory, resident_memory, maxmemory, total_memory; /* bytes */
    struct str policy;                                            /* maxmemory-policy */
    double keys, expiring;                                        /* in all databases */
    double memory_growth_lately, lasting_growth_lately;           /* bytes; keys without an expiry */
    double evicted_lately;
    double stale_percent; /* of the keys with an expiry: expired, but not deleted yet */

    /* ---- Files ---- */
    bool aof_on, save_failed, aof_write_failed, aof_rewrite_failed;
    double unsaved_changes, last_save_s_ago, delayed_fsyncs_lately, last_fork_us;

    /* ---- Replication ---- */
    bool is_replica, link_down, syncing, replica_writable;
    double link_down_s, replicas, replicas_not_online, replicas_good, worst_lag_s, worst_behind_bytes;
    double backlog_bytes, written_lately /* bytes */, refused_partial_lately, replay_errors;

    /* ---- The cluster ---- */
    bool in_cluster, cluster_down;
    double cluster_slots_assigned, cluster_slots_failing, cluster_nodes;

    /* ---- Clients and load ---- */
    double clients, max_clients, rejected_lately, dropped_lately, failed_logins_lately;
    double busy_share_lately; /* of the main thread's time, 0 to 1 */
    bool has_certificate;
    double certificate_ends_s; /* negative: has ended */
};

struct warning {
    const char *id; /* for programs */
    enum warningSeverity severity;
    const char *docs; /* page of docs/, with a heading's anchor */
    sds text;
};

#define WARNINGS_MAX 64

/* Fills `out` (WARNINGS_MAX elements), the most severe first; the caller frees the texts. Returns the number.
 */
int warningsFind(const struct warningFacts *facts, struct warning *out);
const char *warningsSeverityName(enum warningSeverity severity);
