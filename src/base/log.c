/* log.c - the server log.
 *
 *     1234:M 05 Mar 2025 14:03:11.045 * Ready to accept connections
 *     pid:role   day and time in ms   level  message
 *
 * A message is put together in memory and written with one write(2) to a descriptor opened for append, so
 * lines of several threads and processes do not mix and a rotated file is let go at once. There is one lock,
 * held over localtime_r() and across fork(): a child forked while another thread is in there would otherwise
 * wait forever for libc's own lock of the time zone. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/zmalloc.h"

#define LOG_STACK_SIZE 2048 /* longer messages are formatted on the heap */

static _Atomic int minimumLevel = LL_NOTICE; /* written by the main thread, read by all */
static _Atomic char role = 'M';
static char path[PATH_MAX]; /* empty: stdout */

static pthread_mutex_t timeLock = PTHREAD_MUTEX_INITIALIZER;

static void timeLockTake(void) {
    pthread_mutex_lock(&timeLock);
}
static void timeLockRelease(void) {
    pthread_mutex_unlock(&timeLock);
}
__attribute__((constructor)) static void logStart(void) {
    pthread_atfork(timeLockTake, timeLockRelease, timeLockRelease);
}

/* The prefix of a message, with the blank after it. Returns its length. */
static size_t prefixPrint(char *dst, size_t size, int level) {
    struct timeval now;
    struct tm local;
    gettimeofday(&now, NULL);
    timeLockTake();
    localtime_r(&now.tv_sec, &local);
    timeLockRelease();

    size_t n = (size_t)snprintf(dst, size, "%d:%c ", (int)getpid(), role);
    n += strftime(dst + n, size - n, "%d %b %Y %H:%M:%S.", &local);
    n += (size_t)snprintf(dst + n, size - n, "%03d %c ", (int)(now.tv_usec / 1000), ".-*#"[level]);
    return n;
}

/* Nobody is left to tell when the log itself cannot be written. */
static void writeAll(int fd, const char *p, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        p += n;
        len -= (size_t)n;
    }
}

static void logWrite(const char *p, size_t len) {
    int fd = logOpenFd();
    if (fd == -1) return;
    writeAll(fd, p, len);
    logCloseFd(fd);
}

void serverLogV(int level, const char *fmt, va_list ap) {
    bool raw = level & LL_RAW;
    level &= ~LL_RAW;
    if (level < minimumLevel || level >= LL_NOTHING) return;

    int savedErrno = errno; /* callers log, then look */
    char stack[LOG_STACK_SIZE], *text = stack, *heap = NULL;
    size_t prefix = raw ? 0 : prefixPrint(stack, sizeof(stack), level), room = sizeof(stack) - prefix - 1;
    va_list again;
    va_copy(again, ap);
    int printed = vsnprintf(stack + prefix, room, fmt, ap);
    size_t len = printed < 0 ? 0 : (size_t)printed;
    if (len >= room) {
        heap = ztrymalloc(prefix + len + 2);
        if (heap) {
            memcpy(heap, stack, prefix);
            vsnprintf(heap + prefix, len + 1, fmt, again);
            text = heap;
        } else {
            len = room - 1;
        }
    }
    va_end(again);
    if (!raw) text[prefix + len++] = '\n';
    logWrite(text, prefix + len);
    zfree(heap);
    errno = savedErrno;
}

void serverLog(int level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    serverLogV(level, fmt, ap);
    va_end(ap);
}

void serverLogFromSignal(const char *text) {
    int savedErrno = errno;
    logWrite(text, strlen(text));
    errno = savedErrno;
}

void logSetLevel(int level) {
    minimumLevel = level;
}

int logGetLevel(void) {
    return minimumLevel;
}

bool logSetFile(const char *file) {
    if (strlen(file) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (*file) {
        int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd == -1) return false;
        close(fd);
    }
    strcpy(path, file);
    return true;
}

const char *logGetFile(void) {
    return path;
}

void logSetRole(char r) {
    role = r;
}

int logOpenFd(void) {
    if (!*path) return STDOUT_FILENO;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

void logCloseFd(int fd) {
    if (fd != STDOUT_FILENO && fd != -1) close(fd);
}
