/* SPDX-License-Identifier: BSD-3-Clause */
/* ae.h - the event loop: file events on epoll (level triggered) or io_uring, timers, and
 * wake-ups from other threads.
 *
 * One turn (aeProcessEvents) is: the beforeSleep hook, the poll, the afterSleep hook, every ready file event,
 * the afterEvents hook, due timers. The read handlers of clients only gather input; afterEvents is where the
 * server runs the gathered batch (command/turn.h). Nested calls are allowed (busy scripts, loading), as each
 * turn has its own event array. Handlers may remove any event, even one that is ready in this turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"
#include "net/ae_send.h"

#define AE_NONE     0
#define AE_READABLE 1
#define AE_WRITABLE 2
/* With AE_READABLE: the fd is a stream socket that is only read by aeRead, so the loop may read ahead. Such
 * an fd needs aeRemoveFd before close(2). */
#define AE_STREAM 8

/* In the first call for an fd: it can be served apart from all others, by aeServePriority. Not with
 * AE_STREAM. */
#define AE_PRIORITY 16

#define AE_FILE_EVENTS 1
#define AE_TIME_EVENTS 2
#define AE_ALL_EVENTS  (AE_FILE_EVENTS | AE_TIME_EVENTS)
#define AE_DONT_WAIT   4
/* runs beforeSleep and afterSleep; afterEvents always follows file events */
#define AE_CALL_HOOKS 8

struct list;
struct aeEventLoop;
extern struct aeEventLoop *server_el; /* the server's loop; NULL before it exists */
typedef void aeFileProc(struct aeEventLoop *el, int fd, void *data, int mask);
/* Returns the next delay in ms, or AE_NOMORE. */
typedef int64_t aeTimeProc(struct aeEventLoop *el, int64_t id, void *data);
typedef void aeHook(struct aeEventLoop *el);
#define AE_NOMORE (-1)

/* Chooses what loops use that are created from now on; without io_uring they use epoll. With io_uring the
 * loop receives from fds with AE_STREAM, and epoll reports all other events. */
enum aeBackend { AE_EPOLL, AE_URING };
void aeSetBackend(enum aeBackend backend);
enum aeBackend aeBackendOf(const struct aeEventLoop *el);

/* Creates a loop for the fds 0 to maxfds-1. NULL and errno on failure. The loop belongs to the thread that
 * runs its first turn, whichever thread created it. */
struct aeEventLoop *aeCreate(int maxfds);
void aeDelete(struct aeEventLoop *el);
int aeSetSize(struct aeEventLoop *el, int maxfds); /* 0, or -1 when a larger fd is in use */
int aeGetSize(const struct aeEventLoop *el);
/* For connection.c: the connections of this loop that have input which poll does not see. */
struct list *aePending(struct aeEventLoop *el);

/* Returns 0, or -1 and errno (ERANGE: fd is too big). */
int aeCreateFileEvent(struct aeEventLoop *el, int fd, int mask, aeFileProc *proc, void *data);
void aeDeleteFileEvent(struct aeEventLoop *el, int fd, int mask);
int aeGetFileEvents(const struct aeEventLoop *el, int fd);
/* Gives AE_PRIORITY to an fd that has events already. */
void aeMakePriority(struct aeEventLoop *el, int fd);
/* Whether there are, or were, fds with AE_PRIORITY. */
extern bool ae_any_priority;
/* Polls the fds with AE_PRIORITY alone, without waiting, and calls their handlers. May be called within a
 * turn, also by handlers. Returns the number of events handled. */
int aeServePriority(struct aeEventLoop *el);
void aeRemoveFd(struct aeEventLoop *el, int fd); /* deletes its events and drops what was read ahead */

/* Reads as read(2) does. What has been read ahead stays when the event is deleted, and the next event reports
 * it. No event reports what came by aeGiveUnread; see aeHasUnread. */
ssize_t aeRead(struct aeEventLoop *el, int fd, void *buf, size_t len);
bool aeHasUnread(const struct aeEventLoop *el, int fd);
/* For moving an fd without events from one loop to another. aeTakeUnread returns the bytes that were read
 * ahead (owned by the caller; NULL: none), and aeGiveUnread hands them to the other loop. */
sds aeTakeUnread(struct aeEventLoop *el, int fd);
void aeGiveUnread(struct aeEventLoop *el, int fd, sds unread);

/* Makes many sends on different sockets with one system call; none waits. False: this loop cannot. */
bool aeSendMany(struct aeEventLoop *el, struct aeSend *sends, int n);

/* returns its id */
int64_t aeCreateTimeEvent(struct aeEventLoop *el, int64_t delay_ms, aeTimeProc *proc, void *data);
void aeDeleteTimeEvent(struct aeEventLoop *el, int64_t id); /* the timer may have ended; both O(log timers) */

void aeSetBeforeSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterEvents(struct aeEventLoop *el, aeHook *hook);
/* Hooks right before and after the poll itself, in turns with AE_CALL_HOOKS. Between them other threads may
 * use the loop, except its ring. NULL, NULL: none. */
void aeSetAroundPoll(struct aeEventLoop *el, aeHook *begins, aeHook *ends);
void aeSetDontWait(struct aeEventLoop *el, bool dont); /* the next polls return at once, as work is pending */

int aeProcessEvents(struct aeEventLoop *el, int flags); /* returns the number of events handled */
void aeMain(struct aeEventLoop *el);                    /* until aeStop */
void aeStop(struct aeEventLoop *el);

/* Makes the loop return from poll (eventfd); may be called from any thread or signal handler. */
void aeWakeup(struct aeEventLoop *el);

/* Whether the loop's thread polls although there are file events: it is just being woken, or waits for a
 * processor. May be called from any thread; takes about 0.5 us. */
bool aeIsLate(const struct aeEventLoop *el);

/* Waits until a file event is ready or the loop is woken, without handling it. */
void aeWaitForEvent(struct aeEventLoop *el, int64_t timeout_ms);

/* Waits for a call of aeWakeup alone, and takes it. The caller calls aeWakeup itself in the end, as others
 * may have woken the loop meanwhile. */
void aeTakeWakeup(struct aeEventLoop *el, int64_t timeout_ms);
/* Waits for one fd without the loop. Returns the mask of what is ready, 0 on time-out, -1 on error. */
int aeWait(int fd, int mask, int64_t timeout_ms);
