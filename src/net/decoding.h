/* SPDX-License-Identifier: BSD-3-Clause */
/* decoding.h - a connection whose input is a compressed stream (base/compressed_stream.h), decoded as it is
 * read.
 *
 *     owner ── connRead ──▶ streamRead ──▶ raw bytes, few at once ──▶ the type's read ──▶ socket
 *
 * The peer decides by its first bytes: input that does not begin with an envelope is plain and passes
 * unchanged, and the connection is an ordinary one again. What is written passes unchanged in any case. */
#pragma once

#include "base/compressed_stream.h"
#include "net/connection.h"

/* Reads from now on what follows `first`, bytes of the peer that the caller has read already. A broken stream
 * ends as a read that fails with EBADMSG, after connDecodingError's reason has been set. */
void connDecode(struct connection *conn, enum streamKind kind, struct str first);
/* Returns the codec of the input; plain when it is not decoded, or has not begun. */
enum streamCodec connDecodingCodec(const struct connection *conn);
/* Returns why the stream was refused; NULL: it was not. A static text. */
const char *connDecodingError(const struct connection *conn);
size_t connDecodingMemory(const struct connection *conn);
