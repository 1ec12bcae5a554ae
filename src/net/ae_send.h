/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_send.h - one of the sends that an event loop makes together (aeSendMany). */
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

struct aeSend {
    int fd, count;
    const struct iovec *iov;
    ssize_t result; /* bytes sent, or -errno */
};
