/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.c - see link_wire.h.
 *
 * Lines are read byte by byte: what stands behind the last of them is somebody else's, and cannot be put back
 * into the socket. There are a dozen short lines in a handshake. */
#include "repl/link_wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/ae.h"
#include "net/resp.h"
#include "net/tls.h"
#include "registry/config.h"

#define LINE_MAX_LEN 1024
#define KEEPALIVE_S  300

static sds source_address;
static bool use_tls, use_mptcp;
static struct tlsContext *(*tls_context)(sds *err);
static bool (*tls_check)(void);

bool wireIsEncrypted(void) {
    return use_tls;
}

void wireSetTls(struct tlsContext *(*fn)(sds *err), bool (*check)(void)) {
    tls_context = fn;
    tls_check = check;
}

static bool applyTls(const char **err) {
    if (!use_tls || tls_check()) return true;
    *err = "Unable to update TLS configuration. Check server logs.";
    return false;
}

/* ---- Its end ---- */

struct connection *wireTake(struct wire *w) {
    struct connection *conn = w->conn;
    connSetReadHandler(conn, NULL);
    conn->data = NULL;
    w->conn = NULL;
    sdsfree(w->line);
    w->line = NULL;
    return conn;
}

void wireDrop(struct wire *w) {
    if (w->fd >= 0) {
        aeDeleteFileEvent(server_el, w->fd, AE_WRITABLE);
        close(w->fd);
        w->fd = -1;
    }
    if (w->conn) connClose(wireTake(w));
}

static void fail(struct wire *w, const char *why) {
    wireDrop(w);
    w->failed(w, why);
}

/* ---- Lines ---- */

static void onReadable(struct connection *conn) {
    struct wire *w = conn->data;
    while (w->conn == conn && conn->read_handler) {
        char c;
        ssize_t n = connRead(conn, &c, 1);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            fail(w, n < 0 ? strerror(errno) : "the connection was closed");
            return;
        }
        if (!w->line) w->line = sdsempty();
        if (c != '\n') w->line = sdscatlen(w->line, &c, 1);
        if (sdslen(w->line) > LINE_MAX_LEN) {
            fail(w, "the line is too long");
            return;
        }
        if (c != '\n') continue;
        sds line = w->line;
        w->line = NULL;
        size_t len = sdslen(line);
        if (len && line[len - 1] == '\r') len--;
        w->heard(w, strN(line, len));
        sdsfree(line);
    }
}

void wireListen(struct wire *w, bool on) {
    connSetReadHandler(w->conn, on ? onReadable : NULL);
}

void wireSayRaw(struct wire *w, struct str bytes) {
    struct iovec iov = {(char *)bytes.ptr, bytes.len};
    connWritev(w->conn, &iov, 1); /* what did not go is noticed by the silence that follows */
}

void wireSay(struct wire *w, int argc, const struct str *argv) {
    sds s = sdsMakeRoomFor(sdsempty(), respRequestRoom(argc, argv));
    sdssetlen(s, (size_t)(respWriteRequest(s, argc, argv) - s));
    wireSayRaw(w, sdsview(s));
    sdsfree(s);
}

/* ---- Connecting ---- */

static void onShaken(struct connection *conn, const char *error) {
    struct wire *w = conn->data;
    if (error) {
        sds why = sdsnew(error);
        fail(w, why);
        sdsfree(why);
        return;
    }
    wireListen(w, true);
    w->connected(w);
}

static void wrapTls(struct wire *w, int fd) {
    sds err = NULL;
    struct tlsContext *ctx = tls_context ? tls_context(&err) : NULL;
    w->conn = ctx ? tlsStart(server_el, ctx, fd, KEEPALIVE_S, onShaken) : NULL;
    if (ctx) tlsContextFree(ctx);
    if (w->conn) {
        w->conn->data = w;
    } else {
        close(fd);
        w->failed(w, err ? err : "TLS is not configured");
    }
    sdsfree(err);
}

static void onConnected(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)mask;
    struct wire *w = data;
    int error = netConnectEnd(fd);
    if (error) {
        fail(w, strerror(error));
        return;
    }
    aeDeleteFileEvent(el, fd, AE_WRITABLE);
    w->fd = -1;
    if (use_tls) {
        wrapTls(w, fd);
        return;
    }
    w->conn = connCreateTcp(server_el, fd, KEEPALIVE_S);
    w->conn->data = w;
    wireListen(w, true);
    w->connected(w);
}

bool wireConnect(struct wire *w, const char *host, int port, sds *err) {
    char why[256];
    int fd =
        netConnectStart((struct netWay){.mptcp = use_mptcp}, host, port, source_address, why, sizeof why);
    if (fd >= 0 && aeCreateFileEvent(server_el, fd, AE_WRITABLE, onConnected, w) == 0) {
        w->fd = fd;
        return true;
    }
    *err = sdsnew(fd < 0 ? why : strerror(errno));
    if (fd >= 0) close(fd);
    return false;
}

void wireInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("bind-source-addr", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, &source_address,
                      NULL, NULL, NULL),
        CONFIG_BOOL("repl-mptcp", NULL, 0, &use_mptcp, false, NULL),
        CONFIG_BOOL("tls-replication", NULL, CONFIG_MODIFIABLE, &use_tls, false, applyTls),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
