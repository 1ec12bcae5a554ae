/* SPDX-License-Identifier: BSD-3-Clause */
/* ae.h - the event loop: file events on epoll (level triggered), or on io_uring (in the same words), timers,
 * wake-ups from other threads.
 *
 * One turn (aeProcessEvents): beforeSleep hook, poll, afterSleep hook, every ready file event, the
 * afterEvents hook, due timers. The read handlers of clients only gather input; afterEvents is where the
 * server runs the gathered batch (command/turn.h). Nested calls are allowed (busy scripts, loading): a
 * nested turn has its own event array. Handlers may remove any event,
 * also those that are ready in this turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"
#include "net/ae_send.h"

#define AE_NONE     0
#define AE_READABLE 1
#define AE_WRITABLE 2
#define AE_BARRIER  4 /* call the writable handler before the readable one */
/* With AE_READABLE: nobody reads from the fd, a stream socket, but by aeRead: so the loop may read ahead, and
 * aeForget comes before close(2). */
#define AE_STREAM 8

#define AE_FILE_EVENTS 1
#define AE_TIME_EVENTS 2
#define AE_ALL_EVENTS  (AE_FILE_EVENTS | AE_TIME_EVENTS)
#define AE_DONT_WAIT   4
/* beforeSleep and afterSleep; a nested turn may leave them out. afterEvents runs whenever file events do. */
#define AE_CALL_HOOKS 8

struct list;
struct aeEventLoop;
extern struct aeEventLoop *server_el; /* the one that the server runs in; NULL: not yet */
typedef void aeFileProc(struct aeEventLoop *el, int fd, void *data, int mask);
/* Returns the next delay in ms, or AE_NOMORE. */
typedef int64_t aeTimeProc(struct aeEventLoop *el, int64_t id, void *data);
typedef void aeHook(struct aeEventLoop *el);
#define AE_NOMORE (-1)

/* What loops that are created from now on work with; where there is no io_uring, it is epoll. With io_uring
 * the loop reads from those with AE_STREAM, and all other events are epoll's. */
enum aeBackend { AE_EPOLL, AE_URING };
void aeSetBackend(enum aeBackend backend);
enum aeBackend aeBackendOf(const struct aeEventLoop *el);

/* fds 0..maxfds-1; NULL and errno on failure. Of the thread that runs its first turn, whoever has made it. */
struct aeEventLoop *aeCreate(int maxfds);
void aeDelete(struct aeEventLoop *el);
int aeSetSize(struct aeEventLoop *el, int maxfds); /* 0, or -1 when a larger fd is in use */
int aeGetSize(const struct aeEventLoop *el);
/* For connection.c: those of this loop that have input which poll does not see. */
struct list *aePending(struct aeEventLoop *el);

/* 0, or -1: ERANGE when fd is too big. */
int aeCreateFileEvent(struct aeEventLoop *el, int fd, int mask, aeFileProc *proc, void *data);
void aeDeleteFileEvent(struct aeEventLoop *el, int fd, int mask);
int aeGetFileEvents(const struct aeEventLoop *el, int fd);
void aeForget(struct aeEventLoop *el, int fd); /* deletes its events, and drops what has been read ahead */

/* As read(2). What has been read ahead stays when the event is deleted, and the next one tells of it. But of
 * what came by aeGiveUnread (aeHasUnread) no event tells. */
ssize_t aeRead(struct aeEventLoop *el, int fd, void *buf, size_t len);
bool aeHasUnread(const struct aeEventLoop *el, int fd);
/* To take an fd without events from one loop to another: what it has unread, NULL: nothing. */
sds aeTakeUnread(struct aeEventLoop *el, int fd);
void aeGiveUnread(struct aeEventLoop *el, int fd, sds unread);

/* Many sends in one system call, on different sockets, of which none waits. False: this loop cannot. */
bool aeSendMany(struct aeEventLoop *el, struct aeSend *sends, int n);

int64_t aeCreateTimeEvent(struct aeEventLoop *el, int64_t delay_ms, aeTimeProc *proc, void *data); /* id */
void aeDeleteTimeEvent(struct aeEventLoop *el, int64_t id); /* fine when it is gone; both O(log timers) */

void aeSetBeforeSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterEvents(struct aeEventLoop *el, aeHook *hook);
/* Right before and behind the poll itself, in turns with AE_CALL_HOOKS: between them other threads may use
 * the loop, but for its ring. NULL, NULL: nothing. */
void aeSetAroundPoll(struct aeEventLoop *el, aeHook *begins, aeHook *ends);
void aeSetDontWait(struct aeEventLoop *el, bool dont); /* the next polls return at once: work is pending */

int aeProcessEvents(struct aeEventLoop *el, int flags); /* number of events handled */
void aeMain(struct aeEventLoop *el);                    /* until aeStop */
void aeStop(struct aeEventLoop *el);

/* From any thread or a signal handler: make the loop return from poll (eventfd). */
void aeWakeup(struct aeEventLoop *el);

/* Waits until a file event is ready, or the loop is woken, and handles none. */
void aeWaitForEvent(struct aeEventLoop *el, int64_t timeout_ms);
/* Wait for one fd without the loop; mask of what is ready, 0 on time-out, -1 on error. */
int aeWait(int fd, int mask, int64_t timeout_ms);
