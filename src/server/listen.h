/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.h - the server's listening sockets: TCP and TLS on the addresses of `bind`, the Unix
 * socket; accepting clients. */
#pragma once

#include "base/sds.h"

void listenRegister(void); /* directives, INFO */
void listenStart(void);    /* after the configuration; logs and exits if nothing can be bound */
void listenStop(void);     /* closes everything, removes the Unix socket */
void listenAnnounce(void); /* logs the "Ready to accept connections" lines */
int listenPort(void);      /* the port; if that is 0, the TLS port */
int listenTlsPort(void);   /* 0: none */
/* Appends the first address with the port, or the path of the Unix socket. */
sds listenAppendName(sds s);
/* Returns the size that the event loop needs for clients and our own files. Lowers maxclients if the limit
 * of open files is too low. */
int listenMaxFds(void);
