/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_none.c - the functions of tls.h in a build without OpenSSL (BUILD_TLS=no). As there are no contexts, no
 * connection is ever created. */
#include "base/assert.h"
#include "net/tls.h"

bool tlsAvailable(void) {
    return false;
}

static struct tlsContext *tlsRefuse(sds *err) {
    *err = sdsnew("This build has no TLS: it was made without OpenSSL, or with BUILD_TLS=no");
    return NULL;
}

struct tlsContext *tlsServerContext(const struct tlsSettings *s, sds *err) {
    (void)s;
    return tlsRefuse(err);
}

struct tlsContext *tlsClientContext(const struct tlsSettings *s, sds *err) {
    (void)s;
    return tlsRefuse(err);
}

void tlsContextFree(struct tlsContext *ctx) {
    serverAssert(ctx == NULL);
}

struct connection *tlsAccept(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                             tlsDone *done) {
    (void)el, (void)ctx, (void)fd, (void)keepalive_s, (void)done;
    serverUnreachable();
}

struct connection *tlsStart(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                            tlsDone *done) {
    (void)el, (void)ctx, (void)fd, (void)keepalive_s, (void)done;
    serverUnreachable();
}

struct connection *tlsConnect(struct tlsContext *ctx, int fd, const char *sni, int timeout_ms, sds *err) {
    (void)ctx, (void)fd, (void)sni, (void)timeout_ms, (void)err;
    serverUnreachable();
}

bool tlsCertificateFacts(const char *path, sds *serial, int64_t *good_until_s) {
    (void)path, (void)serial, (void)good_until_s;
    return false;
}

void tlsCertificateFactsEarliest(const char *path, sds *serial, int64_t *good_until_s) {
    (void)path, (void)serial, (void)good_until_s;
}

bool tlsIs(const struct connection *conn) {
    (void)conn;
    return false;
}

bool tlsInHandshake(const struct connection *conn) {
    (void)conn;
    return false;
}

tlsDone *tlsSwapDone(struct connection *conn, tlsDone *done) {
    (void)conn, (void)done;
    return NULL;
}

bool tlsHasInput(const struct connection *conn) {
    (void)conn;
    return false;
}

sds *tlsPeerNames(const struct connection *conn, enum tlsName field, int *count) {
    (void)conn, (void)field;
    *count = 0;
    return NULL;
}

sds tlsPeerCertificate(const struct connection *conn) {
    (void)conn;
    return NULL;
}
