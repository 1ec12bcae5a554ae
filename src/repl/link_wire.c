/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.c - see link_wire.h.
 *
 * Lines are read byte by byte, as what comes after the last one belongs to another reader and cannot be put
 * back into the socket. A handshake has a dozen short lines. */
#include "repl/link_wire.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "net/resp.h"
#include "registry/config.h"

#define LINE_MAX_LEN 1024

static bool use_mptcp;

/* ---- End ---- */

struct connection *linkWireTake(struct linkWire *w) {
    struct connection *conn = w->conn;
    serverAssert(conn && conn->data == w);
    connSetReadHandler(conn, NULL);
    conn->data = NULL;
    w->conn = NULL;
    sdsfree(w->line);
    w->line = NULL;
    return conn;
}

void linkWireDrop(struct linkWire *w) {
    dialCancel(&w->dial);
    if (w->conn) connClose(linkWireTake(w));
}

static void linkWireFail(struct linkWire *w, const char *why) {
    linkWireDrop(w);
    w->onFailed(w, why);
}

/* ---- Lines ---- */

static void linkWireOnReadable(struct connection *conn) {
    struct linkWire *w = conn->data;
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
        w->onLine(w, strN(line, len));
        sdsfree(line);
    }
}

void linkWireSetReading(struct linkWire *w, bool on) {
    connSetReadHandler(w->conn, on ? linkWireOnReadable : NULL);
}

void linkWireSendRaw(struct linkWire *w, struct str bytes) {
    serverAssert(w->conn && bytes.len);
    struct iovec iov = {(char *)bytes.ptr, bytes.len};
    connWritev(w->conn, &iov, 1); /* a failure is noticed by the silence that follows */
}

void linkWireSend(struct linkWire *w, int argc, const struct str *argv) {
    sds s = sdsMakeRoomFor(sdsempty(), respRequestRoom(argc, argv));
    sdssetlen(s, (size_t)(respWriteRequest(s, argc, argv) - s));
    linkWireSendRaw(w, sdsview(s));
    sdsfree(s);
}

/* ---- Connecting ---- */

static void linkWireOnConnected(struct dial *d, struct connection *conn, const char *error) {
    struct linkWire *w = listEntry(d, struct linkWire, dial);
    if (error) {
        w->onFailed(w, error);
        return;
    }
    w->conn = conn;
    conn->data = w;
    linkWireSetReading(w, true);
    w->onConnected(w);
}

bool linkWireConnect(struct linkWire *w, const char *host, int port, char *err, size_t errlen) {
    serverAssert(linkWireIsIdle(w) && w->onConnected && w->onLine && w->onFailed);
    struct dialTarget target = {host, port, .tls = dial_settings.replication_tls, .mptcp = use_mptcp};
    return dialStart(&w->dial, target, linkWireOnConnected, err, errlen);
}

void linkWireInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("bind-source-addr", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL,
                      &dial_settings.source_address, NULL, NULL, NULL),
        CONFIG_BOOL("repl-mptcp", NULL, 0, &use_mptcp, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
