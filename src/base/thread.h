/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h - starts threads beside the main thread. */
#pragma once

#include <pthread.h>

/* Works like pthread_create. The main thread handles the signals that other processes send. The new
 * thread only takes those of its own faults, and the one with which the crash report requests its stack.
 * Returns 0 or an error number. */
int threadCreate(pthread_t *thread, void *(*fn)(void *), void *arg);
