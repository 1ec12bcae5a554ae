/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_pipe.c - --pipe: mass insertion. Standard input goes to the server unchanged, as fast as the
 * server accepts it, while the replies are counted. Part of cli.h.
 *
 * A mark identifies the last reply: ECHO with random digits is sent at the end, and its reply ends the
 * transfer. An empty line before it ends an inline command without line end; the server skips empty
 * lines. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_progress.h"

#define CHUNK     (128 * 1024)
#define MARK_SIZE 20

struct cliPipeTransfer {
    struct cli *cli;
    sds out; /* bytes to be sent, from `sent` on */
    size_t sent;
    bool at_end, done, garbled;
    char mark[MARK_SIZE];
    int64_t replies, errors, bytes;
    int64_t active_us; /* time of the last transfer in either direction */
    struct cliProgress progress;
};

static bool cliPipeFill(struct cliPipeTransfer *t) {
    sdssetlen(t->out, 0);
    t->sent = 0;
    ssize_t n = read(STDIN_FILENO, t->out, CHUNK);
    if (n > 0) {
        sdssetlen(t->out, (size_t)n);
        t->bytes += n;
        return true;
    }
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    t->at_end = true;
    t->out = sdscatprintf(t->out, "\r\n*2\r\n$4\r\nECHO\r\n$%d\r\n%.*s\r\n", MARK_SIZE, MARK_SIZE, t->mark);
    cliProgressClear(&t->progress);
    printf("All data transferred. Waiting for the last reply...\n");
    fflush(stdout);
    return true;
}

static bool cliPipeIsMark(const struct cliPipeTransfer *t, const char *reply, int64_t size) {
    int64_t end = 2 + MARK_SIZE; /* "$20\r\n" precedes the mark, "\r\n" follows it */
    return t->at_end && size > end && reply[0] == '$' && memcmp(reply + size - end, t->mark, MARK_SIZE) == 0;
}

static void cliPipeCountReplies(struct cliPipeTransfer *t) {
    struct cliLink *l = &t->cli->link;
    size_t at = 0;
    while (!t->done) {
        const char *reply = l->in + at;
        int64_t size = at < sdslen(l->in) ? respReplyLength(reply, sdslen(l->in) - at) : 0;
        t->garbled = size < 0;
        if (size <= 0) break;
        at += (size_t)size;
        t->done = cliPipeIsMark(t, reply, size);
        if (t->done || reply[0] == '>') continue;
        t->replies++;
        if (reply[0] != '-') continue;
        t->errors++;
        cliProgressClear(&t->progress);
        fprintf(stderr, "%.*s\n", (int)size - 3, reply + 1);
    }
    sdsrange(l->in, (ptrdiff_t)at, -1);
    if (at == 0) return;
    t->active_us = monotonicUs();
}

/* Reads and writes once; false when the connection broke. */
static bool cliPipeStep(struct cliPipeTransfer *t) {
    struct cli *c = t->cli;
    bool pending = t->sent < sdslen(t->out), readable = !t->at_end && !pending;
    struct pollfd fds[] = {
        {.fd = c->link.fd, .events = (short)(POLLIN | (pending ? POLLOUT : 0))},
        {.fd = readable ? STDIN_FILENO : -1, .events = POLLIN},
    };
    if (poll(fds, 2, 1000) < 0 && errno != EINTR) return false;
    bool open = !(fds[0].revents & (POLLIN | POLLHUP | POLLERR)) || cliReadSome(c);
    cliPipeCountReplies(t);
    if (t->done || !open || t->garbled) return open && !t->garbled;
    if (fds[1].revents && !cliPipeFill(t)) return false;
    if (t->sent == sdslen(t->out)) return true;
    int64_t n = cliWriteSome(c, t->out + t->sent, sdslen(t->out) - t->sent);
    if (n > 0) t->active_us = monotonicUs();
    if (n > 0) t->sent += (size_t)n;
    return n >= 0;
}

static void cliPipeShowProgress(struct cliPipeTransfer *t) {
    char replies[80];
    snprintf(replies, sizeof(replies), "%lld replies, %lld errors", (long long)t->replies,
             (long long)t->errors);
    cliProgressShow(&t->progress, t->bytes, replies);
}

/* Returns the bytes left in standard input if it is a file, else -1. */
static int64_t cliPipeInputSize(void) {
    struct stat st;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)(st.st_size - at) : -1;
}

static bool cliPipeTimedOut(struct cliPipeTransfer *t) {
    int64_t limit_us = t->cli->pipe_timeout_s * 1000000;
    if (!t->at_end || limit_us == 0 || monotonicUs() - t->active_us < limit_us) return false;
    fprintf(stderr, "No replies for %lld seconds: exiting.\n", (long long)t->cli->pipe_timeout_s);
    t->errors++;
    return true;
}

int cliPipe(struct cli *c) {
    struct cliPipeTransfer t = {
        .cli = c, .out = sdsMakeRoomForExact(sdsempty(), CHUNK), .active_us = monotonicUs()};
    t.progress = cliProgressStart(NULL, cliPipeInputSize());
    t.progress.is_on &= !isatty(STDIN_FILENO); /* it would disturb typed input */
    randomHexChars(t.mark, sizeof(t.mark));
    bool alive = true;
    while (alive && !t.done && !cliPipeTimedOut(&t)) {
        alive = cliPipeStep(&t);
        cliPipeShowProgress(&t);
    }
    cliProgressClear(&t.progress);
    if (t.done) printf("Last reply received from server.\n");
    if (!alive) {
        fprintf(stderr,
                t.garbled ? "Error: Protocol error in the reply\n" : "Error: Server closed the connection\n");
        t.errors++;
    }
    printf("errors: %lld, replies: %lld\n", (long long)t.errors, (long long)t.replies);
    sdsfree(t.out);
    return t.errors ? 1 : 0;
}
