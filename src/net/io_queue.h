/* SPDX-License-Identifier: BSD-3-Clause */
/* io_queue.h - a bounded queue of messages from one thread to one other, without locks.
 *
 *     ring[tail .. head)    messages waiting; both counters only grow, a place is counter & (size - 1)
 *
 *     producer              writes ring[next] as often as it likes, then publishes: head = next
 *     consumer              takes ring[tail], then gives the place back: tail = tail + 1
 *
 * Each side keeps a copy of the other's counter and looks at the real one only when the copy says that there
 * is nothing (or no room): in the usual case neither touches a line that the other writes. What a message
 * says, and everything that it points to, belongs to the sender until it is published, then to the receiver.
 *
 * After: L. Lamport, Proving the correctness of multiprocess programs, 1977; the copies of counters: J.
 * Giacomoni et al., FastForward, 2008 and P. Lee et al., A lock-free, cache-efficient shared ring buffer,
 * 2009. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IO_QUEUE_LINE 64

struct ioMessage {
    uint32_t what, flags; /* the parties' */
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
        size_t next; /* taken; given back by ioQueueRelease */
        size_t head_seen;
    } consumer;
};

void ioQueueInit(struct ioQueue *q, size_t size); /* a power of two */
void ioQueueFree(struct ioQueue *q);              /* when neither thread uses it any more */

/* Messages that are published and not taken; for either thread, and rough. */
static inline size_t ioQueueWaiting(struct ioQueue *q) {
    return atomic_load_explicit(&q->producer.head, memory_order_relaxed) -
           atomic_load_explicit(&q->consumer.tail, memory_order_relaxed);
}

/* ---- Producer ---- */

/* False: there is no room. What was put is seen by the other side only when it is published. */
static inline bool ioQueuePut(struct ioQueue *q, struct ioMessage m) {
    if (q->producer.next - q->producer.tail_seen == q->size) {
        q->producer.tail_seen = atomic_load_explicit(&q->consumer.tail, memory_order_acquire);
        if (q->producer.next - q->producer.tail_seen == q->size) return false;
    }
    q->ring[q->producer.next++ & (q->size - 1)] = m;
    return true;
}
/* True: there was something to publish. */
static inline bool ioQueuePublish(struct ioQueue *q) {
    if (q->producer.next == atomic_load_explicit(&q->producer.head, memory_order_relaxed)) return false;
    atomic_store(&q->producer.head, q->producer.next); /* before a look at whether the other side sleeps */
    return true;
}

/* ---- Consumer ---- */

/* False: there is nothing. The place can be used again when it is released. */
static inline bool ioQueueTake(struct ioQueue *q, struct ioMessage *m) {
    if (q->consumer.next == q->consumer.head_seen) {
        q->consumer.head_seen = atomic_load_explicit(&q->producer.head, memory_order_acquire);
        if (q->consumer.next == q->consumer.head_seen) return false;
    }
    *m = q->ring[q->consumer.next++ & (q->size - 1)];
    return true;
}
/* Gives back the places of all that was taken. */
static inline void ioQueueRelease(struct ioQueue *q) {
    atomic_store_explicit(&q->consumer.tail, q->consumer.next, memory_order_release);
}
/* Is there nothing to take? For the consumer, after it has said that it will sleep. */
static inline bool ioQueueEmpty(struct ioQueue *q) {
    return q->consumer.next == atomic_load(&q->producer.head);
}
