/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_codec.h - one compression library as compressed_stream.c uses it: a table of functions per
 * codec.
 *
 * Sizes in memory include what the library allocates itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define CODEC_PIECE  (64 * 1024) /* most bytes that encode takes at once; the size of LZ4 blocks */
#define CODEC_FAILED SIZE_MAX

enum codecOp { CODEC_WRITE, CODEC_FLUSH, CODEC_END };

struct codec {
    const char *name;
    uint8_t magic[4];     /* the first bytes of a frame */
    bool available;       /* false: the build is without the library, and nothing below is set */
    size_t (*room)(void); /* bytes that `out` of encode has */

    void *(*newEncoder)(bool checksums);
    /* Takes at most CODEC_PIECE bytes of *in, which is advanced, and returns how many bytes it wrote, or
     * CODEC_FAILED. It has to be called again, with the rest of *in, until *done. */
    size_t (*encode)(void *encoder, enum codecOp op, struct str *in, char *out, bool *done);
    size_t (*encoderMemory)(const void *encoder);
    void (*freeEncoder)(void *encoder);

    void *(*newDecoder)(void);
    /* Returns NULL, or why a frame with this descriptor (the byte after the magic) is refused. */
    const char *(*refuse)(uint8_t descriptor);
    /* Decodes from *in, which is advanced; returns NULL or the error, a static text. *ended: the frame is
     * complete. */
    const char *(*decode)(void *decoder, struct str *in, char *out, size_t size, size_t *written,
                          bool *ended);
    size_t (*decoderMemory)(const void *decoder);
    void (*freeDecoder)(void *decoder);
};
extern const struct codec codecLz4, codecZstd;
