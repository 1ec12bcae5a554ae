/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h - the server log, in the format that operators' tools parse:
 *     pid:role DD Mon YYYY HH:MM:SS.mmm level message
 * role is M (primary), S (replica), C (child), X (sentinel); level is one of . - * # */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

enum logLevel { LL_DEBUG, LL_VERBOSE, LL_NOTICE, LL_WARNING, LL_NOTHING };
#define LL_RAW 0x100 /* or'ed in: print without the prefix */

void serverLog(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Async-signal-safe: writes lines to the log without prefix, formatting or locks. */
void serverLogFromSignal(const char *text);

extern bool hide_user_data;  /* hide-user-data-from-log: no names, keys, values or arguments in the log */
void logSetLevel(int level); /* lower messages are dropped; default LL_NOTICE */
int logGetLevel(void);
/* "" is stdout. The file is opened for each message, as users rotate it by renaming. False and errno when it
 * cannot be opened for append; nothing changes then. */
bool logSetFile(const char *path);
void logSetRole(char role); /* 'M' at start */

/* The form of a line: the classic one above, logfmt (pid=1 role=primary timestamp="..." level=notice
 * message="..."), or a JSON object with the same fields. In JSON, text without a prefix becomes an object for
 * each line, too; what a signal handler writes has no timestamp. */
enum logFormat { LOG_LEGACY, LOG_LOGFMT, LOG_JSON };
void logSetFormat(enum logFormat format);
/* The form of the time: local as above, 2025-03-05T14:03:11.045+01:00, or milliseconds since the epoch. */
enum logTimestamp { LOG_TIME_LEGACY, LOG_TIME_ISO8601, LOG_TIME_MILLISECONDS };
void logSetTimestamp(enum logTimestamp timestamp);
/* Sends messages to the system's log, too; called once at start. ident must stay valid. */
void logOpenSyslog(const char *ident, int facility);
/* Opens the system's log again in a child that closed all descriptors, before a file takes its number. */
void logReopenSyslog(void);
int logOpenFd(void); /* returns a descriptor to write to; close it with logCloseFd */
void logCloseFd(int fd);
