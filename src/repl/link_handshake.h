/* SPDX-License-Identifier: BSD-3-Clause */
/* link_handshake.h - what a replica says to its primary before the stream: who it is, and from where on it
 * wants to go on.
 *
 *     connect ─▶ PING ─▶ AUTH, REPLCONF ... (at once) ─▶ PSYNC ─▶ +CONTINUE, +FULLRESYNC, ...
 *                                                          └──▶ SYNC, when it is not understood
 *
 * It knows nothing of what becomes of the answer: `end` is told, once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/connection.h"
#include "repl/history.h"

/* Where we are in the stream, and how we ask for more. */
struct handshakeWish {
    char id[REPL_ID_LEN + 1]; /* "": none, everything is wanted */
    uint64_t offset;          /* applied; what follows is wanted */
    bool handover;            /* PSYNC ... FAILOVER: it becomes a primary, for us */
};

enum handshakeEnd {
    HANDSHAKE_FAILED,   /* it has been logged; nothing is left of the connection */
    HANDSHAKE_REJECTED, /* PSYNC ... FAILOVER was answered by an error */
    HANDSHAKE_CONTINUE, /* the stream goes on */
    HANDSHAKE_FULL,     /* a snapshot follows */
    HANDSHAKE_OLD_FULL, /* the same after SYNC: without id and offset, and no acknowledgements */
    HANDSHAKE_DUAL      /* another connection for the snapshot is wanted */
};
struct handshakeAnswer {
    enum handshakeEnd end;
    struct connection *conn;  /* behind the answer; its owner is whoever is told */
    char id[REPL_ID_LEN + 1]; /* "": not told */
    uint64_t offset;          /* FULL: of the snapshot */
};

enum handshakePhase { HANDSHAKE_NONE, HANDSHAKE_CONNECTING, HANDSHAKE_TALKING };
enum handshakePhase handshakePhase(void);
int64_t handshakeLastIoMs(void);

/* False: it could not be begun, which has been logged. `end` is not called from within. */
bool handshakeStart(const char *host, int port, const struct handshakeWish *wish,
                    void (*end)(const struct handshakeAnswer *answer));
void handshakeCancel(void); /* `end` is not called; also when none runs */

/* ---- What is said in the handshake of a second connection, too ---- */
#define INTRODUCTION_MAX 20 /* words */
/* AUTH, when a password is set: its words. 0: none is. */
int introduceAuth(struct str argv[INTRODUCTION_MAX]);
struct str introducePort(void);    /* that others reach us at; good until the next call */
struct str introduceAddress(void); /* ptr NULL: that of the connection */

void handshakeInit(void); /* primaryauth, primaryuser, replica-announce-ip, -port */
