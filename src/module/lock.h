/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h - the lock that says which thread may touch the server: the main thread holds it except while it
 * sleeps in its poll. Then a thread of a module can take it.
 *
 *     main thread   ── turn ──┐ give              take ┌── turn ── ...
 *                             └──── poll ──────────────┘
 *     a thread                   take ── section ── give
 *
 * The lock is granted in the order of requests. A thread gets it at the latest when the main thread sleeps
 * next, and the main thread waits for the threads that came before it. The poll of a nested turn (a script
 * past its time limit, Yield, a load) does not release the lock, because the data must not change there.
 * Without a loaded module there is no lock, and the event loop does not know of it. */
#pragma once

#include <stdbool.h>

void moduleLockTake(void);
bool moduleLockTry(void);
void moduleLockRelease(void);
bool moduleLockIsHeld(void);
/* Grants the lock to a thread that waits for it, while the holder does not touch the server for some time. */
void moduleLockYield(void);
void moduleYieldToOthers(void); /* lets other threads run, whoever holds the lock (api_yield.c) */
bool moduleIsMainThread(void);

/* Delimit an execution unit: all that is propagated in it is sent together at its end. A nested unit is part
 * of the outer one. */
void moduleUnitBegin(void);
void moduleUnitEnd(void);

/* Has the main thread call fn(arg), with the lock, before it sleeps. Any thread may call this
 * without the lock. */
void mainThreadPost(void (*fn)(void *arg), void *arg);
/* Does the same for code of a module: fn is called before any module is unloaded. */
void mainThreadPostForModule(void (*fn)(void *arg), void *arg);
