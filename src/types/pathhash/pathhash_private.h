/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_private.h - what a payload's pointer is, for the files of path hashes. */
#pragma once

#include "types/pathhash/pathhash.h"

#define PAYLOAD_TAG 7 /* low bits of a pointer that are the encoding: allocations are multiples of 8 */

static inline int payloadEncoding(const void *payload) {
    return (int)((uintptr_t)payload & PAYLOAD_TAG);
}
static inline void *payloadAddress(const void *payload) {
    return (char *)payload - ((uintptr_t)payload & PAYLOAD_TAG);
}
static inline void *payloadTag(void *address, int encoding) {
    return (char *)address + encoding;
}
