/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - the server log.
 *
 *     1234:M 05 Mar 2025 14:03:11.045 * Ready to accept connections
 *     pid:role   day and time in ms   level  message
 *
 * A message is formatted in memory and written with one write(2) to a descriptor opened for append, so lines
 * of several threads and processes do not mix, and a rotated file is closed at once. One lock is held over
 * localtime_r() and across fork(): otherwise a child that is forked while another thread is in localtime_r()
 * would wait forever for libc's own lock of the time zone.
 *
 * The allocator logs when it fails, so the memory for a message comes from malloc. */
#define _GNU_SOURCE /* stpcpy, mempcpy */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_escape.h"

#define LOG_STACK_SIZE 2048 /* longer messages are formatted on the heap */

bool hide_user_data;
static _Atomic int minimum_level = LL_NOTICE; /* written by the main thread, read by all */
static _Atomic char role = 'M';
static _Atomic enum logFormat format;
static _Atomic enum logTimestamp timestamp;
static char path[PATH_MAX]; /* empty: stdout */
static bool to_syslog;
static const char *syslog_ident;
static int syslog_facility;

static pthread_mutex_t time_lock = PTHREAD_MUTEX_INITIALIZER;

static void logTakeTimeLock(void) {
    pthread_mutex_lock(&time_lock);
}
static void logReleaseTimeLock(void) {
    pthread_mutex_unlock(&time_lock);
}
__attribute__((constructor)) static void logStart(void) {
    pthread_atfork(logTakeTimeLock, logReleaseTimeLock, logReleaseTimeLock);
}

static size_t logPrintTime(char *dst, size_t size) {
    struct timeval now;
    struct tm local;
    gettimeofday(&now, NULL);
    int ms = (int)(now.tv_usec / 1000);
    if (timestamp == LOG_TIME_MILLISECONDS)
        return (size_t)snprintf(dst, size, "%lld%03d", (long long)now.tv_sec, ms);
    logTakeTimeLock();
    localtime_r(&now.tv_sec, &local);
    logReleaseTimeLock();
    bool iso = timestamp == LOG_TIME_ISO8601;
    size_t n = strftime(dst, size, iso ? "%Y-%m-%dT%H:%M:%S." : "%d %b %Y %H:%M:%S.", &local);
    n += (size_t)snprintf(dst + n, size - n, "%03d", ms);
    if (!iso) return n;
    int minutes = (int)(local.tm_gmtoff / 60), distance = minutes < 0 ? -minutes : minutes;
    return n + (size_t)snprintf(dst + n, size - n, "%c%02d:%02d", minutes < 0 ? '-' : '+', distance / 60,
                                distance % 60);
}

static const char *logRoleName(void) {
    char letter = role;
    switch (letter) {
    case 'S': return "replica";
    case 'C': return "RDB/AOF";
    case 'X': return "sentinel";
    default: return "primary";
    }
}

/* Writes the prefix of a message, with the blank after it. Returns its length. */
static size_t logPrintPrefix(char *dst, size_t size, int level) {
    static const char *const levels[] = {"debug", "info", "notice", "warning"};
    char time[64];
    logPrintTime(time, sizeof time);
    if (format == LOG_LOGFMT) {
        return (size_t)snprintf(dst, size, "pid=%d role=%s timestamp=\"%s\" level=%s message=\"",
                                (int)getpid(), logRoleName(), time, levels[level]);
    }
    if (format == LOG_JSON) {
        return (size_t)snprintf(
            dst, size, "{\"pid\":%d,\"role\":\"%s\",\"timestamp\":\"%s\",\"level\":\"%s\",\"message\":\"",
            (int)getpid(), logRoleName(), time, levels[level]);
    }
    return (size_t)snprintf(dst, size, "%d:%c %s %c ", (int)getpid(), role, time, ".-*#"[level]);
}

#define JSON_END "\"}\n"

/* Writes the prefix of a line of a signal handler. It has no time, as the time zone is behind a lock. */
static size_t logSignalPrefix(char *dst) {
    char *p = stpcpy(dst, "{\"pid\":"), digits[16], *d = digits + sizeof digits;
    for (unsigned pid = (unsigned)getpid(); pid; pid /= 10) *--d = (char)('0' + pid % 10);
    p = mempcpy(p, d, (size_t)(digits + sizeof digits - d));
    p = stpcpy(stpcpy(stpcpy(p, ",\"role\":\""), logRoleName()), "\",\"level\":\"warning\",\"message\":\"");
    return (size_t)(p - dst);
}

/* In logfmt the message is a value in quotes, on one line: replaces quotes and line ends. */
static void logReplaceQuotes(char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            text[i] = '\'';
        else if (text[i] == '\n' || text[i] == '\r')
            text[i] = ' ';
    }
}

static void logWrite(const char *p, size_t len) {
    int fd = logOpenFd();
    if (fd == -1) return;
    fdWriteAll(fd, strN(p, len)); /* a failure cannot be reported anywhere */
    logCloseFd(fd);
}

static const int syslog_levels[] = {LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING};

/* Writes an object, which is cut when there is no memory for all of it. */
static void logWriteJson(const char *prefix, size_t len, struct str message) {
    char stack[LOG_STACK_SIZE];
    size_t room = len + message.len * JSON_ESCAPE_MAX + sizeof JSON_END;
    char *heap = room > sizeof stack ? malloc(room) : NULL, *line = heap ? heap : stack;
    if (!heap) room = sizeof stack;
    memcpy(line, prefix, len);
    len += jsonEscape(line + len, room - len - strlen(JSON_END), &message);
    memcpy(line + len, JSON_END, strlen(JSON_END));
    logWrite(line, len + strlen(JSON_END));
    free(heap);
}

/* Writes an object for each line of the text; a very long line continues in the next object. */
static void logWriteJsonLines(const char *prefix, size_t prefix_len, struct str text) {
    char line[LOG_STACK_SIZE];
    memcpy(line, prefix, prefix_len);
    while (text.len) {
        size_t line_len = strnlen(text.ptr, text.len);
        const char *end = memchr(text.ptr, '\n', line_len);
        if (end) line_len = (size_t)(end - text.ptr);
        struct str rest = strN(text.ptr, line_len);
        while (rest.len) {
            size_t len = prefix_len +
                         jsonEscape(line + prefix_len, sizeof line - prefix_len - strlen(JSON_END), &rest);
            memcpy(line + len, JSON_END, strlen(JSON_END));
            logWrite(line, len + strlen(JSON_END));
        }
        if (line_len < text.len) line_len++;
        text = strN(text.ptr + line_len, text.len - line_len);
    }
}

/* Writes the line of a message, which has been printed behind its prefix with space for two more bytes. */
static void logWriteLine(char *text, size_t prefix, size_t len, bool raw) {
    if (format == LOG_JSON) {
        (raw ? logWriteJsonLines : logWriteJson)(text, prefix, strN(text + prefix, len));
        return;
    }
    if (raw) {
        logWrite(text + prefix, len);
        return;
    }
    if (format == LOG_LOGFMT) {
        logReplaceQuotes(text + prefix, len);
        text[prefix + len++] = '"';
    }
    text[prefix + len++] = '\n';
    logWrite(text, prefix + len);
}

static void logPrintV(int level, const char *fmt, va_list ap) {
    bool raw = level & LL_RAW;
    level &= ~LL_RAW;
    if (level < minimum_level || level >= LL_NOTHING) return;

    int saved_errno = errno; /* callers log before they look at it */
    char stack[LOG_STACK_SIZE], *text = stack, *heap = NULL;
    size_t prefix = logPrintPrefix(stack, sizeof(stack), level), room = sizeof(stack) - prefix - 1;
    va_list again;
    va_copy(again, ap);
    int printed = vsnprintf(stack + prefix, room - 1, fmt, ap);
    size_t len = printed < 0 ? 0 : (size_t)printed;
    if (len + 1 >= room) {
        heap = malloc(prefix + len + 3);
        if (heap) {
            memcpy(heap, stack, prefix);
            vsnprintf(heap + prefix, len + 1, fmt, again);
            text = heap;
        } else {
            len = room - 2;
        }
    }
    va_end(again);
    if (to_syslog) syslog(syslog_levels[level], "%.*s", (int)len, text + prefix);
    logWriteLine(text, prefix, len, raw);
    free(heap);
    errno = saved_errno;
}

void serverLog(int level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    logPrintV(level, fmt, ap);
    va_end(ap);
}

void serverLogFromSignal(const char *text) {
    int saved_errno = errno;
    char prefix[128];
    if (format == LOG_JSON)
        logWriteJsonLines(prefix, logSignalPrefix(prefix), strOf(text));
    else
        logWrite(text, strlen(text));
    errno = saved_errno;
}

void logSetLevel(int level) {
    minimum_level = level;
}

int logGetLevel(void) {
    return minimum_level;
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

void logSetRole(char r) {
    role = r;
}

void logSetFormat(enum logFormat f) {
    format = f;
}

void logSetTimestamp(enum logTimestamp t) {
    timestamp = t;
}

void logOpenSyslog(const char *ident, int facility) {
    syslog_ident = ident;
    syslog_facility = facility;
    openlog(ident, LOG_PID | LOG_NDELAY | LOG_NOWAIT, facility);
    to_syslog = true;
}

void logReopenSyslog(void) {
    if (!to_syslog) return;
    closelog();
    logOpenSyslog(syslog_ident, syslog_facility);
}

int logOpenFd(void) {
    if (!*path) return STDOUT_FILENO;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

void logCloseFd(int fd) {
    if (fd != STDOUT_FILENO && fd != -1) close(fd);
}
