/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.h - the answers of the metrics port: each path is a page. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

struct httpRequest;

struct webAnswer {
    int status;
    const char *type; /* of the body */
    sds body;         /* the caller frees body and headers */
    sds headers;      /* additional lines, each with its line end; NULL: none */
    bool granted;     /* the request has the rights that the page needs */
    bool wrong_login; /* wrong credentials were given */
};

/* Answers any request. */
void pageMakeAnswer(const struct httpRequest *request, bool local_peer, struct str peer,
                    struct webAnswer *answer);
/* Tells whether the work of the answer grows with the server (its commands, directives, clients). */
bool pageNeedsWork(const struct httpRequest *request);
