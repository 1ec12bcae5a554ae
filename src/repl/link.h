/* SPDX-License-Identifier: BSD-3-Clause */
/* link.h - the link to our primary: connecting, the handshake, and the client that applies the stream.
 *
 *     NONE ─REPLICAOF─▶ CONNECT ─▶ CONNECTING ─▶ HANDSHAKE ─┬─ +CONTINUE ─────────────────▶ CONNECTED
 *                          ▲                                └─ +FULLRESYNC ─▶ TRANSFER ─▶ CONNECTED
 *                          └──────── any error: again at the next tick             (repl/receive.h)
 *
 * The stream comes in on an ordinary client with CLIENT_PRIMARY, through the event loop's turn. Its requests
 * run with ORIGIN_PRIMARY and replies are dropped. What has been applied is fed to the history
 * (repl/history.h), a transaction when it has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"

enum linkState {
    LINK_NONE, /* we are a primary */
    LINK_CONNECT,
    LINK_CONNECTING,
    LINK_HANDSHAKE,
    LINK_TRANSFER,
    LINK_CONNECTED
};

struct primaryLink {
    enum linkState state;
    sds host;
    int port;
    struct client *primary; /* NULL unless connected; has CLIENT_PRIMARY */
    int64_t down_since_s;   /* Unix time; 0: it has never been up */
    int64_t last_io_ms;     /* when bytes last came from it */
    bool data_whole;        /* a replica's data: see linkDataIsWhole */
    int64_t data_fresh_ms;
    int64_t sync_took_ms; /* the last synchronization, partial or full, with its handshake; 0: none yet */
};
extern struct primaryLink primary_link;

/* Makes this server a primary again: updates the role, the cached primary and our own replicas. */
void linkBecomePrimary(void);
/* Makes this server a replica of that one for FAILOVER: PSYNC ends with FAILOVER. `result` is called once. */
void linkFollowForHandover(struct str host, int port, void (*result)(bool accepted));

/* Returns whether a failover is under way, in which REPLICAOF is refused. replication.c fills it in. */
extern bool (*link_failover_running)(void);

/* Called when a replica gets another primary, as blocked clients may wait in vain. rules.c fills it in. */
extern void (*link_on_primary_changed)(void);

/* Returns whether this is a replica whose link is down, so that its data may be stale. */
bool linkIsDown(void);
/* For clusters: follows that server unless it does so already. */
void linkFollowUnlessSame(struct str host, int port);
/* Returns whether the data here are whole and belong to the history of our primary. They do from the end of a
 * synchronization until another one begins to replace them. *fresh_ms is when they were last as new as the
 * primary's (Unix time in ms; 0: never since the start). */
bool linkDataIsWhole(int64_t *fresh_ms);
/* For clusters, which know more: data of another shard do not count as whole, data that were read
 * from files at the start do. */
void linkSetDataWhole(bool whole);
bool linkIsUp(void);

void linkInit(void);  /* REPLICAOF, ROLE, directives, INFO fields, jobs */
void linkStart(void); /* when the dataset has been loaded: server/main.c */
