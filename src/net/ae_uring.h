/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_uring.h - what io_uring does for an event loop (ae.c, and nobody else): it receives from streams into
 * buffers of the ring, and sends many replies with one system call.
 *
 * A ring belongs to one loop. It may be created and freed in any thread; whoever waits first owns it, and
 * nobody else may call the rest. A child made by fork has none of its memory, and must leave it alone. A
 * build without liburing (BUILD_URING=no) has the same functions: ringCreate fails there with ENOSYS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"
#include "net/ae_send.h"

struct aeRing;

/* For a loop whose other events are in epfd, with fds below maxfds; it is woken by the eventfd wakefd. NULL
 * and errno: the kernel has not what is needed (6.1), or does not allow it. */
struct aeRing *ringCreate(int epfd, int wakefd, int maxfds);
void ringFree(struct aeRing *ring);
void ringResize(struct aeRing *ring, int maxfds);

/* From now on bytes are taken from this stream socket, and ringWait tells while there are some. */
void ringStart(struct aeRing *ring, int fd);
/* Until it is resumed, ringWait is silent about it; ringRead gives what there is. */
void ringPause(struct aeRing *ring, int fd);
void ringResume(struct aeRing *ring, int fd);
/* No more; what has been taken is dropped. The fd may be closed at once: the kernel lets go of the socket
 * when the loop waits next. */
void ringStop(struct aeRing *ring, int fd);
/* No more; what has been taken is the caller's, NULL: nothing. One or two system calls. */
sds ringHandBack(struct aeRing *ring, int fd);
ssize_t ringRead(struct aeRing *ring, int fd, void *buf,
                 size_t len); /* as read(2), had the ring taken nothing */

/* None of them waits. False: nobody has waited on this ring yet, or it is the parent's. */
bool ringSend(struct aeRing *ring, struct aeSend *sends, int n);

/* Sleep until something is ready, or somebody wakes us, at most timeout_ms (-1: no limit). Up to max fds for
 * which there is something; *epoll: something in epfd is ready, too. NULL: nothing counts as told. */
int ringWait(struct aeRing *ring, int *fds, int max, int timeout_ms, bool *epoll);
