/* SPDX-License-Identifier: BSD-3-Clause */
/* http.h - HTTP/1.0 and 1.1 requests as far as the metrics port accepts them: a method, a path, a few
 * headers, no body.
 *
 * A library of the distribution parses the syntax (llhttp, or its predecessor http-parser); http.c keeps
 * what the library reports, within limits. A build without them has http_none.c instead, and
 * httpIsAvailable returns false. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"

#define HTTP_HEAD_MAX   8192 /* bytes of a request */
#define HTTP_TARGET_MAX 1024 /* bytes of its path with the query */
#define HTTP_VALUE_MAX  2048 /* bytes of a header that is kept */

enum httpMethod { HTTP_METHOD_GET, HTTP_METHOD_HEAD, HTTP_METHOD_OTHER };

struct httpRequest {
    enum httpMethod method;
    sds path;                        /* without the query */
    sds host, authorization, accept; /* "": absent */
    bool forwarded;                  /* a proxy has declared itself */
    bool keep_alive;                 /* another request may follow on the connection */
};

struct httpReader; /* the state of one connection */

bool httpIsAvailable(void);
struct httpReader *httpReaderCreate(void);
void httpReaderFree(struct httpReader *r); /* r may be NULL */

/* Reads up to the end of a request. *used bytes were consumed; the rest has to be passed again. Returns 0 if
 * more bytes are needed, 200 if *request is complete (it is valid until the next call), else the status of
 * an error, after which the connection cannot be read any more. */
int httpRead(struct httpReader *r, const char *bytes, size_t len, size_t *used,
             const struct httpRequest **request);
/* Tells whether a request has begun and is not complete. */
bool httpInRequest(const struct httpReader *r);
