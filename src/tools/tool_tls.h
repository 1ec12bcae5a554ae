/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_tls.h - how the tools reach a server: plainly, or over TLS when its options say so. */
#pragma once

#include <stdbool.h>

#include "net/tls.h"

struct toolTls {
    bool on, insecure; /* --tls; --insecure: whoever the server says it is */
    const char *sni, *ca_file, *ca_dir, *cert, *key, *ciphers, *ciphersuites; /* NULL: not given */
    struct tlsContext *context;
};

/* When TLS is on: makes the context, or prints what is wrong with the options and exits. Before threads
 * start. */
void toolTlsStart(struct toolTls *t);
/* The text of --help about these options: lines as wide as in both programs. */
extern const char tool_tls_usage[];

/* Makes a connected socket into a connection, non-blocking and in no event loop, after the handshake if there
 * is TLS. NULL and *err; the fd is closed then. */
struct connection *toolConnection(const struct toolTls *t, int fd, int timeout_ms, sds *err);
