/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.h - what the metrics port answers: a path is a page. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

struct httpRequest;

struct webAnswer {
    int status;
    const char *type; /* of the body */
    sds body;         /* the caller's, like headers */
    sds headers;      /* more lines, each with its end; NULL: none */
    bool granted;     /* its asker has the rights that the page needs */
    bool wrong_login; /* he gave credentials that are wrong */
};

/* Whatever was asked for, there is an answer. */
void pageAnswer(const struct httpRequest *request, bool local_peer, struct str peer,
                struct webAnswer *answer);
/* Does the answer take work that grows with the server (its commands, directives, clients)? */
bool pageIsWork(const struct httpRequest *request);
