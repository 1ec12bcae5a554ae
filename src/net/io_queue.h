/* SPDX-License-Identifier: BSD-3-Clause */
/* io_queue.h - a bounded queue of messages from one thread to another, without locks.
 *
 *     ring[tail .. head)    messages waiting; both counters only grow, a place is counter & (size - 1)
 *
 *     producer              writes ring[next] as often as it likes, then publishes: head = next
 *     consumer              takes ring[tail], then releases the place: tail = tail + 1
 *
 * Each side keeps a copy of the other's counter and reads the real one only when the copy says that the queue
 * is empty (or full), so that usually neither touches a cache line that the other writes. A message and
 * everything that it points to belong to the sender until it is published, then to the receiver.
 *
 * After: L. Lamport, Proving the correctness of multiprocess programs, 1977; the copies of
 * counters: J. Giacomoni et al., FastForward, 2008 and P. Lee et al., A lock-free, cache-efficient
 * shared ring buffer, 2009. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IO_QUEUE_LINE 64

struct ioMessage {
    uint32_t what, flags; /* defined by the users */
    void *port, *a, *b;
};
_Static_assert(sizeof(struct ioMessage) == 32, "two to a cache line");

struct ioQueue {
    struct ioMessage *ring;
    size_t size; /* a power of two */
    struct {
        _Alignas(IO_QUEUE_LINE) _Atomic size_t head; /* published */
        size_t next;                                 /* written */
        size_t tail_seen;
    } producer;
    struct {
        _Alignas(IO_QUEUE_LINE) _Atomic size_t tail;
        size_t next; /* taken; released by ioQueueRelease */
        size_t head_seen;
    } consumer;
};

void ioQueueInit(struct ioQueue *q, size_t size); /* a power of two */
void ioQueueFree(struct ioQueue *q);              /* when neither thread uses it any more */

/* Returns about how many messages are published and not taken; either thread may call it. */
static inline size_t ioQueueWaiting(struct ioQueue *q) {
    return atomic_load_explicit(&q->producer.head, memory_order_relaxed) -
           atomic_load_explicit(&q->consumer.tail, memory_order_relaxed);
}

/* ---- Producer ---- */

/* Adds a message, which the other side sees only when it is published. False: the queue is full. */
static inline bool ioQueuePut(struct ioQueue *q, struct ioMessage m) {
    if (q->producer.next - q->producer.tail_seen == q->size) {
        q->producer.tail_seen = atomic_load_explicit(&q->consumer.tail, memory_order_acquire);
        if (q->producer.next - q->producer.tail_seen == q->size) return false;
    }
    q->ring[q->producer.next++ & (q->size - 1)] = m;
    return true;
}
/* Publishes what was put. Returns whether there was anything to publish. */
static inline bool ioQueuePublish(struct ioQueue *q) {
    if (q->producer.next == atomic_load_explicit(&q->producer.head, memory_order_relaxed)) return false;
    /* ordered before the check whether the other side sleeps */
    atomic_store(&q->producer.head, q->producer.next);
    return true;
}

/* ---- Consumer ---- */

/* Takes a message, whose place can be used again when it is released. False: there is none. */
static inline bool ioQueueTake(struct ioQueue *q, struct ioMessage *m) {
    if (q->consumer.next == q->consumer.head_seen) {
        q->consumer.head_seen = atomic_load_explicit(&q->producer.head, memory_order_acquire);
        if (q->consumer.next == q->consumer.head_seen) return false;
    }
    *m = q->ring[q->consumer.next++ & (q->size - 1)];
    return true;
}
/* Releases the places of all messages that were taken. */
static inline void ioQueueRelease(struct ioQueue *q) {
    atomic_store_explicit(&q->consumer.tail, q->consumer.next, memory_order_release);
}
/* Returns whether there is nothing to take. For a consumer that has announced that it will sleep. */
static inline bool ioQueueEmpty(struct ioQueue *q) {
    return q->consumer.next == atomic_load(&q->producer.head);
}
