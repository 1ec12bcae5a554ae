/* SPDX-License-Identifier: BSD-3-Clause */
/* child.h - fork children: snapshots of the data written by a process that shares its memory.
 *
 * One at a time. While it lives tables do not resize (hashtableSetResizePolicy), and it tells through a pipe
 * how far it is and how much memory it has had to copy.
 *
 * A child holds no descriptor of its parent's but the standard three, and those that it was started with: a
 * connection that the parent closes is closed for the peer as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection;

enum childKind { CHILD_NONE, CHILD_RDB, CHILD_AOF, CHILD_SLOTS, CHILD_MODULE, CHILD_KINDS };

/* What the child does. Its result is the process's exit code: 0 is success. */
typedef int childMain(void *priv);
/* In the parent, after the end. signal: what killed it, or 0; SIGUSR1: we did (childKill, or somebody who
 * wanted it to end quietly), which is no failure. */
typedef void childDone(int exit_code, int signal, void *priv);

/* False: not started (*err says why: another child lives, fork failed). done is called later, before the loop
 * sleeps, when the loop has seen the end of the child. */
bool childStart(enum childKind kind, childMain *run, childDone *done, void *priv, const char **err);
/* The same for one that writes to descriptors of ours: these stay open in it. */
bool childStartWith(enum childKind kind, childMain *run, childDone *done, void *priv, const int *keep,
                    int keep_count, const char **err);
/* A child that goes on where it was forked, with all descriptors, and ends by childExit: 0 in it, -1: not
 * started. */
pid_t childFork(childDone *done, void *priv, const char **err);
void childExit(int code) __attribute__((noreturn));
/* In the child: how much of its work it has done, 0 to 1; negative: that is not known. Told at once. */
void childReportShare(double share);
enum childKind childRunning(void);
pid_t childPid(void); /* -1: none */
void childKill(void); /* and waits for it; done is called, with the signal */
void childStop(void); /* the same without waiting: done is called later */
void childWait(void); /* for its end, while nothing else goes on; done is called */
/* In the child: keys handled so far, which the parent learns now and then. Reads the clock. */
void childProgress(uint64_t keys);
/* In the child: all of it to a peer whose socket does not block, nor may it: the parent has it, too. False:
 * the peer has gone, or has taken nothing for so long. Counted as sent. */
bool childSendWhole(struct connection *conn, const char *p, size_t n, int64_t timeout_ms);
/* In a child: nothing but its last words is left to be sent. In the parent: has it said so? */
void childAlmostDone(void);
bool childIsAlmostDone(void);
uint64_t childSentBytes(void); /* in the parent: by the last child, as far as it has told */
bool childIs(void);            /* are we one? */
/* In the child: what it does before it ends because its parent has gone. */
void childWhenOrphaned(void (*fn)(void));
/* In the child, before what it may not do without a parent: then it ends here. */
void childNeedsParent(void);
/* For how long it has been running, and how long the last one of a kind took; -1: there is, there was none.
 */
int64_t childSeconds(void);
int64_t childLastSeconds(enum childKind kind);
/* What the last one of a kind has had to copy, in bytes. */
uint64_t childLastCow(enum childKind kind);
/* Runs first of all in each child: its name, what a room must not do there. */
void childOnFork(void (*fn)(enum childKind kind));

void childInit(void); /* directives (bgsave-cpulist ...), INFO fields (current_cow_size ...), cron */
