/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_replica.c - --replica, --rdb and --functions-rdb: the server takes us for a replica. Part of cli.h.
 *
 * After SYNC come empty lines while the snapshot is made, then it, in one of two forms, and then the commands
 * that change data:
 *
 *     $<length>\r\n<bytes>            or
 *     $EOF:<40 characters>\r\n<bytes><the same 40 characters> */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "tools/cli.h"
#include "tools/cli_progress.h"
#include "tools/cli_target.h"

#define MARK_SIZE 40
#define ALIVE_US  1000000

struct snapshot {
    struct cli *cli;
    struct cliTarget *target; /* where it goes; NULL: nowhere */
    int64_t size;             /* -1: it ends with the mark */
    char mark[MARK_SIZE];
    int64_t written;
    bool begun; /* its header has come */
    struct cliProgress progress;
};

static _Noreturn void cliReplicaDie(const char *format, const char *what) {
    fflush(stdout);
    cliFail(format, what);
}

/* The server says nothing when it gives up, so all that can be named is how far it came. */
static _Noreturn void cliReplicaDieOfEnd(const struct snapshot *s) {
    sds how = sdsempty();
    if (s->begun)
        how = sdscatprintf(how, "after %lld bytes of the snapshot",
                           (long long)(s->written + (int64_t)sdslen(s->cli->link.in)));
    else
        how = sdscat(how, "before the snapshot began");
    if (s->target && s->target->temporary) how = sdscatprintf(how, ". '%s' was not written", s->target->path);
    cliReplicaDie("Error: the server closed the connection %s. Its log has the reason.", how);
}

/* Wait until the input is longer than `have`. */
static void cliReplicaNeedInput(const struct snapshot *s, size_t have) {
    struct cli *c = s->cli;
    while (sdslen(c->link.in) <= have) {
        struct pollfd fd = {.fd = c->link.fd, .events = POLLIN};
        if (poll(&fd, 1, -1) < 0 && errno != EINTR) cliReplicaDie("Error: %s", strerror(errno));
        if (!cliReadSome(c) && sdslen(c->link.in) <= have) cliReplicaDieOfEnd(s);
    }
}

/* A request whose refusal may not matter. */
static bool cliReplicaAsk(struct cli *c, const char *name, const char *value) {
    const char *argv[] = {"REPLCONF", name, value};
    struct respReply reply;
    if (!cliCall(c, &reply, 3, argv)) cliReplicaDie("Error: %s", "Server closed the connection");
    bool ok = reply.type != RESP_T_ERROR;
    respReplyFree(&reply);
    return ok;
}

/* The line that begins the snapshot, without its end; empty lines are passed over. */
static sds cliReplicaReadHeader(const struct snapshot *s) {
    struct cliLink *l = &s->cli->link;
    for (size_t have = 0;; have = sdslen(l->in)) {
        cliReplicaNeedInput(s, have);
        size_t blank = strspn(l->in, "\r\n");
        char *newline = memchr(l->in + blank, '\n', sdslen(l->in) - blank);
        if (!newline) continue;
        sds line = sdstrim(sdsnewlen(l->in + blank, (size_t)(newline - l->in) - blank), "\r");
        sdsrange(l->in, newline + 1 - l->in, -1);
        return line;
    }
}

/* A server writes what the version that it was told can read. To a replica without one it sends the format of
 * Redis 7.0, and gives up at the first value that this format has no form for, such as a hash with fields
 * that expire. */
static void cliReplicaIntroduce(struct cli *c) {
    cliReplicaAsk(c, "version", VALKEY_VERSION);
    cliReplicaAsk(c, "capa", "eof");
}

static void cliReplicaBeginSync(struct snapshot *s) {
    struct cli *c = s->cli;
    cliSetText(&c->link.in, sdsempty());
    c->link.at = c->link.used = 0;
    if (!cliSendBytes(c, "SYNC\r\n", 6)) cliReplicaDie("Error: %s", "Server closed the connection");
    sds line = cliReplicaReadHeader(s);
    s->begun = true;
    if (line[0] == '-') cliReplicaDie("The server refuses to send its data: %s", line + 1);
    s->size = -1;
    bool marked = strncmp(line, "$EOF:", 5) == 0 && sdslen(line) == 5 + MARK_SIZE;
    if (marked)
        memcpy(s->mark, line + 5, MARK_SIZE);
    else if (line[0] != '$' || !string2ll(strN(line + 1, sdslen(line) - 1), &s->size) || s->size < 0)
        cliReplicaDie("The server's reply to SYNC is invalid: %s", line);
    sdsfree(line);
}

static void cliReplicaPut(struct snapshot *s, const char *p, size_t len) {
    s->written += (int64_t)len;
    if (s->target) cliTargetPut(s->target, strN(p, len));
    cliProgressShow(&s->progress, s->written, "");
}

/* How much of the input is snapshot for sure; *ends when it ends there. What could be the beginning of the
 * mark is held back. */
static size_t cliReplicaSnapshotPart(const struct snapshot *s, bool *ends) {
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

static void cliReplicaReadSnapshot(struct snapshot *s) {
    struct cli *c = s->cli;
    s->progress = cliProgressStart(NULL, s->size);
    for (;;) {
        bool ends;
        size_t part = cliReplicaSnapshotPart(s, &ends);
        cliReplicaPut(s, c->link.in, part);
        sdsrange(c->link.in, (ptrdiff_t)part, -1);
        if (ends) break;
        cliReplicaNeedInput(s, sdslen(c->link.in));
    }
    cliProgressClear(&s->progress);
    if (s->size < 0) sdsrange(c->link.in, MARK_SIZE, -1);
}

int cliTransfer(struct cli *c) {
    struct cliTarget target;
    struct snapshot s = {.cli = c};
    cliReplicaIntroduce(c);
    cliReplicaAsk(c, "rdb-only", "1");
    if (c->mode == CLI_FUNCTIONS_RDB && !cliReplicaAsk(c, "rdb-filter-only", "functions"))
        cliReplicaDie("%s", "The server cannot send its functions alone.");
    cliReplicaBeginSync(&s);
    cliTargetOpen(&target, c->file);
    s.target = &target;
    fprintf(stderr, "Receiving the snapshot into '%s'\n", c->file);
    cliReplicaReadSnapshot(&s);
    cliTargetFinish(&target);
    fprintf(stderr, "Transfer finished with success after %lld bytes\n", (long long)s.written);
    return 0;
}

/* The commands that are there, whole ones. */
static void cliReplicaPrintCommands(struct cli *c) {
    struct cliLink *l = &c->link;
    size_t at = 0;
    struct respReply command;
    for (int64_t size; at < sdslen(l->in); at += (size_t)size) {
        size = respReadReply(l->in + at, sdslen(l->in) - at, &command);
        if (size < 0) cliReplicaDie("Error: %s", "Protocol error in the replication stream");
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
    struct snapshot s = {.cli = c};
    cliReplicaIntroduce(c);
    cliReplicaAsk(c, "rdb-filter-only", "");
    cliReplicaBeginSync(&s);
    cliReplicaReadSnapshot(&s);
    fprintf(stderr, "Synchronized after %lld bytes; write commands follow.\n", (long long)s.written);
    c->output = CLI_CSV;
    for (int64_t said_us = 0;;) {
        struct pollfd fd = {.fd = c->link.fd, .events = POLLIN};
        cliReplicaPrintCommands(c);
        if (monotonicUs() - said_us >= ALIVE_US) {
            said_us = monotonicUs();
            cliSendWords(c, 3, alive);
        }
        if (poll(&fd, 1, ALIVE_US / 1000) > 0 && !cliReadSome(c)) {
            cliReplicaPrintCommands(c);
            cliReplicaDie("Error: %s", "Server closed the connection");
        }
    }
}
