/* SPDX-License-Identifier: BSD-3-Clause */
/* dial.c - see dial.h. */
#include "net/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/ae.h"
#include "net/tls.h"

#define KEEPALIVE_S 300

struct dialSettings dial_settings;

static void dialFinish(struct dial *d, struct connection *conn, const char *error) {
    d->running = false;
    d->conn = NULL;
    d->done(d, conn, error);
}

static void dialHandshakeDone(struct connection *conn, const char *error) {
    struct dial *d = conn->data;
    conn->data = NULL;
    if (error) connClose(conn);
    dialFinish(d, error ? NULL : conn, error);
}

static void dialHandshake(struct dial *d, int fd) {
    sds err = NULL;
    struct tlsContext *ctx = dial_settings.tlsContext(&err);
    d->conn = ctx ? tlsStart(server_el, ctx, fd, KEEPALIVE_S, dialHandshakeDone) : NULL;
    if (ctx) tlsContextFree(ctx);
    if (d->conn) {
        d->conn->data = d;
    } else {
        close(fd);
        dialFinish(d, NULL, err ? err : "TLS is not configured");
    }
    sdsfree(err);
}

static void dialConnected(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)mask;
    struct dial *d = data;
    int error = netConnectEnd(fd);
    aeDeleteFileEvent(el, fd, AE_WRITABLE);
    d->connected = error == 0;
    if (error) {
        close(fd);
        dialFinish(d, NULL, strerror(error));
    } else if (d->tls) {
        dialHandshake(d, fd);
    } else {
        dialFinish(d, connCreateTcp(el, fd, KEEPALIVE_S), NULL);
    }
}

bool dialStart(struct dial *d, struct dialTarget target, dialDone *done, char *err, size_t errlen) {
    serverAssert(!d->running && done);
    int fd = netConnectStart((struct netOptions){.mptcp = target.mptcp}, target.host, target.port,
                             dial_settings.source_address, err, errlen);
    if (fd < 0) return false;
    if (aeCreateFileEvent(server_el, fd, AE_WRITABLE, dialConnected, d) != 0) {
        snprintf(err, errlen, "%s", strerror(errno));
        close(fd);
        return false;
    }
    *d = (struct dial){.running = true, .tls = target.tls, .fd = fd, .done = done};
    return true;
}

void dialCancel(struct dial *d) {
    if (!d->running) return;
    d->running = false;
    if (d->conn) {
        connClose(d->conn);
    } else {
        aeDeleteFileEvent(server_el, d->fd, AE_WRITABLE);
        close(d->fd);
    }
    d->conn = NULL;
}

struct connection *dialEncryptBlocking(int fd, int timeout_ms, sds *err) {
    struct tlsContext *ctx = dial_settings.tlsContext(err);
    struct connection *conn = ctx ? tlsConnect(ctx, fd, NULL, timeout_ms, err) : NULL;
    if (ctx) tlsContextFree(ctx);
    return conn;
}
