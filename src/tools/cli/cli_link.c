/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_link.c - the connection of valkey-cli: handshake, requests, replies.
 *
 *     in:  [ earlier replies | reply returned last | bytes that came with it ............ ]
 *          0                 at                    at + used                             len
 *
 * The connection, plain or TLS, is non-blocking. It is read until it has no more (so that no data stay
 * in TLS's buffer), and then waited for with ppoll(2), which Ctrl-C interrupts. A reply is parsed each
 * time the input is empty; when much has arrived without completing one, only after a pause, so that the
 * time for parsing stays in proportion to the size of the reply. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "net/connection.h"
#include "tools/cli/cli.h"

#define CALL_MAX_WORDS 8
#define READ_CHUNK     (64 * 1024)
#define LARGE_REPLY    (1024 * 1024)
#define LARGE_WAIT_MS  20

volatile sig_atomic_t cli_interrupted;

/* Removes replies that were returned. It is called only before reading more, since many small replies
 * arrive together. */
static void cliLinkDropUsed(struct cliLink *l) {
    l->at += l->used;
    l->used = 0;
}

static void cliLinkCompact(struct cliLink *l) {
    size_t rest = sdslen(l->in) - l->at;
    if (l->at == 0) return;
    memmove(l->in, l->in + l->at, rest);
    sdssetlen(l->in, rest);
    l->at = 0;
}

/* Reads all that the socket has; false when the peer has closed. */
static bool cliLinkDrain(struct cliLink *l) {
    for (;;) {
        l->in = sdsMakeRoomFor(l->in, READ_CHUNK);
        ssize_t n = connRead(l->conn, l->in + sdslen(l->in), sdsavail(l->in));
        if (n > 0) {
            sdssetlen(l->in, sdslen(l->in) + (size_t)n);
            continue;
        }
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

bool cliReadSome(struct cli *c) {
    return cliLinkDrain(&c->link);
}

int64_t cliWriteSome(struct cli *c, const char *p, size_t len) {
    ssize_t n = connWritev(c->link.conn, &(struct iovec){(void *)p, len}, 1);
    if (n >= 0) return n;
    return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* poll(2) that Ctrl-C interrupts even when it is pressed just before the call. */
static int cliLinkPoll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    if (cli_interrupted) timeout = (struct timespec){0};
    int ready = ppoll(fds, count, timeout_ms < 0 && !cli_interrupted ? NULL : &timeout, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ready;
}

/* Returns whether a large input has grown too little for another try. */
static bool cliLinkIsTooEarly(const struct cliLink *l, size_t tried) {
    size_t len = sdslen(l->in);
    return len > LARGE_REPLY && len - tried < len / 4;
}

/* Waits until another try to find a whole reply makes sense. `tried`: bytes that did not contain one
 * last time. */
static enum cliRead cliLinkWaitForMore(struct cliLink *l, size_t tried, bool or_key, int64_t until_us) {
    for (;;) {
        size_t len = sdslen(l->in);
        bool early = cliLinkIsTooEarly(l, tried);
        struct pollfd fds[] = {{.fd = l->fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        int64_t left_ms = until_us ? (until_us - monotonicUs()) / 1000 : -1;
        if (until_us && left_ms <= 0) return CLI_READ_LOST;
        int ready = cliLinkPoll(fds, or_key ? 2 : 1, early ? LARGE_WAIT_MS : (int)left_ms);
        if (cli_interrupted) return CLI_READ_INTERRUPTED;
        if (ready < 0 && errno != EINTR) return CLI_READ_LOST;
        if (ready == 0 && early) return CLI_READ_OK;
        if (ready > 0 && fds[1].revents) return CLI_READ_KEY;
        if (ready > 0 && !cliLinkDrain(l)) return sdslen(l->in) > len ? CLI_READ_OK : CLI_READ_LOST;
        if (!cliLinkIsTooEarly(l, tried)) return CLI_READ_OK;
    }
}

bool cliSendBytes(struct cli *c, const char *p, size_t len) {
    while (len) {
        int64_t n = cliWriteSome(c, p, len);
        if (n < 0) return false;
        p += n;
        len -= (size_t)n;
        if (n) continue;
        cliLinkPoll(&(struct pollfd){.fd = c->link.fd, .events = POLLOUT}, 1, -1);
        if (cli_interrupted) return false;
    }
    return true;
}

static bool cliLinkOpen(struct cli *c, sds *err) {
    char reason[256] = "";
    int fd = c->socket
                 ? netConnectUnix(c->socket, reason, sizeof(reason))
                 : netConnectBy(c->way, c->host, c->port, c->connect_timeout_ms, reason, sizeof(reason));
    if (fd == -1) {
        *err = sdsnew(reason);
        return false;
    }
    struct connection *conn = toolConnection(&c->tls, fd, c->connect_timeout_ms, err);
    if (conn) c->link = (struct cliLink){.fd = fd, .conn = conn, .in = sdsempty()};
    return conn != NULL;
}

/* Sends one command of the handshake. A refusal is reported, and the session goes on: the user may
 * repair it. */
static bool cliLinkSendHandshake(struct cli *c, const char *what, bool quiet, int argc,
                                 const char *const *argv) {
    struct respReply reply;
    if (!cliCall(c, &reply, argc, argv)) return false;
    bool ok = reply.type != RESP_T_ERROR;
    if (!ok && !quiet && !c->quiet)
        fprintf(stderr, "%s failed: %.*s\n", what, (int)reply.str.len, reply.str.ptr);
    respReplyFree(&reply);
    return ok;
}

static void cliLinkHandshake(struct cli *c) {
    if (c->password) {
        const char *with_user[] = {"AUTH", c->user, c->password}, *plain[] = {"AUTH", c->password};
        if (!cliLinkSendHandshake(c, "AUTH", false, c->user ? 3 : 2, c->user ? with_user : plain)) {
            c->db = 0; /* later commands would be refused, too */
            return;
        }
    }
    if (c->db) {
        char db[LONG_STR_SIZE], what[LONG_STR_SIZE + 8];
        ll2string(db, c->db);
        snprintf(what, sizeof(what), "SELECT %s", db);
        const char *select[] = {"SELECT", db};
        if (!cliLinkSendHandshake(c, what, false, 2, select) && c->link.fd != -1) c->db = 0;
    }
    if (c->resp == 3) {
        const char *hello[] = {"HELLO", "3"};
        cliLinkSendHandshake(c, "HELLO 3", c->resp_is_optional, 2, hello);
    }
}

sds cliAddress(const struct cli *c) {
    if (c->socket) return sdsdup(c->socket);
    return sdscatprintf(sdsempty(), strchr(c->host, ':') ? "[%s]:%d" : "%s:%d", c->host, c->port);
}

static void cliLinkPrintUnreachable(const struct cli *c, const char *why) {
    if (c->socket)
        fprintf(stderr, "Could not connect to Valkey at %s: %s\n", c->socket, why);
    else
        fprintf(stderr, "Could not connect to Valkey at %s:%d: %s\n", c->host, c->port, why);
}

bool cliConnect(struct cli *c) {
    sds err = NULL;
    cliDisconnect(c);
    cli_interrupted = 0;
    if (!cliLinkOpen(c, &err)) {
        if (!c->quiet) cliLinkPrintUnreachable(c, err);
        sdsfree(err);
        return false;
    }
    cliLinkHandshake(c);
    if (c->link.fd == -1) return false;
    cliLinkDropUsed(&c->link); /* modes that count bytes begin at this position */
    cliLinkCompact(&c->link);
    return true;
}

void cliDisconnect(struct cli *c) {
    if (c->link.conn) connClose(c->link.conn);
    sdsfree(c->link.in);
    sdsfree(c->link.out);
    c->link = (struct cliLink){.fd = -1};
    c->in_multi = false;
    c->docs_tried = false;
    c->subscriptions = 0;
}

void cliQueueWords(struct cli *c, int argc, const struct str *argv) {
    sds out = c->link.out ? c->link.out : sdsempty();
    out = sdsMakeRoomFor(out, respRequestRoom(argc, argv));
    const char *end = respWriteRequest(out + sdslen(out), argc, argv);
    sdssetlen(out, (size_t)(end - out));
    c->link.out = out;
}

static bool cliLinkSendQueued(struct cli *c) {
    sds out = c->link.out;
    if (!out || !sdslen(out)) return true;
    bool sent = cliSendBytes(c, out, sdslen(out));
    sdssetlen(out, 0);
    return sent;
}

bool cliSendWords(struct cli *c, int argc, const struct str *argv) {
    cliQueueWords(c, argc, argv);
    return cliLinkSendQueued(c);
}

bool cliSend(struct cli *c, int argc, const sds *argv) {
    struct str *words = zmalloc((size_t)argc * sizeof(words[0]));
    for (int i = 0; i < argc; i++) words[i] = sdsview(argv[i]);
    bool sent = cliSendWords(c, argc, words);
    zfree(words);
    return sent;
}

static enum cliRead cliLinkReadReply(struct cli *c, struct respReply *reply, bool or_key) {
    struct cliLink *l = &c->link;
    int64_t until_us = c->reply_timeout_ms ? monotonicUs() + (int64_t)c->reply_timeout_ms * 1000 : 0;
    cliLinkDropUsed(l);
    if (!cliLinkSendQueued(c)) return cli_interrupted ? CLI_READ_INTERRUPTED : CLI_READ_LOST;
    for (;;) {
        size_t there = sdslen(l->in) - l->at;
        int64_t size = there ? respReadReply(l->in + l->at, there, reply) : 0;
        if (size < 0) return CLI_READ_GARBLED;
        l->used = (size_t)size;
        if (size) return CLI_READ_OK;
        cliLinkCompact(l);
        enum cliRead waited = cliLinkWaitForMore(l, sdslen(l->in), or_key, until_us);
        if (waited != CLI_READ_OK) return waited;
    }
}

enum cliRead cliRead(struct cli *c, struct respReply *reply) {
    return cliLinkReadReply(c, reply, false);
}

enum cliRead cliReadOrKey(struct cli *c, struct respReply *reply) {
    return cliLinkReadReply(c, reply, true);
}

bool cliCall(struct cli *c, struct respReply *reply, int argc, const char *const *argv) {
    struct str words[CALL_MAX_WORDS];
    if (c->link.fd == -1) return false;
    serverAssert(argc <= CALL_MAX_WORDS);
    for (int i = 0; i < argc; i++) words[i] = strOf(argv[i]);
    bool ok = cliSendWords(c, argc, words);
    while (ok && (ok = cliRead(c, reply) == CLI_READ_OK) && reply->type == RESP_T_PUSH) respReplyFree(reply);
    if (!ok) cliDisconnect(c);
    return ok;
}

void cliExpectAny(struct cli *c, struct respReply *reply) {
    enum cliRead read;
    while ((read = cliRead(c, reply)) == CLI_READ_OK && reply->type == RESP_T_PUSH) respReplyFree(reply);
    if (read == CLI_READ_OK) return;
    fflush(stdout);
    cliFail("Error: %s",
            read == CLI_READ_LOST ? "Server closed the connection" : "Protocol error in the reply");
}

void cliExpect(struct cli *c, struct respReply *reply) {
    cliExpectAny(c, reply);
    if (reply->type != RESP_T_ERROR) return;
    fflush(stdout);
    fprintf(stderr, "Error from the server: %.*s\n", (int)reply->str.len, reply->str.ptr);
    exit(1);
}
