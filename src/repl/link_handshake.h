/* SPDX-License-Identifier: BSD-3-Clause */
/* link_handshake.h - what a replica sends to its primary before the stream: who it is, and from which offset
 * on it requests the stream.
 *
 *     connect ─▶ PING ─▶ AUTH, REPLCONF ... (at once) ─▶ PSYNC ─▶ +CONTINUE, +FULLRESYNC, ...
 *                                                          └──▶ SYNC, when PSYNC is not known
 *
 * The caller gets the result once, by `end`, and decides what to do with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compressed_stream.h"
#include "base/str.h"
#include "net/connection.h"
#include "repl/history.h"

/* The request: our place in the stream, and how to go on. */
struct handshakeRequest {
    char id[REPL_ID_LEN + 1]; /* "": none, so a full synchronization is requested */
    uint64_t offset;          /* bytes applied; the stream is requested from here on */
    bool handover;            /* PSYNC ... FAILOVER: the other server is to take over from us */
};

enum handshakeOutcome {
    HANDSHAKE_FAILED,   /* logged; the connection is closed */
    HANDSHAKE_REJECTED, /* PSYNC ... FAILOVER got an error */
    HANDSHAKE_CONTINUE, /* the stream continues */
    HANDSHAKE_FULL,     /* a snapshot follows */
    HANDSHAKE_OLD_FULL, /* a snapshot follows after SYNC: without ID, offset and acknowledgements */
    HANDSHAKE_DUAL      /* a second connection for the snapshot is needed */
};
struct handshakeResult {
    enum handshakeOutcome outcome;
    struct connection *conn;  /* positioned after the reply; belongs to the caller */
    char id[REPL_ID_LEN + 1]; /* "": not sent */
    uint64_t offset;          /* FULL: the offset of the snapshot */
};

enum handshakePhase { HANDSHAKE_NONE, HANDSHAKE_CONNECTING, HANDSHAKE_TALKING };
enum handshakePhase handshakePhase(void);
int64_t handshakeLastIoMs(void);

/* Returns false when it could not be started, which has been logged. `end` is not called from within. */
bool handshakeStart(const char *host, int port, const struct handshakeRequest *wish,
                    void (*end)(const struct handshakeResult *answer));
void handshakeCancel(void); /* `end` is not called; does nothing when none is running */

/* ---- What the handshake of a second connection needs as well ---- */
#define HANDSHAKE_WORDS_MAX 20 /* words of one command */
/* Fills argv with the AUTH command and returns its number of words; 0: no password is set. */
int handshakeAuthWords(struct str argv[HANDSHAKE_WORDS_MAX]);
/* Appends the capabilities that repl-compression adds, at most HANDSHAKE_CODEC_WORDS words, and returns how
 * many. */
#define HANDSHAKE_CODEC_WORDS 4
int handshakeCodecWords(struct str *argv);
enum streamCodec handshakeAnnouncedCodec(void); /* the strongest one that the primary was told */
/* the port under which we can be reached; valid until the next call */
struct str handshakeAnnouncedPort(void);
struct str handshakeAnnouncedAddress(void); /* ptr NULL: the address of the connection */

void handshakeInit(void); /* primaryauth, primaryuser, replica-announce-ip, -port */
