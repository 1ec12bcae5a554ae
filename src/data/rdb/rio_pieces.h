/* SPDX-License-Identifier: BSD-3-Clause */
/* rio_pieces.h - for tests: a source of a stream that returns bytes in pieces, as files and sockets may. */
#pragma once

#include <string.h>
#include <sys/types.h>

#include "base/str.h"

struct rioPieces {
    struct str left;
    size_t piece; /* at most so many bytes per read */
};
static inline ssize_t rioReadPiece(void *priv, char *p, size_t n) {
    struct rioPieces *s = priv;
    if (n > s->piece) n = s->piece;
    if (n > s->left.len) n = s->left.len;
    memcpy(p, s->left.ptr, n);
    s->left = strN(s->left.ptr + n, s->left.len - n);
    return (ssize_t)n;
}
