/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h - starts threads beside the main thread. */
#pragma once

#include <pthread.h>
#include <stdint.h>

/* Works like pthread_create. The main thread handles the signals that other processes send. The new
 * thread only takes those of its own faults, and the one with which the crash report requests its stack.
 * Returns 0 or an error number. */
int threadCreate(pthread_t *thread, void *(*fn)(void *), void *arg);

/* Asks the scheduler for turns of this length (100 us to 100 ms) for the calling thread. Its share of the
 * processor, its niceness and its policy stay the same; a thread with shorter turns interrupts it as soon as
 * it is woken. Linux before 6.12 has no such setting and ignores it. */
void threadSetSlice(int64_t us);
