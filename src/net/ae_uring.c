/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_uring.c - see ae_uring.h.
 *
 *     socket -> multishot receive -> buffers of the ring -> source.first .. last -> ringRead -> reader
 *                                            ^                                          |
 *                                            +--------------- returned -----------------+
 *     sources[fd]  what the ring does for an fd, and what it has received from it
 *     ready        fds that have something; those that still have it at the next wait are reported again
 *     to_start     fds whose request is to be made at the next wait
 *     epfd         all other events: the ring polls it like any other fd
 *     wakefd       each write to it is a completion; it is never read
 *
 * The idea: what the kernel has posted is taken over at once after each call that can make it post, so that
 * the order of the bytes is that of the calls. With DEFER_TASKRUN, requests proceed only within a ringWait of
 * the owner. Nothing changes in between, so a reader that has emptied its buffers may read on from the socket
 * itself. Large values take this path and are not copied twice.
 *
 * Limits: buffers are in use for one turn at most. What a reader has left by then is stashed in memory of its
 * own. When STASH_MAX of it have been stashed, the receive is ended until they have been read. One connection
 * thus holds at most that and what a receive brings at once (32 buffers), and cannot keep buffers from the
 * others. When the buffers run out, receives end with ENOBUFS without losing anything and are made again at
 * the next wait, and the kernel gets twice as many buffers, up to BUFFERS. The kernel uses them in turn, so a
 * ring takes as much memory as the buffers that it has been given.
 *
 * A source whose reader pauses is still received from, within these limits, but not reported. Pausing
 * and resuming cost nothing.
 *
 * A request is identified by its serial number. When its fd is closed, it is cancelled by that number with
 * the next submission; what comes from it meanwhile finds no source with this number and is dropped.
 * Requests are only made in ringWait, immediately before they are submitted, so that none can reach a later
 * owner of the fd's number.
 *
 * Sends do not wait: with MSG_DONTWAIT they have ended when the submission has. Only those that could not
 * send everything (which MSG_WAITALL turns into a failure) post a completion. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "net/ae_uring.h"

#include <errno.h>
#include <liburing.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define SQ_ENTRIES    256  /* entries of one submission; more take several */
#define CQ_ENTRIES    4096 /* one submission has far fewer completions */
#define BUFFERS       256  /* at most; a power of two */
#define BUFFERS_FIRST 16   /* at first, as most loops have little to do at a time */
#define BUFFER_SIZE   4096
#define GROUP         0 /* the group of the buffers */
#define STASH_MAX     (16 * 1024)
#define BULK          (64 * 1024) /* a reader with so much space reads from the socket itself */
#define BULK_ENDS     16          /* until so many reads got little, as large values often come in sequence */
#define SENDS_MAX     128         /* sends of one submission */
/* The kernel handles some twenty requests per call, so a call with so many completions may have left more. */
#define ENTER_AGAIN_AT 16

/* User data of completions: serial << 32 | fd, or one of these, the first with the index of the send. */
#define TAG_SEND   (1ull << 31)
#define TAG_EPOLL  (1ull << 30)
#define TAG_CANCEL (1ull << 29) /* a cancellation, which completes only when it finds no request */
#define TAG_WAKE   (1ull << 28)
#define FD_LIMIT   ((int)TAG_WAKE)

struct ringSource {
    bool wanted;     /* the ring receives from the fd */
    bool paused;     /* the fd is not reported */
    bool filled;     /* there are buffers from `first` to `last` */
    uint32_t serial; /* the request's; 0: the kernel has none */
    bool cancelled;  /* the request has been cancelled and will end */
    bool listed;     /* in `ready` */
    bool starting;   /* in `to_start` */
    bool bulk;     /* much comes at once: the ring only polls, and the reader reads from the socket itself */
    bool readable; /* the socket has input, until a read gets less than it has space for */
    bool unsure;   /* readable, without another hint: until a read says that there is nothing */
    uint8_t small; /* bulk reads in sequence that got little */
    bool ended;    /* the peer has ended, or there was `error` */
    int error;     /* to be returned once */
    uint16_t first, last;
    uint32_t taken; /* bytes of the first buffer that have been read */
    sds stash;      /* bytes from stash_at on, which are older than those in the buffers */
    size_t stash_at;
};

struct aeRing {
    struct io_uring uring;
    struct io_uring_buf_ring *ring; /* free buffers; it precedes them in one mapping */
    char *buffers;
    uint16_t next[BUFFERS];
    uint32_t used[BUFFERS];
    int provided; /* buffers that the kernel has been given */
    int in_use;   /* buffers that a source has */
    bool lacks;   /* the kernel had no buffer left */
    struct ringSource *sources;
    int maxfds, epfd, wakefd;
    int *ready, ready_count;
    int *to_start, to_start_count;
    uint32_t last_serial;
    pid_t owner;               /* 0: no thread has waited yet */
    bool polling, epoll_ready; /* for epfd */
    bool polling_wake, woken;  /* for wakefd */
    struct aeSend *sends;      /* sends under way */
};

#define MAPPING (4096 + BUFFERS * BUFFER_SIZE)
_Static_assert(BUFFERS * sizeof(struct io_uring_buf) <= 4096, "the ring of buffers is one page");

/* ---- Buffers ------------------------------------------------------------------------------------------- */

static char *aeUringBufferAt(struct aeRing *r, uint16_t i) {
    return r->buffers + (size_t)i * BUFFER_SIZE;
}

static void aeUringBufferReturn(struct aeRing *r, uint16_t i) {
    io_uring_buf_ring_add(r->ring, aeUringBufferAt(r, i), BUFFER_SIZE, i, BUFFERS - 1, 0);
    io_uring_buf_ring_advance(r->ring, 1);
}

static void aeUringProvideMore(struct aeRing *r, int total) {
    for (; r->provided < total && r->provided < BUFFERS; r->provided++)
        aeUringBufferReturn(r, (uint16_t)r->provided);
    r->lacks = false;
}

static void aeUringAppend(struct aeRing *r, struct ringSource *s, uint16_t i, uint32_t used) {
    r->used[i] = used;
    if (!s->filled) {
        s->filled = true;
        s->first = i;
        s->taken = 0;
    } else {
        r->next[s->last] = i;
    }
    s->last = i;
    r->in_use++;
}

static void aeUringDropFirst(struct aeRing *r, struct ringSource *s) {
    uint16_t i = s->first;
    s->filled = i != s->last;
    s->first = r->next[i];
    s->taken = 0;
    aeUringBufferReturn(r, i);
    r->in_use--;
}

static size_t aeUringStashLen(const struct ringSource *s) {
    return s->stash ? sdslen(s->stash) - s->stash_at : 0;
}

static void aeUringStash(struct aeRing *r, struct ringSource *s) {
    if (!s->stash) s->stash = sdsempty();
    if (s->stash_at) sdsrange(s->stash, (ptrdiff_t)s->stash_at, -1);
    s->stash_at = 0;
    while (s->filled) {
        s->stash = sdscatlen(s->stash, aeUringBufferAt(r, s->first) + s->taken, r->used[s->first] - s->taken);
        aeUringDropFirst(r, s);
    }
}

static size_t aeUringReadStash(struct ringSource *s, void *dst, size_t len) {
    size_t n = aeUringStashLen(s);
    if (n > len) n = len;
    memcpy(dst, s->stash + s->stash_at, n);
    s->stash_at += n;
    if (s->stash_at == sdslen(s->stash)) {
        sdsfree(s->stash);
        s->stash = NULL;
        s->stash_at = 0;
    }
    return n;
}

/* ---- Requests ------------------------------------------------------------------------------------------ */

static bool aeUringHasSomething(const struct ringSource *s) {
    return s->filled || s->stash || s->readable || s->ended;
}

static void aeUringList(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    if (s->listed || !s->wanted) return;
    s->listed = true;
    r->ready[r->ready_count++] = fd;
}

static void aeUringStartLater(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    if (s->starting || s->serial || s->ended || !s->wanted) return;
    s->starting = true;
    r->to_start[r->to_start_count++] = fd;
}

static unsigned aeUringHandleCompletions(struct aeRing *r);

/* Submits everything that has been prepared. */
static void aeUringSubmit(struct aeRing *r) {
    while (io_uring_sq_ready(&r->uring)) {
        int rc = io_uring_submit(&r->uring);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
            serverPanic("io_uring_submit: %s", strerror(-rc));
        aeUringHandleCompletions(r);
    }
}

static struct io_uring_sqe *aeUringPrepare(struct aeRing *r) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&r->uring);
    if (sqe) return sqe;
    aeUringSubmit(r);
    sqe = io_uring_get_sqe(&r->uring);
    serverAssert(sqe);
    return sqe;
}

static uint64_t aeUringRequestTag(const struct aeRing *r, int fd) {
    const struct ringSource *s = &r->sources[fd];
    return (uint64_t)s->serial << 32 | (uint32_t)fd;
}

/* Cancels the request with the next submission. A child must not, as the requests are its parent's. */
static void aeUringCancelRequest(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    if (!s->serial || s->cancelled || r->owner != getpid()) return;
    s->cancelled = true;
    struct io_uring_sqe *sqe = aeUringPrepare(r);
    io_uring_prep_cancel64(sqe, aeUringRequestTag(r, fd), 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, TAG_CANCEL);
}

static void aeUringMakeRequest(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    struct io_uring_sqe *sqe = aeUringPrepare(r);
    if (s->bulk) {
        io_uring_prep_poll_multishot(sqe, fd, POLLIN | POLLRDHUP | POLLPRI);
    } else {
        io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = GROUP;
    }
    if (++r->last_serial == 0) r->last_serial = 1;
    s->serial = r->last_serial;
    s->cancelled = false;
    io_uring_sqe_set_data64(sqe, aeUringRequestTag(r, fd));
}

/* Requests that end meanwhile add their fds after the first `count`. A source with stashed bytes is skipped;
 * it is added again when they have been read. */
static void aeUringMakeRequests(struct aeRing *r) {
    int count = r->to_start_count;
    for (int i = 0; i < count; i++) {
        struct ringSource *s = &r->sources[r->to_start[i]];
        s->starting = false;
        if (s->wanted && !s->serial && !s->stash && !s->readable && !s->ended)
            aeUringMakeRequest(r, r->to_start[i]);
    }
    r->to_start_count -= count;
    memmove(r->to_start, r->to_start + count, (size_t)r->to_start_count * sizeof *r->to_start);
}

static void aeUringPollOthers(struct aeRing *r) {
    if (!r->polling) {
        struct io_uring_sqe *sqe = aeUringPrepare(r);
        io_uring_prep_poll_add(sqe, r->epfd, POLLIN);
        io_uring_sqe_set_data64(sqe, TAG_EPOLL);
        r->polling = true;
    }
    if (!r->polling_wake) {
        struct io_uring_sqe *sqe = aeUringPrepare(r);
        io_uring_prep_poll_multishot(sqe, r->wakefd, POLLIN);
        io_uring_sqe_set_data64(sqe, TAG_WAKE);
        r->polling_wake = true;
    }
}

/* A read stops at urgent data (POLLPRI), though there is more. */
#define ENDS_READS (POLLRDHUP | POLLHUP | POLLERR | POLLPRI)

/* ---- Completions --------------------------------------------------------------------------------------- */

static bool aeUringIsTemporary(int result) {
    return result > 0 || result == -ENOBUFS || result == -ECANCELED || result == -EAGAIN || result == -EINTR;
}

static void aeUringNoteResult(struct aeRing *r, struct ringSource *s, int result, uint32_t flags) {
    if (result > 0 && !(flags & IORING_CQE_F_BUFFER)) {
        s->readable = true; /* from a poll, whose result is a mask */
        s->unsure |= (result & ENDS_READS) != 0;
    } else if (result > 0) {
        aeUringAppend(r, s, (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT), (uint32_t)result);
    } else if (!aeUringIsTemporary(result)) {
        s->ended = true;
        s->error = -result;
    }
    r->lacks |= result == -ENOBUFS;
}

/* Drops the result of a request that is not needed any more. */
static void aeUringDiscard(struct aeRing *r, const struct io_uring_cqe *cqe) {
    if (cqe->flags & IORING_CQE_F_BUFFER)
        aeUringBufferReturn(r, (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT));
}

static void aeUringHandleSource(struct aeRing *r, const struct io_uring_cqe *cqe) {
    int fd = (int)(uint32_t)cqe->user_data;
    struct ringSource *s = fd < r->maxfds ? &r->sources[fd] : NULL;
    if (!s || s->serial != (uint32_t)(cqe->user_data >> 32)) {
        aeUringDiscard(r, cqe);
        return;
    }
    aeUringNoteResult(r, s, cqe->res, cqe->flags);
    if (!(cqe->flags & IORING_CQE_F_MORE)) s->serial = 0;
    if (aeUringHasSomething(s)) aeUringList(r, fd);
    aeUringStartLater(r, fd);
}

static void aeUringHandleCompletion(struct aeRing *r, const struct io_uring_cqe *cqe) {
    uint64_t tag = cqe->user_data;
    if (tag & TAG_SEND) {
        serverAssert(r->sends);
        r->sends[tag & ~TAG_SEND].result = cqe->res;
    } else if (tag & TAG_EPOLL) {
        r->polling = false;
        r->epoll_ready = true;
    } else if (tag & TAG_WAKE) {
        r->polling_wake = cqe->flags & IORING_CQE_F_MORE;
        r->woken = true;
    } else if (!(tag & TAG_CANCEL)) {
        aeUringHandleSource(r, cqe);
    }
}

static unsigned aeUringHandleCompletions(struct aeRing *r) {
    struct io_uring_cqe *cqe;
    unsigned head, count = 0;
    io_uring_for_each_cqe(&r->uring, head, cqe) {
        aeUringHandleCompletion(r, cqe);
        count++;
    }
    io_uring_cq_advance(&r->uring, count);
    return count;
}

/* ---- Creation ------------------------------------------------------------------------------------------ */

static bool aeUringMapBuffers(struct aeRing *r) {
    void *p = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    r->ring = p;
    r->buffers = (char *)p + 4096;
    struct io_uring_buf_reg reg = {
        .ring_addr = (uint64_t)(uintptr_t)r->ring, .ring_entries = BUFFERS, .bgid = GROUP};
    int rc = io_uring_register_buf_ring(&r->uring, &reg, 0);
    if (rc < 0) {
        errno = -rc;
        return false;
    }
    io_uring_buf_ring_init(r->ring);
    aeUringProvideMore(r, BUFFERS_FIRST);
    return true;
}

static void aeUringUnmapBuffers(struct aeRing *r) {
    if (r->ring) munmap(r->ring, MAPPING);
}

struct aeRing *ringCreate(int epfd, int wakefd, int maxfds) {
    struct aeRing *r = zcalloc(1, sizeof *r);
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED |
                 IORING_SETUP_CQSIZE,
        .cq_entries = CQ_ENTRIES,
    };
    int rc = io_uring_queue_init_params(SQ_ENTRIES, &r->uring, &params);
    if (rc < 0) {
        zfree(r);
        errno = -rc;
        return NULL;
    }
    io_uring_ring_dontfork(&r->uring);
    if (!aeUringMapBuffers(r)) {
        int saved = errno;
        io_uring_queue_exit(&r->uring);
        aeUringUnmapBuffers(r);
        zfree(r);
        errno = saved;
        return NULL;
    }
    r->epfd = epfd;
    r->wakefd = wakefd;
    ringResize(r, maxfds);
    return r;
}

/* Returns what the source has and resets it. The flags that say which lists have the fd stay. */
static sds aeUringEmptySource(struct aeRing *r, struct ringSource *s) {
    if (s->filled) aeUringStash(r, s);
    if (s->stash && s->stash_at) sdsrange(s->stash, (ptrdiff_t)s->stash_at, -1);
    sds rest = s->stash;
    *s = (struct ringSource){.listed = s->listed, .starting = s->starting};
    return rest;
}

void ringFree(struct aeRing *r) {
    if (!r) return;
    for (int fd = 0; fd < r->maxfds; fd++) sdsfree(aeUringEmptySource(r, &r->sources[fd]));
    io_uring_queue_exit(&r->uring);
    aeUringUnmapBuffers(r);
    zfree(r->sources);
    zfree(r->ready);
    zfree(r->to_start);
    zfree(r);
}

static int aeUringKeepBelow(int *fds, int count, int maxfds) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (fds[i] < maxfds) fds[kept++] = fds[i];
    return kept;
}

/* Memory from calloc takes no pages until it is written, and most of the possible fds are never used. */
static struct ringSource *aeUringResizedSources(const struct aeRing *r, int maxfds) {
    struct ringSource *sources = zcalloc((size_t)maxfds, sizeof *sources);
    int kept = maxfds < r->maxfds ? maxfds : r->maxfds;
    if (kept) memcpy(sources, r->sources, (size_t)kept * sizeof *sources);
    zfree(r->sources);
    return sources;
}

/* `ready` has each fd once; to_start has it twice while it is being walked. */
void ringResize(struct aeRing *r, int maxfds) {
    serverAssert(maxfds <= FD_LIMIT);
    r->ready_count = aeUringKeepBelow(r->ready, r->ready_count, maxfds);
    r->to_start_count = aeUringKeepBelow(r->to_start, r->to_start_count, maxfds);
    r->sources = aeUringResizedSources(r, maxfds);
    r->ready = zrealloc(r->ready, (size_t)maxfds * sizeof *r->ready);
    r->to_start = zrealloc(r->to_start, (size_t)maxfds * 2 * sizeof *r->to_start);
    r->maxfds = maxfds;
}

/* ---- Sources ------------------------------------------------------------------------------------------- */

void ringStart(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    serverAssert(!s->wanted && !s->serial && !aeUringHasSomething(s));
    s->wanted = true;
    aeUringStartLater(r, fd);
}

void ringPause(struct aeRing *r, int fd) {
    r->sources[fd].paused = true;
}

void ringResume(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    s->paused = false;
    if (aeUringHasSomething(s)) aeUringList(r, fd);
}

void ringStop(struct aeRing *r, int fd) {
    aeUringCancelRequest(r, fd);
    sdsfree(aeUringEmptySource(r, &r->sources[fd]));
}

sds ringStopAndTake(struct aeRing *r, int fd) {
    struct ringSource *s = &r->sources[fd];
    aeUringCancelRequest(r, fd);
    while (s->serial && r->owner == getpid()) {
        int rc = io_uring_submit_and_wait(&r->uring, 1);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
            serverPanic("io_uring_submit_and_wait: %s", strerror(-rc));
        aeUringHandleCompletions(r);
    }
    return aeUringEmptySource(r, s);
}

static void aeUringNoteRead(struct aeRing *r, int fd, bool much) {
    struct ringSource *s = &r->sources[fd];
    bool before = s->bulk;
    s->small = much ? 0 : s->small + s->bulk;
    s->bulk = much || (s->bulk && s->small < BULK_ENDS);
    if (s->bulk != before) aeUringCancelRequest(r, fd);
}

static size_t aeUringTakeBuffers(struct aeRing *r, struct ringSource *s, char *dst, size_t len, bool *full) {
    size_t got = 0;
    while (s->filled && got < len) {
        uint32_t used = r->used[s->first], n = used - s->taken;
        if (n > len - got) n = (uint32_t)(len - got);
        memcpy(dst + got, aeUringBufferAt(r, s->first) + s->taken, n);
        got += n;
        s->taken += n;
        *full = used == BUFFER_SIZE;
        if (s->taken == used) aeUringDropFirst(r, s);
    }
    return got;
}

static ssize_t aeUringTakeFromSocket(struct ringSource *s, int fd, void *dst, size_t len) {
    ssize_t n = recv(fd, dst, len, MSG_DONTWAIT);
    if (n < 0) s->unsure = false;
    s->readable = n == (ssize_t)len || s->unsure;
    return n;
}

/* A full last buffer usually means that there is more, which is read straight to its destination. */
ssize_t ringRead(struct aeRing *r, int fd, void *buf, size_t len) {
    struct ringSource *s = &r->sources[fd];
    bool full = false;
    ssize_t n = 0;
    size_t got = s->stash ? aeUringReadStash(s, buf, len) : 0;
    got += aeUringTakeBuffers(r, s, (char *)buf + got, len - got, &full);
    if (!got && s->ended) {
        errno = s->error;
        s->error = 0;
        return errno ? -1 : 0;
    }
    if (!got || (got < len && full && !s->ended))
        n = aeUringTakeFromSocket(s, fd, (char *)buf + got, len - got);
    if (n > 0) got += (size_t)n;
    if (got) aeUringNoteRead(r, fd, len >= BULK || got > BUFFER_SIZE);
    if (!s->stash && !s->filled) aeUringStartLater(r, fd);
    return got ? (ssize_t)got : n;
}

static void aeUringPrepareSend(struct aeRing *r, int i, struct msghdr *msg) {
    struct aeSend *send = &r->sends[i];
    struct io_uring_sqe *sqe = aeUringPrepare(r);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL;
    *msg = (struct msghdr){.msg_iov = (struct iovec *)send->iov, .msg_iovlen = (size_t)send->count};
    if (send->count == 1 && send->iov->iov_len <= INT_MAX)
        io_uring_prep_send(sqe, send->fd, send->iov->iov_base, send->iov->iov_len, flags);
    else
        io_uring_prep_sendmsg(sqe, send->fd, msg, (unsigned)flags);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, TAG_SEND | (unsigned)i);
    send->result = 0;
    for (int k = 0; k < send->count; k++) send->result += (ssize_t)send->iov[k].iov_len;
}

bool ringSend(struct aeRing *r, struct aeSend *sends, int n) {
    if (r->owner != getpid()) return false;
    for (int done = 0; done < n; done += SENDS_MAX) {
        struct msghdr msgs[SENDS_MAX];
        int count = n - done < SENDS_MAX ? n - done : SENDS_MAX;
        r->sends = sends + done;
        for (int i = 0; i < count; i++) aeUringPrepareSend(r, i, &msgs[i]);
        aeUringSubmit(r);
        r->sends = NULL;
    }
    return true;
}

/* ---- Waiting ------------------------------------------------------------------------------------------- */

/* liburing has a function for this, but Debian's library does not export it. */
static void aeUringEnable(struct aeRing *r) {
    if (syscall(__NR_io_uring_register, r->uring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) < 0)
        serverPanic("IORING_REGISTER_ENABLE_RINGS: %s", strerror(errno));
    io_uring_register_ring_fd(&r->uring); /* saves a little per call; it may fail */
    r->owner = getpid();
}

/* A turn has passed: what has not been read is stashed, which frees the buffers, and reported again
 * unless the source is paused. */
static void aeUringStashUnread(struct aeRing *r) {
    int kept = 0;
    for (int i = 0; i < r->ready_count; i++) {
        int fd = r->ready[i];
        struct ringSource *s = &r->sources[fd];
        if (s->filled) aeUringStash(r, s);
        if (aeUringStashLen(s) >= STASH_MAX || (s->paused && s->readable)) aeUringCancelRequest(r, fd);
        s->listed = s->wanted && !s->paused && aeUringHasSomething(s);
        if (s->listed) r->ready[kept++] = fd;
    }
    r->ready_count = kept;
}

static unsigned aeUringEnter(struct aeRing *r, int timeout_ms) {
    struct __kernel_timespec ts = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000ll};
    struct io_uring_cqe *cqe;
    int rc = timeout_ms == 0  ? io_uring_submit_and_get_events(&r->uring)
             : timeout_ms < 0 ? io_uring_submit_and_wait(&r->uring, 1)
                              : io_uring_submit_and_wait_timeout(&r->uring, &cqe, 1, &ts, NULL);
    if (rc < 0 && rc != -EINTR && rc != -ETIME && rc != -EAGAIN && rc != -EBUSY)
        serverPanic("io_uring_enter: %s", strerror(-rc));
    unsigned count = aeUringHandleCompletions(r);
    if (r->lacks) aeUringProvideMore(r, 2 * r->provided);
    aeUringSubmit(r); /* rarely needed: what has not been submitted */
    return count;
}

int ringWait(struct aeRing *r, int *fds, int max, int timeout_ms, bool *epoll) {
    if (!r->owner) aeUringEnable(r);
    aeUringStashUnread(r);
    aeUringMakeRequests(r);
    aeUringPollOthers(r);
    unsigned count = aeUringEnter(r, r->ready_count || r->epoll_ready || r->woken ? 0 : timeout_ms);
    while (count >= ENTER_AGAIN_AT && r->in_use < BUFFERS / 2) count = aeUringEnter(r, 0);
    if (epoll) {
        *epoll = r->epoll_ready;
        r->epoll_ready = r->woken = false;
    }
    int n = r->ready_count < max ? r->ready_count : max;
    if (n) memcpy(fds, r->ready, (size_t)n * sizeof *fds);
    return n;
}

int ringFd(const struct aeRing *r) {
    return r->uring.ring_fd;
}
