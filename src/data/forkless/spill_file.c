/* SPDX-License-Identifier: BSD-3-Clause */
/* spill_file.c - see spill_file.h.
 *
 *     offsets   | written .............. | in work | waiting .......... |
 *                                        ^ first                        ^ taken
 *
 * The writer thread removes a chunk only when it has been written, so after a failure the list begins with
 * the first byte that is not in the file, and does not change any more. */
#define _GNU_SOURCE /* mkostemp */
#include "data/forkless/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/thread.h"
#include "base/zmalloc.h"

struct spillChunk {
    struct spillChunk *next;
    uint64_t offset;
    sds bytes;
};

struct spillFile {
    /* Main thread: */
    bool started;
    uint64_t taken;
    /* With the lock: */
    pthread_mutex_t lock;
    pthread_cond_t more, progress;
    struct spillChunk *first, *last;
    bool ended, cancelled;
    /* Changed with the lock: */
    _Atomic(uint64_t) written;
    atomic_int error;
    int fd; /* the writer's; the reader's once something has been written */
    /* Reader: */
    struct spillChunk *read_last; /* after an error */
};

struct spillFile *spillFileCreate(void) {
    struct spillFile *f = zcalloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->more, NULL);
    pthread_cond_init(&f->progress, NULL);
    f->fd = -1;
    return f;
}

/* ---- Writer thread ---- */

static void spillFileFreeChunk(struct spillChunk *c) {
    sdsfree(c->bytes);
    zfree(c);
}

static void spillFileDestroy(struct spillFile *f) {
    if (f->fd >= 0) close(f->fd);
    for (struct spillChunk *c = f->first, *next; c; c = next) {
        next = c->next;
        spillFileFreeChunk(c);
    }
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->more);
    pthread_cond_destroy(&f->progress);
    zfree(f);
}

static int spillFileOpen(struct spillFile *f) {
    char path[] = "temp-spill-XXXXXX";
    f->fd = mkostemp(path, O_CLOEXEC);
    return f->fd < 0 || unlink(path) < 0 ? errno : 0;
}

static int spillFileWrite(struct spillFile *f, const struct spillChunk *c) {
    int error = f->fd < 0 ? spillFileOpen(f) : 0;
    for (size_t done = 0, size = sdslen(c->bytes); !error && done < size;) {
        ssize_t n = write(f->fd, c->bytes + done, size - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            error = errno;
    }
    return error;
}

/* Takes note that the first chunk has been written. Called with the lock. */
static void spillFilePop(struct spillFile *f) {
    struct spillChunk *c = f->first;
    f->first = c->next;
    if (!f->first) f->last = NULL;
    atomic_store(&f->written, c->offset + sdslen(c->bytes));
}

static void *spillFileRun(void *arg) {
    struct spillFile *f = arg;
    zmallocThreadStart();
    pthread_mutex_lock(&f->lock);
    while (!f->ended) {
        struct spillChunk *c = f->first;
        if (!c || f->error) {
            pthread_cond_wait(&f->more, &f->lock);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        int error = spillFileWrite(f, c);
        pthread_mutex_lock(&f->lock);
        if (error)
            atomic_store(&f->error, error);
        else
            spillFilePop(f);
        pthread_cond_signal(&f->progress);
        if (error) continue;
        pthread_mutex_unlock(&f->lock);
        spillFileFreeChunk(c);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    spillFileDestroy(f);
    zmallocThreadExit();
    return NULL;
}

/* ---- Main thread ---- */

static void spillFileStart(struct spillFile *f) {
    pthread_t thread;
    int error = threadCreate(&thread, spillFileRun, f);
    if (error) {
        atomic_store(&f->error, error);
        return;
    }
    pthread_detach(thread);
    f->started = true;
}

bool spillFilePut(struct spillFile *f, sds bytes, struct spillExtent *at) {
    if (!f->started && !f->error) spillFileStart(f);
    if (f->error) return false;
    struct spillChunk *c = zmalloc(sizeof *c);
    *c = (struct spillChunk){.offset = f->taken, .bytes = bytes};
    *at = (struct spillExtent){f->taken, sdslen(bytes)};
    f->taken += sdslen(bytes);
    pthread_mutex_lock(&f->lock);
    if (f->last)
        f->last->next = c;
    else
        f->first = c;
    f->last = c;
    pthread_cond_signal(&f->more);
    pthread_mutex_unlock(&f->lock);
    return true;
}

uint64_t spillFileWaiting(const struct spillFile *f) {
    return f->taken - atomic_load_explicit(&f->written, memory_order_relaxed);
}

uint64_t spillFileTaken(const struct spillFile *f) {
    return f->taken;
}

int spillFileError(const struct spillFile *f) {
    return f->error;
}

void spillFileCancel(struct spillFile *f) {
    pthread_mutex_lock(&f->lock);
    f->cancelled = true;
    pthread_cond_signal(&f->progress);
    pthread_mutex_unlock(&f->lock);
}

void spillFileFree(struct spillFile *f) {
    if (!f->started) {
        spillFileDestroy(f);
        return;
    }
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    pthread_cond_signal(&f->more);
    pthread_mutex_unlock(&f->lock);
}

/* ---- Reader thread ---- */

/* Returns how many bytes from the offset on are in the file; 0 after an error or when it is cancelled. */
static uint64_t spillFileAwait(struct spillFile *f, uint64_t offset, bool *cancelled) {
    uint64_t written = atomic_load(&f->written);
    if (written > offset) return written - offset;
    pthread_mutex_lock(&f->lock);
    while (f->written <= offset && !f->error && !f->cancelled) pthread_cond_wait(&f->progress, &f->lock);
    *cancelled = f->cancelled;
    written = f->written;
    pthread_mutex_unlock(&f->lock);
    return written > offset ? written - offset : 0;
}

/* Most reads go on where the last one ended. */
static size_t spillFileReadChunk(struct spillFile *f, uint64_t offset, char *p, size_t n) {
    struct spillChunk *c = f->read_last;
    if (!c || c->offset > offset) c = f->first;
    while (offset - c->offset >= sdslen(c->bytes)) c = c->next;
    f->read_last = c;
    size_t skip = (size_t)(offset - c->offset), left = sdslen(c->bytes) - skip;
    if (left < n) n = left;
    memcpy(p, c->bytes + skip, n);
    return n;
}

size_t spillFileRead(struct spillFile *f, uint64_t offset, char *p, size_t n, int *error) {
    bool cancelled = false;
    uint64_t in_file = spillFileAwait(f, offset, &cancelled);
    *error = ECANCELED;
    if (cancelled) return 0;
    if (!in_file) return spillFileReadChunk(f, offset, p, n);
    ssize_t got = pread(f->fd, p, in_file < n ? (size_t)in_file : n, (off_t)offset);
    while (got < 0 && errno == EINTR) got = pread(f->fd, p, in_file < n ? (size_t)in_file : n, (off_t)offset);
    *error = got < 0 ? errno : EIO; /* a file that is shorter than what was written to it */
    return got > 0 ? (size_t)got : 0;
}
