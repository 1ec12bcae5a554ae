/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_session.c - see debug_session.h. */
#include "command/debug_session.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "net/connection.h"

#define READ_SIZE   4096
#define REQUEST_MAX (RESP_BIG_ARG - 1) /* longest argument of a request */

struct debugSession debug_session;

/* ---- Reading and writing; errors end the session ---- */

static bool debugSessionWaitFor(struct connection *conn, short events) {
    struct pollfd p = {.fd = conn->fd, .events = events};
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static void debugSessionWriteAll(struct connection *conn, const char *p, size_t n) {
    while (n) {
        struct iovec v = {.iov_base = (char *)p, .iov_len = n};
        ssize_t written = connWritev(conn, &v, 1);
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        } else if (errno != EAGAIN || !debugSessionWaitFor(conn, POLLOUT)) {
            return; /* the next read finds that the client has gone */
        }
    }
}

void debugWriteReplies(struct client *c) {
    sds replies = replyChainToSds(c);
    debugSessionWriteAll(c->conn, replies, sdslen(replies));
    sdsfree(replies);
}

void debugSend(void) {
    struct debugSession *d = &debug_session;
    char head[RESP_HDR_SIZE];
    debugSessionWriteAll(d->client->conn, head, respWriteHeader(head, '*', d->answer_lines));
    debugSessionWriteAll(d->client->conn, d->answer, sdslen(d->answer));
    sdsfree(d->answer);
    d->answer = sdsempty();
    d->answer_lines = 0;
}

static bool debugSessionReadMore(void) {
    struct debugSession *d = &debug_session;
    char buf[READ_SIZE];
    for (;;) {
        ssize_t n = connRead(d->client->conn, buf, sizeof buf);
        if (n > 0) {
            d->input = sdscatlen(d->input, buf, (size_t)n);
            return true;
        }
        if (n == 0 || errno != EAGAIN || !debugSessionWaitFor(d->client->conn, POLLIN)) return false;
    }
}

static sds *debugSessionCopyWords(const struct str *argv, int argc) {
    sds *words = zmalloc(((size_t)argc + 1) * sizeof *words);
    for (int i = 0; i < argc; i++) words[i] = sdsnewstr(argv[i]);
    return words;
}

sds *debugReadRequest(int *argc) {
    struct debugSession *d = &debug_session;
    struct respParser parser = {0};
    const struct respLimits limits = {.max_bulk = REQUEST_MAX, .max_args = 1024, .authenticated = true};
    struct str *argv = NULL;
    size_t cap = 0, consumed;
    sds *words = NULL;
    while (!words && !d->abort_reason) {
        size_t len = sdslen(d->input);
        struct respBigArg *big = NULL;
        const char *error;
        enum respStatus status =
            respParseRequest(&parser, d->input, &len, &limits, &argv, &cap, 0, argc, &consumed, &big, &error);
        if (status == RESP_OK) words = debugSessionCopyWords(argv, *argc);
        if (status == RESP_OK || status == RESP_EMPTY) sdsrange(d->input, (ptrdiff_t)consumed, -1);
        if (status == RESP_ERROR) d->abort_reason = "protocol error";
        if (status == RESP_MORE && !debugSessionReadMore()) {
            d->abort_reason = "the client of the debugger has gone";
            d->client_gone = true;
        }
    }
    respParserReset(&parser);
    zfree(argv);
    return words;
}

/* ---- Answers ---- */

static void debugSessionAddLine(sds line) {
    struct debugSession *d = &debug_session;
    for (size_t i = 0; i < sdslen(line); i++) {
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    }
    d->answer = sdscat(d->answer, "+");
    d->answer = sdscatstr(d->answer, sdsview(line));
    d->answer = sdscat(d->answer, "\r\n");
    d->answer_lines++;
    sdsfree(line);
}

void debugLine(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    debugSessionAddLine(sdscatvprintf(sdsempty(), fmt, ap));
    va_end(ap);
}

void debugLineTrimmed(sds line) {
    struct debugSession *d = &debug_session;
    bool trimmed = d->trim && sdslen(line) > d->trim;
    if (trimmed) {
        sdsrange(line, 0, (ptrdiff_t)d->trim - 1);
        line = sdscat(line, " ...");
    }
    debugSessionAddLine(line);
    if (!trimmed || d->trim_hinted) return;
    d->trim_hinted = true;
    debugLine("<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.");
}

void debugMaxlen(sds *argv, int argc) {
    struct debugSession *d = &debug_session;
    int64_t n;
    if (argc == 1) {
        debugLine("Current maxlen is %zu", d->trim);
        return;
    }
    if (!string2ll(sdsview(argv[1]), &n) || n < 0) {
        debugLine("<error> Invalid maxlen value.");
        return;
    }
    d->trim_hinted = true; /* no hint about trimming after an explicit choice */
    d->trim = n > 0 && n < DEBUG_TRIM_MIN ? DEBUG_TRIM_MIN : (size_t)n;
    if (d->trim)
        debugLine("<value> replies are truncated at %zu bytes.", d->trim);
    else
        debugLine("<value> replies are not truncated.");
}

void debugUnknown(void) {
    debugLine("<error> Unknown debugger command or wrong number of arguments.");
}

/* ---- Replies ---- */

static sds debugSessionItems(sds s, const struct respReply *r, const char *open, const char *close) {
    bool map = r->type == RESP_T_MAP;
    s = sdscat(s, open);
    for (size_t i = 0; i < r->elements; i++) {
        if (i) s = sdscat(s, map && i % 2 ? " => " : ",");
        s = debugReplyText(s, &r->element[i]);
    }
    return sdscat(s, close);
}

static sds debugSessionMarked(sds s, char mark, struct str text) {
    sds line = sdscatstr(sdsnewlen(&mark, 1), text);
    s = sdscatrepr(s, line, sdslen(line));
    sdsfree(line);
    return s;
}

sds debugReplyText(sds s, const struct respReply *r) {
    switch (r->type) {
    case RESP_T_INTEGER: return sdscatprintf(s, "%lld", (long long)r->integer);
    case RESP_T_STATUS: return debugSessionMarked(s, '+', r->str);
    case RESP_T_ERROR: return debugSessionMarked(s, '-', r->str);
    case RESP_T_NULL: return sdscat(s, "NULL");
    case RESP_T_DOUBLE: return sdscatstr(sdscat(s, "(double) "), r->str);
    case RESP_T_BOOL: return sdscat(s, r->integer ? "#true" : "#false");
    case RESP_T_MAP: return debugSessionItems(s, r, "{", "}");
    case RESP_T_SET: return debugSessionItems(s, r, "~(", ")");
    case RESP_T_ARRAY:
    case RESP_T_PUSH: return debugSessionItems(s, r, "[", "]");
    default: return sdscatrepr(s, r->str.ptr, r->str.len);
    }
}

/* ---- Start and end ---- */

void debugSessionBegin(struct client *c, struct scriptEngine *e, bool forked) {
    debug_session = (struct debugSession){.on = true,
                                          .forked = forked,
                                          .engine = e,
                                          .client = c,
                                          .trim = DEBUG_TRIM_DEFAULT,
                                          .answer = sdsempty(),
                                          .input = sdsempty()};
}

void debugSessionEnd(void) {
    struct debugSession *d = &debug_session;
    sds reply = replyChainToSds(d->client);
    debugLine("<endsession>");
    debugSend();
    debugSessionWriteAll(d->client->conn, reply, sdslen(reply));
    sdsfree(reply);
    sdsfree(d->answer);
    sdsfree(d->input);
    d->on = false;
}
