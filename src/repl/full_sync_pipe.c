/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_pipe.c - see full_sync_pipe.h.
 *
 *     stream    ........|== buffer ==|......... in the pipe
 *                       from     |   from + used
 *                                `at` of a replica
 *
 * The buffer is filled again when all members have taken all of it. The pipe ends when the child
 * has written everything or has died. The child's exit code, which may come earlier or later, says
 * which of the two happened.
 *
 * A child that is a thread (data/forkless/) has the writing end for itself, as a process has, and closes it
 * at its end. Modules learn from the main thread when its snapshot begins and ends. */
#include "repl/full_sync_pipe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "data/child.h"
#include "data/child_pipe.h"
#include "data/forkless/forkless.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "registry/server_events.h"
#include "repl/full_sync_direct.h"

#define BUFFER_BYTES (256 * 1024)

static struct {
    bool running;
    const struct syncPlan *plan;
    int fd;       /* the parent's end; -1: it has been read to its end */
    int child_fd; /* the child's end, which only the child uses */
    bool watched, child_ended, succeeded;
    char *buffer;
    uint64_t from;
    size_t used;
    int members, behind; /* `behind`: members that have not taken all of the buffer */
} pipe_sync = {.fd = -1};

struct pipeTransfer {
    struct syncTransfer t; /* first */
    uint64_t at;
};
static const struct transferMethods pipe_methods;

static struct pipeTransfer *fullSyncPipeOf(const struct replicaClient *r) {
    return r->transfer;
}
static bool fullSyncPipeIsMember(const struct replicaClient *r) {
    return r->transfer && transferOf(r)->methods == &pipe_methods;
}

/* ---- The child ---- */

static int fullSyncPipeRunChild(void *priv) {
    struct rioWriter w;
    rioWriterInit(&w, childPipeSink, &pipe_sync.child_fd);
    if (!childInThread()) serverEvent(SERVER_PERSISTENCE, EVENT_RDB, NULL);
    bool ok = transferWriteMarked(&w, priv);
    if (!childInThread()) serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (!ok && w.error != EPROTO && w.error != ECANCELED)
        serverLog(LL_WARNING, "Write error sending the snapshot: %s", strerror(w.error));
    rioWriterFree(&w);
    close(pipe_sync.child_fd); /* so that the parent does not wait for what a child does at its end */
    return ok ? 0 : 1;
}

/* ---- The end ---- */

static void fullSyncPipeStopWatching(void) {
    if (pipe_sync.watched) aeDeleteFileEvent(server_el, pipe_sync.fd, AE_READABLE);
    pipe_sync.watched = false;
}

static void fullSyncPipeClosePipe(void) {
    if (pipe_sync.fd < 0) return;
    fullSyncPipeStopWatching();
    close(pipe_sync.fd);
    pipe_sync.fd = -1;
    if (!pipe_sync.running) return;
    serverLog(LL_NOTICE, "Diskless rdb transfer, done reading from pipe, %d replicas still up.",
              pipe_sync.members);
}

/* All members have all bytes, or will never have them. */
static void fullSyncPipeFinish(void) {
    bool ok = pipe_sync.succeeded;
    zfree(pipe_sync.buffer);
    pipe_sync.buffer = NULL;
    pipe_sync.running = false;
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncPipeIsMember(r)) continue;
        if (ok) syncDirectNoteSent(r);
        transferEnded(r, ok);
    }
    syncDirectExpire();
}

static void fullSyncPipeOnChildEnd(int exit_code, int sig, void *priv) {
    (void)priv;
    pipe_sync.child_ended = true;
    pipe_sync.succeeded = exit_code == 0 && !sig;
    if (pipe_sync.plan->forkless)
        serverEvent(SERVER_PERSISTENCE, pipe_sync.succeeded ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (!pipe_sync.succeeded || pipe_sync.fd < 0) {
        fullSyncPipeClosePipe();
        transferChildSucceeded(exit_code, sig);
        fullSyncPipeFinish();
    }
}

static void fullSyncPipeOnEndOfPipe(void) {
    fullSyncPipeClosePipe();
    if (!pipe_sync.child_ended) return;
    transferChildSucceeded(0, 0);
    fullSyncPipeFinish();
}

/* ---- From the pipe to the buffer ---- */

static void fullSyncPipeOnReadable(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)data, (void)mask;
    if (pipe_sync.behind) {
        fullSyncPipeStopWatching();
        return;
    }
    ssize_t n = read(fd, pipe_sync.buffer, BUFFER_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        fullSyncPipeOnEndOfPipe();
        return;
    }
    pipe_sync.from += pipe_sync.used;
    pipe_sync.used = (size_t)n;
    pipe_sync.behind = pipe_sync.members;
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncPipeIsMember(r)) continue;
        transferOf(r)->taken_ms = cmd_time_ms;
        clientWriteLater(r->client);
    }
}

static void fullSyncPipeWatch(void) {
    if (pipe_sync.watched || pipe_sync.fd < 0 || pipe_sync.behind) return;
    pipe_sync.watched =
        aeCreateFileEvent(server_el, pipe_sync.fd, AE_READABLE, fullSyncPipeOnReadable, NULL) == 0;
    serverAssert(pipe_sync.watched);
}

/* ---- From the buffer to a replica ---- */

static uint64_t fullSyncPipeBufferEnd(void) {
    return pipe_sync.from + pipe_sync.used;
}

static bool fullSyncPipeWaits(const struct replicaClient *r) {
    return fullSyncPipeOf(r)->at < fullSyncPipeBufferEnd();
}

static bool fullSyncPipeWrite(struct replicaClient *r) {
    struct pipeTransfer *p = fullSyncPipeOf(r);
    size_t taken = (size_t)(p->at - pipe_sync.from);
    if (!fullSyncPipeWaits(r)) return true;
    struct iovec iov = {pipe_sync.buffer + taken, pipe_sync.used - taken};
    ssize_t n = transferSend(r, &iov, 1);
    if (n < 0) return false;
    p->at += (size_t)n;
    if (fullSyncPipeWaits(r)) return true;
    pipe_sync.behind--;
    fullSyncPipeWatch();
    return true;
}

/* Returns whether the buffer ends with the mark: tools close the connection as soon as they have seen it. */
static bool fullSyncPipeEndsWithMark(void) {
    return pipe_sync.used >= SYNC_MARK &&
           memcmp(pipe_sync.buffer + pipe_sync.used - SYNC_MARK, pipe_sync.plan->mark, SYNC_MARK) == 0;
}

/* The child is stopped when the last member leaves before it has everything. */
static void fullSyncPipeLeave(struct replicaClient *r) {
    bool behind = fullSyncPipeWaits(r);
    zfree(r->transfer);
    r->transfer = NULL;
    if (!pipe_sync.running) return;
    pipe_sync.members--;
    pipe_sync.behind -= behind;
    fullSyncPipeWatch();
    if (pipe_sync.members || pipe_sync.child_ended || (!behind && fullSyncPipeEndsWithMark())) return;
    serverLog(LL_NOTICE, "Diskless rdb transfer, last replica dropped, killing fork child.");
    childStop();
}

static const struct transferMethods pipe_methods = {fullSyncPipeWrite, fullSyncPipeWaits, fullSyncPipeLeave,
                                                    true};

/* ---- The start ---- */

static bool fullSyncPipeStartThread(const struct syncPlan *plan, const char **err) {
    struct forklessPlan snapshot = {.kind = CHILD_RDB,
                                    .rdb = &plan->options,
                                    .run = fullSyncPipeRunChild,
                                    .done = fullSyncPipeOnChildEnd,
                                    .priv = (void *)plan};
    serverEvent(SERVER_PERSISTENCE, EVENT_RDB, NULL);
    if (forklessStart(&snapshot, err)) return true;
    serverEvent(SERVER_PERSISTENCE, EVENT_NOT_SAVED, NULL);
    return false;
}

/* A process has the writing end for itself once the parent has closed its own copy. */
static bool fullSyncPipeStartChild(const struct syncPlan *plan, const char **err) {
    int fds[2];
    if (!childPipeOpen(fds)) {
        *err = strerror(errno);
        return false;
    }
    pipe_sync.plan = plan;
    pipe_sync.fd = fds[0];
    pipe_sync.child_fd = fds[1];
    bool started = plan->forkless ? fullSyncPipeStartThread(plan, err)
                                  : childStartWith(CHILD_RDB, fullSyncPipeRunChild, fullSyncPipeOnChildEnd,
                                                   (void *)plan, &fds[1], 1, err);
    if (!started || !plan->forkless) close(fds[1]);
    if (!started) fullSyncPipeClosePipe();
    return started;
}

static void fullSyncPipeJoin(struct replicaClient *r) {
    struct pipeTransfer *p = zcalloc(1, sizeof *p);
    p->t.methods = &pipe_methods;
    r->transfer = p;
    r->state = REPLICA_WAIT_END;
    pipe_sync.members++;
}

bool syncPipeRunning(void) {
    return pipe_sync.running;
}

bool syncPipeStart(const struct syncPlan *plan, struct syncMembers members, const char **err) {
    serverAssert(!pipe_sync.running);
    if (!fullSyncPipeStartChild(plan, err)) return false;
    pipe_sync.running = true;
    pipe_sync.child_ended = pipe_sync.succeeded = false;
    pipe_sync.from = pipe_sync.used = 0;
    pipe_sync.members = pipe_sync.behind = 0;
    pipe_sync.buffer = zmalloc(BUFFER_BYTES);
    for (int i = 0; i < members.count; i++) fullSyncPipeJoin(members.at[i]);
    fullSyncPipeWatch();
    return true;
}
