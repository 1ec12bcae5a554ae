/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_link.c - the few synchronous exchanges of the benchmark: AUTH, SELECT and INFO.
 *
 * Each sends one command and reads one reply, and waits for the socket if necessary. After the handshake
 * the connection is passed to a thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "net/ae.h"
#include "net/connection.h"
#include "net/resp.h"
#include "tools/benchmark/benchmark.h"

#define CONNECT_TIMEOUT_MS 10000

static sds benchLinkFail(sds *err, const char *text) {
    *err = sdsnew(text);
    return NULL;
}

/* Waits for the socket after a read or write that returned n. Returns true when another try makes sense. */
static bool benchLinkWaitForRetry(struct connection *conn, ssize_t n, int mask) {
    if (n < 0 && errno == EAGAIN) return aeWait(conn->fd, mask, -1) > 0;
    return n < 0 && errno == EINTR;
}

static bool benchLinkSendAll(struct connection *conn, const char *p, size_t len) {
    while (len) {
        ssize_t n = connWritev(conn, &(struct iovec){(void *)p, len}, 1);
        if (n <= 0 && !benchLinkWaitForRetry(conn, n, AE_WRITABLE)) return false;
        if (n <= 0) continue;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool benchSendBytes(struct connection *conn, struct str bytes) {
    return benchLinkSendAll(conn, bytes.ptr, bytes.len);
}

bool benchSend(struct connection *conn, int argc, const char *const *argv) {
    sds out = sdscatprintf(sdsempty(), "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) out = sdscatprintf(out, "$%zu\r\n%s\r\n", strlen(argv[i]), argv[i]);
    bool sent = benchLinkSendAll(conn, out, sdslen(out));
    sdsfree(out);
    return sent;
}

/* Returns the size of the reply at the start of `in`, after removing push messages in front of it. */
static int64_t benchLinkReplySize(sds in) {
    int64_t size = respReplyLength(in, sdslen(in));
    while (size > 0 && in[0] == '>') {
        sdsrange(in, (ptrdiff_t)size, -1);
        size = respReplyLength(in, sdslen(in));
    }
    return size;
}

sds benchReadReply(struct connection *conn, sds *err) {
    sds in = sdsempty();
    int64_t size = 0;
    while (size == 0) {
        in = sdsMakeRoomFor(in, 16 * 1024);
        ssize_t n = connRead(conn, in + sdslen(in), sdsavail(in));
        if (benchLinkWaitForRetry(conn, n, AE_READABLE)) continue;
        if (n <= 0) break;
        sdssetlen(in, sdslen(in) + (size_t)n);
        size = benchLinkReplySize(in);
    }
    if (size > 0) return in;
    sdsfree(in);
    return benchLinkFail(err, size < 0 ? "Protocol error in the reply" : "Server closed the connection");
}

/* Returns the text of the reply or of its last element, such as the value in CONFIG GET's name and
 * value; NULL if there is neither. */
static sds benchLinkReplyText(const struct respReply *reply) {
    bool list = reply->type == RESP_T_ARRAY || reply->type == RESP_T_MAP;
    if (list && reply->elements == 0) return NULL;
    if (reply->elements) reply = &reply->element[reply->elements - 1];
    return reply->str.ptr ? sdsnewstr(reply->str) : sdsempty();
}

/* Returns the text of the reply, or NULL and *err when it is an error or does not arrive. */
static sds benchLinkCall(struct connection *conn, int argc, const char *const *argv, sds *err) {
    if (!benchSend(conn, argc, argv)) return benchLinkFail(err, strerror(errno));
    sds in = benchReadReply(conn, err);
    struct respReply reply;
    if (!in) return NULL;
    bool read = respReadReply(in, sdslen(in), &reply) > 0;
    sds text = read ? benchLinkReplyText(&reply) : benchLinkFail(err, "Protocol error in the reply");
    if (read && reply.type == RESP_T_ERROR) *err = text, text = NULL;
    if (read) respReplyFree(&reply);
    sdsfree(in);
    return text;
}

static bool benchLinkCallOk(struct connection *conn, int argc, const char *const *argv, sds *err) {
    sds text = benchLinkCall(conn, argc, argv, err);
    sdsfree(text);
    return text != NULL;
}

static bool benchLinkHandshake(const struct benchOptions *o, const struct benchServer *server,
                               struct connection *conn, sds *err) {
    if (o->password) {
        const char *with_user[] = {"AUTH", o->user, o->password}, *plain[] = {"AUTH", o->password};
        if (!(o->user ? benchLinkCallOk(conn, 3, with_user, err) : benchLinkCallOk(conn, 2, plain, err)))
            return false;
    }
    const char *read_only[] = {"READONLY"};
    if (server->replica && !benchLinkCallOk(conn, 1, read_only, err)) return false;
    const char *hello[] = {"HELLO", "3"}, *tracking[] = {"CLIENT", "TRACKING", "ON"};
    if (o->resp3 && !benchLinkCallOk(conn, 2, hello, err)) return false;
    if (o->tracking && !benchLinkCallOk(conn, 3, tracking, err)) return false;
    if (o->db == 0) return true;
    char db[LONG_STR_SIZE];
    ll2string(db, o->db);
    const char *select[] = {"SELECT", db};
    return benchLinkCallOk(conn, 2, select, err);
}

struct connection *benchConnect(const struct benchOptions *o, const struct benchServer *server, sds *err) {
    char reason[256] = "";
    int fd = server->host ? netConnectBy((struct netOptions){.mptcp = o->mptcp}, server->host, server->port,
                                         CONNECT_TIMEOUT_MS, reason, sizeof(reason))
                          : netConnectUnix(server->socket, reason, sizeof(reason));
    sds tls_reason = NULL;
    struct connection *conn = fd == -1 ? NULL : toolConnection(&o->tls, fd, CONNECT_TIMEOUT_MS, &tls_reason);
    if (conn == NULL) {
        const char *why = tls_reason ? tls_reason : reason;
        *err = server->host
                   ? sdscatprintf(sdsempty(), "Could not connect to server at %s:%d: %s", server->host,
                                  server->port, why)
                   : sdscatprintf(sdsempty(), "Could not connect to server at %s: %s", server->socket, why);
        sdsfree(tls_reason);
        return NULL;
    }
    if (benchLinkHandshake(o, server, conn, err)) return conn;
    connClose(conn);
    return NULL;
}

static bool benchLinkInfoField(const char *info, const char *name, double *out) {
    const char *at = strstr(info, name);
    if (at == NULL) return false;
    *out = strtod(at + strlen(name), NULL);
    return true;
}

bool benchServerCpu(const struct benchOptions *o, const struct benchServer *server, double *seconds,
                    sds *err) {
    const char *command[] = {"INFO", "cpu"};
    sds info = benchServerRequest(o, server, 2, command, err);
    if (info == NULL) return false;
    double user = 0, sys = 0;
    bool found =
        benchLinkInfoField(info, "used_cpu_user:", &user) && benchLinkInfoField(info, "used_cpu_sys:", &sys);
    sdsfree(info);
    *seconds = user + sys;
    if (!found) benchLinkFail(err, "INFO has no used_cpu_user and used_cpu_sys");
    return found;
}

sds benchServerRequest(const struct benchOptions *o, const struct benchServer *server, int argc,
                       const char *const *argv, sds *err) {
    struct connection *conn = benchConnect(o, server, err);
    if (conn == NULL) return NULL;
    sds text = benchLinkCall(conn, argc, argv, err);
    connClose(conn);
    return text;
}

bool benchServerRun(const struct benchOptions *o, const struct benchServer *server, int argc,
                    const char *const *argv, sds *err) {
    sds text = benchServerRequest(o, server, argc, argv, err);
    sdsfree(text);
    return text != NULL;
}

sds benchServerConfig(const struct benchOptions *o, const struct benchServer *server, const char *name) {
    sds err = NULL;
    const char *command[] = {"CONFIG", "GET", name};
    sds value = benchServerRequest(o, server, 3, command, &err);
    sdsfree(err);
    return value;
}
