/* SPDX-License-Identifier: BSD-3-Clause */
/* child_pipe.h - a pipe through which a child (child.h), a process or a thread, sends a snapshot to the loop.
 *
 *     child ── childPipeSink ──▶ pipe ──▶ an event of the loop
 *
 * Neither end blocks. While the pipe is full, the child waits in short steps, so that a thread also ends
 * after childStop when nobody reads the pipe, as in childKill. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Opens fds[0], which the loop reads, and fds[1], which the child writes to. False: errno says why. */
bool childPipeOpen(int fds[2]);
/* A sink of struct rioWriter: priv points to the descriptor (an int). ECANCELED after childStop. */
int childPipeSink(void *priv, const char *p, size_t n);
