/* SPDX-License-Identifier: BSD-3-Clause */
/* tls.c - TLS as a type of connection; see tls.h. Contexts are created in tls_context.c.
 *
 *     loop  -> tlsOnEvent -> tlsContinueHandshake         until the handshake is done
 *                         -> read_handler, write_handler    from then on, when the socket is ready for what
 *                                                           TLS waits for
 *     owner -> connRead   -> SSL_read -> BIO -> recv(MSG_DONTWAIT)
 *     owner -> connWritev -> up to one record's bytes gathered -> SSL_write -> BIO -> send
 *
 * Three ideas. (1) TLS may have to write in order to read, and the other way round. So tlsWatch works out
 * anew which events the socket is watched for, from four facts: the two handlers and the two cross waits. (2)
 * OpenSSL reads ahead, so input may be in its buffer, where poll does not see it: such connections are marked
 * as pending (connection.h). A part of a record is no input: the mark is removed with the first read that
 * finds no whole record. (3) Short pieces are sent in one record, so that a reply of many blocks costs one
 * system call and one MAC.
 *
 * After WANT_WRITE, OpenSSL requires the same bytes and at least the same length again. This holds without
 * further work, as a connection's writer sends its output in order and only adds at the end, and gathering
 * takes as much as there is. */
#define _GNU_SOURCE
#include "net/tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "net/openssl.h"
#include "net/tls_private.h"

#define RECORD_MAX SSL3_RT_MAX_PLAIN_LENGTH

struct tlsConnection {
    struct connection base; /* first: they are cast to each other */
    SSL *ssl;
    tlsDone *done;                /* not NULL during the handshake */
    int watched, handshake_waits; /* AE_ masks */
    bool read_waits_to_write, write_waits_to_read;
    bool broken;       /* further reads fail with EPROTO */
    bool busy, closed; /* closing waits for the end of a running handler */
};

static BIO_METHOD *socket_bio;

static struct tlsConnection *tlsOf(const struct connection *conn) {
    return (struct tlsConnection *)conn;
}

/* ---- The BIO through which OpenSSL uses the socket; a write raises no signal ---- */

static int tlsBioFd(BIO *bio) {
    return (int)(intptr_t)BIO_get_data(bio);
}

static int tlsBioResult(BIO *bio, ssize_t n, int retry) {
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int tlsBioWrite(BIO *bio, const char *p, int len) {
    return tlsBioResult(bio, send(tlsBioFd(bio), p, (size_t)len, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int tlsBioRead(BIO *bio, char *p, int len) {
    ssize_t n = recv(tlsBioFd(bio), p, (size_t)len, 0);
    int result = tlsBioResult(bio, n, BIO_FLAGS_READ);
    if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return result;
}

static long tlsBioControl(BIO *bio, int what, long number, void *pointer) {
    (void)number, (void)pointer;
    if (what == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return what == BIO_CTRL_FLUSH;
}

void tlsPrepare(void) {
    if (socket_bio) return;
    socket_bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    serverAssert(socket_bio);
    BIO_meth_set_write(socket_bio, tlsBioWrite);
    BIO_meth_set_read(socket_bio, tlsBioRead);
    BIO_meth_set_ctrl(socket_bio, tlsBioControl);
}

/* ---- Events ---- */

static void tlsOnEvent(struct aeEventLoop *el, int fd, void *data, int mask);

static void tlsWatch(struct tlsConnection *t) {
    struct connection *conn = &t->base;
    if (!conn->el) return;
    int want = 0;
    if (t->done) {
        want = t->handshake_waits;
    } else {
        if (conn->read_handler) want |= t->read_waits_to_write ? AE_WRITABLE : AE_READABLE;
        if (conn->write_handler) want |= t->write_waits_to_read ? AE_READABLE : AE_WRITABLE;
    }
    int drop = t->watched & ~want, add = want & ~t->watched;
    int priority = conn->priority ? AE_PRIORITY : 0;
    if (drop) aeDeleteFileEvent(conn->el, conn->fd, drop);
    if (add && aeCreateFileEvent(conn->el, conn->fd, add | priority, tlsOnEvent, t) == -1) {
        conn->last_errno = errno;
        want &= ~add;
    }
    t->watched = want;
}

static void tlsNotePending(struct tlsConnection *t) {
    if (!t->base.el) return;
    connSetPending(&t->base, !t->done && t->base.read_handler && (t->broken || SSL_has_pending(t->ssl)));
}

static void tlsFreeNow(struct tlsConnection *t) {
    SSL_free(t->ssl);
    close(t->base.fd);
    zfree(t);
}

/* Continues the handshake as far as possible. Returns whether it has ended; *error says how. */
static bool tlsDoHandshake(struct tlsConnection *t, sds *error) {
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(t->ssl);
    *error = NULL;
    if (rc == 1) return true;
    switch (SSL_get_error(t->ssl, rc)) {
    case SSL_ERROR_WANT_READ: t->handshake_waits = AE_READABLE; return false;
    case SSL_ERROR_WANT_WRITE: t->handshake_waits = AE_WRITABLE; return false;
    case SSL_ERROR_SSL: *error = tlsTakeError(); break;
    default: *error = sdsnew(errno ? strerror(errno) : "the peer closed the connection"); break;
    }
    t->broken = true;
    return true;
}

static void tlsContinueHandshake(struct tlsConnection *t) {
    sds error;
    if (!tlsDoHandshake(t, &error)) {
        tlsWatch(t);
        return;
    }
    tlsDone *done = t->done;
    t->done = NULL;
    tlsWatch(t);
    tlsNotePending(t); /* requests may have come with the end of the handshake */
    done(&t->base, error);
    sdsfree(error);
}

static void tlsOnEvent(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)fd;
    struct tlsConnection *t = data;
    t->busy = true;
    if (t->done) {
        tlsContinueHandshake(t);
    } else {
        bool to_read = mask & (t->read_waits_to_write ? AE_WRITABLE : AE_READABLE);
        bool to_write = mask & (t->write_waits_to_read ? AE_READABLE : AE_WRITABLE);
        if (to_read && t->base.read_handler) t->base.read_handler(&t->base);
        if (to_write && !t->closed && t->base.write_handler) t->base.write_handler(&t->base);
    }
    t->busy = false;
    if (t->closed) tlsFreeNow(t);
}

/* ---- The type ---- */

static ssize_t tlsFailWith(struct tlsConnection *t, int error) {
    t->base.last_errno = errno = error;
    return -1;
}

/* Sets errno to what went wrong. *cross becomes whether TLS waits for the other direction, which is
 * WANT_WRITE when reading. */
static ssize_t tlsHandleError(struct tlsConnection *t, int rc, int cross_error, bool *cross) {
    int error = SSL_get_error(t->ssl, rc), saved = errno;
    ERR_clear_error();
    bool crossed = error == cross_error;
    if (crossed != *cross) {
        *cross = crossed;
        tlsWatch(t);
    }
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return tlsFailWith(t, EAGAIN);
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL:
        if (!saved) return 0;
        t->broken = true;
        return tlsFailWith(t, saved);
    }
    t->broken = true;
    return tlsFailWith(t, EPROTO);
}

static void tlsClearCross(struct tlsConnection *t, bool *cross) {
    if (!*cross) return;
    *cross = false;
    tlsWatch(t);
}

static ssize_t tlsRead(struct connection *conn, void *buf, size_t len) {
    struct tlsConnection *t = tlsOf(conn);
    if (t->done) return tlsFailWith(t, EAGAIN);
    if (t->broken) return tlsFailWith(t, EPROTO);
    size_t total = 0;
    ssize_t n;
    do {
        size_t got = 0;
        ERR_clear_error();
        errno = 0;
        n = SSL_read_ex(t->ssl, (char *)buf + total, len - total, &got);
        total += got;
    } while (n == 1 && total < len && SSL_has_pending(t->ssl));
    if (n == 1) {
        tlsClearCross(t, &t->read_waits_to_write);
        tlsNotePending(t);
        return (ssize_t)total;
    }
    n = tlsHandleError(t, (int)n, SSL_ERROR_WANT_WRITE, &t->read_waits_to_write);
    bool waits = n < 0 && errno == EAGAIN;
    if (conn->el) connSetPending(conn, total && !waits); /* so that its reader learns of an end, too */
    return total ? (ssize_t)total : n;
}

/* Returns the next bytes of iov from `at`, `off` on: in place when they fill a record or are the
 * last, gathered otherwise. */
static size_t tlsNextPiece(const struct iovec *iov, int cnt, int at, size_t off, const char **p) {
    static __thread char gathered[RECORD_MAX];
    *p = (const char *)iov[at].iov_base + off;
    size_t len = iov[at].iov_len - off;
    if (len >= RECORD_MAX || at == cnt - 1) return len;
    size_t used = 0;
    for (; at < cnt && used < RECORD_MAX; at++, off = 0) {
        size_t part = iov[at].iov_len - off;
        if (part > RECORD_MAX - used) part = RECORD_MAX - used;
        memcpy(gathered + used, (const char *)iov[at].iov_base + off, part);
        used += part;
    }
    *p = gathered;
    return used;
}

static ssize_t tlsWritev(struct connection *conn, const struct iovec *iov, int cnt) {
    struct tlsConnection *t = tlsOf(conn);
    if (t->done) return tlsFailWith(t, EAGAIN);
    if (t->broken) return tlsFailWith(t, EPROTO);
    size_t total = 0, off = 0;
    for (int at = 0; at < cnt;) {
        if (off == iov[at].iov_len) {
            at++, off = 0;
            continue;
        }
        const char *p;
        size_t len = tlsNextPiece(iov, cnt, at, off, &p), written = 0;
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write_ex(t->ssl, p, len, &written);
        if (rc != 1) {
            ssize_t n = tlsHandleError(t, rc, SSL_ERROR_WANT_READ, &t->write_waits_to_read);
            if (total) return (ssize_t)total;
            return n ? n : tlsFailWith(t, EPIPE);
        }
        total += written;
        for (off += written; at < cnt && off >= iov[at].iov_len;) off -= iov[at++].iov_len;
    }
    tlsClearCross(t, &t->write_waits_to_read);
    return (ssize_t)total;
}

static void tlsClose(struct connection *conn) {
    struct tlsConnection *t = tlsOf(conn);
    connSetPending(conn, false);
    if (conn->el) aeDeleteFileEvent(conn->el, conn->fd, AE_READABLE | AE_WRITABLE);
    ERR_clear_error();
    if (!t->done && !t->broken) SSL_shutdown(t->ssl); /* informs the peer if the socket can send it */
    ERR_clear_error();
    t->closed = true;
    if (!t->busy) tlsFreeNow(t);
}

static void tlsSetReadHandler(struct connection *conn, connHandler *fn) {
    conn->read_handler = fn;
    tlsWatch(tlsOf(conn));
    tlsNotePending(tlsOf(conn));
}

static void tlsSetWriteHandler(struct connection *conn, connHandler *fn) {
    conn->write_handler = fn;
    tlsWatch(tlsOf(conn));
}

static void tlsDetach(struct connection *conn) {
    struct tlsConnection *t = tlsOf(conn);
    serverAssert(!t->busy); /* not from one of its handlers */
    connSetPending(conn, false);
    conn->read_handler = conn->write_handler = NULL;
    if (t->watched) aeDeleteFileEvent(conn->el, conn->fd, t->watched);
    t->watched = 0;
    conn->el = NULL;
}

static void tlsAttach(struct connection *conn, struct aeEventLoop *el) {
    conn->el = el;
    tlsWatch(tlsOf(conn)); /* a handshake continues; handlers are set later */
}

static const struct connType tls_type = {
    .name = "tls",
    .read = tlsRead,
    .writev = tlsWritev,
    .close = tlsClose,
    .setReadHandler = tlsSetReadHandler,
    .setWriteHandler = tlsSetWriteHandler,
    .detach = tlsDetach,
    .attach = tlsAttach,
};

static struct tlsConnection *tlsCreate(struct aeEventLoop *el, struct tlsContext *ctx, int fd,
                                       int keepalive_s) {
    SSL *ssl = SSL_new((SSL_CTX *)ctx);
    BIO *bio = ssl ? BIO_new(socket_bio) : NULL;
    if (!bio) {
        SSL_free(ssl);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    struct tlsConnection *t = zcalloc(1, sizeof *t);
    connInit(&t->base, &tls_type, el, fd, keepalive_s);
    t->ssl = ssl;
    return t;
}

/* ---- Public API ---- */

bool tlsAvailable(void) {
    return true;
}

struct connection *tlsAccept(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                             tlsDone *done) {
    struct tlsConnection *t = tlsCreate(el, ctx, fd, keepalive_s);
    if (!t) return NULL;
    SSL_set_accept_state(t->ssl);
    t->done = done;
    t->handshake_waits = AE_READABLE; /* the client sends first */
    tlsWatch(t);
    return &t->base;
}

struct connection *tlsStart(struct aeEventLoop *el, struct tlsContext *ctx, int fd, int keepalive_s,
                            tlsDone *done) {
    struct tlsConnection *t = tlsCreate(el, ctx, fd, keepalive_s);
    if (!t) return NULL;
    SSL_set_connect_state(t->ssl);
    t->done = done;
    t->handshake_waits = AE_WRITABLE;
    tlsWatch(t);
    return &t->base;
}

static void tlsFreeKeepFd(struct tlsConnection *t) {
    SSL_free(t->ssl);
    zfree(t);
}

struct connection *tlsConnect(struct tlsContext *ctx, int fd, const char *sni, int timeout_ms, sds *err) {
    struct tlsConnection *t = tlsCreate(NULL, ctx, fd, 0);
    if (!t) {
        *err = tlsTakeError();
        return NULL;
    }
    SSL_set_connect_state(t->ssl);
    if (sni && *sni) SSL_set_tlsext_host_name(t->ssl, sni);
    int64_t deadline_us = monotonicUs() + (int64_t)timeout_ms * 1000;
    while (!tlsDoHandshake(t, err)) {
        int64_t left_ms = timeout_ms > 0 ? (deadline_us - monotonicUs()) / 1000 : -1;
        if ((timeout_ms > 0 && left_ms <= 0) || aeWait(fd, t->handshake_waits, left_ms) == 0) {
            *err = sdsnew(strerror(ETIMEDOUT));
            break;
        }
    }
    if (!*err) return &t->base;
    tlsFreeKeepFd(t);
    return NULL;
}

bool tlsIs(const struct connection *conn) {
    return conn->type == &tls_type;
}

bool tlsInHandshake(const struct connection *conn) {
    return tlsIs(conn) && tlsOf(conn)->done;
}

tlsDone *tlsSwapDone(struct connection *conn, tlsDone *done) {
    if (!tlsInHandshake(conn)) return NULL;
    tlsDone *former = tlsOf(conn)->done;
    tlsOf(conn)->done = done;
    return former;
}

bool tlsHasInput(const struct connection *conn) {
    return tlsIs(conn) && SSL_has_pending(tlsOf(conn)->ssl);
}

static sds *tlsAddName(sds *names, int *count, const ASN1_STRING *text) {
    unsigned char *utf8;
    int len = ASN1_STRING_to_UTF8(&utf8, text);
    if (len < 0) return names;
    if (len > 0) {
        names = zrealloc(names, (size_t)(*count + 1) * sizeof *names);
        names[(*count)++] = sdsnewlen(utf8, (size_t)len);
    }
    OPENSSL_free(utf8);
    return names;
}

static sds *tlsCommonName(X509 *cert, int *count) {
    X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    return at < 0 ? NULL
                  : tlsAddName(NULL, count, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

/* URIs with a zero byte are left out, as other programs might read them differently. */
static sds *tlsUris(X509 *cert, int *count) {
    sds *uris = NULL;
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < OPENSSL_sk_num((const OPENSSL_STACK *)names); i++) {
        const GENERAL_NAME *g = OPENSSL_sk_value((const OPENSSL_STACK *)names, i);
        if (g->type != GEN_URI) continue;
        int before = *count;
        uris = tlsAddName(uris, count, g->d.uniformResourceIdentifier);
        if (*count > before && strlen(uris[before]) < sdslen(uris[before])) sdsfree(uris[--*count]);
    }
    GENERAL_NAMES_free(names);
    if (*count) return uris;
    zfree(uris);
    return NULL;
}

sds *tlsPeerNames(const struct connection *conn, enum tlsName field, int *count) {
    *count = 0;
    if (conn->type != &tls_type || field == TLS_NAME_NONE) return NULL;
    X509 *cert = SSL_get1_peer_certificate(tlsOf(conn)->ssl);
    if (!cert) return NULL;
    sds *names = field == TLS_NAME_CN ? tlsCommonName(cert, count) : tlsUris(cert, count);
    X509_free(cert);
    return names;
}

sds tlsPeerCertificate(const struct connection *conn) {
    X509 *cert = conn->type == &tls_type ? SSL_get1_peer_certificate(tlsOf(conn)->ssl) : NULL;
    BIO *out = cert ? BIO_new(BIO_s_mem()) : NULL;
    sds pem = NULL;
    char *bytes;
    if (out && PEM_write_bio_X509(out, cert)) {
        long len = BIO_get_mem_data(out, &bytes);
        pem = sdsnewlen(bytes, (size_t)len);
    }
    BIO_free(out);
    X509_free(cert);
    return pem;
}
