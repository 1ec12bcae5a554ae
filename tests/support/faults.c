/* SPDX-License-Identifier: BSD-3-Clause */
/* faults.c - a library for LD_PRELOAD that makes chosen calls fail, for tests of full disks and similar
 * faults.
 *
 * The file named by FAULTS holds one line, which is read again at every call that it may concern:
 *
 *     CALL ERRNO SKIP COUNT PATTERN          fsync 5 0 1 aof
 *
 * After SKIP calls of this name, COUNT of them fail with this errno (a number; 0: the write is short;
 * negative: the call works, but takes that many milliseconds longer), if the path of the file contains
 * PATTERN. Sockets, pipes and the log are never affected. CALL is one of open write fsync fdatasync
 * rename ftruncate fork close, or thread (pthread_create, with the pattern "thread"); or localtime_r, with
 * the pattern "time": then the process aborts inside it, while the caller holds a lock; or poll (and ppoll),
 * with the pattern "poll", of which only the time before it can be made longer. Calls are counted in
 * the file FAULTS.seen, one byte each, so that all processes count together. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int readPlan(char *call, int *error, int *skip, int *count, char *pattern) {
    const char *path = getenv("FAULTS");
    if (!path) return 0;
    static int (*real_open)(const char *, int, ...);
    if (!real_open) real_open = REAL(open);
    int fd = real_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char line[256] = {0};
    ssize_t n = read(fd, line, sizeof line - 1);
    REAL(close)(fd);
    return n > 0 && sscanf(line, "%15s %d %d %d %127s", call, error, skip, count, pattern) == 5;
}

/* Returns how many calls there were before this one. */
static int countCall(void) {
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s.seen", getenv("FAULTS"));
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return 0;
    ssize_t done = REAL(write)(fd, ".", 1);
    if (done != 1 || fstat(fd, &st) != 0) st.st_size = 1;
    REAL(close)(fd);
    return (int)st.st_size - 1;
}

/* Returns whether this call has to fail; *error is the errno. */
static int faultsCallFails(const char *name, const char *path, int *error) {
    char call[16], pattern[128];
    int skip, count;
    if (!path || !readPlan(call, error, &skip, &count, pattern)) return 0;
    if (strcmp(call, name) != 0 || !strstr(path, pattern)) return 0;
    int seen = countCall();
    if (seen < skip || seen >= skip + count) return 0;
    if (*error >= 0) return 1;
    usleep((useconds_t) - *error * 1000);
    return 0;
}

/* Returns the path of a regular file or folder, or NULL. */
static const char *pathOf(int fd, char *room, size_t size) {
    struct stat st;
    char link[64];
    if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, room, size - 1);
    if (n < 0) return NULL;
    room[n] = '\0';
    return strstr(room, "/log") ? NULL : room;
}

#define FAIL_FD(name, fd, result)                                                                            \
    do {                                                                                                     \
        char room[512];                                                                                      \
        int error;                                                                                           \
        if (faultsCallFails(name, pathOf(fd, room, sizeof room), &error)) {                                  \
            errno = error;                                                                                   \
            return result;                                                                                   \
        }                                                                                                    \
    } while (0)

int open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    int error;
    if (faultsCallFails("open", path, &error)) {
        errno = error;
        return -1;
    }
    return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *p, size_t n) {
    char room[512];
    int error;
    if (faultsCallFails("write", pathOf(fd, room, sizeof room), &error)) {
        if (error == 0) return REAL(write)(fd, p, n / 2);
        errno = error;
        return -1;
    }
    return REAL(write)(fd, p, n);
}

int fsync(int fd) {
    FAIL_FD("fsync", fd, -1);
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    FAIL_FD("fdatasync", fd, -1);
    return REAL(fdatasync)(fd);
}

int ftruncate(int fd, off_t size) {
    FAIL_FD("ftruncate", fd, -1);
    return REAL(ftruncate)(fd, size);
}

int close(int fd) {
    FAIL_FD("close", fd, (REAL(close)(fd), -1));
    return REAL(close)(fd);
}

int rename(const char *from, const char *to) {
    int error;
    if (faultsCallFails("rename", to, &error)) {
        errno = error;
        return -1;
    }
    return REAL(rename)(from, to);
}

int faultsCreateThread(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg)
    __asm__("pthread_create");
int faultsCreateThread(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    int error;
    if (faultsCallFails("thread", "thread", &error)) return error;
    return REAL(pthread_create)(thread, attributes, fn, arg);
}

pid_t fork(void) {
    int error;
    if (faultsCallFails("fork", "fork", &error)) {
        errno = error;
        return -1;
    }
    return REAL(fork)();
}

struct tm *localtime_r(const time_t *when, struct tm *result) {
    int error;
    if (faultsCallFails("localtime_r", "time", &error)) abort();
    return REAL(localtime_r)(when, result);
}

int faultsPoll(struct pollfd *fds, nfds_t count, int timeout_ms) __asm__("poll");
int faultsPoll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    int error;
    faultsCallFails("poll", "poll", &error);
    return REAL(poll)(fds, count, timeout_ms);
}

int faultsPpoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
    __asm__("ppoll");
int faultsPpoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    int error;
    faultsCallFails("poll", "poll", &error);
    return REAL(ppoll)(fds, count, timeout, mask);
}
