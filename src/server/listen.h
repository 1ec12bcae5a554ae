/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.h - the server's listening sockets: the addresses of `bind` for TCP and for TLS, the unix socket;
 * accepting clients. */
#pragma once

#include "base/sds.h"

void listenRegister(void); /* directives, INFO */
void listenStart(void);    /* after the configuration; logs and exits when nothing can be bound */
void listenStop(void);     /* close everything, remove the unix socket */
void listenAnnounce(void); /* the "Ready to accept connections" lines */
int listenPort(void);      /* where that is 0, the TLS port */
int listenTlsPort(void);   /* 0: none */
/* Where it listens, in short: the first address and the port, or the Unix socket. */
sds listenAppendName(sds s);
/* Room in the event loop for clients and our own files; lowers maxclients when the file limit is too low. */
int listenMaxFds(void);
