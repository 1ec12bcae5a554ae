/* SPDX-License-Identifier: BSD-3-Clause */
/* background.h - background threads: for what may take long and needs none of the main thread's data. One
 * thread per kind of work, a bounded queue each; when a queue is full the caller does the work itself. */
#pragma once

#include <stddef.h>

enum bioKind { BIO_CLOSE_FILE, BIO_FSYNC, BIO_LAZY_FREE, BIO_KINDS };
typedef void bioJob(void *arg);

/* Before bioInit and after bioStop the job is run at once, by the caller. */
void bioSubmit(enum bioKind kind, bioJob *job, void *arg);
size_t bioPending(enum bioKind kind); /* jobs that wait or run */
void bioDrain(enum bioKind kind);     /* wait until the queue is empty and idle */

void bioRegister(void); /* bio-cpulist */
void bioInit(void);     /* starts the threads; ends the program when there can be none */
void bioStop(void);     /* ends them, when all jobs are done */
