/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_tls.c - see tool_tls.h. */
#include "tools/tool_tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char tool_tls_usage[] =
    "TLS\n"
    "  --tls              connect over TLS; so do valkeys:// and rediss://\n"
    "  --sni NAME         server name for the handshake\n"
    "  --cacert FILE      the authority that signs the server's certificate; without this option and\n"
    "                     the next, the authorities that the system trusts\n"
    "  --cacertdir DIR    a directory of authorities\n"
    "  --insecure         accept any certificate\n"
    "  --cert FILE        the certificate of the client\n"
    "  --key FILE         ... and its private key\n"
    "  --tls-ciphers LIST       ciphers of TLS 1.2 and before\n"
    "  --tls-ciphersuites LIST  ciphers of TLS 1.3\n";

static void toolTlsFail(const char *why) {
    fprintf(stderr, "Could not negotiate a TLS connection: %s\n", why);
    exit(1);
}

void toolTlsStart(struct toolTls *t) {
    if (!t->on) return;
    if ((t->cert == NULL) != (t->key == NULL)) toolTlsFail("--cert and --key must be given together");
    struct tlsSettings s = {.cert_file = t->cert,
                            .key_file = t->key,
                            .ca_file = t->ca_file,
                            .ca_dir = t->ca_dir,
                            .ca_of_system = true,
                            .peer = t->insecure ? TLS_PEER_UNCHECKED : TLS_PEER_CHECKED,
                            .ciphers = t->ciphers,
                            .ciphersuites = t->ciphersuites};
    sds err = NULL;
    t->context = tlsClientContext(&s, &err);
    if (!t->context) toolTlsFail(err);
}

struct connection *toolConnection(const struct toolTls *t, int fd, int timeout_ms, sds *err) {
    if (!t->on) return connCreateTcp(NULL, fd, 0);
    sds reason = NULL;
    struct connection *conn = tlsConnect(t->context, fd, t->sni, timeout_ms, &reason);
    if (conn) return conn;
    *err = sdscatprintf(sdsempty(), "SSL_connect failed: %s", reason);
    sdsfree(reason);
    close(fd);
    return NULL;
}
