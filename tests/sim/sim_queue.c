/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_queue.c - see sim_queue.h. */
#include "tests/sim/sim_queue.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/zmalloc.h"

static bool simQueueIsEarlier(const struct simEvent *a, const struct simEvent *b) {
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

void simQueueAdd(struct simQueue *q, struct simEvent ev) {
    ev.order = ++q->order;
    if (q->count == q->capacity) {
        q->capacity = q->capacity ? 2 * q->capacity : 1024;
        q->heap = zrealloc(q->heap, (size_t)q->capacity * sizeof *q->heap);
    }
    int i = q->count++;
    for (; i && simQueueIsEarlier(&ev, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = ev;
}

struct simEvent simQueueTake(struct simQueue *q) {
    serverAssert(q->count > 0);
    struct simEvent first = q->heap[0], last = q->heap[--q->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && simQueueIsEarlier(&q->heap[child + 1], &q->heap[child])) child++;
        if (!simQueueIsEarlier(&q->heap[child], &last)) break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return first;
}

void simQueueFree(struct simQueue *q) {
    for (int i = 0; i < q->count; i++) sdsfree(q->heap[i].bytes);
    zfree(q->heap);
    *q = (struct simQueue){0};
}

uint64_t simRandom(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
