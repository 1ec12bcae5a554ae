/* SPDX-License-Identifier: BSD-3-Clause */
/* io_queue.c - see io_queue.h. */
#include "net/io_queue.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

void ioQueueInit(struct ioQueue *q, size_t size) {
    serverAssert(size && !(size & (size - 1)));
    memset(q, 0, sizeof *q);
    q->ring = zmalloc(size * sizeof *q->ring);
    q->size = size;
}

void ioQueueFree(struct ioQueue *q) {
    zfree(q->ring);
}
