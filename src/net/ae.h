/* ae.h - the event loop: file events on epoll (level triggered), timers, wake-ups from other threads.
 *
 * One turn (aeProcessEvents): beforeSleep hook, poll, afterSleep hook, every ready file event, the
 * afterEvents hook, due timers. The read handlers of clients only gather input; afterEvents is where the
 * server runs the gathered batch (command/round.h). Nested calls are allowed (busy scripts, loading): a
 * nested turn has its own event array. Handlers may remove any event,
 * also those that are ready in this turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AE_NONE     0
#define AE_READABLE 1
#define AE_WRITABLE 2
#define AE_BARRIER  4 /* call the writable handler before the readable one */

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

struct aeEventLoop *aeCreate(int maxfds); /* fds 0..maxfds-1; NULL and errno on failure */
void aeDelete(struct aeEventLoop *el);
int aeSetSize(struct aeEventLoop *el, int maxfds); /* 0, or -1 when a larger fd is in use */
int aeGetSize(const struct aeEventLoop *el);
/* For connection.c: those of this loop that have input which poll does not see. */
struct list *aePending(struct aeEventLoop *el);

/* 0, or -1: ERANGE when fd is too big. */
int aeCreateFileEvent(struct aeEventLoop *el, int fd, int mask, aeFileProc *proc, void *data);
void aeDeleteFileEvent(struct aeEventLoop *el, int fd, int mask);
int aeGetFileEvents(const struct aeEventLoop *el, int fd);

int64_t aeCreateTimeEvent(struct aeEventLoop *el, int64_t delay_ms, aeTimeProc *proc, void *data); /* id */
void aeDeleteTimeEvent(struct aeEventLoop *el, int64_t id); /* fine when it is gone; both O(log timers) */

void aeSetBeforeSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterSleep(struct aeEventLoop *el, aeHook *hook);
void aeSetAfterEvents(struct aeEventLoop *el, aeHook *hook);
void aeSetDontWait(struct aeEventLoop *el, bool dont); /* the next polls return at once: work is pending */

int aeProcessEvents(struct aeEventLoop *el, int flags); /* number of events handled */
void aeMain(struct aeEventLoop *el);                    /* until aeStop */
void aeStop(struct aeEventLoop *el);

/* From any thread or a signal handler: make the loop return from poll (eventfd). */
void aeWakeup(struct aeEventLoop *el);

/* Waits until a file event is ready, or the loop is woken, and handles none. */
void aeWaitForEvent(const struct aeEventLoop *el, int64_t timeout_ms);
/* Wait for one fd without the loop; mask of what is ready, 0 on time-out, -1 on error. */
int aeWait(int fd, int mask, int64_t timeout_ms);
