/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_tls.h - the tools' connections to a server, over TLS when the options say so. */
#pragma once

#include <stdbool.h>

#include "net/tls.h"

struct toolTls {
    bool on, insecure; /* --tls; --insecure: the server's certificate is not verified */
    const char *sni, *ca_file, *ca_dir, *cert, *key, *ciphers, *ciphersuites; /* NULL if not given */
    struct tlsContext *context;
};

/* If TLS is on, creates the context; prints what is wrong with the options and exits if that fails. Must
 * be called before threads start. */
void toolTlsStart(struct toolTls *t);
/* The part of --help about these options; its lines are as wide as those of both programs. */
extern const char tool_tls_usage[];

/* Makes a connected socket into a non-blocking connection without event loop, after the handshake if
 * there is TLS. Returns NULL and *err on failure; the socket is closed then. */
struct connection *toolConnection(const struct toolTls *t, int fd, int timeout_ms, sds *err);
