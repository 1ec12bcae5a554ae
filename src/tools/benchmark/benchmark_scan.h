/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_scan.h - counts the replies in a byte stream without keeping the bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_LINE_MAX 256 /* bytes kept of a header or error line that is split over reads */

struct replyScan {
    int64_t open;  /* values missing in the current reply, itself included */
    int64_t skip;  /* bytes of a bulk string still to be skipped */
    bool push;     /* the current reply is a push message and does not count */
    bool broken;   /* the stream is not RESP; nothing more can be read */
    int64_t count; /* error replies seen */
    size_t line_len;
    char line[SCAN_LINE_MAX];  /* start of a line whose end has not arrived */
    char error[SCAN_LINE_MAX]; /* text of the last error reply, NUL terminated */
};

void replyScanInit(struct replyScan *s);
/* Reads all of the next bytes of the stream; returns how many replies they completed. */
int64_t replyScanFeed(struct replyScan *s, const char *buf, size_t len);
