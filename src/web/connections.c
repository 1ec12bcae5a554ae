/* SPDX-License-Identifier: BSD-3-Clause */
/* connections.c - see connections.h.
 *
 *     READING ──▶ WAITING ────────▶ WRITING ──▶ READING ...
 *        │           └────▶ LATER ────▲  │
 *        │                               └──▶ LINGERING ──▶ closed
 *        └──▶ closed: too slow, too long, not HTTP
 *
 * Requests are answered one after the other: what a peer sends meanwhile stays in the socket, or in `input`,
 * which is bounded.
 *
 * Answers must not slow the server down. An answer that takes work is made when it is its connection's turn:
 * after one that took time t, none is made for PAUSE_FACTOR * t, so all of them take a small part of the
 * time, however many peers there are. If there are too many connections, those that have not had an answer
 * yet are closed first. A request with wrong credentials gets a delayed answer, and its connection is closed.
 *
 * The timer runs only while there are connections. */
#include "web/connections.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "command/call.h"
#include "net/connection.h"
#include "web/http.h"
#include "web/pages.h"

#define CONNECTIONS_MAX 32
#define READ_SIZE       4096
#define HEAD_MS         10000 /* for a whole request */
#define IDLE_MS         75000 /* between two requests: longer than the minute between two scrapes */
#define WRITE_MS        20000 /* for a whole answer */
#define WRONG_MS        1000  /* delay of the answer to wrong credentials */
#define LINGER_MS       1000  /* input is still read after the last answer */
#define PAUSE_FACTOR    20    /* so that answers take at most 1/21 of the time */
#define TICK_MS         250
#define TURN_MS         5 /* while a connection waits for its turn */

enum connectionState { READING, WAITING, LATER, WRITING, LINGERING };

struct webConnection {
    struct listNode node;
    struct connection *conn;
    enum connectionState state;
    struct httpReader *reader;
    const struct httpRequest *request; /* in WAITING */
    sds input;                         /* read from the socket but not parsed yet */
    sds out;                           /* in LATER, WRITING */
    size_t sent;
    int64_t deadline_ms; /* of the state; in LATER the time of the answer */
    bool known;          /* has got an answer with rights */
    bool last;           /* is closed after the answer */
};

static struct list connections; /* in order of arrival */
static int64_t timer_id;
static bool timer_runs, in_timer;
static int64_t pause_until_us;

static int64_t connectionsNowMs(void) {
    return monotonicUs() / 1000;
}

static void connectionsOnReadable(struct connection *conn);
static void connectionsOnWritable(struct connection *conn);
static int64_t connectionsOnTimer(struct aeEventLoop *el, int64_t id, void *data);

static void connectionsStartTimer(int64_t delay_ms) {
    timer_runs = true;
    timer_id = aeCreateTimeEvent(server_el, delay_ms, connectionsOnTimer, NULL);
}

/* Makes the timer fire soon, for a connection that waits for its turn. */
static void connectionsHurryTimer(void) {
    if (in_timer) return; /* the timer handles it itself */
    aeDeleteTimeEvent(server_el, timer_id);
    connectionsStartTimer(TURN_MS);
}

/* ---- Opening and closing ---- */

static void connectionsCloseOne(struct webConnection *w) {
    listRemove(&connections, &w->node);
    connClose(w->conn);
    httpReaderFree(w->reader);
    sdsfree(w->input);
    sdsfree(w->out);
    zfree(w);
}

void connectionsCloseAll(void) {
    if (!connections.head.next) return;
    listForEach(&connections, it) connectionsCloseOne(listEntry(it, struct webConnection, node));
}

static void connectionsStartReading(struct webConnection *w) {
    w->state = READING;
    w->deadline_ms = connectionsNowMs() + (w->known ? IDLE_MS : HEAD_MS);
    connSetReadHandler(w->conn, connectionsOnReadable);
}

/* ---- Answers ---- */

static const char *connectionsReasonOf(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status) return reasons[i].reason;
    }
    return "Error";
}

static sds connectionsAnswerText(const struct webAnswer *a, bool with_body, bool last) {
    char date[64];
    time_t now = (time_t)(mstime() / 1000);
    struct tm tm;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    sds s = sdscatprintf(sdsempty(),
                         "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                         "Connection: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                         "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n",
                         a->status, connectionsReasonOf(a->status), date, a->type, sdslen(a->body),
                         last ? "close" : "keep-alive");
    if (a->headers) s = sdscat(s, a->headers);
    s = sdscat(s, "\r\n");
    return with_body ? sdscatstr(s, sdsview(a->body)) : s;
}

static void connectionsStartWriting(struct webConnection *w) {
    w->state = WRITING;
    w->deadline_ms = connectionsNowMs() + WRITE_MS;
    connSetWriteHandler(w->conn, connectionsOnWritable);
    connectionsOnWritable(w->conn); /* most answers fit into the socket's buffer; w may be closed */
}

static void connectionsAnswer(struct webConnection *w, struct webAnswer *a, bool with_body) {
    w->request = NULL;
    w->out = connectionsAnswerText(a, with_body, w->last);
    w->sent = 0;
    sdsfree(a->body);
    sdsfree(a->headers);
    if (!a->wrong_login) {
        connectionsStartWriting(w);
        return;
    }
    w->state = LATER;
    w->deadline_ms = connectionsNowMs() + WRONG_MS;
}

/* Answers a request that cannot be parsed; nothing more is read from the connection. */
static void connectionsRefuse(struct webConnection *w, int status) {
    struct webAnswer a = {.status = status, .type = "text/plain; charset=utf-8"};
    a.body = sdscat(sdsnew(connectionsReasonOf(status)), "\n");
    if (status == 405) a.headers = sdsnew("Allow: GET, HEAD\r\n");
    w->last = true;
    connectionsAnswer(w, &a, true);
}

static void connectionsServe(struct webConnection *w) {
    const struct httpRequest *q = w->request;
    struct webAnswer a = {0};
    int64_t start = monotonicUs();
    sds peer = connPeerName(w->conn);
    pageMakeAnswer(q, connIsLocal(w->conn), sdsview(peer), &a);
    sdsfree(peer);
    if (pageNeedsWork(q)) {
        int64_t now = monotonicUs();
        pause_until_us = now + PAUSE_FACTOR * (now - start);
    }
    w->known |= a.granted;
    w->last |= !q->keep_alive || a.wrong_login || a.status == 405;
    connectionsAnswer(w, &a, q->method != HTTP_METHOD_HEAD);
}

/* Tells whether w may be answered now. The timer does not fire within a long script, but then no client is
 * kept waiting, either. */
static bool connectionsIsTurn(const struct webConnection *w) {
    return !pageNeedsWork(w->request) || call_running || monotonicUs() >= pause_until_us;
}

/* ---- Input ---- */

/* Parses the input; may close w. */
static void connectionsParseInput(struct webConnection *w) {
    size_t used = 0;
    if (!sdslen(w->input)) return;
    int status = httpRead(w->reader, w->input, sdslen(w->input), &used, &w->request);
    sdsrange(w->input, (ptrdiff_t)used, -1);
    if (status == 0) return;
    connSetReadHandler(w->conn, NULL);
    if (status != 200) {
        connectionsRefuse(w, status);
        return;
    }
    w->state = WAITING;
    w->deadline_ms = connectionsNowMs() + HEAD_MS;
    if (connectionsIsTurn(w))
        connectionsServe(w);
    else
        connectionsHurryTimer();
}

static void connectionsOnReadable(struct connection *conn) {
    struct webConnection *w = conn->data;
    char bytes[READ_SIZE];
    ssize_t n = connRead(conn, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        connectionsCloseOne(w);
        return;
    }
    if (!httpInRequest(w->reader)) w->deadline_ms = connectionsNowMs() + HEAD_MS;
    w->input = sdscatlen(w->input, bytes, (size_t)n);
    connectionsParseInput(w);
}

/* Reads and drops input. A socket that is closed with unread input would drop what it still has to send. */
static void connectionsOnLeftover(struct connection *conn) {
    char bytes[READ_SIZE];
    ssize_t n = connRead(conn, bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) connectionsCloseOne(conn->data);
}

static void connectionsLinger(struct webConnection *w) {
    w->state = LINGERING;
    w->deadline_ms = connectionsNowMs() + LINGER_MS;
    shutdown(w->conn->fd, SHUT_WR);
    connSetReadHandler(w->conn, connectionsOnLeftover);
}

/* After an answer was sent: the next request may be in `input` already. */
static void connectionsAnswered(struct webConnection *w) {
    connSetWriteHandler(w->conn, NULL);
    sdsfree(w->out);
    w->out = NULL;
    if (w->last) {
        connectionsLinger(w);
        return;
    }
    connectionsStartReading(w);
    if (sdslen(w->input)) connectionsHurryTimer();
}

static void connectionsOnWritable(struct connection *conn) {
    struct webConnection *w = conn->data;
    struct iovec iov = {w->out + w->sent, sdslen(w->out) - w->sent};
    ssize_t n = connWritev(conn, &iov, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) {
        connectionsCloseOne(w);
        return;
    }
    w->sent += (size_t)n;
    if (w->sent == sdslen(w->out)) connectionsAnswered(w);
}

/* ---- Time-outs and turns ---- */

static void connectionsTimedOut(struct webConnection *w) {
    if (w->state == READING && httpInRequest(w->reader)) {
        connSetReadHandler(w->conn, NULL);
        connectionsRefuse(w, 408);
    } else if (w->state == LATER) {
        connectionsStartWriting(w);
    } else {
        connectionsCloseOne(w);
    }
}

static int64_t connectionsOnTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    int64_t now = connectionsNowMs(), next = TICK_MS;
    in_timer = true;
    listForEach(&connections, it) {
        struct webConnection *w = listEntry(it, struct webConnection, node);
        if (now >= w->deadline_ms)
            connectionsTimedOut(w);
        else if (w->state == WAITING && connectionsIsTurn(w))
            connectionsServe(w);
        else if (w->state == READING && sdslen(w->input))
            connectionsParseInput(w); /* the next request of a pipeline */
    }
    listForEach(&connections, it) {
        const struct webConnection *w = listEntry(it, struct webConnection, node);
        if (w->state == WAITING || (w->state == READING && sdslen(w->input))) next = TURN_MS;
    }
    in_timer = false;
    if (connections.length) return next;
    timer_runs = false;
    return AE_NOMORE;
}

/* ---- New connections ---- */

/* Returns a connection that can be closed: the oldest without an answer, or else an idle one, or NULL. */
static struct webConnection *connectionsExpendable(void) {
    struct webConnection *idle = NULL;
    listForEach(&connections, it) {
        struct webConnection *w = listEntry(it, struct webConnection, node);
        if (!w->known) return w;
        if (!idle && w->state == READING && !httpInRequest(w->reader)) idle = w;
    }
    return idle;
}

void connectionsAdd(struct connection *conn) {
    if (!connections.head.next) listInit(&connections);
    if (connections.length >= CONNECTIONS_MAX) {
        struct webConnection *other = connectionsExpendable();
        if (!other) {
            connClose(conn);
            return;
        }
        connectionsCloseOne(other);
    }
    struct webConnection *w = zcalloc(1, sizeof *w);
    w->conn = conn;
    conn->data = w;
    w->reader = httpReaderCreate();
    w->input = sdsempty();
    listAddTail(&connections, &w->node);
    connectionsStartReading(w);
    if (!timer_runs) connectionsStartTimer(TICK_MS);
}
