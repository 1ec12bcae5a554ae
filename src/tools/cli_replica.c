/* cli_replica.c - --replica, --rdb and --functions-rdb: the server takes us for a replica. Part of cli.h.
 *
 * After SYNC come empty lines while the snapshot is made, then it, in one of two forms, and then the commands
 * that change data:
 *
 *     $<length>\r\n<bytes>            or
 *     $EOF:<40 characters>\r\n<bytes><the same 40 characters> */
#define _GNU_SOURCE /* memmem */
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "tools/cli_progress.h"

#define MARK_SIZE 40
#define ALIVE_US  1000000

struct snapshot {
    struct cli *cli;
    int fd;       /* where it goes; -1: nowhere */
    int64_t size; /* -1: it ends with the mark */
    char mark[MARK_SIZE];
    int64_t written;
    struct cliProgress progress;
};

static _Noreturn void die(const char *format, const char *what) {
    fflush(stdout);
    cliFail(format, what);
}

/* Wait until the input is longer than `have`. */
static void needInput(struct cli *c, size_t have) {
    while (sdslen(c->link.in) <= have) {
        struct pollfd fd = {.fd = c->link.fd, .events = POLLIN};
        if (poll(&fd, 1, -1) < 0 && errno != EINTR) die("Error: %s", strerror(errno));
        if (!cliReadSome(c) && sdslen(c->link.in) <= have)
            die("Error: %s", "Server closed the connection during the transfer");
    }
}

/* A request whose refusal may not matter. */
static bool ask(struct cli *c, const char *name, const char *value) {
    const char *argv[] = {"REPLCONF", name, value};
    struct respReply reply;
    if (!cliCall(c, &reply, 3, argv)) die("Error: %s", "Server closed the connection");
    bool ok = reply.type != RESP_T_ERROR;
    respReplyFree(&reply);
    return ok;
}

/* The line that begins the snapshot, without its end; empty lines are passed over. */
static sds readHeader(struct cli *c) {
    struct cliLink *l = &c->link;
    for (size_t have = 0;; have = sdslen(l->in)) {
        needInput(c, have);
        size_t blank = strspn(l->in, "\r\n");
        char *newline = memchr(l->in + blank, '\n', sdslen(l->in) - blank);
        if (!newline) continue;
        sds line = sdstrim(sdsnewlen(l->in + blank, (size_t)(newline - l->in) - blank), "\r");
        sdsrange(l->in, newline + 1 - l->in, -1);
        return line;
    }
}

static void beginSync(struct snapshot *s) {
    struct cli *c = s->cli;
    cliSetText(&c->link.in, sdsempty());
    c->link.at = c->link.used = 0;
    if (!cliSendBytes(c, "SYNC\r\n", 6)) die("Error: %s", "Server closed the connection");
    sds line = readHeader(c);
    if (line[0] == '-') die("The server gives no copy of its data: %s", line + 1);
    s->size = -1;
    bool marked = strncmp(line, "$EOF:", 5) == 0 && sdslen(line) == 5 + MARK_SIZE;
    if (marked)
        memcpy(s->mark, line + 5, MARK_SIZE);
    else if (line[0] != '$' || !string2ll(strN(line + 1, sdslen(line) - 1), &s->size) || s->size < 0)
        die("The server's answer to SYNC is not understood: %s", line);
    sdsfree(line);
}

static void cliReplicaPut(struct snapshot *s, const char *p, size_t len) {
    s->written += (int64_t)len;
    if (s->fd != -1 && !fdWriteAll(s->fd, strN(p, len))) die("Writing failed: %s", strerror(errno));
    cliProgressShow(&s->progress, s->written, "");
}

/* How much of the input is snapshot for sure; *ends when it ends there. What could be the beginning of the
 * mark is held back. */
static size_t snapshotPart(const struct snapshot *s, bool *ends) {
    const struct cliLink *l = &s->cli->link;
    size_t len = sdslen(l->in);
    if (s->size >= 0) {
        int64_t left = s->size - s->written;
        *ends = (int64_t)len >= left;
        return *ends ? (size_t)left : len;
    }
    const char *mark = memmem(l->in, len, s->mark, MARK_SIZE);
    *ends = mark != NULL;
    if (mark) return (size_t)(mark - l->in);
    return len < MARK_SIZE ? 0 : len - MARK_SIZE + 1;
}

static void readSnapshot(struct snapshot *s) {
    struct cli *c = s->cli;
    s->progress = cliProgressStart(NULL, s->size);
    for (;;) {
        bool ends;
        size_t part = snapshotPart(s, &ends);
        cliReplicaPut(s, c->link.in, part);
        sdsrange(c->link.in, (ptrdiff_t)part, -1);
        if (ends) break;
        needInput(c, sdslen(c->link.in));
    }
    cliProgressClear(&s->progress);
    if (s->size < 0) sdsrange(c->link.in, MARK_SIZE, -1);
}

static int openTarget(const char *path) {
    if (strcmp(path, "-") == 0) return STDOUT_FILENO;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd == -1) {
        fprintf(stderr, "'%s' cannot be written: %s\n", path, strerror(errno));
        exit(1);
    }
    return fd;
}

int cliTransfer(struct cli *c) {
    struct snapshot s = {.cli = c, .fd = -1};
    ask(c, "capa", "eof");
    ask(c, "rdb-only", "1");
    if (c->mode == CLI_FUNCTIONS_RDB && !ask(c, "rdb-filter-only", "functions"))
        die("%s", "The server cannot send its functions alone.");
    beginSync(&s);
    s.fd = openTarget(c->file); /* only now: a refusal leaves the file as it was */
    fprintf(stderr, "The snapshot begins to arrive, for '%s'\n", c->file);
    readSnapshot(&s);
    if (s.fd != STDOUT_FILENO && (fsync(s.fd) != 0 || close(s.fd) != 0))
        die("Writing failed: %s", strerror(errno));
    fprintf(stderr, "Transfer finished with success after %lld bytes\n", (long long)s.written);
    return 0;
}

/* The commands that are there, whole ones. */
static void printCommands(struct cli *c) {
    struct cliLink *l = &c->link;
    size_t at = 0;
    struct respReply command;
    for (int64_t size; at < sdslen(l->in); at += (size_t)size) {
        size = respReadReply(l->in + at, sdslen(l->in) - at, &command);
        if (size < 0) die("Error: %s", "Protocol error in what the server sends");
        if (size == 0) break;
        sds line = cliFormatReply(c, &command, false);
        fwrite(line, 1, sdslen(line), stdout);
        sdsfree(line);
        respReplyFree(&command);
    }
    fflush(stdout);
    sdsrange(l->in, (ptrdiff_t)at, -1);
}

/* The server goes on after the snapshot only when it hears from the replica,
 * and wants to hear from it again. */
int cliReplica(struct cli *c) {
    static const struct str alive[] = {{"REPLCONF", 8}, {"ACK", 3}, {"0", 1}};
    struct snapshot s = {.cli = c, .fd = -1};
    ask(c, "capa", "eof");
    ask(c, "rdb-filter-only", "");
    beginSync(&s);
    readSnapshot(&s);
    fprintf(stderr, "In sync after %lld bytes; what changes data follows.\n", (long long)s.written);
    c->output = CLI_CSV;
    for (int64_t said_us = 0;;) {
        struct pollfd fd = {.fd = c->link.fd, .events = POLLIN};
        printCommands(c);
        if (monotonicUs() - said_us >= ALIVE_US) {
            said_us = monotonicUs();
            cliSendWords(c, 3, alive);
        }
        if (poll(&fd, 1, ALIVE_US / 1000) > 0 && !cliReadSome(c)) {
            printCommands(c);
            die("Error: %s", "Server closed the connection");
        }
    }
}
