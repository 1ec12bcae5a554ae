/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_uring_none.c - the functions of ae_uring.h in a build without liburing (BUILD_URING=no). As there are no
 * rings, only ringCreate and ringFree are ever called. */
#include <errno.h>

#include "base/assert.h"
#include "net/ae_uring.h"

struct aeRing *ringCreate(int epfd, int wakefd, int maxfds) {
    (void)epfd, (void)wakefd, (void)maxfds;
    errno = ENOSYS;
    return NULL;
}

void ringFree(struct aeRing *ring) {
    serverAssert(!ring);
}

void ringResize(struct aeRing *ring, int maxfds) {
    (void)ring, (void)maxfds;
    serverPanic("no rings in this build");
}

void ringStart(struct aeRing *ring, int fd) {
    (void)ring, (void)fd;
    serverPanic("no rings in this build");
}

void ringPause(struct aeRing *ring, int fd) {
    (void)ring, (void)fd;
    serverPanic("no rings in this build");
}

void ringResume(struct aeRing *ring, int fd) {
    (void)ring, (void)fd;
    serverPanic("no rings in this build");
}

void ringStop(struct aeRing *ring, int fd) {
    (void)ring, (void)fd;
    serverPanic("no rings in this build");
}

sds ringStopAndTake(struct aeRing *ring, int fd) {
    (void)ring, (void)fd;
    serverPanic("no rings in this build");
}

ssize_t ringRead(struct aeRing *ring, int fd, void *buf, size_t len) {
    (void)ring, (void)fd, (void)buf, (void)len;
    serverPanic("no rings in this build");
}

bool ringSend(struct aeRing *ring, struct aeSend *sends, int n) {
    (void)ring, (void)sends, (void)n;
    serverPanic("no rings in this build");
}

int ringWait(struct aeRing *ring, int *fds, int max, int timeout_ms, bool *epoll) {
    (void)ring, (void)fds, (void)max, (void)timeout_ms, (void)epoll;
    serverPanic("no rings in this build");
}

int ringFd(const struct aeRing *ring) {
    (void)ring;
    serverPanic("no rings in this build");
}
