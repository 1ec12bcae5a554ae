/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_server.h - the directives tls-*, and the TLS context of new clients. */
#pragma once

#include "net/tls.h"

/* Registers the directives; in a build without TLS only tls-replication and tls-cluster. `wanted` tells
 * whether other modules use TLS. */
void tlsServerRegister(bool (*wanted)(void));
bool tlsServerIsWanted(void);
/* Makes the context from the directives. On failure it logs the reason, keeps the old context
 * and returns false. */
bool tlsServerConfigure(void);
struct tlsContext *tlsServerCurrent(void); /* NULL before tlsServerConfigure */
/* Returns the names of users that a client's certificate stands for, to be freed with
 * sdsfreesplitres, or NULL. */
sds *tlsServerUsers(const struct connection *conn, int *count);
