/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_view.h - what modules outside of cluster/ need of the cluster. cluster/ fills the table in
 * when it starts. While this server is no node of a cluster, the functions about nodes answer as if
 * there were no nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

#define CLUSTER_VIEW_ID 40

struct clusterViewNode {
    char ip[46];
    char primary_id[CLUSTER_VIEW_ID]; /* a replica's primary; else zeros */
    int port;
    bool myself, primary, replica, maybe_failed, failed, no_failover;
};

struct clusterView {
    const char *(*myId)(void); /* NULL: this server is no node */
    /* Returns the number of known nodes. ids (may be NULL) gets those of all but nodes in handshake,
     * *id_count their number; an id is valid until the next change. */
    size_t (*nodes)(const char **ids, size_t *id_count);
    /* Returns false for a node that is unknown or not known well yet. `as_seen_by`: the address is the one
     * that this client is told; NULL: the one that we use. */
    bool (*describe)(const char *id, struct client *as_seen_by, struct clusterViewNode *node);
    /* Sends a message to one node, or to all (id NULL). Returns false when there is no link to the node. */
    bool (*send)(const char *id, uint64_t module, uint8_t type, struct str payload);
    void (*setFlags)(bool no_failover, bool no_redirection); /* true: from now on */
    const char *(*slotTag)(int slot);                        /* a short key of the slot */
};
extern struct clusterView cluster_view;

/* Returns the name of a module that does not let slots leave or come at once (CLUSTER MIGRATESLOTS), or NULL.
 * module/ sets it; NULL: there are no modules. */
extern const char *(*cluster_view_keeps_slots)(void);

/* Called with a module's message from a node (CLUSTER_VIEW_ID bytes); NULL: no module receives messages. */
extern void (*cluster_view_message)(const char *from, uint64_t module, uint8_t type, struct str payload);
