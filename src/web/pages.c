/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c - see pages.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem, strcasestr */
#endif
#include "web/pages.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "web/access.h"
#include "web/base64.h"
#include "web/http.h"
#include "web/metrics.h"
#include "web/page_data.h"
#include "web/readiness.h"
#include "web/recent.h"
#include "web/stats.h"

#define TEXT        "text/plain; charset=utf-8"
#define PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

typedef void pageFn(const struct httpRequest *q, const struct access *access, struct webAnswer *a);

/* ---- Pages ---- */

static uint64_t scrapes;
static double last_scrape_sec;

/* Tells from a header such as "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" whether
 * OpenMetrics is preferred. Prometheus names the preferred format first. */
static bool pagesPrefersOpenMetrics(const char *accept) {
    const char *open = strcasestr(accept, "application/openmetrics-text"),
               *plain = strcasestr(accept, "text/plain");
    return open && (!plain || open < plain);
}

static void pagesMetricsPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    int64_t start = monotonicUs();
    struct metricsOptions wanted = {
        .openmetrics = pagesPrefersOpenMetrics(q->accept),
        .config = accessAllows(access, (struct str[]){STR("CONFIG"), STR("GET"), STR("*")}, 3, 0),
        .scrapes = ++scrapes,
        .last_scrape_sec = last_scrape_sec,
    };
    a->type = wanted.openmetrics ? OPENMETRICS : PROMETHEUS;
    a->body = metricsMakePage(&wanted);
    a->headers = sdsnew("Vary: Accept\r\n");
    last_scrape_sec = (double)(monotonicUs() - start) / 1e6;
}

static void pagesHealthPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    (void)q, (void)access;
    a->body = sdsnew("ok\n");
}

/* The state is public; the reasons are shown to users who may run INFO. */
static void pagesReadyPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    (void)q;
    sds reasons = readinessListReasons();
    bool ready = sdslen(reasons) == 0;
    a->status = ready ? 200 : 503;
    a->body = sdsnew(ready ? "ready\n" : "not ready\n");
    if (access->verdict == ACCESS_GRANTED) a->body = sdscatstr(a->body, sdsview(reasons));
    sdsfree(reasons);
}

static void pagesStatsPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    (void)q;
    a->type = "application/json";
    a->body = statsMakeJson(access);
}

static void pagesHistoryPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    (void)q, (void)access;
    a->type = "application/json";
    a->body = recentMakeJson();
}

/* Appends 'sha256-...' of a text in the page, so that the browser runs no other script. */
static sds pagesAppendHash(sds s, struct str text) {
    char hex[SHA256_HEX_LEN + 1], digest[SHA256_HEX_LEN / 2];
    sha256Hex(hex, text.ptr, text.len);
    for (size_t i = 0; i < sizeof digest; i++)
        digest[i] = (char)(charHexDigit(hex[2 * i]) << 4 | charHexDigit(hex[2 * i + 1]));
    sds encoded = base64Encode(strN(digest, sizeof digest));
    s = sdscat(sdscatstr(sdscat(s, "'sha256-"), sdsview(encoded)), "'");
    sdsfree(encoded);
    return s;
}

/* Appends the page up to `tag`, and then `then`; *rest is what follows. */
static sds pagesAppendUpTo(sds s, struct str *rest, const char *tag, struct str then) {
    const char *at = memmem(rest->ptr, rest->len, tag, strlen(tag));
    serverAssert(at);
    size_t n = (size_t)(at - rest->ptr);
    s = sdscatstr(s, strN(rest->ptr, n));
    *rest = strN(at, rest->len - n);
    return sdscatstr(s, then);
}

static void pagesFrontPage(const struct httpRequest *q, const struct access *access, struct webAnswer *a) {
    (void)q, (void)access;
    struct str rest = page_html;
    a->type = "text/html; charset=utf-8";
    a->body = pagesAppendUpTo(sdsempty(), &rest, "</style>", page_css);
    a->body = pagesAppendUpTo(a->body, &rest, "</script>", page_js);
    a->body = sdscatstr(a->body, rest);
    a->headers = pagesAppendHash(sdsnew("Content-Security-Policy: default-src 'none'; style-src "), page_css);
    a->headers = pagesAppendHash(sdscat(a->headers, "; script-src "), page_js);
    a->headers =
        sdscat(a->headers, "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                           "frame-ancestors 'none'\r\nX-Frame-Options: DENY\r\n");
}

/* ---- Dispatch ---- */

static const struct webPage {
    const char *path;
    pageFn *fn;
    bool open; /* needs no rights */
    bool work;
} pages[] = {
    {"/", pagesFrontPage, false, false},         {"/metrics", pagesMetricsPage, false, true},
    {"/healthz", pagesHealthPage, true, false},  {"/readyz", pagesReadyPage, true, false},
    {"/api/stats", pagesStatsPage, false, true}, {"/api/history", pagesHistoryPage, false, true},
};

static const struct webPage *pagesFind(const struct httpRequest *q) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].path, q->path) == 0) return &pages[i];
    }
    return NULL;
}

bool pageNeedsWork(const struct httpRequest *q) {
    const struct webPage *page = pagesFind(q);
    return page && page->work;
}

static void pagesRefuse(const struct access *access, struct webAnswer *a) {
    switch (access->verdict) {
    case ACCESS_DENIED:
        a->status = 401;
        a->body = sdsnew("Credentials are needed: HTTP Basic of a user, or the token as Bearer.\n");
        a->headers = sdsnew("WWW-Authenticate: Basic realm=\"valkey\", charset=\"UTF-8\"\r\n");
        break;
    case ACCESS_FORBIDDEN:
        a->status = 403;
        a->body = sdsnew("This user may not run INFO.\n");
        break;
    default:
        a->status = 421;
        a->body = sdsnew("Without credentials, ask for localhost or an address of this machine.\n");
    }
    a->wrong_login = access->failed_login;
}

void pageMakeAnswer(const struct httpRequest *q, bool local_peer, struct str peer, struct webAnswer *a) {
    const struct webPage *page = pagesFind(q);
    *a = (struct webAnswer){.status = 200, .type = TEXT};
    if (q->method == HTTP_METHOD_OTHER) {
        a->status = 405;
        a->body = sdsnew("Only GET and HEAD.\n");
        a->headers = sdsnew("Allow: GET, HEAD\r\n");
        return;
    }
    struct access access = accessCheck(q, local_peer, peer);
    a->granted = access.verdict == ACCESS_GRANTED;
    a->wrong_login = access.failed_login;
    if (!a->granted && !(page && page->open)) {
        pagesRefuse(&access, a);
    } else if (!page) {
        a->status = 404;
        a->body = sdsnew("There are /, /metrics, /healthz, /readyz, /api/stats and /api/history.\n");
    } else {
        page->fn(q, &access, a);
    }
}
