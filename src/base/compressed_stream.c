/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_stream.c - the envelope, and pieces of any size, around the codecs of compressed_codec.h. */
#include "base/compressed_stream.h"

#include <errno.h>

#include "base/assert.h"
#include "base/compressed_codec.h"
#include "base/zmalloc.h"

#define STREAM_VERSION   1
#define STREAM_COLLECTED (64 * 1024) /* compressed bytes that go to the sink at once */
#define STREAM_HEAD                                                                                          \
    (STREAM_ENVELOPE + 5) /* the envelope, the frame's magic and its first descriptor byte                   \
                           */

static const struct codec *streamFindCodec(int codec) {
    if (codec == STREAM_LZ4) return &codecLz4;
    return codec == STREAM_ZSTD ? &codecZstd : NULL;
}

const char *streamCodecName(enum streamCodec codec) {
    const struct codec *c = streamFindCodec((int)codec);
    return c ? c->name : "";
}

bool streamCodecIsAvailable(enum streamCodec codec) {
    const struct codec *c = streamFindCodec((int)codec);
    return !c || c->available;
}

bool streamNameIsAvailable(const char *name, const char **err) {
    if (codecZstd.available || strcmp(name, codecZstd.name) != 0) return true;
    *err = STREAM_NO_ZSTD;
    return false;
}

/* ---- Writing ---- */

struct streamWriter {
    const struct codec *codec;
    void *encoder;
    int (*sink)(void *priv, const char *p, size_t n);
    void *priv;
    char *out; /* compressed bytes that the sink gets next */
    size_t used;
    size_t piece; /* bytes of `out` beyond STREAM_COLLECTED, enough for one call of encode */
    bool ended;
    int error;
    uint64_t bytes_in, bytes_out;
};

struct streamWriter *streamWriterNew(enum streamCodec codec, enum streamKind kind, bool checksums,
                                     int (*sink)(void *priv, const char *p, size_t n), void *priv) {
    const struct codec *c = streamFindCodec((int)codec);
    serverAssert(c && c->available && sink);
    const char envelope[STREAM_ENVELOPE] = {'V', 'C', 'S', STREAM_VERSION, (char)codec, 0, (char)kind};
    struct streamWriter *w = zmalloc(sizeof(*w));
    *w = (struct streamWriter){.codec = c,
                               .encoder = c->newEncoder(checksums),
                               .sink = sink,
                               .priv = priv,
                               .out = zmalloc(STREAM_COLLECTED + c->room()),
                               .used = STREAM_ENVELOPE,
                               .piece = c->room()};
    memcpy(w->out, envelope, STREAM_ENVELOPE);
    return w;
}

static void streamPassToSink(struct streamWriter *w) {
    if (w->used == 0) return;
    w->error = w->sink(w->priv, w->out, w->used);
    w->bytes_out += w->used;
    w->used = 0;
}

static int streamEncode(struct streamWriter *w, enum codecOp op, struct str in) {
    serverAssert(!w->ended);
    bool done = false;
    while (!done && !w->error) {
        size_t n = w->codec->encode(w->encoder, op, &in, w->out + w->used, &done);
        if (n == CODEC_FAILED) return w->error = EIO;
        w->used += n;
        if (w->used >= STREAM_COLLECTED) streamPassToSink(w);
    }
    if (op != CODEC_WRITE && !w->error) streamPassToSink(w);
    return w->error;
}

int streamWrite(struct streamWriter *w, const char *p, size_t n) {
    w->bytes_in += n;
    return n ? streamEncode(w, CODEC_WRITE, strN(p, n)) : w->error;
}

int streamWriterFlush(struct streamWriter *w) {
    return streamEncode(w, CODEC_FLUSH, STR(""));
}

int streamWriterEnd(struct streamWriter *w) {
    int error = streamEncode(w, CODEC_END, STR(""));
    w->ended = true;
    return error;
}

uint64_t streamWriterIn(const struct streamWriter *w) {
    return w->bytes_in;
}

uint64_t streamWriterOut(const struct streamWriter *w) {
    return w->bytes_out;
}

size_t streamWriterMemory(const struct streamWriter *w) {
    return sizeof(*w) + STREAM_COLLECTED + w->piece + w->codec->encoderMemory(w->encoder);
}

void streamWriterFree(struct streamWriter *w) {
    if (!w) return;
    w->codec->freeEncoder(w->encoder);
    zfree(w->out);
    zfree(w);
}

/* ---- Reading ---- */

struct streamReader {
    enum streamKind kind;
    const struct codec *codec; /* NULL until the envelope has been read */
    void *decoder;
    char head[STREAM_HEAD];
    size_t head_len;
    bool ended, starved; /* starved: nothing comes out before there is more input */
    const char *error;
    uint64_t bytes_in;
};

enum streamDetected streamDetect(const char *p, size_t n) {
    size_t tag = sizeof(STREAM_ENVELOPE_TAG) - 1;
    if (memcmp(p, STREAM_ENVELOPE_TAG, n < tag ? n : tag) != 0) return STREAM_IS_PLAIN;
    return n < tag ? STREAM_MAY_BE_COMPRESSED : STREAM_IS_COMPRESSED;
}

enum streamCodec streamEnvelopeCodec(const char *p, size_t n) {
    bool whole = n >= STREAM_ENVELOPE && streamDetect(p, n) == STREAM_IS_COMPRESSED;
    return whole ? (enum streamCodec)p[4] : STREAM_PLAIN;
}

struct streamReader *streamReaderNew(enum streamKind kind) {
    struct streamReader *r = zcalloc(1, sizeof(*r));
    r->kind = kind;
    return r;
}

static enum streamRead streamRefuse(struct streamReader *r, const char *why) {
    r->error = why;
    return STREAM_BAD;
}

/* Returns why the head is refused as far as it is known, or NULL. Only a complete envelope sets the codec. */
static const char *streamCheckHead(struct streamReader *r) {
    const char *bad = r->kind == STREAM_KIND_RDB ? "Invalid or unsupported RDB stream envelope"
                                                 : "Invalid or unsupported replication stream envelope";
    const uint8_t *head = (const uint8_t *)r->head;
    size_t n = r->head_len;
    if (streamDetect(r->head, n) == STREAM_IS_PLAIN || (n > 3 && head[3] != STREAM_VERSION) ||
        (n > 4 && !streamFindCodec(head[4])) || (n > 5 && head[5] != 0) || (n > 6 && head[6] != r->kind))
        return bad;
    if (n < STREAM_ENVELOPE) return NULL;
    r->codec = streamFindCodec(head[4]);
    if (!r->codec->available) return STREAM_NO_ZSTD;
    if (memcmp(head + STREAM_ENVELOPE, r->codec->magic, n < STREAM_HEAD ? n - STREAM_ENVELOPE : 4) != 0)
        return "the compressed frame does not begin with its magic number";
    return n < STREAM_HEAD ? NULL : r->codec->refuse(head[STREAM_HEAD - 1]);
}

/* Collects the head, and starts the decoder with the part that belongs to the frame. */
static enum streamRead streamReadHead(struct streamReader *r, struct str *in) {
    size_t n = STREAM_HEAD - r->head_len;
    if (n > in->len) n = in->len;
    if (n) memcpy(r->head + r->head_len, in->ptr, n);
    *in = strN(in->ptr + n, in->len - n);
    r->head_len += n;
    r->bytes_in += n;
    const char *refused = streamCheckHead(r);
    if (refused) return streamRefuse(r, refused);
    if (r->head_len < STREAM_HEAD) return STREAM_MORE;
    r->decoder = r->codec->newDecoder();
    struct str frame = strN(r->head + STREAM_ENVELOPE, STREAM_HEAD - STREAM_ENVELOPE);
    size_t written = 0;
    char none[1];
    const char *error = r->codec->decode(r->decoder, &frame, none, 0, &written, &r->ended);
    if (error) return streamRefuse(r, error);
    serverAssert(frame.len == 0 && !r->ended);
    return STREAM_FULL;
}

enum streamRead streamRead(struct streamReader *r, struct str *in, char *out, size_t size, size_t *written) {
    *written = 0;
    if (r->error) return STREAM_BAD;
    if (!r->decoder && streamReadHead(r, in) != STREAM_FULL) return r->error ? STREAM_BAD : STREAM_MORE;
    if (in->len) r->starved = false;
    while (!r->ended && !r->starved && *written < size) {
        size_t before = in->len, part = 0;
        const char *error =
            r->codec->decode(r->decoder, in, out + *written, size - *written, &part, &r->ended);
        if (error) return streamRefuse(r, error);
        r->bytes_in += before - in->len;
        *written += part;
        r->starved = part == 0 && before == in->len;
        if (r->starved && in->len) return streamRefuse(r, "the compressed frame makes no progress");
    }
    if (r->ended) return STREAM_ENDED;
    return r->starved ? STREAM_MORE : STREAM_FULL;
}

enum streamCodec streamReaderCodec(const struct streamReader *r) {
    return r->codec ? (enum streamCodec)r->head[4] : STREAM_PLAIN;
}

const char *streamReaderError(const struct streamReader *r) {
    return r->error;
}

uint64_t streamReaderIn(const struct streamReader *r) {
    return r->bytes_in;
}

size_t streamReaderMemory(const struct streamReader *r) {
    return sizeof(*r) + (r->decoder ? r->codec->decoderMemory(r->decoder) : 0);
}

void streamReaderFree(struct streamReader *r) {
    if (!r) return;
    if (r->decoder) r->codec->freeDecoder(r->decoder);
    zfree(r);
}
