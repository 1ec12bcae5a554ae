/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_server.h - the directives tls-*, and the context that new TLS clients get. */
#pragma once

#include "net/tls.h"

/* Directives; in a build without TLS only tls-replication and tls-cluster. `wanted` tells whether any of what
 * may use TLS does. */
void tlsServerRegister(bool (*wanted)(void));
bool tlsServerWanted(void);
/* Makes the context from the directives in use. False: the reason is logged, and the old context stays. */
bool tlsServerConfigure(void);
struct tlsContext *tlsServerCurrent(void); /* NULL until it has been configured */
/* For connections that the server opens itself. The caller's to free; NULL: *err says why. */
struct tlsContext *tlsServerAsClient(sds *err);
/* The names of users that a client's certificate stands for, to be freed with sdsfreesplitres; NULL: none. */
sds *tlsServerUsers(const struct connection *conn, int *count);
