/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_session.h - a debugging session for a script of any language: its client's requests, line by line,
 * and the answers. There is one session at a time.
 *
 * Each answer is an array of status lines. While the script is stopped, requests are read and answered by
 * blocking calls here, so nothing else in this process runs. */
#pragma once

#include "client/client.h"
#include "net/resp.h"

#define DEBUG_TRIM_DEFAULT 256 /* bytes of a line */
#define DEBUG_TRIM_MIN     60

struct scriptEngine;

struct debugSession {
    bool on, forked;
    struct scriptEngine *engine;
    struct client *client;
    size_t trim; /* longest line of an answer; 0: no limit */
    bool trim_hinted;
    sds answer; /* lines of the answer, each with its CRLF */
    int answer_lines;
    sds input;                /* bytes read and not consumed yet */
    const char *abort_reason; /* NULL: the session goes on */
    bool client_gone;         /* abort_reason is set because the client has closed the connection */
};
extern struct debugSession debug_session;

void debugSessionBegin(struct client *c, struct scriptEngine *e, bool forked);
void debugSessionEnd(void); /* sends the session's last answer, then the reply to the client */
void debugWriteReplies(struct client *c);

/* Adds a line to the answer. */
void debugLine(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void debugLineTrimmed(sds line); /* frees `line` */
void debugSend(void);
sds debugReplyText(sds s, const struct respReply *r); /* appends r as text for people */
/* Reads the next request: words (free with sdsfreesplitres), or NULL, and abort_reason says why. */
sds *debugReadRequest(int *argc);
void debugMaxlen(sds *argv, int argc); /* handles `maxlen [n]`, which every language has */
void debugUnknown(void);               /* answers a request that is unknown or has a wrong number of words */
