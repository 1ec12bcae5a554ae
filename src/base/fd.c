/* SPDX-License-Identifier: BSD-3-Clause */
/* fd.c - see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

bool fdWriteAll(int fd, struct str bytes) {
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes = strN(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return true;
}
