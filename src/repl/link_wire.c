/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.c - see link_wire.h.
 *
 * Lines are read byte by byte: what stands behind the last of them is somebody else's, and cannot be put back
 * into the socket. There are a dozen short lines in a handshake. */
#include "repl/link_wire.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "net/resp.h"
#include "registry/config.h"

#define LINE_MAX_LEN 1024

static bool use_mptcp;

/* ---- Its end ---- */

struct connection *wireTake(struct wire *w) {
    struct connection *conn = w->conn;
    serverAssert(conn && conn->data == w);
    connSetReadHandler(conn, NULL);
    conn->data = NULL;
    w->conn = NULL;
    sdsfree(w->line);
    w->line = NULL;
    return conn;
}

void wireDrop(struct wire *w) {
    dialCancel(&w->dial);
    if (w->conn) connClose(wireTake(w));
}

static void linkWireFail(struct wire *w, const char *why) {
    wireDrop(w);
    w->failed(w, why);
}

/* ---- Lines ---- */

static void linkWireOnReadable(struct connection *conn) {
    struct wire *w = conn->data;
    while (w->conn == conn && conn->read_handler) {
        char c;
        ssize_t n = connRead(conn, &c, 1);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            linkWireFail(w, n < 0 ? strerror(errno) : "the connection was closed");
            return;
        }
        if (!w->line) w->line = sdsempty();
        if (c != '\n') w->line = sdscatlen(w->line, &c, 1);
        if (sdslen(w->line) > LINE_MAX_LEN) {
            linkWireFail(w, "the line is too long");
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
    connSetReadHandler(w->conn, on ? linkWireOnReadable : NULL);
}

void linkWireSendRaw(struct wire *w, struct str bytes) {
    serverAssert(w->conn && bytes.len);
    struct iovec iov = {(char *)bytes.ptr, bytes.len};
    connWritev(w->conn, &iov, 1); /* what did not go is noticed by the silence that follows */
}

void linkWireSend(struct wire *w, int argc, const struct str *argv) {
    sds s = sdsMakeRoomFor(sdsempty(), respRequestRoom(argc, argv));
    sdssetlen(s, (size_t)(respWriteRequest(s, argc, argv) - s));
    linkWireSendRaw(w, sdsview(s));
    sdsfree(s);
}

/* ---- Connecting ---- */

static void linkWireOnConnected(struct dial *d, struct connection *conn, const char *error) {
    struct wire *w = listEntry(d, struct wire, dial);
    if (error) {
        w->failed(w, error);
        return;
    }
    w->conn = conn;
    conn->data = w;
    wireListen(w, true);
    w->connected(w);
}

bool wireConnect(struct wire *w, const char *host, int port, char *err, size_t errlen) {
    serverAssert(wireFree(w) && w->connected && w->heard && w->failed);
    struct dialTarget target = {host, port, .tls = dial_settings.replication_tls, .mptcp = use_mptcp};
    return dialStart(&w->dial, target, linkWireOnConnected, err, errlen);
}

void wireInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("bind-source-addr", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL,
                      &dial_settings.source_address, NULL, NULL, NULL),
        CONFIG_BOOL("repl-mptcp", NULL, 0, &use_mptcp, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
