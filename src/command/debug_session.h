/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_session.h - a debugging session: what its client asks, line by line, and what it is answered.
 * Whatever the script's language, one at a time.
 *
 * Each answer is an array of status lines. While the script stands, requests are read and answered right
 * here, blocking, so nothing else in this process runs. */
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
    size_t trim; /* longest line of an answer, 0: any */
    bool trim_told;
    sds answer; /* its lines, each with its CRLF */
    int answer_lines;
    sds input;                /* what has been read and not taken yet */
    const char *abort_reason; /* NULL: goes on */
    bool client_gone;         /* that is the reason */
};
extern struct debugSession debug_session;

void debugSessionBegin(struct client *c, struct scriptEngine *e, bool forked);
void debugSessionEnd(void); /* the session's last answer, then what the client is replied */
void debugWriteReplies(struct client *c);

/* Adds a line to the answer. */
void debugLine(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void debugLineTrimmed(sds line); /* frees it */
void debugSend(void);
sds debugReplyText(sds s, const struct respReply *r); /* appended, as people read it */
/* The next request: words (sdsfreesplitres), or NULL when there is none: abort_reason says why. */
sds *debugReadRequest(int *argc);
void debugMaxlen(sds *argv, int argc); /* a request that all languages have: maxlen [n] */
void debugUnknown(void);               /* it is no request, or has too many words or too few */
