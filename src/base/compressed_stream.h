/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_stream.h - a stream of bytes as one LZ4 or Zstandard frame behind a small envelope, as
 * Valkey 9.2 writes RDB files, bases of append-only files, and replication streams.
 *
 *     offset  size  value
 *     0       3     "VCS"
 *     3       1     1, the version of the envelope
 *     4       1     codec: 1 LZ4, 2 Zstandard
 *     5       1     0
 *     6       1     kind: 1 RDB, 2 replication stream
 *     7       -     one frame: LZ4 frame format (lz4_Frame_format.md 1.6.x) or Zstandard (RFC 8878)
 *
 * The writer uses linked blocks of 64 KiB for LZ4. With checksums, LZ4 frames carry block and content
 * checksums, and Zstandard frames a content checksum; without, none. The reader accepts any valid frame of a
 * bounded window, and refuses everything else. Memory is bounded by the libraries' windows (the reader
 * refuses Zstandard windows above 8 MiB).
 *
 * The library knows nothing of what is inside. Both directions work in pieces of any size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

enum streamCodec { STREAM_PLAIN = 0, STREAM_LZ4 = 1, STREAM_ZSTD = 2 };
enum streamKind { STREAM_KIND_RDB = 1, STREAM_KIND_REPLICATION = 2 };

#define STREAM_ENVELOPE     7 /* bytes */
#define STREAM_ENVELOPE_TAG "VCS"
#define STREAM_NO_ZSTD      "Zstandard compression is not available in this build"

/* Returns "lz4", "zstd", or "" for plain. */
const char *streamCodecName(enum streamCodec codec);
bool streamCodecIsAvailable(enum streamCodec codec); /* only zstd can be missing: make BUILD_ZSTD=no */
/* Returns false, and why, for the name of a codec that is not available; for directives. */
bool streamNameIsAvailable(const char *name, const char **err);

/* ---- Writing ---- */
struct streamWriter;
/* The codec is available, and not plain. `sink` takes all n compressed bytes, or returns an errno, which then
 * ends the stream. Compressed bytes are collected for it, up to about 64 KiB, until a flush or the end. */
struct streamWriter *streamWriterNew(enum streamCodec codec, enum streamKind kind, bool checksums,
                                     int (*sink)(void *priv, const char *p, size_t n), void *priv);
/* Each returns 0 or the errno of the sink (EIO when the library fails); errors stick. */
int streamWrite(struct streamWriter *w, const char *p, size_t n);
/* Gives everything that was written to the sink in a form that the reader can decode at once. */
int streamWriterFlush(struct streamWriter *w);
int streamWriterEnd(struct streamWriter *w);            /* ends the frame; nothing may follow */
uint64_t streamWriterIn(const struct streamWriter *w);  /* bytes before compression */
uint64_t streamWriterOut(const struct streamWriter *w); /* bytes given to the sink, the envelope included */
/* Returns bytes in memory, those of the library included: about 0.4 MiB for LZ4, 1 to 2 MiB for Zstandard. */
size_t streamWriterMemory(const struct streamWriter *w);
void streamWriterFree(struct streamWriter *w);

/* ---- Reading ---- */
enum streamRead {
    STREAM_MORE,  /* all input was used, more is needed */
    STREAM_FULL,  /* the output is full; call again with the rest of the input */
    STREAM_ENDED, /* the frame is complete; the rest of the input does not belong to it */
    STREAM_BAD    /* refused: streamReaderError */
};
struct streamReader;
enum streamDetected { STREAM_IS_PLAIN, STREAM_MAY_BE_COMPRESSED, STREAM_IS_COMPRESSED };
/* Returns whether these first n bytes begin an envelope; too few may leave it open. Nothing else that a
 * server stores or sends begins with its tag. */
enum streamDetected streamDetect(const char *p, size_t n);
/* Returns the codec that these first n bytes name, which may be an unknown one, or STREAM_PLAIN when they are
 * not a whole envelope. */
enum streamCodec streamEnvelopeCodec(const char *p, size_t n);
/* The reader expects the envelope first, with this kind. */
struct streamReader *streamReaderNew(enum streamKind kind);
/* Decodes from *in to out[0..size). *in is advanced over what was used; *written is how much was decoded,
 * also when the frame has ended. Input that ends before STREAM_ENDED is truncated: the caller has to refuse
 * it. What was decoded before an error or an end has not been checked as a whole. */
enum streamRead streamRead(struct streamReader *r, struct str *in, char *out, size_t size, size_t *written);
enum streamCodec streamReaderCodec(const struct streamReader *r); /* known after the envelope */
const char *streamReaderError(const struct streamReader *r);      /* NULL: no error; a static text */
uint64_t streamReaderIn(const struct streamReader *r); /* compressed bytes used, the envelope included */
/* Returns bytes in memory, those of the library included: at most 9 MiB. */
size_t streamReaderMemory(const struct streamReader *r);
void streamReaderFree(struct streamReader *r);
