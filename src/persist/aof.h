/* SPDX-License-Identifier: BSD-3-Clause */
/* aof.h - the append-only file: every change as a command, written before its reply is sent.
 *
 *     commands ──▶ sink ──▶ buffer ──▶ write(2) once per turn of the loop,  ──▶ fsync: on a thread
 *                                      before replies are sent
 *
 * The thread syncs at once, and replies wait for it (always), or once a second (everysec), or not at all
 * (no).
 *
 * It consists of several files (persist/aof_manifest.h): a base, written by a fork child, and increments. A
 * rewrite opens a new increment first, forks, and replaces everything before it by the child's base.
 *
 * `always` is a group commit: one fsync for all that was written since the last one began, then their
 * replies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool aofEnabled(void); /* appendonly yes */
/* Loads the files at start, with appendonly yes, and opens them for writing. Exits on failure. */
void aofStartup(void);
/* Reads the manifest at start with `appendonly no`, as a rewrite replaces the files that exist. */
void aofStartupOff(void);
/* For atExitRegister: writes and syncs the buffer. False: the server must not exit. */
bool aofOnShutdown(int flags);
void aofInit(void); /* directives, INFO fields, BGREWRITEAOF, jobs */
