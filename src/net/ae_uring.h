/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_uring.h - what io_uring does for an event loop: it receives from streams into buffers of the ring, and
 * sends many replies with one system call. Only ae.c uses it.
 *
 * A ring belongs to one loop. It may be created and freed in any thread. The thread that first waits on it
 * owns it, and no other thread may call the other functions, except for ringFd. A child made by fork has no
 * access to its memory and must not use it. A build without liburing (BUILD_URING=no) has the same functions;
 * ringCreate fails there with ENOSYS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"
#include "net/ae_send.h"

struct aeRing;

/* Creates a ring for a loop whose other events are in epfd, with fds below maxfds; the eventfd wakefd wakes
 * the loop. NULL and errno: the kernel lacks what is needed (6.1), or does not allow it. */
struct aeRing *ringCreate(int epfd, int wakefd, int maxfds);
void ringFree(struct aeRing *ring);
void ringResize(struct aeRing *ring, int maxfds);

/* Receives from this stream socket from now on; ringWait reports the fd while it has bytes. */
void ringStart(struct aeRing *ring, int fd);
/* Keeps ringWait from reporting the fd until it is resumed; ringRead still returns what there is. */
void ringPause(struct aeRing *ring, int fd);
void ringResume(struct aeRing *ring, int fd);
/* Stops receiving and drops what has been received. The fd may be closed at once: the kernel releases the
 * socket when the loop waits next. */
void ringStop(struct aeRing *ring, int fd);
/* Stops receiving and returns what was received, owned by the caller; NULL: nothing. 1 or 2 system calls. */
sds ringStopAndTake(struct aeRing *ring, int fd);
/* Reads as read(2) would if the ring received nothing. */
ssize_t ringRead(struct aeRing *ring, int fd, void *buf, size_t len);

/* Makes all sends; none waits. False: no thread has waited on this ring yet, or it is the parent's. */
bool ringSend(struct aeRing *ring, struct aeSend *sends, int n);

/* Sleeps until something is ready or the loop is woken, at most timeout_ms (-1: no limit). Writes up to
 * max fds that have something to `fds` and returns how many; *epoll: epfd is ready, too. epoll NULL:
 * the events stay unreported. */
int ringWait(struct aeRing *ring, int *fds, int max, int timeout_ms, bool *epoll);
/* An fd that poll(2) reports as readable while ringWait would return at once. */
int ringFd(const struct aeRing *ring);
