/* SPDX-License-Identifier: BSD-3-Clause */
/* aof.h - the append-only file: every change as a command, written before its reply goes out.
 *
 *     commands ──▶ sink ──▶ buffer ──▶ write(2) once per turn of the loop,  ──▶ fsync: here (always),
 *                                      before replies are sent                  on a thread (everysec),
 *                                                                               by the kernel (no)
 *
 * The file is several files (persist/aof_manifest.h): a base, written by a fork child, and increments. A
 * rewrite opens a new increment first, forks, and replaces everything before it by the child's base.
 *
 * `always` is a group commit: one fsync for all that the turn changed, then all its replies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool aofEnabled(void); /* appendonly yes */
/* At start, with appendonly yes: read what there is, and open it for writing. Exits when that fails. */
void aofStartup(void);
/* With `appendonly no`: finds out which files there are, since a rewrite takes their place. */
void aofStartupOff(void);
/* For atExitRegister. */
bool aofOnShutdown(int flags);
void aofInit(void); /* directives, INFO fields, BGREWRITEAOF, jobs */
