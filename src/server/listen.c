/* listen.c - listening sockets and accept; see listen.h.
 *
 * The addresses of `bind` are tried in order. One with a leading '-' may be missing on this host; any other
 * failure stops the start, or refuses CONFIG SET and brings back the old sockets. */
#include "server/listen.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "core/client.h"
#include "core/client_auth.h"
#include "core/config.h"
#include "core/cron.h"
#include "core/info.h"
#include "net/ae.h"
#include "net/connection.h"

#define BIND_MAX     16
#define RESERVED_FDS 32 /* log, epoll, files of our own */

static sds bind_addr[BIND_MAX];
static int bind_count;
static int64_t port, tcp_backlog, tcp_keepalive, maxclients, unixsocketperm, accepts_per_cycle;
static bool protected_mode;
static sds unixsocket;

static int tcp_fds[BIND_MAX], tcp_count, unix_fd = -1;
static bool started;

int listenPort(void) {
    return (int)port;
}

sds listenAppendName(sds s) {
    if (port == 0) return sdscat(s, unixsocket ? unixsocket : "");
    return sdscatprintf(s, "%s:%d", bind_count ? bind_addr[0] : "*", (int)port);
}

/* ---- Accept ---- */

static void refuse(struct connection *conn, const char *msg) {
    struct iovec iov = {(void *)msg, strlen(msg)};
    (void)connWritev(conn, &iov, 1); /* best effort */
    connClose(conn);
    clientstats.rejected++;
}

static void acceptOne(struct connection *conn, bool unix_socket) {
    if (clients.length >= (size_t)maxclients) {
        refuse(conn, "-ERR max number of clients reached\r\n");
        return;
    }
    if (protected_mode && !unix_socket && !authPasswordSet() && !connIsLocal(conn)) {
        refuse(conn,
               "-DENIED This server is in protected mode: no password is set for the default user, so only "
               "clients on the same machine may connect. Set a password with CONFIG SET requirepass, or turn "
               "the protection off with CONFIG SET protected-mode no.\r\n");
        return;
    }
    struct client *c = clientCreate(conn);
    if (unix_socket) c->flags |= CLIENT_UNIX_SOCKET;
    authNewClient(c);
    clientstats.connections++;
}

static void acceptHandler(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)data, (void)mask;
    bool unix_socket = fd == unix_fd;
    for (int64_t i = 0; i < accepts_per_cycle; i++) {
        int client_fd = netAccept(fd);
        if (client_fd < 0) {
            if (errno != EAGAIN) serverLog(LL_WARNING, "Accepting client connection: %s", strerror(errno));
            return;
        }
        struct connection *conn =
            unix_socket ? connCreateUnix(el, client_fd) : connCreateTcp(el, client_fd, (int)tcp_keepalive);
        acceptOne(conn, unix_socket);
    }
}

/* ---- Listen ---- */

static void closeTcp(void) {
    for (int i = 0; i < tcp_count; i++) {
        aeDeleteFileEvent(server_el, tcp_fds[i], AE_READABLE);
        close(tcp_fds[i]);
    }
    tcp_count = 0;
}

static bool openTcp(void) {
    if (port == 0) return true;
    for (int i = 0; i < bind_count; i++) {
        bool optional = bind_addr[i][0] == '-', unsupported = false;
        const char *addr = bind_addr[i] + optional;
        char err[256];
        int fd = netListenTcp(addr, (int)port, (int)tcp_backlog, &unsupported, err, sizeof err);
        if (fd < 0) {
            if ((optional && (unsupported || errno == EADDRNOTAVAIL)) || (unsupported && bind_count > 1))
                continue;
            serverLog(LL_WARNING, "Warning: Could not create server TCP listening socket %s:%d: %s", addr,
                      (int)port, err);
            closeTcp();
            return false;
        }
        if (aeCreateFileEvent(server_el, fd, AE_READABLE, acceptHandler, NULL) < 0) {
            close(fd);
            closeTcp();
            return false;
        }
        tcp_fds[tcp_count++] = fd;
    }
    return true;
}

static void openUnix(void) {
    if (!unixsocket || !*unixsocket) return;
    char err[256];
    unix_fd = netListenUnix(unixsocket, (unsigned)unixsocketperm, (int)tcp_backlog, err, sizeof err);
    if (unix_fd < 0) {
        serverLog(LL_WARNING, "Failed opening Unix socket: bind: %s", err);
        exit(1);
    }
    aeCreateFileEvent(server_el, unix_fd, AE_READABLE, acceptHandler, NULL);
}

void listenStart(void) {
    if (!openTcp()) {
        serverLog(LL_WARNING, "Failed listening on port %d (tcp), aborting.", (int)port);
        exit(1);
    }
    openUnix();
    if (tcp_count == 0 && unix_fd < 0) {
        serverLog(LL_WARNING, "Configured to not listen anywhere, exiting.");
        exit(1);
    }
    started = true;
}

void listenStop(void) {
    closeTcp();
    if (unix_fd < 0) return;
    aeDeleteFileEvent(server_el, unix_fd, AE_READABLE);
    close(unix_fd);
    unix_fd = -1;
    serverLog(LL_NOTICE, "Removing the unix socket file.");
    if (unlink(unixsocket) != 0)
        serverLog(LL_WARNING, "Error removing the unix socket file: %s", strerror(errno));
}

void listenAnnounce(void) {
    if (tcp_count) serverLog(LL_NOTICE, "Ready to accept connections tcp");
    if (unix_fd >= 0) serverLog(LL_NOTICE, "Ready to accept connections unix");
}

/* ---- Limits ---- */

static bool raiseFileLimit(rlim_t want) {
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
    if (!raiseFileLimit(want)) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= RESERVED_FDS) {
            serverLog(LL_WARNING, "The file limit is too low to serve any client. Exiting.");
            exit(1);
        }
        serverLog(LL_WARNING, "maxclients lowered from %lld to %lld: the limit of open files is %lld.",
                  (long long)maxclients, (long long)limit.rlim_cur - RESERVED_FDS, (long long)limit.rlim_cur);
        maxclients = (int64_t)limit.rlim_cur - RESERVED_FDS;
    }
    return (int)maxclients + 4 * RESERVED_FDS;
}

/* ---- Directives ---- */

static bool applyMaxclients(const char **err) {
    if (!raiseFileLimit((rlim_t)maxclients + RESERVED_FDS)) {
        *err = "The operating system is not able to handle the specified number of clients";
        return false;
    }
    int fds = (int)maxclients + 4 * RESERVED_FDS;
    if (aeGetSize(server_el) < fds && aeSetSize(server_el, fds) < 0) {
        *err = "The event loop API used by the server is not able to handle the specified number of clients";
        return false;
    }
    return true;
}

/* When it fails, the registry puts the old value back and calls it again. */
static bool reopen(const char **err) {
    if (!started) return true;
    closeTcp();
    if (openTcp()) return true;
    *err = "Unable to listen on this port. Check server logs.";
    return false;
}

static bool setBind(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
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
    bool ok = !started || reopen(err);
    if (!ok) {
        sds bad[BIND_MAX];
        int bad_count = bind_count;
        memcpy(bad, bind_addr, sizeof bad);
        memcpy(bind_addr, old, sizeof old);
        bind_count = old_count;
        *err = "Failed to bind to specified addresses.";
        openTcp();
        for (int i = 0; i < bad_count; i++) sdsfree(bad[i]);
        return false;
    }
    for (int i = 0; i < drop_count; i++) sdsfree(drop[i]);
    return true;
}

static sds getBind(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < bind_count; i++) s = sdscatprintf(s, "%s%s", i ? " " : "", bind_addr[i]);
    return s;
}

static sds serverInfo(sds s) {
    int n = 0;
    if (tcp_count) {
        s = sdscatprintf(s, "listener%d:name=tcp", n++);
        for (int i = 0; i < bind_count; i++) s = sdscatprintf(s, ",bind=%s", bind_addr[i]);
        s = sdscatprintf(s, ",port=%d\r\n", (int)port);
    }
    if (unix_fd >= 0) s = infoField(s, "listener%d:name=unix,bind=%s", n, unixsocket);
    return s;
}

static sds clientsInfo(sds s) {
    return infoField(s, "maxclients:%lld", (long long)maxclients);
}

void listenRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("port", NULL, CONFIG_MODIFIABLE, &port, 6379, 0, 65535, reopen),
        CONFIG_INT("tcp-backlog", NULL, 0, &tcp_backlog, 511, 0, INT32_MAX, NULL),
        CONFIG_INT("tcp-keepalive", NULL, CONFIG_MODIFIABLE, &tcp_keepalive, 300, 0, INT32_MAX, NULL),
        CONFIG_INT("maxclients", NULL, CONFIG_MODIFIABLE, &maxclients, 10000, 1, INT32_MAX, applyMaxclients),
        CONFIG_INT("max-new-connections-per-cycle", NULL, CONFIG_MODIFIABLE, &accepts_per_cycle, 10, 1, 1000,
                   NULL),
        CONFIG_BOOL("protected-mode", NULL, CONFIG_MODIFIABLE, &protected_mode, true, NULL),
        CONFIG_STRING("unixsocket", NULL, CONFIG_EMPTY_IS_NULL, &unixsocket, NULL, NULL, NULL),
        CONFIG_INT("unixsocketperm", NULL, CONFIG_OCTAL, &unixsocketperm, 0, 0, 0777, NULL),
        CONFIG_SPECIAL("bind", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, setBind, getBind, NULL),
    };
    bind_addr[0] = sdsnew("*");
    bind_addr[1] = sdsnew("-::*");
    bind_count = 2;
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", serverInfo);
    infoRegister("clients", clientsInfo);
}
