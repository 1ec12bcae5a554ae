/* SPDX-License-Identifier: BSD-3-Clause */
/* recode.h - changes the compression around a snapshot while it passes: a primary's link may use another
 * codec than this server's files.
 *
 *     bytes ──▶ | plain, or an envelope and a frame | ──▶ decode, if they differ ──▶ encode ──▶ sink
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compressed_stream.h"

struct recode;
/* `sink` gets the snapshot with codec `to`, and returns 0 or an errno. */
struct recode *recodeNew(enum streamCodec to, bool checksums,
                         int (*sink)(void *priv, const char *bytes, size_t n));
/* Return 0, the sink's errno, or EBADMSG: the input is refused. */
int recodeWrite(struct recode *r, struct str bytes);
/* The input is complete; a frame that is not is refused. */
int recodeEnd(struct recode *r);
const char *recodeError(const struct recode *r); /* a static text; NULL: the input was not refused */
void recodeFree(struct recode *r);               /* NULL is ignored */
