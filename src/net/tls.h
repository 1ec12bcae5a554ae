/* SPDX-License-Identifier: BSD-3-Clause */
/* tls.h - connections over TLS, by OpenSSL, behind the interface of connection.h.
 *
 * A context holds the certificates and other settings. Connections keep the context with which they began, so
 * a server can exchange its context while clients are connected. A build without OpenSSL (BUILD_TLS=no) has
 * the same functions, but contexts cannot be created and the error says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "net/connection.h"

/* How the peer's certificate is checked, and the field of a certificate that names the peer: the
 * common name or the URIs. */
enum tlsPeer { TLS_PEER_UNCHECKED, TLS_PEER_CHECKED, TLS_PEER_CHECKED_IF_GIVEN };
enum tlsName { TLS_NAME_NONE, TLS_NAME_CN, TLS_NAME_URI };

struct tlsContext; /* an SSL_CTX */

/* Files are PEM. NULL and "" mean: not given. */
struct tlsSettings {
    const char *cert_file, *key_file, *key_pass;
    const char *ca_file, *ca_dir; /* the authorities that may have signed the peer's certificate */
    bool ca_of_system;            /* the system's authorities, when neither ca_file nor ca_dir is given */
    enum tlsPeer peer;
    /* some of TLSv1 TLSv1.1 TLSv1.2 TLSv1.3, separated by blanks; not given: the last two */
    const char *protocols;
    const char *ciphers, *ciphersuites;
    /* For servers only. */
    const char *alt_cert_file, *alt_key_file, *alt_key_pass; /* a second pair, of another algorithm */
    const char *dh_params_file;
    bool prefer_server_ciphers, session_caching;
    int64_t session_cache_size, session_cache_timeout_s; /* size 0: no limit */
};

bool tlsAvailable(void); /* whether this build has TLS */

/* Create a context. NULL: *err, which the caller frees, says why. Connections may outlive the context. */
struct tlsContext *tlsServerContext(const struct tlsSettings *s, sds *err);
struct tlsContext *tlsClientContext(const struct tlsSettings *s, sds *err);
void tlsContextFree(struct tlsContext *ctx);

/* Takes over an accepted fd as connCreateTcp does. The handshake runs in the event loop; before it is done,
 * nothing can be read or written (EAGAIN). Then `done` is called once, with NULL or the reason why the
 * handshake failed, and may mark the connection for closing. NULL: no memory; the fd stays the caller's. */
typedef void tlsDone(struct connection *conn, const char *error);
struct connection *tlsAccept(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                             tlsDone *done);

/* Does the same as a client, on an fd that is connected. */
struct connection *tlsStart(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                            tlsDone *done);

/* Does the handshake of a client on a connected fd and waits for its end; timeout_ms <= 0: without limit.
 * `sni`: the name that is requested from the server, or NULL. The connection belongs to no event loop and
 * does not block. NULL and *err on failure; the fd stays the caller's. */
struct connection *tlsConnect(struct tlsContext *ctx, int fd, const char *sni, int timeout_ms, sds *err);

/* Reads the first certificate in a PEM file: its serial number in hexadecimal, and until when it is valid, in
 * seconds since the epoch. False: there is none. */
bool tlsCertificateFacts(const char *path, sds *serial, int64_t *good_until_s);
/* Looks at all certificates in a PEM file, or in the files of a folder. *serial and *good_until_s become
 * those of the one that expires first, unless *serial is set and expires earlier. */
void tlsCertificateFactsEarliest(const char *path, sds *serial, int64_t *good_until_s);

bool tlsIs(const struct connection *conn);          /* whether conn is a TLS connection */
bool tlsInHandshake(const struct connection *conn); /* whether conn is a TLS connection in its handshake */
/* Replaces the function that is called when the handshake ends, in the thread of the connection's loop.
 * Returns the former one. NULL: there is no handshake, and nothing was changed. */
tlsDone *tlsSwapDone(struct connection *conn, tlsDone *done);
/* Returns whether a TLS connection has input that poll does not see. */
bool tlsHasInput(const struct connection *conn);
/* Returns the common name or all URIs of the certificate that the peer gave; NULL: there is none. The caller
 * frees them with sdsfreesplitres. */
sds *tlsPeerNames(const struct connection *conn, enum tlsName field, int *count);
sds tlsPeerCertificate(const struct connection *conn); /* the peer's certificate as PEM */
