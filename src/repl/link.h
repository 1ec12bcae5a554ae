/* SPDX-License-Identifier: BSD-3-Clause */
/* link.h - the link to our primary: connecting, the handshake, and the client that applies its stream.
 *
 *     NONE ─REPLICAOF─▶ CONNECT ─▶ CONNECTING ─▶ HANDSHAKE ─┬─ +CONTINUE ─────────────────▶ CONNECTED
 *                          ▲                                └─ +FULLRESYNC ─▶ TRANSFER ─▶ CONNECTED
 *                          └──────── anything goes wrong: again at the next tick   (repl/receive.h)
 *
 * The stream comes in on an ordinary client with CLIENT_PRIMARY, through the round: its requests run with
 * ORIGIN_PRIMARY, replies are dropped, and what has been applied is fed to history (repl/history.h), a
 * transaction when it has ended. */
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
    struct client *primary; /* while connected; it has CLIENT_PRIMARY */
    int64_t down_since_s;   /* Unix time; 0: it has never been up */
    int64_t last_io_ms;     /* when something came from it */
    bool data_whole;        /* a replica's data: see linkDataWhole */
    int64_t data_ms;
};
extern struct primaryLink primary_link;

/* This server becomes a replica of that one (if it is that already, the link is made anew); or a primary
 * again. Both see to the role, the cached stream and our own replicas. */
void linkFollow(struct str host, int port);
void linkBecomePrimary(void);
/* FAILOVER hands over: as linkFollow, and PSYNC ends with FAILOVER. Its result is told once. */
void linkFollowForHandover(struct str host, int port, void (*result)(bool accepted));

/* Is a failover under way? Then REPLICAOF is refused. failover.h stands above: replication.c fills it in. */
extern bool (*link_is_handed_over)(void);

/* A replica gets another primary: blocked clients wait for what may never come. rules.c fills it in. */
extern void (*link_primary_changes)(void);

/* Is the data here as stale as the link? (down, and not the primary ourselves) */
bool linkIsDown(void);
/* For clusters: follows that server, unless it does already. */
void linkFollowQuietly(struct str host, int port);
/* Are the data here whole, and of the history of our primary? They are from the end of a synchronization on,
 * until another one begins to replace them. *fresh_ms: when they were last as new as the primary's (Unix time
 * in ms; 0: not since the start). */
bool linkDataWhole(int64_t *fresh_ms);
/* A cluster knows more: data of another shard are not; what has been read from files at the start is. */
void linkSetDataWhole(bool whole);
bool linkIsUp(void);

void linkInit(void);  /* REPLICAOF, ROLE, directives, INFO fields, jobs */
void linkStart(void); /* when the dataset has been loaded: server/main.c */
