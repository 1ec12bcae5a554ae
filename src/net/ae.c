/* SPDX-License-Identifier: BSD-3-Clause */
/* ae.c - the event loop: epoll, a heap of timers, an eventfd for wake-ups, and io_uring if there is a ring.
 *
 *     files[fd]  { mask, generation, read {proc, data}, write {proc, data} }
 *     epoll      fd -> generation << 32 | fd, as the event's user data
 *     priority   another epoll, which the first one polls, for the fds with AE_PRIORITY
 *     ring       fds that are read ahead (ae_uring.h), the eventfd, and the epoll itself, for everything else
 *     timers     binary heap on (when_us, id), the next one at [0]
 *     places     slot -> where its timer is in the heap; a timer's id is its serial number << 24 | its slot
 *     running    timers whose handlers are on the stack, innermost first; they are out of the heap
 *
 * The idea: a ready event is only a hint. Before a handler is called, the event's generation is compared
 * with that of the fd's present registration, which changes whenever the fd is registered anew. So
 * handlers, and turns nested in them, may delete events, close fds and reuse their numbers freely: a
 * stale event finds another generation and is dropped, and the poll, being level triggered, reports again
 * what is still true. A timer that deletes itself is likewise found in the list of running ones and is
 * not put back into the heap. */
#include "net/ae.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "net/ae_uring.h"

#define POLL_BATCH   1024 /* events taken from the kernel in one aeTurn; on the stack, so turns may nest */
#define WAKEUP_TAG   UINT64_MAX       /* user data of the eventfd */
#define PRIORITY_TAG (UINT64_MAX - 1) /* of the epoll for fds with AE_PRIORITY */
#define PRIORITY_MAX 64               /* events taken from it at a time */
#define MAX_DELAY_MS (INT64_MAX / 4000)
#define SLOT_BITS    24
#define SLOTS_MAX    (1u << SLOT_BITS)
#define NO_PLACE     SIZE_MAX /* not in the heap: its handler is running, or the slot is free */

struct handler {
    aeFileProc *proc;
    void *data;
};

struct fileEvent {
    int mask;      /* AE_NONE: not registered */
    bool priority; /* the epoll for AE_PRIORITY polls it */
    bool by_ring;  /* the ring reads this fd, even while AE_READABLE is not registered (paused) */
    uint32_t generation;
    struct handler read, write;
    sds unread; /* bytes that another loop's ring had read */
};

struct timer {
    int64_t when_us, id;
    aeTimeProc *proc;
    void *data;
};

struct runningTimer {
    struct runningTimer *outer;
    int64_t id;
    bool deleted;
};

struct aeEventLoop {
    int epfd, wakefd;
    int priority_epfd;   /* -1 until it is needed */
    struct aeRing *ring; /* NULL: epoll alone */
    int size;
    struct fileEvent *files;
    uint32_t last_generation;
    struct timer *timers;
    size_t timer_count, timer_cap;
    size_t *places;
    uint32_t *free_slots; /* a stack with space for all slots */
    uint32_t slot_count, slot_cap, free_count;
    int64_t last_serial;
    struct runningTimer *running;
    aeHook *before_sleep, *after_sleep, *after_events;
    int (*turn)(struct aeEventLoop *el, int flags); /* polls and calls handlers */
    aeHook *poll_begins, *poll_ends;                /* see aeSetAroundPoll */
    struct list pending;                            /* connection.c */
    bool dont_wait, stop;
    atomic_bool polls; /* the thread is in a poll of the loop */
};

/* ---- Timers -------------------------------------------------------------------------------------------- */

static bool aeTimerBefore(const struct timer *a, const struct timer *b) {
    return a->when_us != b->when_us ? a->when_us < b->when_us : a->id < b->id;
}

static uint32_t aeSlotOf(int64_t id) {
    return (uint32_t)id & (SLOTS_MAX - 1);
}

static int64_t aeTimerNewId(struct aeEventLoop *el) {
    if (!el->free_count && el->slot_count == el->slot_cap) {
        el->slot_cap = el->slot_cap ? el->slot_cap * 2 : 8;
        serverAssert(el->slot_cap <= SLOTS_MAX);
        el->places = zrealloc(el->places, el->slot_cap * sizeof *el->places);
        el->free_slots = zrealloc(el->free_slots, el->slot_cap * sizeof *el->free_slots);
    }
    uint32_t slot = el->free_count ? el->free_slots[--el->free_count] : el->slot_count++;
    el->places[slot] = NO_PLACE;
    return ++el->last_serial << SLOT_BITS | slot;
}

static void aeTimerFreeId(struct aeEventLoop *el, int64_t id) {
    serverAssert(el->free_count < el->slot_count); /* each slot is free once */
    el->places[aeSlotOf(id)] = NO_PLACE;
    el->free_slots[el->free_count++] = aeSlotOf(id);
}

static void aeTimerStore(struct aeEventLoop *el, size_t i, struct timer t) {
    debugAssert(aeSlotOf(t.id) < el->slot_count);
    el->timers[i] = t;
    el->places[aeSlotOf(t.id)] = i;
}

/* Puts t where the hole at i is, moving the hole up or down until the order holds. */
static void aeTimerPlace(struct aeEventLoop *el, size_t i, struct timer t) {
    struct timer *heap = el->timers;
    for (; i > 0 && aeTimerBefore(&t, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        aeTimerStore(el, i, heap[(i - 1) / 2]);
    for (size_t child; (child = 2 * i + 1) < el->timer_count; i = child) {
        if (child + 1 < el->timer_count && aeTimerBefore(&heap[child + 1], &heap[child])) child++;
        if (!aeTimerBefore(&heap[child], &t)) break;
        aeTimerStore(el, i, heap[child]);
    }
    aeTimerStore(el, i, t);
}

static void aeTimerAdd(struct aeEventLoop *el, struct timer t, int64_t delay_ms) {
    if (delay_ms > MAX_DELAY_MS) delay_ms = MAX_DELAY_MS;
    if (delay_ms < 0) delay_ms = 0;
    t.when_us = monotonicUs() + delay_ms * 1000;
    if (el->timer_count == el->timer_cap) {
        el->timer_cap = el->timer_cap ? el->timer_cap * 2 : 8;
        el->timers = zrealloc(el->timers, el->timer_cap * sizeof(struct timer));
    }
    aeTimerPlace(el, el->timer_count++, t);
}

static struct timer aeTimerRemove(struct aeEventLoop *el, size_t i) {
    debugAssert(i < el->timer_count && el->places[aeSlotOf(el->timers[i].id)] == i);
    struct timer removed = el->timers[i];
    el->places[aeSlotOf(removed.id)] = NO_PLACE;
    struct timer last = el->timers[--el->timer_count];
    if (i < el->timer_count) aeTimerPlace(el, i, last);
    return removed;
}

/* Runs the timers that were due when this began. Timers that are set meanwhile come later, so that one
 * without delay cannot keep the turn from ending. */
static int aeProcessTimers(struct aeEventLoop *el) {
    int64_t now_us = monotonicUs();
    int handled = 0;
    while (el->timer_count > 0 && el->timers[0].when_us < now_us) {
        struct timer t = aeTimerRemove(el, 0);
        struct runningTimer self = {el->running, t.id, false};
        el->running = &self;
        int64_t delay_ms = t.proc(el, t.id, t.data);
        el->running = self.outer;
        if (delay_ms != AE_NOMORE && !self.deleted)
            aeTimerAdd(el, t, delay_ms);
        else
            aeTimerFreeId(el, t.id);
        handled++;
    }
    return handled;
}

/* ---- File events --------------------------------------------------------------------------------------- */

static uint32_t aeEpollEvents(const struct fileEvent *fe) {
    uint32_t events = 0;
    if (fe->mask & AE_READABLE && !fe->by_ring) events |= EPOLLIN;
    if (fe->mask & AE_WRITABLE) events |= EPOLLOUT;
    return events;
}

static int aeUpdateEpoll(struct aeEventLoop *el, int fd, uint32_t events_before) {
    const struct fileEvent *fe = &el->files[fd];
    struct epoll_event ev = {.events = aeEpollEvents(fe),
                             .data.u64 = (uint64_t)fe->generation << 32 | (uint32_t)fd};
    if (!events_before && !ev.events) return 0;
    return epoll_ctl(fe->priority ? el->priority_epfd : el->epfd,
                     !events_before ? EPOLL_CTL_ADD
                     : !ev.events   ? EPOLL_CTL_DEL
                                    : EPOLL_CTL_MOD,
                     fd, &ev);
}

static void aeDrainWakeup(struct aeEventLoop *el) {
    uint64_t count;
    while (read(el->wakefd, &count, sizeof(count)) == -1 && errno == EINTR) {
    }
}

/* Calls the handlers for `ready` that are still registered under this generation. */
static int aeCallHandler(struct aeEventLoop *el, int fd, uint32_t generation, int ready) {
    if (fd >= el->size || el->files[fd].generation != generation) return 0;
    struct fileEvent fe = el->files[fd];
    ready &= fe.mask;
    if (!ready) return 0;
    struct handler h = ready & AE_READABLE ? fe.read : fe.write;
    debugAssert(h.proc);
    h.proc(el, fd, h.data, ready);
    return 1;
}

static bool aeSameHandler(const struct fileEvent *fe) {
    return fe->read.proc == fe->write.proc && fe->read.data == fe->write.data;
}

static inline __attribute__((always_inline)) int aeHandleEvent(struct aeEventLoop *el,
                                                               const struct epoll_event *ev) {
    int fd = (int)(uint32_t)ev->data.u64;
    uint32_t generation = (uint32_t)(ev->data.u64 >> 32);
    if (fd >= el->size || el->files[fd].generation != generation) return 0;
    int ready = 0;
    if (ev->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) ready |= AE_READABLE;
    if (ev->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) ready |= AE_WRITABLE;
    if ((ready & el->files[fd].mask) == (AE_READABLE | AE_WRITABLE) && aeSameHandler(&el->files[fd]))
        return aeCallHandler(el, fd, generation, ready);
    int handled = aeCallHandler(el, fd, generation, ready & AE_READABLE);
    handled += aeCallHandler(el, fd, generation, ready & AE_WRITABLE);
    return handled > 0;
}

static int aePollTimeout(const struct aeEventLoop *el, int flags) {
    if (flags & AE_DONT_WAIT || el->dont_wait || el->stop) return 0;
    if (!(flags & AE_TIME_EVENTS) || el->timer_count == 0) return -1;
    int64_t wait_us = el->timers[0].when_us - monotonicUs();
    if (wait_us < 0) return 0;
    int64_t wait_ms = wait_us / 1000 + 1; /* rounded up: a turn that is too early would do nothing */
    return wait_ms > INT_MAX ? INT_MAX : (int)wait_ms;
}

static int aePollEpoll(struct aeEventLoop *el, struct epoll_event *events, int max, int timeout_ms) {
    int n = epoll_wait(el->epfd, events, max, timeout_ms);
    if (n == -1 && errno != EINTR) serverPanic("epoll_wait: %s", strerror(errno));
    return n == -1 ? 0 : n;
}

/* Polls the ring, whose events come first in the form of epoll's, then epoll if it has events, too. */
static int aePollRing(struct aeEventLoop *el, struct epoll_event *events, int timeout_ms) {
    int fds[POLL_BATCH / 2];
    bool more;
    int n = ringWait(el->ring, fds, POLL_BATCH / 2, timeout_ms, &more);
    for (int i = 0; i < n; i++) {
        events[i].events = EPOLLIN;
        events[i].data.u64 = (uint64_t)el->files[fds[i]].generation << 32 | (uint32_t)fds[i];
    }
    return more ? n + aePollEpoll(el, events + n, POLL_BATCH - n, 0) : n;
}

static inline __attribute__((always_inline)) int aePollAndHandle(struct aeEventLoop *el, int flags,
                                                                 bool between_hooks) {
    struct epoll_event events[POLL_BATCH];
    int timeout_ms = aePollTimeout(el, flags);
    if (between_hooks) el->poll_begins(el);
    atomic_store_explicit(&el->polls, true, memory_order_relaxed);
    int n = el->ring ? aePollRing(el, events, timeout_ms) : aePollEpoll(el, events, POLL_BATCH, timeout_ms);
    atomic_store_explicit(&el->polls, false, memory_order_relaxed);
    if (between_hooks) el->poll_ends(el);
    if (flags & AE_CALL_HOOKS && el->after_sleep) el->after_sleep(el);
    int handled = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(events[i].data.u64 < PRIORITY_TAG, 1))
            handled += aeHandleEvent(el, &events[i]);
        else if (events[i].data.u64 == WAKEUP_TAG)
            aeDrainWakeup(el);
        else
            handled += aeServePriority(el);
    }
    if (el->after_events) el->after_events(el);
    return handled;
}

int aeServePriority(struct aeEventLoop *el) {
    struct epoll_event events[PRIORITY_MAX];
    if (el->priority_epfd == -1) return 0;
    int handled = 0, n = epoll_wait(el->priority_epfd, events, PRIORITY_MAX, 0);
    for (int i = 0; i < n; i++) handled += aeHandleEvent(el, &events[i]);
    return handled;
}

static int aeTurn(struct aeEventLoop *el, int flags) {
    return aePollAndHandle(el, flags, false);
}
static int aeTurnBetweenHooks(struct aeEventLoop *el, int flags) {
    return aePollAndHandle(el, flags, flags & AE_CALL_HOOKS);
}

/* ---- Public API ---------------------------------------------------------------------------------------- */

struct aeEventLoop *server_el;
static enum aeBackend backend_wanted;

void aeSetBackend(enum aeBackend backend) {
    backend_wanted = backend;
}

enum aeBackend aeBackendOf(const struct aeEventLoop *el) {
    return el->ring ? AE_URING : AE_EPOLL;
}

static bool aePollWakeup(struct aeEventLoop *el) {
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = WAKEUP_TAG};
    return epoll_ctl(el->epfd, EPOLL_CTL_ADD, el->wakefd, &ev) == 0;
}

/* When the loop has no ring although one was chosen, errno says why. */
struct aeEventLoop *aeCreate(int maxfds) {
    serverAssert(maxfds > 0);
    struct aeEventLoop *el = zcalloc(1, sizeof(*el));
    el->size = maxfds;
    listInit(&el->pending);
    el->files = zcalloc((size_t)maxfds, sizeof(struct fileEvent));
    el->epfd = epoll_create1(EPOLL_CLOEXEC);
    el->priority_epfd = -1;
    el->wakefd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bool ready = el->epfd != -1 && el->wakefd != -1;
    if (ready && backend_wanted == AE_URING) el->ring = ringCreate(el->epfd, el->wakefd, maxfds);
    if (!ready || (!el->ring && !aePollWakeup(el))) {
        int saved = errno;
        aeDelete(el);
        errno = saved;
        return NULL;
    }
    el->turn = aeTurn;
    return el;
}

void aeDelete(struct aeEventLoop *el) {
    serverAssert(!el->running); /* not from one of its timers */
    ringFree(el->ring);
    if (el->epfd != -1) close(el->epfd);
    if (el->priority_epfd != -1) close(el->priority_epfd);
    if (el->wakefd != -1) close(el->wakefd);
    for (int fd = 0; fd < el->size; fd++) sdsfree(el->files[fd].unread);
    zfree(el->files);
    zfree(el->timers);
    zfree(el->places);
    zfree(el->free_slots);
    zfree(el);
}

int aeSetSize(struct aeEventLoop *el, int maxfds) {
    for (int fd = maxfds; fd < el->size; fd++)
        if (el->files[fd].mask != AE_NONE || el->files[fd].by_ring || el->files[fd].unread) return -1;
    el->files = zrealloc(el->files, (size_t)maxfds * sizeof(struct fileEvent));
    if (maxfds > el->size)
        memset(el->files + el->size, 0, (size_t)(maxfds - el->size) * sizeof(struct fileEvent));
    if (el->ring) ringResize(el->ring, maxfds);
    el->size = maxfds;
    return 0;
}

int aeGetSize(const struct aeEventLoop *el) {
    return el->size;
}

struct list *aePending(struct aeEventLoop *el) {
    return &el->pending;
}

bool ae_any_priority;

/* Makes the epoll for priority fds. False: the system refuses it, and they are served like others. */
static bool aePreparePriority(struct aeEventLoop *el) {
    if (el->priority_epfd != -1) return true;
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = PRIORITY_TAG};
    int epfd = epoll_create1(EPOLL_CLOEXEC);
    if (epfd == -1) return false;
    if (epoll_ctl(el->epfd, EPOLL_CTL_ADD, epfd, &ev) == -1) {
        close(epfd);
        return false;
    }
    el->priority_epfd = epfd;
    return ae_any_priority = true;
}

void aeMakePriority(struct aeEventLoop *el, int fd) {
    struct fileEvent *fe = &el->files[fd];
    serverAssert(fe->mask != AE_NONE && !fe->by_ring);
    if (fe->priority || !aePreparePriority(el)) return;
    epoll_ctl(el->epfd, EPOLL_CTL_DEL, fd, NULL);
    fe->priority = true;
    aeUpdateEpoll(el, fd, 0);
}

static void aeStartReadingAhead(struct aeEventLoop *el, int fd) {
    struct fileEvent *fe = &el->files[fd];
    if (fe->by_ring)
        ringResume(el->ring, fd);
    else
        ringStart(el->ring, fd);
    fe->by_ring = true;
}

int aeCreateFileEvent(struct aeEventLoop *el, int fd, int mask, aeFileProc *proc, void *data) {
    if (fd < 0 || fd >= el->size) {
        errno = ERANGE;
        return -1;
    }
    serverAssert(proc && mask & (AE_READABLE | AE_WRITABLE));
    struct fileEvent *fe = &el->files[fd];
    int old_mask = fe->mask;
    uint32_t events_before = aeEpollEvents(fe);
    serverAssert(!fe->by_ring || !(mask & AE_READABLE) ||
                 mask & AE_STREAM); /* otherwise aeTakeUnread has to come first */
    bool stream = el->ring && mask & AE_READABLE && mask & AE_STREAM;
    fe->mask |= mask & (AE_READABLE | AE_WRITABLE);
    if (old_mask == AE_NONE) {
        fe->generation = ++el->last_generation;
        fe->priority = mask & AE_PRIORITY && aePreparePriority(el);
    }
    if (stream && !(old_mask & AE_READABLE)) aeStartReadingAhead(el, fd);
    if (aeUpdateEpoll(el, fd, events_before) == -1) {
        fe->mask = old_mask;
        if (fe->by_ring && !(old_mask & AE_READABLE)) ringPause(el->ring, fd);
        return -1;
    }
    if (mask & AE_READABLE) fe->read = (struct handler){proc, data};
    if (mask & AE_WRITABLE) fe->write = (struct handler){proc, data};
    return 0;
}

void aeDeleteFileEvent(struct aeEventLoop *el, int fd, int mask) {
    if (fd < 0 || fd >= el->size || el->files[fd].mask == AE_NONE) return;
    struct fileEvent *fe = &el->files[fd];
    uint32_t events_before = aeEpollEvents(fe);
    fe->mask &= ~mask;
    aeUpdateEpoll(el, fd, events_before);
    if (fe->by_ring && !(fe->mask & AE_READABLE)) ringPause(el->ring, fd);
}

void aeRemoveFd(struct aeEventLoop *el, int fd) {
    aeDeleteFileEvent(el, fd, AE_READABLE | AE_WRITABLE);
    if (fd < el->size && el->files[fd].by_ring) {
        ringStop(el->ring, fd);
        el->files[fd].by_ring = false;
    }
    sdsfree(aeTakeUnread(el, fd));
}

bool aeHasUnread(const struct aeEventLoop *el, int fd) {
    return fd < el->size && el->files[fd].unread;
}

sds aeTakeUnread(struct aeEventLoop *el, int fd) {
    struct fileEvent *fe = fd < el->size ? &el->files[fd] : NULL;
    if (!fe) return NULL;
    if (fe->by_ring) {
        sds ahead = ringStopAndTake(el->ring, fd);
        fe->by_ring = false;
        if (ahead) aeGiveUnread(el, fd, ahead);
    }
    sds unread = fe->unread;
    fe->unread = NULL;
    return unread;
}

/* The bytes are appended to those that are unread already. */
void aeGiveUnread(struct aeEventLoop *el, int fd, sds unread) {
    sds *own = &el->files[fd].unread;
    if (*own) {
        *own = sdscatlen(*own, unread, sdslen(unread));
        sdsfree(unread);
    } else {
        *own = unread;
    }
}

static ssize_t aeReadUnread(struct fileEvent *fe, void *buf, size_t len) {
    size_t n = sdslen(fe->unread);
    if (n > len) n = len;
    memcpy(buf, fe->unread, n);
    sdsrange(fe->unread, (ptrdiff_t)n, -1);
    if (sdslen(fe->unread)) return (ssize_t)n;
    sdsfree(fe->unread);
    fe->unread = NULL;
    return (ssize_t)n;
}

ssize_t aeRead(struct aeEventLoop *el, int fd, void *buf, size_t len) {
    struct fileEvent *fe = fd < el->size ? &el->files[fd] : NULL;
    if (fe && __builtin_expect(fe->unread != NULL, 0)) return aeReadUnread(fe, buf, len);
    if (fe && fe->by_ring) return ringRead(el->ring, fd, buf, len);
    return syscall(SYS_recvfrom, fd, buf, len, 0, NULL, NULL); /* not libc's: see connectionSocketWritev */
}

bool aeSendMany(struct aeEventLoop *el, struct aeSend *sends, int n) {
    return el->ring && ringSend(el->ring, sends, n);
}

int aeGetFileEvents(const struct aeEventLoop *el, int fd) {
    return fd < 0 || fd >= el->size ? AE_NONE : el->files[fd].mask;
}

int64_t aeCreateTimeEvent(struct aeEventLoop *el, int64_t delay_ms, aeTimeProc *proc, void *data) {
    serverAssert(proc);
    int64_t id = aeTimerNewId(el);
    aeTimerAdd(el, (struct timer){0, id, proc, data}, delay_ms);
    return id;
}

void aeDeleteTimeEvent(struct aeEventLoop *el, int64_t id) {
    size_t i = aeSlotOf(id) < el->slot_count ? el->places[aeSlotOf(id)] : NO_PLACE;
    if (i != NO_PLACE && el->timers[i].id == id) {
        aeTimerRemove(el, i);
        aeTimerFreeId(el, id);
        return;
    }
    for (struct runningTimer *r = el->running; r; r = r->outer)
        if (r->id == id) r->deleted = true;
}

void aeSetBeforeSleep(struct aeEventLoop *el, aeHook *hook) {
    el->before_sleep = hook;
}
void aeSetAfterSleep(struct aeEventLoop *el, aeHook *hook) {
    el->after_sleep = hook;
}
void aeSetAfterEvents(struct aeEventLoop *el, aeHook *hook) {
    el->after_events = hook;
}
void aeSetAroundPoll(struct aeEventLoop *el, aeHook *begins, aeHook *ends) {
    el->poll_begins = begins;
    el->poll_ends = ends;
    el->turn = begins ? aeTurnBetweenHooks : aeTurn;
}

void aeSetDontWait(struct aeEventLoop *el, bool dont) {
    el->dont_wait = dont;
}

int aeProcessEvents(struct aeEventLoop *el, int flags) {
    int handled = 0;
    if (flags & AE_CALL_HOOKS && el->before_sleep) el->before_sleep(el);
    if (flags & AE_FILE_EVENTS) handled += el->turn(el, flags);
    if (flags & AE_TIME_EVENTS) handled += aeProcessTimers(el);
    return handled;
}

void aeMain(struct aeEventLoop *el) {
    el->stop = false;
    while (!el->stop) aeProcessEvents(el, AE_ALL_EVENTS | AE_CALL_HOOKS);
}

void aeStop(struct aeEventLoop *el) {
    el->stop = true;
}

void aeWakeup(struct aeEventLoop *el) {
    int saved = errno; /* a signal handler must not change it */
    uint64_t one = 1;
    while (write(el->wakefd, &one, sizeof(one)) == -1 && errno == EINTR) {
    }
    errno = saved;
}

bool aeIsLate(const struct aeEventLoop *el) {
    struct pollfd pfd = {.fd = el->ring ? ringFd(el->ring) : el->epfd, .events = POLLIN};
    return atomic_load_explicit(&el->polls, memory_order_relaxed) && poll(&pfd, 1, 0) == 1;
}

int aeWait(int fd, int mask, int64_t timeout_ms) {
    struct pollfd pfd = {.fd = fd};
    if (mask & AE_READABLE) pfd.events |= POLLIN;
    if (mask & AE_WRITABLE) pfd.events |= POLLOUT;
    if (timeout_ms > MAX_DELAY_MS) timeout_ms = MAX_DELAY_MS;
    if (timeout_ms < 0) timeout_ms = -1;
    int64_t deadline_us = monotonicUs() + timeout_ms * 1000, left_ms = timeout_ms;
    int n;
    while ((n = poll(&pfd, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms)) == -1) {
        if (errno != EINTR) return -1;
        if (timeout_ms < 0) continue;
        left_ms = (deadline_us - monotonicUs()) / 1000;
        if (left_ms < 0) left_ms = 0;
    }
    if (n == 0) return 0;
    int ready = 0;
    if (pfd.revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL)) ready |= AE_READABLE;
    if (pfd.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) ready |= AE_WRITABLE;
    return ready & mask;
}

void aeWaitForEvent(struct aeEventLoop *el, int64_t timeout_ms) {
    if (el->ring)
        ringWait(el->ring, NULL, 0, timeout_ms < 0 || timeout_ms > INT_MAX ? -1 : (int)timeout_ms, NULL);
    else
        aeWait(el->epfd, AE_READABLE, timeout_ms);
}

void aeTakeWakeup(struct aeEventLoop *el, int64_t timeout_ms) {
    if (aeWait(el->wakefd, AE_READABLE, timeout_ms) > 0) aeDrainWakeup(el);
}
