/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_replica.c - --replica, --rdb and --functions-rdb: the program acts as a replica. Part of cli.h.
 *
 * After SYNC the server sends empty lines while it makes the snapshot, then the snapshot in one of two
 * forms, and then the commands that change data:
 *
 *     $<length>\r
 * <bytes>            or
 *     $EOF:<40 characters>\r
 * <bytes><the same 40 characters> */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_progress.h"
#include "tools/cli/cli_target.h"

#define MARK_SIZE 40
#define ALIVE_US  1000000

struct snapshot {
    struct cli *cli;
    struct cliTarget *target; /* the destination; NULL: the data are dropped */
    int64_t size;             /* -1 if a mark ends it */
    char mark[MARK_SIZE];
    int64_t written;
    bool begun; /* its header has arrived */
    struct cliProgress progress;
};

static _Noreturn void cliReplicaExit(const char *format, const char *what) {
    fflush(stdout);
    cliFail(format, what);
}

/* Exits. A server that gives up sends no reason, so the message only says how much arrived. */
static _Noreturn void cliReplicaExitAtEnd(const struct snapshot *s) {
    sds how = sdsempty();
    if (s->begun)
        how = sdscatprintf(how, "after %lld bytes of the snapshot",
                           (long long)(s->written + (int64_t)sdslen(s->cli->link.in)));
    else
        how = sdscat(how, "before the snapshot began");
    if (s->target && s->target->temporary) how = sdscatprintf(how, ". '%s' was not written", s->target->path);
    cliReplicaExit("Error: the server closed the connection %s. Its log has the reason.", how);
}

/* Waits until the input is longer than `have`. */
static void cliReplicaNeedInput(const struct snapshot *s, size_t have) {
    struct cli *c = s->cli;
    while (sdslen(c->link.in) <= have) {
        struct pollfd fd = {.fd = c->link.fd, .events = POLLIN};
        if (poll(&fd, 1, -1) < 0 && errno != EINTR) cliReplicaExit("Error: %s", strerror(errno));
        if (!cliReadSome(c) && sdslen(c->link.in) <= have) cliReplicaExitAtEnd(s);
    }
}

/* Sends an option of REPLCONF; returns whether it was accepted. */
static bool cliReplicaRequest(struct cli *c, const char *name, const char *value) {
    const char *argv[] = {"REPLCONF", name, value};
    struct respReply reply;
    if (!cliCall(c, &reply, 3, argv)) cliReplicaExit("Error: %s", "Server closed the connection");
    bool ok = reply.type != RESP_T_ERROR;
    respReplyFree(&reply);
    return ok;
}

/* Returns the header line of the snapshot, without its end; skips empty lines. */
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

/* Sends our version, since a server writes a format that the announced version can read. Without a
 * version it uses the format of Redis 7.0, and gives up at the first value that this format cannot
 * represent, such as a hash with fields that expire. */
static void cliReplicaSendVersion(struct cli *c) {
    cliReplicaRequest(c, "version", VALKEY_VERSION);
    cliReplicaRequest(c, "capa", "eof");
}

static void cliReplicaBeginSync(struct snapshot *s) {
    struct cli *c = s->cli;
    cliSetText(&c->link.in, sdsempty());
    c->link.at = c->link.used = 0;
    if (!cliSendBytes(c, "SYNC\r\n", 6)) cliReplicaExit("Error: %s", "Server closed the connection");
    sds line = cliReplicaReadHeader(s);
    s->begun = true;
    if (line[0] == '-') cliReplicaExit("The server refuses to send its data: %s", line + 1);
    s->size = -1;
    bool marked = strncmp(line, "$EOF:", 5) == 0 && sdslen(line) == 5 + MARK_SIZE;
    if (marked)
        memcpy(s->mark, line + 5, MARK_SIZE);
    else if (line[0] != '$' || !string2ll(strN(line + 1, sdslen(line) - 1), &s->size) || s->size < 0)
        cliReplicaExit("The server's reply to SYNC is invalid: %s", line);
    sdsfree(line);
}

static void cliReplicaWrite(struct snapshot *s, const char *p, size_t len) {
    s->written += (int64_t)len;
    if (s->target) cliTargetPut(s->target, strN(p, len));
    cliProgressShow(&s->progress, s->written, "");
}

/* Returns how much of the input certainly is snapshot; *ends when it is complete. Bytes that could be
 * the beginning of the mark are held back. */
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
        cliReplicaWrite(s, c->link.in, part);
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
    cliReplicaSendVersion(c);
    cliReplicaRequest(c, "rdb-only", "1");
    if (c->mode == CLI_FUNCTIONS_RDB && !cliReplicaRequest(c, "rdb-filter-only", "functions"))
        cliReplicaExit("%s", "The server cannot send its functions alone.");
    cliReplicaBeginSync(&s);
    cliTargetOpen(&target, c->file);
    s.target = &target;
    fprintf(stderr, "Receiving the snapshot into '%s'\n", c->file);
    cliReplicaReadSnapshot(&s);
    cliTargetFinish(&target);
    fprintf(stderr, "Transfer finished with success after %lld bytes\n", (long long)s.written);
    return 0;
}

/* Prints the complete commands of the input. */
static void cliReplicaPrintCommands(struct cli *c) {
    struct cliLink *l = &c->link;
    size_t at = 0;
    struct respReply command;
    for (int64_t size; at < sdslen(l->in); at += (size_t)size) {
        size = respReadReply(l->in + at, sdslen(l->in) - at, &command);
        if (size < 0) cliReplicaExit("Error: %s", "Protocol error in the replication stream");
        if (size == 0) break;
        sds line = cliFormatReply(c, &command, false);
        fwrite(line, 1, sdslen(line), stdout);
        sdsfree(line);
        respReplyFree(&command);
    }
    fflush(stdout);
    sdsrange(l->in, (ptrdiff_t)at, -1);
}

/* The server continues after the snapshot only when the replica acknowledges it, and expects further
 * acknowledgements. */
int cliReplica(struct cli *c) {
    static const struct str alive[] = {{"REPLCONF", 8}, {"ACK", 3}, {"0", 1}};
    struct snapshot s = {.cli = c};
    cliReplicaSendVersion(c);
    cliReplicaRequest(c, "rdb-filter-only", "");
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
            cliReplicaExit("Error: %s", "Server closed the connection");
        }
    }
}
