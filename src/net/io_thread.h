/* SPDX-License-Identifier: BSD-3-Clause */
/* io_thread.h - threads that move bytes for the main thread, each with an event loop of its own and a
 * queue in either direction.
 *
 *     main thread                                        I/O thread
 *       ioThreadSend ──▶ to_thread ──▶ handlers->to_thread    sockets, parsing, sending
 *       handlers->to_main ◀── to_main ◀── ioThreadPost        the results
 *
 * Invariants
 *  1. Whatever a message points to belongs to one thread at a time: to its sender before it is published, to
 *     its receiver afterwards. Nothing else is shared except counters that are atomics with one writer.
 *  2. An I/O thread never waits for the main thread, except while that holds it: messages for which the queue
 *     has no space wait in a list of the thread. So the main thread may wait for an I/O thread, and does when
 *     the queue to it is full.
 *  3. Messages from one thread to another arrive in the order in which they were sent.
 *  4. A thread that has nothing to do sleeps in its poll, and a sender that publishes a message to it wakes
 *     it. The sleeper announces that it sleeps, then looks at its queue once more; the sender publishes, then
 *     looks whether the other sleeps. These four steps are sequentially consistent, so one of the two sees
 *     the other. An I/O thread may finish other work first: it wakes the main thread when a batch of messages
 *     has come together, and at the latest before it sleeps.
 *
 * The users define which bytes are moved and what a message means (command/io_client.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/ae.h"
#include "net/io_queue.h"

#define IO_THREADS_MAX 255 /* besides the main thread */

struct ioThread;

struct ioThreadHandlers {
    /* Called in the I/O thread for each message. */
    void (*to_thread)(struct ioThread *t, const struct ioMessage *m);
    /* Called in the main thread for each message. */
    void (*to_main)(struct ioThread *t, const struct ioMessage *m);
    /* Called in the main thread before several messages are handled: prefetches what to_main will read. The
     * first lines of `port` and `a` are being fetched by then. */
    void (*fetch)(const struct ioMessage *m);
    /* Called in the main thread: `create` before the thread starts (the result is ioThreadState from then
     * on), `destroy` when it has ended. */
    void *(*create)(struct ioThread *t);
    void (*destroy)(void *state);
    /* Called in the I/O thread: `turn` when all messages of a turn have been handled, `end` as it ends.
     * `turn` returns whether there is work that takes long. Then `long_work` does a piece of it, when all
     * that the turn has posted is published, and the thread polls without sleeping. */
    bool (*turn)(struct ioThread *t);
    void (*long_work)(struct ioThread *t);
    void (*end)(struct ioThread *t);
};

/* ---- For the main thread ---- */

/* Called once, before the first thread. */
void ioThreadsInit(struct aeEventLoop *main_loop, const struct ioThreadHandlers *handlers);
/* Starts a thread. number: 1 ..., part of its name. cpulist: the processors on which it may run, read as it
 * starts; NULL: any. Returns NULL and errno on failure. */
struct ioThread *ioThreadStart(int number, const char *cpulist);
/* Waits until the thread has handled all messages, receives the ones it sent, and ends it. */
void ioThreadStop(struct ioThread *t);

/* Sends a message, which the thread sees after the next ioThreadFlush. Waits while the queue is full. */
void ioThreadSend(struct ioThread *t, struct ioMessage m);
void ioThreadFlush(struct ioThread *t); /* publishes, and wakes the thread if it sleeps */
/* Calls to_main for each message that the thread has sent so far, and returns how many there were. Must
 * not be called from to_main. */
int ioThreadReceive(struct ioThread *t);
/* Like ioThreadReceive, but waits until there is a message. */
void ioThreadAwait(struct ioThread *t);
/* Stops all threads between two turns until they are released, so that the main thread may change what they
 * read. No messages are sent meanwhile. */
void ioThreadsHold(void);
void ioThreadsRelease(void);
/* To be called before the main thread sleeps, and when it has woken. While it sleeps, a thread that sends a
 * message wakes its loop. False: a thread has sent a message meanwhile, so the loop must not sleep. */
bool ioMainSleeps(void);
void ioMainWakes(void);

int ioThreadNumber(const struct ioThread *t);
size_t ioThreadMemory(const struct ioThread *t); /* bytes, without its state */
/* Returns the CPU time of the thread in nanoseconds; any thread may call it. */
uint64_t ioThreadCpuNs(const struct ioThread *t);
int ioThreadTid(const struct ioThread *t);        /* 0: it has not started */
size_t ioThreadCountToMain(struct ioThread *t);   /* messages that the main thread has not taken */
size_t ioThreadCountToThread(struct ioThread *t); /* messages that the thread has not taken */

/* ---- For the I/O thread ---- */

/* Sends a message, which the main thread sees when this turn of the loop ends, or when there is a batch
 * of messages. Never waits. */
void ioThreadPost(struct ioThread *t, struct ioMessage m);
struct aeEventLoop *ioThreadLoop(const struct ioThread *t);
void *ioThreadState(const struct ioThread *t);
