/* SPDX-License-Identifier: BSD-3-Clause */
/* background.h - background threads for work that may take long and needs no data of the main thread. Each
 * kind of work has one thread and a bounded queue; when a queue is full the caller does the work itself. */
#pragma once

#include <stddef.h>

enum bioKind { BIO_CLOSE_FILE, BIO_FSYNC, BIO_LAZY_FREE, BIO_KINDS };
typedef void bioJob(void *arg);

/* Submits a job. Before bioInit and after bioStop the caller runs it at once. */
void bioSubmit(enum bioKind kind, bioJob *job, void *arg);
size_t bioPending(enum bioKind kind); /* jobs waiting or running */
void bioDrain(enum bioKind kind);     /* waits until the queue is empty and idle */

void bioRegister(void); /* registers the directive bio-cpulist */
void bioInit(void);     /* starts the threads; exits when they cannot be started */
void bioStop(void);     /* stops them when all jobs are done */
