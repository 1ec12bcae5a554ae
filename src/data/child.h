/* SPDX-License-Identifier: BSD-3-Clause */
/* child.h - fork children: a process that shares our memory writes a snapshot of the data.
 *
 * There is at most one child at a time. While it lives, tables do not resize (hashtableSetResizePolicy), and
 * the child reports through a pipe how far it is and how much memory it has had to copy.
 *
 * A child holds no descriptor of its parent but the standard three and those that it was started with, so
 * that a connection that the parent closes is closed for the peer as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection;

enum childKind { CHILD_NONE, CHILD_RDB, CHILD_AOF, CHILD_SLOTS, CHILD_MODULE, CHILD_PROBE, CHILD_KINDS };

/* Does the child's work. Its result is the process's exit code: 0 is success. */
typedef int childMain(void *priv);
/* Called in the parent after the child's end. `signal` is the signal that killed the child, or 0. SIGUSR1
 * means that we killed it (childKill, or somebody who asked it to end quietly), which is no failure. */
typedef void childDone(int exit_code, int signal, void *priv);

/* Starts a child. False: it was not started, and *err says why (another child lives, fork failed). `done` is
 * called later, before the loop sleeps, when the loop has seen the end of the child. */
bool childStart(enum childKind kind, childMain *run, childDone *done, void *priv, const char **err);
/* Starts a child that is a thread of this process (data/forkless/): `run` runs in it, and `done` is called as
 * for a process, with signal SIGUSR1 after childStop. */
bool childStartThread(enum childKind kind, childMain *run, childDone *done, void *priv, const char **err);
/* Set by data/forkless/: gives the thread more to do while childWait waits for it; and makes it end, whatever
 * it waits for. */
extern void (*child_feed)(void), (*child_stop_feeding)(void);
bool childIsThread(void);    /* whether the running child is a thread */
bool childInThread(void);    /* whether this is its thread; childIs() is false there */
bool childIsCancelled(void); /* in the thread: it should end soon, as childStop was called */
/* Starts a child like childStart; the `keep_count` descriptors in `keep` stay open in it. */
bool childStartWith(enum childKind kind, childMain *run, childDone *done, void *priv, const int *keep,
                    int keep_count, const char **err);
/* Forks a child that continues where it was forked, with all descriptors, and ends by childExit. Returns 0 in
 * the child, and -1 when none was started. */
pid_t childFork(childDone *done, void *priv, const char **err);
void childExit(int code) __attribute__((noreturn));
/* In the child: reports at once which share of the work is done, 0 to 1; a negative share means unknown. */
void childReportShare(double share);
enum childKind childRunning(void);
/* Ends a child of the kind CHILD_PROBE and calls its done. Such a child, a thread for tests, is not seen: it
 * counts as none, and ends whenever another child starts. */
void childEndProbe(void);
pid_t childPid(void); /* -1: none */
void childKill(void); /* waits for its end; calls done with the signal */
void childStop(void); /* does not wait; done is called later */
void childWait(void); /* waits for its end while nothing else runs; calls done */
/* In the child: reports the number of keys handled so far. The parent learns it now and then.
 * Reads the clock. */
void childProgress(uint64_t keys);
/* In the child: sends all n bytes to a peer whose socket is non-blocking, as the parent uses it too. Returns
 * false when the peer has closed or has read nothing for timeout_ms. The bytes are counted as sent. */
bool childSendWhole(struct connection *conn, const char *p, size_t n, int64_t timeout_ms);
/* childAlmostDone, in the child: reports that only its last words remain to be sent. childIsAlmostDone, in
 * the parent: whether the child has reported this. */
void childAlmostDone(void);
bool childIsAlmostDone(void);
uint64_t childSentBytes(void); /* in the parent: bytes sent by the last child, as reported so far */
bool childIs(void);            /* whether this process is a child */
/* In the child: registers what to do before it ends because its parent has died. */
void childWhenOrphaned(void (*fn)(void));
/* In the child, before something that it must not do without a parent: ends the process if the
 * parent has died. */
void childNeedsParent(void);
/* Seconds since the child started, and the seconds that the last child of a kind took; -1 when there is,
 * or was, none. */
int64_t childSeconds(void);
int64_t childLastSeconds(enum childKind kind);
bool childLastWasThread(enum childKind kind); /* whether the last child of a kind was a thread */
/* Bytes that the last child of a kind has had to copy. */
uint64_t childLastCow(enum childKind kind);
/* Registers a function that runs first in each child: to set the process's title, or to stop what must
 * not run there. */
void childOnFork(void (*fn)(enum childKind kind));

void childInit(void); /* directives (bgsave-cpulist ...), INFO fields (current_cow_size ...), cron */
