/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_uri.c - a server written as a URI. Part of benchmark.h. */
#define _GNU_SOURCE /* memrchr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "tools/benchmark/benchmark.h"
#include "tools/tool_uri.h"

static void benchUriRefuse(const char *uri) {
    fprintf(stderr, "Not a server as valkey://[user[:password]@]host[:port][/db]: '%s'\n", uri);
    exit(1);
}

static int benchUriParseNumber(const char *p, size_t len, const char *uri) {
    int64_t n = 0;
    if (!string2ll(strN(p, len), &n) || n < 0 || n > 65535) benchUriRefuse(uri);
    return (int)n;
}

/* Reads "user:password" or "password". The texts are never freed: they belong to the options. */
static void benchUriParseUser(struct benchOptions *o, const char *p, size_t len) {
    const char *colon = memchr(p, ':', len), *password = colon ? colon + 1 : p;
    if (colon && colon > p) o->user = toolPercentDecode(p, (size_t)(colon - p));
    o->password = toolPercentDecode(password, (size_t)(p + len - password));
}

void benchParseUri(struct benchOptions *o, const char *uri) {
    const char *p = strstr(uri, "://");
    bool tls = strncasecmp(uri, "valkeys://", 10) == 0 || strncasecmp(uri, "rediss://", 9) == 0;
    bool plain = strncasecmp(uri, "valkey://", 9) == 0 || strncasecmp(uri, "redis://", 8) == 0;
    if (!p || (!tls && !plain)) benchUriRefuse(uri);
    if (tls) o->tls.on = true;
    p += 3;
    const char *at = strrchr(p, '@');
    if (at) benchUriParseUser(o, p, (size_t)(at - p));
    if (at) p = at + 1;
    const char *end = p + strcspn(p, "/"), *close = *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
    const char *colon = memrchr(close ? close : p, ':', (size_t)(end - (close ? close : p)));
    const char *host = close ? p + 1 : p, *host_end = close ? close : colon ? colon : end;
    if (host_end > host) o->servers[0].host = toolPercentDecode(host, (size_t)(host_end - host));
    if (colon) o->servers[0].port = benchUriParseNumber(colon + 1, (size_t)(end - colon - 1), uri);
    if (end[0] && end[1]) o->db = benchUriParseNumber(end + 1, strlen(end + 1), uri);
}
