/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_view.h - what rooms beside the cluster see of it: modules. cluster/ fills the table in when it
 * starts; what is about nodes answers as if there were none while this server is none itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

#define CLUSTER_VIEW_ID 40

struct clusterViewNode {
    char ip[46];
    char primary_id[CLUSTER_VIEW_ID]; /* of a replica; else zeros */
    int port;
    bool myself, primary, replica, maybe_failed, failed, no_failover;
};

struct clusterView {
    const char *(*myId)(void); /* NULL: we are none */
    /* How many are known; ids (NULL: not wanted) gets those of all but handshakes, *told of them; each id is
     * good until the next change. */
    size_t (*nodes)(const char **ids, size_t *told);
    /* False: unknown, or not known well yet. `as_seen_by`: the address that this client is told; NULL: ours.
     */
    bool (*describe)(const char *id, struct client *as_seen_by, struct clusterViewNode *node);
    /* A message to one node, or (NULL) to all. False: there is no link to it. */
    bool (*send)(const char *id, uint64_t module, uint8_t type, struct str payload);
    void (*setFlags)(bool no_failover, bool no_redirection); /* true: from now on */
    const char *(*slotTag)(int slot);                        /* a short key of the slot */
};
extern struct clusterView cluster_view;

/* Who does not let slots leave or come at once (CLUSTER MIGRATESLOTS): the name of a module, NULL: nobody.
 * Modules say so; NULL: there are none. */
extern const char *(*cluster_view_keeps_slots)(void);

/* A message of that kind has come from a node (CLUSTER_VIEW_ID bytes); NULL: nobody wants any. */
extern void (*cluster_view_message)(const char *from, uint64_t module, uint8_t type, struct str payload);
