/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h - threads beside the main thread. */
#pragma once

#include <pthread.h>

/* As pthread_create. What others send the process is the main thread's: the new one takes only the signals of
 * its own faults, and the one with which the crash report asks for its stack. 0, or an error number. */
int threadCreate(pthread_t *thread, void *(*fn)(void *), void *arg);
