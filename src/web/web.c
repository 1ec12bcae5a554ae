/* SPDX-License-Identifier: BSD-3-Clause */
/* web.c - see web.h. */
#include "web/web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "web/access.h"
#include "web/connections.h"
#include "web/hot_keys.h"
#include "web/http.h"
#include "web/recent.h"
#include "web/survey.h"

#define SOCKETS_MAX     16
#define BACKLOG         64
#define ACCEPTS_MAX     8   /* per turn of the loop */
#define ACCEPT_PAUSE_MS 100 /* pause of accepting after a failure */
#define KEEPALIVE_S     60
#define DEFAULT_BIND    "127.0.0.1 -::1"

static int64_t metrics_port;
static sds metrics_bind; /* addresses, separated by blanks */
static sds metrics_node_url;
static int sockets[SOCKETS_MAX], socket_count;
static bool started;

/* ---- Listening ---- */

static void webOnAccept(struct aeEventLoop *el, int fd, void *data, int mask);

static void webWatchSockets(void) {
    for (int i = 0; i < socket_count; i++)
        aeCreateFileEvent(server_el, sockets[i], AE_READABLE, webOnAccept, NULL);
}

static int64_t webResumeAccepting(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    webWatchSockets();
    return AE_NOMORE;
}

/* Pauses accepting: without a file descriptor for another connection, the sockets stay readable and the loop
 * would do nothing else. */
static void webPauseAccepting(void) {
    for (int i = 0; i < socket_count; i++) aeDeleteFileEvent(server_el, sockets[i], AE_READABLE);
    aeCreateTimeEvent(server_el, ACCEPT_PAUSE_MS, webResumeAccepting, NULL);
}

static void webOnAccept(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)data, (void)mask;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int client_fd = netAccept(fd);
        if (client_fd < 0 && errno != EAGAIN && errno != ECONNABORTED) webPauseAccepting();
        if (client_fd < 0) return;
        connectionsAdd(connCreateTcp(el, client_fd, KEEPALIVE_INHERITED));
    }
}

static void webCloseSockets(void) {
    for (int i = 0; i < socket_count; i++) {
        aeDeleteFileEvent(server_el, sockets[i], AE_READABLE);
        close(sockets[i]);
    }
    socket_count = 0;
}

static bool webOpenSockets(void) {
    char err[256];
    const char *failed = metrics_bind;
    int words;
    sds *addresses = sdssplitargs(metrics_bind, sdslen(metrics_bind), &words);
    int n = netListenAll((struct netOptions){0}, addresses, words, (int)metrics_port, BACKLOG, sockets,
                         &failed, err, sizeof err);
    if (n < 0)
        serverLog(LL_WARNING, "Could not listen for metrics on %s:%d: %s", failed, (int)metrics_port, err);
    sdsfreesplitres(addresses, words);
    socket_count = n > 0 ? n : 0;
    for (int i = 0; i < socket_count; i++) netSetInherited(sockets[i], KEEPALIVE_S);
    webWatchSockets();
    return n > 0;
}

static void webAnnounce(void) {
    serverLog(LL_NOTICE, "Metrics on port %d (%s): http://localhost:%d/", (int)metrics_port, metrics_bind,
              (int)metrics_port);
}

static const char no_parser[] = "this server was built without an HTTP parser (libllhttp or http-parser, see "
                                "deps/README.md), so it has no metrics port";

/* If it fails, the registry restores the old values and calls it again. */
static bool webReopen(struct configApply *a, const char **err) {
    (void)a;
    if (!started) return true;
    if (metrics_port && !httpIsAvailable()) {
        *err = no_parser;
        return false;
    }
    webCloseSockets();
    connectionsCloseAll();
    recentSetEnabled(metrics_port != 0);
    if (!metrics_port) return true;
    if (!webOpenSockets()) {
        *err = "Unable to listen on this port. Check server logs.";
        return false;
    }
    webAnnounce();
    return true;
}

/* ---- Directives ---- */

static bool webSetBind(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    sds words = sdsempty();
    int count = 0;
    for (int i = 0; i < argc; i++) {
        if (!argv[i].len) continue;
        words = sdscatstr(count++ ? sdscat(words, " ") : words, argv[i]);
    }
    if (count < 1 || count > SOCKETS_MAX) {
        *err = count ? "Too many bind addresses specified." : "metrics-port 0 is how to listen nowhere";
        sdsfree(words);
        return false;
    }
    sdsfree(metrics_bind);
    metrics_bind = words;
    return true;
}

static sds webGetBind(const struct configDirective *d) {
    (void)d;
    return sdsdup(metrics_bind);
}

/* The page makes links of it, so it must not be another kind of address, such as javascript:. */
static bool webIsNodeUrl(const char *value, const char **err) {
    bool http = strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0, printable = true;
    for (const char *c = value; *c; c++) printable &= *c > ' ' && *c < 127;
    if (!*value || (http && printable && strstr(value, "{host}"))) return true;
    *err = "It must begin with http:// or https://, contain {host}, and have only printable ASCII characters";
    return false;
}

void webInit(void) {
    static struct configApply listening = {webReopen};
    static struct configDirective directives[] = {
        CONFIG_INT("metrics-port", NULL, CONFIG_MODIFIABLE, &metrics_port, 0, 0, 65535, NULL),
        CONFIG_SPECIAL("metrics-bind", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, webSetBind, webGetBind,
                       NULL),
        CONFIG_STRING("metrics-node-url", NULL, CONFIG_MODIFIABLE, &metrics_node_url, "", webIsNodeUrl, NULL),
    };
    for (size_t i = 0; i < 2; i++) directives[i].apply_with = &listening; /* the port and its addresses */
    metrics_bind = sdsnew(DEFAULT_BIND);
    configRegister(directives, sizeof directives / sizeof *directives);
    accessInit();
    recentInit();
    surveyInit();
    hotKeysInit();
}

void webStart(void) {
    accessStart();
    started = true;
    if (!metrics_port) return;
    if (!httpIsAvailable()) {
        serverLog(LL_WARNING, "metrics-port %d: %s.", (int)metrics_port, no_parser);
        exit(1);
    }
    if (!webOpenSockets()) {
        serverLog(LL_WARNING, "Listening on metrics-port %d failed, so the server exits", (int)metrics_port);
        exit(1);
    }
    recentSetEnabled(true);
    webAnnounce();
}

void webStop(void) {
    if (!started) return;
    webCloseSockets();
    connectionsCloseAll();
}
