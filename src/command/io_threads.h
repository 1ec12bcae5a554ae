/* SPDX-License-Identifier: BSD-3-Clause */
/* io_threads.h - how many I/O threads there are, and whose connections they have.
 *
 * `io-threads` counts the main thread; the others are started when the load asks for them, and sleep when it
 * does not. Load is the processor time that threads use: a main thread that has little to do keeps all
 * connections at home, which is quickest then. Never are more threads busy than processors are left beside
 * the main thread's; how many there are within these limits io_policy.h says. `io-threads-always-active` (for
 * tests) gives every connection away at once. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

void ioThreadsRegister(void); /* directives, INFO fields, job */
void ioThreadsBegin(void);    /* when there is an event loop */
void ioThreadsReceive(void);  /* what threads have read and done: before the round runs */
/* The same, once more before the loop polls. False: there was nothing, or it is time to poll. */
void ioThreadsTurnBegins(void);
bool ioThreadsReceiveMore(void);
void ioThreadsFlush(void);            /* threads see what they were told */
bool ioThreadsTake(struct client *c); /* a new client: a thread gets it, where threads are active */
/* The last thing before the process ends: threads send what they were given, as far as sockets take it, and
 * end. */
void ioThreadsEnd(void);
