/* SPDX-License-Identifier: BSD-3-Clause */
/* io_thread.h - threads that move bytes for the main thread: each with an event loop of its own, and a queue
 * in either direction.
 *
 *     main thread                                        I/O thread
 *       ioThreadSend ──▶ to_thread ──▶ types->received (of the thread)    sockets, parsing, sending
 *       received (of the main) ◀── to_main ◀── ioThreadPost               what came of it
 *
 * Invariants
 *  1. Whatever a message points to belongs to one thread at a time: to its sender before it is published, to
 *     its receiver afterwards. Nothing else is shared, but for counters that are atomics of one writer.
 *  2. An I/O thread never waits for the main thread, but where that holds it: what the queue has no room for
 *     waits in a list of its own. So the main thread may wait for an I/O thread, and does where the queue to
 *     it is full.
 *  3. Messages from one thread to another arrive in the order in which they were sent.
 *  4. A thread that has nothing to do sleeps in its poll. Who publishes a message to one that sleeps wakes
 *     it: the sleeper says so, then looks at its queue once more; the sender publishes, then looks whether
 *     the other sleeps. These four steps are sequentially consistent, so one of the two sees the other. An
 *     I/O thread that has more to do may do that first: it wakes the main thread when a batch of messages
 *     has come together, and at the latest before it sleeps.
 *
 * Which bytes these are, and what a message means, the room above knows (command/io_client.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/ae.h"
#include "net/io_queue.h"

#define IO_THREADS_MAX 255 /* besides the main thread */

struct ioThread;

struct ioThreadHandlers {
    /* In the I/O thread, for each message. */
    void (*to_thread)(struct ioThread *t, const struct ioMessage *m);
    /* In the main thread, for each message. */
    void (*to_main)(struct ioThread *t, const struct ioMessage *m);
    /* In the main thread, before several messages are handled: fetches what to_main will look at. By then the
     * first lines of `port` and `a` are on their way. */
    void (*fetch)(const struct ioMessage *m);
    /* In the I/O thread: as it begins, before its loop runs; what it returns is ioThreadState from then on.
     * When all messages of a turn have been handled. As it ends. */
    void *(*begin)(struct ioThread *t);
    void (*turn)(struct ioThread *t);
    void (*end)(struct ioThread *t);
};

/* ---- For the main thread ---- */

/* Once, before the first thread. cpulist: of processors they may run on, NULL: any; read when one starts. */
void ioThreadsInit(struct aeEventLoop *main_loop, const struct ioThreadHandlers *handlers);
/* number: 1 ..., part of its name. NULL and errno: it could not be had. */
struct ioThread *ioThreadStart(int number, const char *cpulist);
/* Waits until it has done all that it was told, hears what it said, and ends it. */
void ioThreadStop(struct ioThread *t);

/* Seen by the thread after the next ioThreadFlush. Waits where the queue is full. */
void ioThreadSend(struct ioThread *t, struct ioMessage m);
void ioThreadFlush(struct ioThread *t); /* publishes, and wakes the thread when it sleeps */
/* Hears what the thread has said so far: to_main is called for each message. How many there were. Not from
 * to_main. */
int ioThreadReceive(struct ioThread *t);
/* The same, waiting until it says something. */
void ioThreadAwait(struct ioThread *t);
/* All threads stand still between two turns until they are released: the main thread changes what they read.
 * They are told nothing meanwhile. */
void ioThreadsHold(void);
void ioThreadsRelease(void);
/* Before the main thread sleeps, and when it has woken. False: a thread has said something meanwhile, so the
 * loop must not sleep. While the main thread sleeps, whoever has something to say wakes its loop. */
bool ioMainSleeps(void);
void ioMainWakes(void);

int ioThreadNumber(const struct ioThread *t);
size_t ioThreadMemory(const struct ioThread *t); /* bytes, but for its state */
/* Nanoseconds of a processor that it has used. From any thread. */
uint64_t ioThreadCpuNs(const struct ioThread *t);
int ioThreadTid(const struct ioThread *t);  /* 0: it has not begun */
size_t ioThreadUnheard(struct ioThread *t); /* messages that the main thread has not taken */
size_t ioThreadUnread(struct ioThread *t);  /* that the thread has not taken */

/* ---- For the I/O thread ---- */

/* Seen by the main thread when this turn of the loop ends, or when there is a batch of messages. Never waits.
 */
void ioThreadPost(struct ioThread *t, struct ioMessage m);
struct aeEventLoop *ioThreadLoop(const struct ioThread *t);
void *ioThreadState(const struct ioThread *t);
