/* SPDX-License-Identifier: BSD-3-Clause */
/* tls.h - connections over TLS, by OpenSSL, behind the interface of connection.h.
 *
 * A context holds what the certificates and the other settings make; connections keep the one they began
 * with, so a server exchanges its context while clients are connected. A build without OpenSSL (BUILD_TLS=no)
 * has the same functions: contexts cannot be made there, and the error says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "net/connection.h"

enum tlsPeer { TLS_PEER_UNCHECKED, TLS_PEER_CHECKED, TLS_PEER_CHECKED_IF_GIVEN }; /* its certificate */
enum tlsName {
    TLS_NAME_NONE,
    TLS_NAME_CN,
    TLS_NAME_URI
}; /* a field of a certificate: common name, first URI */

struct tlsContext; /* an SSL_CTX */

/* Files are PEM. NULL and "" mean: not given. */
struct tlsSettings {
    const char *cert_file, *key_file, *key_pass;
    const char *ca_file, *ca_dir; /* who may have signed the peer's certificate */
    bool ca_of_system;            /* instead of ca_file and ca_dir, where neither is given */
    enum tlsPeer peer;
    const char *protocols; /* of TLSv1 TLSv1.1 TLSv1.2 TLSv1.3, blanks between; not given: the last two */
    const char *ciphers, *ciphersuites;
    /* Of servers. */
    const char *dh_params_file;
    bool prefer_server_ciphers, session_caching;
    int64_t session_cache_size, session_cache_timeout_s; /* size 0: no limit */
};

bool tlsAvailable(void); /* in this build */

/* NULL: *err (the caller's to free) says what was wrong. Connections may outlive their context. */
struct tlsContext *tlsServerContext(const struct tlsSettings *s, sds *err);
struct tlsContext *tlsClientContext(const struct tlsSettings *s, sds *err);
void tlsContextFree(struct tlsContext *ctx);

/* Take over an accepted fd (as connCreateTcp). The handshake goes on by itself in the event loop; before it
 * is done, there is nothing to read and no room to write (EAGAIN). Then `done` is called once, with NULL or
 * with why the handshake failed, and may mark the connection for closing. NULL: no memory; the fd stays the
 * caller's. */
typedef void tlsDone(struct connection *conn, const char *error);
struct connection *tlsAccept(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                             tlsDone *done);

/* The same as a client, on an fd that is connected. */
struct connection *tlsStart(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                            tlsDone *done);

/* The handshake of a client on a connected fd, waiting for it; timeout_ms <= 0: without end. `sni`: the name
 * the server is asked for, or NULL. The connection belongs to no event loop, and does not wait. NULL and
 * *err; the fd stays the caller's. */
struct connection *tlsConnect(struct tlsContext *ctx, int fd, const char *sni, int timeout_ms, sds *err);

/* Of the first certificate in a PEM file: its serial number in hexadecimal, and until when it is good, in
 * seconds since the epoch. False: there is none. */
bool tlsCertificateFacts(const char *path, sds *serial, int64_t *good_until_s);
/* The same of all certificates in a PEM file, or in the files of a folder: *serial and *good_until_s become
 * those of the one that ends first, unless *serial is there and ends earlier. */
void tlsCertificateFactsEarliest(const char *path, sds *serial, int64_t *good_until_s);

bool tlsIs(const struct connection *conn);          /* of this type? */
bool tlsShakesHands(const struct connection *conn); /* is it of this type, and its handshake not over? */
/* While that is so: calls this one at its end instead, in the thread whose loop it is in. The former one;
 * NULL: it does not shake hands, and nothing was changed. */
tlsDone *tlsSwapDone(struct connection *conn, tlsDone *done);
/* Has the connection input that poll does not see? False for those that are not TLS. */
bool tlsHasInput(const struct connection *conn);
/* From the certificate that the peer gave: its common name, or all its URIs. NULL: there is none. To be freed
 * with sdsfreesplitres. */
sds *tlsPeerNames(const struct connection *conn, enum tlsName field, int *count);
sds tlsPeerCertificate(const struct connection *conn); /* itself, as PEM */
