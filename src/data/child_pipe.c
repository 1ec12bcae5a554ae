/* SPDX-License-Identifier: BSD-3-Clause */
/* child_pipe.c - see child_pipe.h. */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include "data/child_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "data/child.h"
#include "net/ae.h"

#define PIPE_BYTES (1024 * 1024) /* usually the most that is allowed */
#define WAIT_MS    10

bool childPipeOpen(int fds[2]) {
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* saves turns; it may fail */
    return true;
}

int childPipeSink(void *priv, const char *p, size_t n) {
    int fd = *(const int *)priv;
    while (n) {
        if (childIsCancelled()) return ECANCELED;
        ssize_t written = write(fd, p, n);
        if (written < 0 && errno == EAGAIN) {
            aeWait(fd, AE_WRITABLE, WAIT_MS);
        } else if (written < 0 && errno != EINTR) {
            return errno;
        } else if (written > 0) {
            p += written;
            n -= (size_t)written;
        }
    }
    return 0;
}
