/* SPDX-License-Identifier: BSD-3-Clause */
/* http_none.c - replaces http.c in builds without an HTTP parser. */
#include "base/assert.h"
#include "web/http.h"

bool httpIsAvailable(void) {
    return false;
}

struct httpReader *httpReaderCreate(void) {
    serverUnreachable();
}

void httpReaderFree(struct httpReader *r) {
    (void)r;
}

int httpRead(struct httpReader *r, const char *bytes, size_t len, size_t *used,
             const struct httpRequest **request) {
    (void)r, (void)bytes, (void)len, (void)used, (void)request;
    serverUnreachable();
}

bool httpInRequest(const struct httpReader *r) {
    (void)r;
    return false;
}
