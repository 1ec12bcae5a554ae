/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h - who may touch the server: the main thread, but while it sleeps in its poll; then whichever thread
 * of a module has taken the lock.
 *
 *     main thread   ── turn ──┐ give              take ┌── turn ── ...
 *                             └──── poll ──────────────┘
 *     a thread                   take ── section ── give
 *
 * It is taken in the order in which it was asked for: a thread that asks gets its section at the latest when
 * the main thread sleeps next, and the main thread waits for those that came before it. The poll of a nested
 * round (a script past its time limit, Yield, a load) does not give it away: the data stands still there.
 * With no module loaded there is no lock: the loop does not know of it. */
#pragma once

#include <stdbool.h>

void moduleLockTake(void);
bool moduleLockTry(void);
void moduleLockGive(void);
bool moduleLockIsMine(void);
/* For who has it and will not give it back for long: who waits gets it now. */
void moduleLockLend(void);
void moduleLetOthers(void); /* have a turn, whoever has the lock (api_yield.c) */
bool moduleIsMainThread(void);

/* An execution unit: all that is propagated in it goes out at its end, together. Within another one it is a
 * part of that. */
void moduleUnitBegin(void);
void moduleUnitEnd(void);

/* From any thread, without the lock: the main thread will call fn(arg), with it, before it sleeps. */
void mainTell(void (*fn)(void *arg), void *arg);
/* The same, for code of a module: it is called before any module goes. */
void mainTellOfModule(void (*fn)(void *arg), void *arg);
