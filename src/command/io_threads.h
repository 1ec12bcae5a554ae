/* SPDX-License-Identifier: BSD-3-Clause */
/* io_threads.h - starts and stops I/O threads and decides which connections they get.
 *
 * `io-threads` counts the main thread; the others are started when the load requires them, and sleep when it
 * does not. Load is the processor time that threads use: a main thread with little to do keeps all
 * connections, which is fastest then. Never more threads are busy than there are processors beside the main
 * thread's; within these limits io_policy.h decides. `io-threads-always-active` (for tests) offloads every
 * connection at once. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

void ioThreadsRegister(void);   /* directives, INFO fields, job */
void ioThreadsBegin(void);      /* when there is an event loop */
void ioThreadsReceive(void);    /* takes what threads have read and done, before the turn runs */
void ioThreadsTurnBegins(void); /* notes the time by which the loop has to poll again */
/* Takes more of it before the loop polls. False: there was nothing, or it is time to poll. */
bool ioThreadsReceiveMore(void);
void ioThreadsFlush(void);               /* makes threads see their messages */
bool ioThreadsOffload(struct client *c); /* offloads a new client when threads are active */
/* Called last, before the process ends: threads send what their sockets take, and stop. */
void ioThreadsEnd(void);
