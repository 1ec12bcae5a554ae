/* SPDX-License-Identifier: BSD-3-Clause */
/* packed_stream.h - the stream of one replica in compressed form: an envelope and one endless frame.
 *
 *     chain (shared, plain) ── packedStreamAdd ──▶ frame ──▶ unsent bytes ──▶ socket
 *
 * Bytes are compressed when the socket has taken all earlier ones, so what waits is kept plain, once for all
 * replicas, and little of it compressed. A frame cannot be shared: each replica's began at another position.
 */
#pragma once

#include "base/compressed_stream.h"
#include "base/str.h"

struct packedStream;
struct packedStream *packedStreamNew(enum streamCodec codec);
void packedStreamFree(struct packedStream *p);
/* Compresses more. False: the library has failed. */
bool packedStreamAdd(struct packedStream *p, struct str bytes);
/* Makes all that was added decodable by the receiver. */
bool packedStreamFlush(struct packedStream *p);
struct str packedStreamUnsent(const struct packedStream *p);
void packedStreamNoteSent(struct packedStream *p, size_t n);

enum streamCodec packedStreamCodec(const struct packedStream *p);
uint64_t packedStreamIn(const struct packedStream *p);  /* bytes before compression */
uint64_t packedStreamOut(const struct packedStream *p); /* and after it */
size_t packedStreamMemory(const struct packedStream *p);
