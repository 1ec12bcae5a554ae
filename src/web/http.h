/* SPDX-License-Identifier: BSD-3-Clause */
/* http.h - requests of HTTP/1.0 and 1.1, as far as the metrics port takes them: a method, a path, a few
 * headers, no body.
 *
 * The syntax is the affair of a library of the distribution (llhttp; where there is none, http-parser, from
 * which it comes); http.c keeps what the library reports, within limits. In a build with neither, http_none.c
 * takes its place, and httpIsAvailable says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"

#define HTTP_HEAD_MAX   8192 /* bytes of a request */
#define HTTP_TARGET_MAX 1024 /* of them, of its path with what follows the question mark */
#define HTTP_VALUE_MAX  2048 /* and of one header that is kept */

enum httpMethod { HTTP_METHOD_GET, HTTP_METHOD_HEAD, HTTP_METHOD_OTHER };

struct httpRequest {
    enum httpMethod method;
    sds path;                        /* without what follows the question mark */
    sds host, authorization, accept; /* "": there was none */
    bool forwarded;                  /* it has been through a proxy, which says so */
    bool keep_alive;                 /* may another request follow on the connection? */
};

struct httpReader; /* of one connection */

bool httpIsAvailable(void);
struct httpReader *httpReaderCreate(void);
void httpReaderFree(struct httpReader *r); /* NULL is fine */

/* Reads on, at most to the end of a request: *used of the bytes were taken, and what is behind it waits for
 * the next call. 0: more is needed. 200: *request is whole, and good until the next call. Else it cannot be
 * read, and this is the status to answer with; nothing more may come from the connection. */
int httpRead(struct httpReader *r, const char *bytes, size_t len, size_t *used,
             const struct httpRequest **request);
/* Has part of a request come? */
bool httpInRequest(const struct httpReader *r);
