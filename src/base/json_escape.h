/* SPDX-License-Identifier: BSD-3-Clause */
/* json_escape.h - text within the quotes of a JSON string (RFC 8259, section 7). */
#pragma once

#include "base/str.h"

#define JSON_ESCAPE_MAX 6 /* bytes that one byte of text may become */

/* Writes the bytes of `text`, escaped, to the `room` bytes at dst and removes them from the front of `text`.
 * All of them fit when there are JSON_ESCAPE_MAX bytes for each. Bytes that are not UTF-8 become the four
 * characters \xHH. Returns the length. Async-signal-safe. */
size_t jsonEscape(char *dst, size_t room, struct str *text);
