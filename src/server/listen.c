/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.c - listening sockets and accepting clients; see listen.h.
 *
 * TCP and TLS have a port each, and one socket for each address of `bind`. The addresses are tried in order.
 * One with a leading '-' may be missing on this host; any other failure stops the start, or makes CONFIG SET
 * fail and reopen the old sockets.
 *
 * When no file descriptor is left for another client, accepting pauses for a moment: the listening sockets
 * stay readable, and the loop would do nothing but fail. One descriptor is kept in reserve, since even
 * logging needs one. */
#include "server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/client_auth.h"
#include "base/file.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_session.h"
#include "cluster/cluster.h"
#include "command/io_threads.h"
#include "data/server_state/role.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/server_events.h"
#include "server/priority_clients.h"
#include "server/tls_server.h"

#define BIND_MAX        16
#define RESERVED_FDS    32  /* for the log, epoll, files of our own */
#define ACCEPT_PAUSE_MS 100 /* pause of accepting after a failure */

static sds bind_addr[BIND_MAX];
static int bind_count;
static bool mptcp;
static int64_t socket_mark; /* socket-mark-id */
static int64_t tcp_backlog, tcp_keepalive, maxclients, unixsocketperm, accepts_per_cycle,
    tls_accepts_per_cycle;
static bool protected_mode;
static sds unixsocket, unixsocketgroup;

/* The sockets of one port. */
struct listenGroup {
    const char *name;
    int64_t port; /* 0: off */
    aeFileProc *accept;
    int fds[BIND_MAX], count;
};
static void listenAcceptTcp(struct aeEventLoop *el, int fd, void *data, int mask);
static void listenAcceptTls(struct aeEventLoop *el, int fd, void *data, int mask);
static struct listenGroup tcp = {.name = "tcp", .accept = listenAcceptTcp},
                          tls = {.name = "tls", .accept = listenAcceptTls};
static int unix_fd = -1, spare_fd = -1;
static bool started, paused;

int listenPort(void) {
    return (int)(tcp.port ? tcp.port : tls.port);
}

int listenTlsPort(void) {
    return (int)tls.port;
}

sds listenAppendName(sds s) {
    if (listenPort() == 0) return sdscat(s, unixsocket ? unixsocket : "");
    return sdscatprintf(s, "%s:%d", bind_count ? bind_addr[0] : "*", listenPort());
}

/* ---- Accept ---- */

static void listenRefuse(struct connection *conn, const char *msg) {
    struct iovec iov = {(void *)msg, strlen(msg)};
    (void)connWritev(conn, &iov, 1); /* best effort */
    connClose(conn);
    clientstats.rejected++;
}

/* Over TLS the client cannot read the error yet. */
static bool listenIsFull(struct connection *conn, bool priority) {
    bool full = clients.length + clusterConnections() >= (size_t)maxclients;
    if (!full && (priority || priorityClientsLeaveRoom((size_t)maxclients))) return false;
    listenRefuse(conn, cluster_enabled ? "-ERR max number of clients + cluster connections reached\r\n"
                                       : "-ERR max number of clients reached\r\n");
    if (priority) priorityClientsCountRejected();
    return true;
}

static const char *listenUnprotected(const struct connection *conn) {
    if (!protected_mode || authPasswordSet() || connIsLocal(conn)) return NULL;
    return "-DENIED This server is in protected mode: no password is set for the default user, so only "
           "clients on the same machine may connect. Set a password with CONFIG SET requirepass, or turn "
           "the protection off with CONFIG SET protected-mode no.\r\n";
}

static void listenLogAccepted(struct client *c, bool unix_socket) {
    if (unix_socket)
        serverLog(LL_VERBOSE, "A client has connected to %s", unixsocket);
    else
        serverLog(LL_VERBOSE, "Accepted %s", clientPeerName(c));
}

static void listenAcceptOne(struct connection *conn, bool unix_socket) {
    bool priority = priorityClientsInclude(conn);
    if (listenIsFull(conn, priority)) return;
    const char *denied = unix_socket ? NULL : listenUnprotected(conn);
    if (denied) {
        listenRefuse(conn, denied);
        return;
    }
    struct client *c = clientCreate(conn);
    if (logGetLevel() <= LL_VERBOSE) listenLogAccepted(c, unix_socket);
    if (unix_socket) c->flags |= CLIENT_UNIX_SOCKET;
    if (priority) priorityClientsAdd(c);
    authNewClient(c);
    clientstats.connections++;
    serverEvent(SERVER_CLIENT, EVENT_STARTED, c);
    if (!ioThreadsOffload(c)) clientResumeReading(c);
}

static void listenStopReading(const struct listenGroup *g) {
    for (int i = 0; i < g->count; i++) aeDeleteFileEvent(server_el, g->fds[i], AE_READABLE);
}

static void listenStartReading(const struct listenGroup *g) {
    for (int i = 0; i < g->count; i++) aeCreateFileEvent(server_el, g->fds[i], AE_READABLE, g->accept, NULL);
}

static void listenPauseAccepting(void) {
    int reason = errno;
    if (spare_fd >= 0) close(spare_fd);
    serverLog(LL_WARNING, "Accepting a connection failed: %s", strerror(reason));
    spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    listenStopReading(&tcp);
    listenStopReading(&tls);
    if (unix_fd >= 0) aeDeleteFileEvent(server_el, unix_fd, AE_READABLE);
    paused = true;
}

/* Accepts at most `most` connections. Returns -1 when none is waiting. */
static int listenNextWaiting(int fd, int64_t *most) {
    if ((*most)-- <= 0) return -1;
    int client_fd = netAccept(fd);
    if (client_fd < 0 && errno != EAGAIN && errno != ECONNABORTED) listenPauseAccepting();
    return client_fd;
}

static void listenAcceptTcp(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)data, (void)mask;
    int64_t most = accepts_per_cycle;
    for (int client_fd; (client_fd = listenNextWaiting(fd, &most)) >= 0;)
        listenAcceptOne(connCreateTcp(el, client_fd, KEEPALIVE_INHERITED), false);
}

static void listenAcceptUnix(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)data, (void)mask;
    int64_t most = accepts_per_cycle;
    for (int client_fd; (client_fd = listenNextWaiting(fd, &most)) >= 0;)
        listenAcceptOne(connCreateUnix(el, client_fd), true);
}

static void listenSetCertificateUser(struct client *c, const struct connection *conn) {
    int count;
    sds *users = tlsServerUsers(conn, &count);
    int taken = users ? authAsFirstUser(c, users, count) : -1;
    if (taken >= 0) serverLog(LL_VERBOSE, "A TLS client is user '%s' by its certificate", users[taken]);
    sdsfreesplitres(users, count);
}

/* Second half of accepting, after the handshake. If an I/O thread has done the handshake, c->conn
 * is not conn. */
static void listenTlsReady(struct connection *conn, const char *error) {
    struct client *c = conn->data;
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    if (error) {
        serverLog(LL_WARNING, "A connection could not be accepted: %s (addr=%s laddr=%s)", error,
                  clientPeerName(c), clientSockName(c));
        clientClose(c);
        return;
    }
    const char *denied = listenUnprotected(conn);
    if (denied) {
        (void)connWritev(conn, &(struct iovec){(void *)denied, strlen(denied)}, 1); /* best effort */
        clientstats.rejected++;
        clientClose(c);
        return;
    }
    authNewClient(c);
    listenSetCertificateUser(c, conn);
    clientstats.connections++;
}

/* The client exists from the beginning, so that time-outs, CLIENT LIST and maxclients include clients
 * in the handshake. */
static void listenAcceptTls(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)data, (void)mask;
    int64_t most = tls_accepts_per_cycle;
    for (int client_fd; (client_fd = listenNextWaiting(fd, &most)) >= 0;) {
        struct connection *conn =
            tlsAccept(el, tlsServerCurrent(), client_fd, KEEPALIVE_INHERITED, listenTlsReady);
        if (!conn) {
            serverLog(LL_WARNING, "A connection could not be accepted: no memory");
            close(client_fd);
            continue;
        }
        bool priority = priorityClientsInclude(conn);
        if (listenIsFull(conn, priority)) continue;
        struct client *c = clientCreate(conn);
        if (priority) priorityClientsAdd(c);
        c->user = aclDefaultUser();
        if (logGetLevel() <= LL_VERBOSE) listenLogAccepted(c, false);
        if (!ioThreadsOffload(c)) clientResumeReading(c);
    }
}

static void listenResumeAccepting(void) {
    if (!paused) return;
    paused = false;
    listenStartReading(&tcp);
    listenStartReading(&tls);
    if (unix_fd >= 0) aeCreateFileEvent(server_el, unix_fd, AE_READABLE, listenAcceptUnix, NULL);
}

/* ---- Listen ---- */

static void listenCloseGroup(struct listenGroup *g) {
    for (int i = 0; i < g->count; i++) {
        aeDeleteFileEvent(server_el, g->fds[i], AE_READABLE);
        close(g->fds[i]);
    }
    g->count = 0;
}

static bool listenOpenGroup(struct listenGroup *g) {
    if (g->port == 0) return true;
    char err[256];
    const char *failed;
    int n = netListenAll((struct netOptions){.mptcp = mptcp, .mark = (uint32_t)socket_mark}, bind_addr,
                         bind_count, (int)g->port, (int)tcp_backlog, g->fds, &failed, err, sizeof err);
    if (n < 0) {
        serverLog(LL_WARNING, "Listening on %s:%d failed: %s", failed, (int)g->port, err);
        return false;
    }
    g->count = n;
    for (int i = 0; i < n; i++) {
        netSetInherited(g->fds[i], (int)tcp_keepalive);
        if (aeCreateFileEvent(server_el, g->fds[i], AE_READABLE, g->accept, NULL) == 0) continue;
        listenCloseGroup(g);
        return false;
    }
    return true;
}

static void listenOpenUnix(void) {
    if (!unixsocket || !*unixsocket) return;
    char err[256];
    unix_fd = netListenUnix(unixsocket, (unsigned)unixsocketperm, (int)tcp_backlog, err, sizeof err);
    if (unix_fd < 0) {
        serverLog(LL_WARNING, "Opening the Unix socket failed: %s", err);
        exit(1);
    }
    if (unixsocketgroup && *unixsocketgroup && !fileSetGroup(unixsocket, unixsocketgroup)) {
        serverLog(LL_WARNING, "Opening the Unix socket failed: group %s: %s", unixsocketgroup,
                  strerror(errno));
        unlink(unixsocket);
        exit(1);
    }
    aeCreateFileEvent(server_el, unix_fd, AE_READABLE, listenAcceptUnix, NULL);
}

static void listenOpenOrExit(struct listenGroup *g) {
    if (listenOpenGroup(g)) return;
    serverLog(LL_WARNING, "Listening on port %d (%s) failed, so the server exits", (int)g->port, g->name);
    exit(1);
}

static void listenWarnAboutBacklog(void) {
    FILE *f = fopen("/proc/sys/net/core/somaxconn", "r");
    int most;
    if (!f) return;
    if (fscanf(f, "%d", &most) == 1 && most > 0 && most < tcp_backlog)
        serverLog(LL_WARNING,
                  "tcp-backlog is %lld, but the kernel limits it to %d (/proc/sys/net/core/somaxconn)",
                  (long long)tcp_backlog, most);
    fclose(f);
}

void listenStart(void) {
    priorityClientsStart();
    listenWarnAboutBacklog();
    spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    listenOpenOrExit(&tcp);
    if (tlsServerIsWanted() && !tlsServerConfigure()) {
        serverLog(LL_WARNING, "TLS could not be configured, so the server exits");
        exit(1);
    }
    listenOpenOrExit(&tls);
    listenOpenUnix();
    if (tcp.count == 0 && tls.count == 0 && unix_fd < 0) {
        serverLog(LL_WARNING, "No port and no Unix socket to listen on is configured, so the server exits");
        exit(1);
    }
    started = true;
}

void listenStop(void) {
    listenCloseGroup(&tcp);
    listenCloseGroup(&tls);
    if (unix_fd < 0) return;
    aeDeleteFileEvent(server_el, unix_fd, AE_READABLE);
    close(unix_fd);
    unix_fd = -1;
    serverLog(LL_NOTICE, "The file of the Unix socket is deleted");
    if (unlink(unixsocket) != 0)
        serverLog(LL_WARNING, "Deleting the file of the Unix socket failed: %s", strerror(errno));
}

void listenAnnounce(void) {
    if (tcp.count) serverLog(LL_NOTICE, "Ready to accept connections tcp");
    if (unix_fd >= 0) serverLog(LL_NOTICE, "Ready to accept connections unix");
    if (tls.count) serverLog(LL_NOTICE, "Ready to accept connections tls");
}

/* ---- Limits ---- */

static bool listenRaiseFileLimit(rlim_t want) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    if (limit.rlim_cur >= want) return true;
    struct rlimit higher = {want, limit.rlim_max < want ? want : limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &higher) == 0) return true;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= want;
}

int listenMaxFds(void) {
    rlim_t want = (rlim_t)maxclients + RESERVED_FDS;
    if (!listenRaiseFileLimit(want)) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= RESERVED_FDS) {
            serverLog(LL_WARNING, "The file limit is too low to serve any client. Exiting.");
            exit(1);
        }
        int64_t requested = maxclients;
        maxclients = (int64_t)limit.rlim_cur - RESERVED_FDS;
        serverLog(
            LL_WARNING,
            "At most %lld files may be open, so maxclients is reduced from %lld to %lld. Raise \"ulimit "
            "-n\" to allow more.",
            (long long)limit.rlim_cur, (long long)requested, (long long)maxclients);
    }
    return (int)maxclients + 4 * RESERVED_FDS;
}

/* ---- Directives ---- */

/* Applies to new connections. */
static bool listenApplyKeepalive(const char **err) {
    (void)err;
    for (int i = 0; i < tcp.count; i++) netSetInherited(tcp.fds[i], (int)tcp_keepalive);
    for (int i = 0; i < tls.count; i++) netSetInherited(tls.fds[i], (int)tcp_keepalive);
    return true;
}

static bool listenApplyMaxclients(const char **err) {
    if (!listenRaiseFileLimit((rlim_t)maxclients + RESERVED_FDS)) {
        static char reason[128];
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        snprintf(reason, sizeof reason,
                 "The operating system is not able to handle the specified number of clients, try with %lld",
                 (long long)limit.rlim_cur - RESERVED_FDS);
        *err = reason;
        return false;
    }
    int fds = (int)maxclients + 4 * RESERVED_FDS;
    if (aeGetSize(server_el) < fds && aeSetSize(server_el, fds) < 0) {
        *err = "The event loop API used by the server is not able to handle the specified number of clients";
        return false;
    }
    return true;
}

/* If it fails, the registry restores the old value and calls it again. */
static bool listenReopen(struct listenGroup *g, const char **err) {
    if (!started) return true;
    listenCloseGroup(g);
    if (listenOpenGroup(g)) return true;
    *err = "Unable to listen on this port. Check server logs.";
    return false;
}

static bool listenReopenTcp(const char **err) {
    return listenReopen(&tcp, err);
}

static bool listenReopenTls(const char **err) {
    if (started && tls.port && !tlsServerConfigure()) {
        *err = "Unable to update TLS configuration. Check server logs.";
        return false;
    }
    return listenReopen(&tls, err);
}

static bool listenSetBind(const struct configDirective *d, int argc, const struct str *argv,
                          const char **err) {
    (void)d;
    if (argc > BIND_MAX) {
        *err = "Too many bind addresses specified.";
        return false;
    }
    sds old[BIND_MAX];
    int old_count = bind_count;
    memcpy(old, bind_addr, sizeof old);
    bind_count = 0;
    for (int i = 0; i < argc; i++) {
        if (argv[i].len) bind_addr[bind_count++] = sdsnewstr(argv[i]);
    }
    sds *drop = old;
    int drop_count = old_count;
    bool ok = listenReopen(&tcp, err) && listenReopen(&tls, err);
    if (!ok) {
        sds bad[BIND_MAX];
        int bad_count = bind_count;
        memcpy(bad, bind_addr, sizeof bad);
        memcpy(bind_addr, old, sizeof old);
        bind_count = old_count;
        *err = "Failed to bind to specified addresses.";
        const char *ignored;
        listenReopen(&tcp, &ignored);
        listenReopen(&tls, &ignored);
        for (int i = 0; i < bad_count; i++) sdsfree(bad[i]);
        return false;
    }
    for (int i = 0; i < drop_count; i++) sdsfree(drop[i]);
    return true;
}

static sds listenGetBind(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < bind_count; i++) s = sdscatprintf(s, "%s%s", i ? " " : "", bind_addr[i]);
    return s;
}

static sds listenGroupInfo(sds s, int *n, const struct listenGroup *g) {
    if (g->count == 0) return s;
    s = sdscatprintf(s, "listener%d:name=%s", (*n)++, g->name);
    for (int i = 0; i < bind_count; i++) s = sdscatprintf(s, ",bind=%s", bind_addr[i]);
    return sdscatprintf(s, ",port=%d\r\n", (int)g->port);
}

static sds listenServerInfo(sds s) {
    int n = 0;
    s = listenGroupInfo(s, &n, &tcp);
    if (unix_fd >= 0) s = infoField(s, "listener%d:name=unix,bind=%s", n++, unixsocket);
    return listenGroupInfo(s, &n, &tls);
}

static sds listenClientsInfo(sds s) {
    return infoField(s, "maxclients:%lld", (long long)maxclients);
}

void listenRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("port", NULL, CONFIG_MODIFIABLE, &tcp.port, 6379, 0, 65535, listenReopenTcp),
        CONFIG_INT("tls-port", NULL, CONFIG_MODIFIABLE, &tls.port, 0, 0, 65535, listenReopenTls),
        CONFIG_BOOL("mptcp", NULL, 0, &mptcp, false, NULL),
        CONFIG_INT("socket-mark-id", NULL, 0, &socket_mark, 0, 0, UINT32_MAX, NULL),
        CONFIG_INT("tcp-backlog", NULL, 0, &tcp_backlog, 511, 0, INT32_MAX, NULL),
        CONFIG_INT("tcp-keepalive", NULL, CONFIG_MODIFIABLE, &tcp_keepalive, 300, 0, INT32_MAX,
                   listenApplyKeepalive),
        CONFIG_INT("maxclients", NULL, CONFIG_MODIFIABLE, &maxclients, 10000, 1, UINT32_MAX,
                   listenApplyMaxclients),
        CONFIG_INT("max-new-connections-per-cycle", NULL, CONFIG_MODIFIABLE, &accepts_per_cycle, 10, 1, 1000,
                   NULL),
        CONFIG_INT("max-new-tls-connections-per-cycle", NULL, CONFIG_MODIFIABLE, &tls_accepts_per_cycle, 1, 1,
                   1000, NULL),
        CONFIG_BOOL("protected-mode", NULL, CONFIG_MODIFIABLE, &protected_mode, true, NULL),
        CONFIG_STRING("unixsocket", NULL, CONFIG_EMPTY_IS_NULL, &unixsocket, NULL, NULL, NULL),
        CONFIG_STRING("unixsocketgroup", NULL, CONFIG_EMPTY_IS_NULL, &unixsocketgroup, NULL, NULL, NULL),
        CONFIG_INT("unixsocketperm", NULL, CONFIG_OCTAL, &unixsocketperm, 0, 0, 0777, NULL),
        CONFIG_SPECIAL("bind", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, listenSetBind, listenGetBind,
                       NULL),
    };
    bind_addr[0] = sdsnew("*");
    bind_addr[1] = sdsnew("-::*");
    bind_count = 2;
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(listenResumeAccepting, ACCEPT_PAUSE_MS);
    infoRegister("server", listenServerInfo);
    infoRegister("clients", listenClientsInfo);
}
