/* SPDX-License-Identifier: BSD-3-Clause */
/* http.c - see http.h.
 *
 * The library calls back with pieces of its input; names of headers are compared when they are complete. It
 * pauses behind a request, so that one is answered before the next is parsed. */
#include "web/http.h"

#ifdef WITH_LLHTTP
#include <llhttp.h>
#else
#include <http_parser.h>
#endif

#include "base/str.h"
#include "base/zmalloc.h"

#define NAME_MAX_LEN 32 /* of a header's name; longer names are not of interest */

/* Names that differ between the libraries. */
#ifdef WITH_LLHTTP
typedef llhttp_t httpLibrary;
typedef llhttp_settings_t httpLibrarySettings;
#else
typedef http_parser httpLibrary;
typedef http_parser_settings httpLibrarySettings;
#endif

struct httpReader {
    httpLibrary lib;
    struct httpRequest request;
    size_t head;      /* bytes of the request so far */
    sds target, name; /* collected from pieces */
    sds *value;       /* destination of the header's value, or NULL */
    bool in_value, has_body, complete;
    int status; /* status of an error in a callback; 0: none */
};

/* ---- Callbacks of the library ---- */

static int httpAppendPiece(struct httpReader *r, sds *to, const char *at, size_t len, size_t max,
                           int status) {
    if (sdslen(*to) + len > max) {
        r->status = status;
        return -1;
    }
    *to = sdscatlen(*to, at, len);
    return 0;
}

static int httpOnUrl(httpLibrary *lib, const char *at, size_t len) {
    struct httpReader *r = lib->data;
    return httpAppendPiece(r, &r->target, at, len, HTTP_TARGET_MAX, 414);
}

static int httpOnName(httpLibrary *lib, const char *at, size_t len) {
    struct httpReader *r = lib->data;
    if (r->in_value) sdssetlen(r->name, 0);
    r->in_value = false;
    if (sdslen(r->name) + len > NAME_MAX_LEN) len = NAME_MAX_LEN - sdslen(r->name);
    r->name = sdscatlen(r->name, at, len);
    return 0;
}

static sds *httpFindDestination(struct httpReader *r) {
    struct httpRequest *q = &r->request;
    struct str name = sdsview(r->name);
    if (strIs(name, "host")) return &q->host;
    if (strIs(name, "authorization")) return &q->authorization;
    if (strIs(name, "accept")) return &q->accept;
    if (strIs(name, "forwarded") || strIs(name, "x-forwarded-for") || strIs(name, "via")) q->forwarded = true;
    if (strIs(name, "transfer-encoding")) r->has_body = true;
    return NULL;
}

/* Refuses a header that comes twice, because it would be unclear which one counts. */
static int httpOnValue(httpLibrary *lib, const char *at, size_t len) {
    struct httpReader *r = lib->data;
    bool begins = !r->in_value;
    r->in_value = true;
    if (begins) r->value = httpFindDestination(r);
    if (!r->value) return 0;
    if (begins && sdslen(*r->value)) {
        r->status = 400;
        return -1;
    }
    return httpAppendPiece(r, r->value, at, len, HTTP_VALUE_MAX, 431);
}

static enum httpMethod httpMethodOf(const httpLibrary *lib) {
    return lib->method == HTTP_GET    ? HTTP_METHOD_GET
           : lib->method == HTTP_HEAD ? HTTP_METHOD_HEAD
                                      : HTTP_METHOD_OTHER;
}

/* Refuses requests with a body, which no page has. */
static int httpOnHeaders(httpLibrary *lib) {
    struct httpReader *r = lib->data;
    bool length_given = lib->content_length != 0 && lib->content_length != UINT64_MAX;
    r->request.method = httpMethodOf(lib);
    if (lib->http_major != 1)
        r->status = 505;
    else if (r->has_body || length_given)
        r->status = r->request.method == HTTP_METHOD_OTHER ? 405 : 413;
    return r->status ? -1 : 0;
}

static int httpOnComplete(httpLibrary *lib) {
    struct httpReader *r = lib->data;
    r->complete = true;
#ifdef WITH_LLHTTP
    r->request.keep_alive = llhttp_should_keep_alive(lib) && !lib->upgrade;
    return HPE_PAUSED;
#else
    r->request.keep_alive = http_should_keep_alive(lib) && !lib->upgrade;
    http_parser_pause(lib, 1);
    return 0;
#endif
}

static const httpLibrarySettings settings = {
    .on_url = httpOnUrl,
    .on_header_field = httpOnName,
    .on_header_value = httpOnValue,
    .on_headers_complete = httpOnHeaders,
    .on_message_complete = httpOnComplete,
};

/* ---- The library ---- */

static void httpLibraryStart(struct httpReader *r) {
#ifdef WITH_LLHTTP
    llhttp_init(&r->lib, HTTP_REQUEST, &settings);
#else
    http_parser_init(&r->lib, HTTP_REQUEST);
#endif
    r->lib.data = r;
}

/* Returns the number of consumed bytes; *bad: the input is no request. */
static size_t httpLibraryRead(struct httpReader *r, const char *bytes, size_t len, bool *bad) {
#ifdef WITH_LLHTTP
    llhttp_errno_t error = llhttp_execute(&r->lib, bytes, len);
    *bad = error != HPE_OK && error != HPE_PAUSED && error != HPE_PAUSED_UPGRADE;
    return error == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&r->lib) - bytes);
#else
    size_t n = http_parser_execute(&r->lib, &settings, bytes, len);
    enum http_errno error = HTTP_PARSER_ERRNO(&r->lib);
    *bad = error != HPE_OK && error != HPE_PAUSED;
    return n;
#endif
}

/* ---- Requests ---- */

static void httpClear(sds *s) {
    if (!*s) *s = sdsempty();
    sdssetlen(*s, 0);
}

static void httpStartRequest(struct httpReader *r) {
    struct httpRequest *q = &r->request;
    httpClear(&q->path), httpClear(&q->host), httpClear(&q->authorization), httpClear(&q->accept);
    httpClear(&r->target), httpClear(&r->name);
    q->forwarded = q->keep_alive = false;
    r->head = 0;
    r->value = NULL;
    r->in_value = r->has_body = r->complete = false;
    r->status = 0;
    httpLibraryStart(r);
}

bool httpIsAvailable(void) {
    return true;
}

struct httpReader *httpReaderCreate(void) {
    struct httpReader *r = zcalloc(1, sizeof *r);
    httpStartRequest(r);
    return r;
}

void httpReaderFree(struct httpReader *r) {
    if (!r) return;
    sdsfree(r->request.path), sdsfree(r->request.host);
    sdsfree(r->request.authorization), sdsfree(r->request.accept);
    sdsfree(r->target), sdsfree(r->name);
    zfree(r);
}

bool httpInRequest(const struct httpReader *r) {
    return r->head > 0 && !r->complete;
}

/* Takes the path from "http://host/path?query" or "/path?query". */
static void httpSetPath(struct httpReader *r) {
    const char *p = r->target, *end = p + sdslen(r->target);
    if (strncasecmp(p, "http://", 7) == 0) {
        p = memchr(p + 7, '/', (size_t)(end - p - 7));
        if (!p) p = "/", end = p + 1;
    }
    const char *query = memchr(p, '?', (size_t)(end - p));
    r->request.path = sdscpylen(r->request.path, p, (size_t)((query ? query : end) - p));
}

int httpRead(struct httpReader *r, const char *bytes, size_t len, size_t *used,
             const struct httpRequest **request) {
    if (r->complete) httpStartRequest(r);
    size_t room = HTTP_HEAD_MAX - r->head;
    bool bad;
    *used = httpLibraryRead(r, bytes, len > room ? room : len, &bad);
    r->head += *used;
    if (r->status) return r->status;
    if (bad) return 400;
    if (!r->complete) return r->head == HTTP_HEAD_MAX ? 431 : 0;
    httpSetPath(r);
    *request = &r->request;
    return 200;
}
