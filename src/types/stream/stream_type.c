/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_type.c - the hooks of streams and the registration of the type (part of stream.h). */
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_stream.h"
#include "data/digest.h"
#include "data/type.h"
#include "registry/config.h"
#include "types/defrag_hooks.h"
#include "types/rdb_hooks.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"
#include "types/types.h"

static const char *streamHookEncodingName(const struct object *o) {
    (void)o;
    return "stream";
}

static void streamHookFree(struct value v) {
    if (v.encoding == STREAM_ENCODING_IDMP) idmpFreeRecords(v.ptr);
    streamFree(v.ptr);
}

/* Counts nodes, and assumes that all groups are like the first one. */
static size_t streamHookFreeEffort(const struct object *o) {
    struct stream *s = streamOpen(o);
    size_t effort = streamNodes(s);
    if (s->groups.size) {
        struct raxIterator it;
        raxStart(&it, &s->groups);
        raxSeek(&it, "^", STR(""));
        struct streamGroup *g = it.value;
        effort += s->groups.size * (1 + g->pending.size + g->consumers.size);
        raxStop(&it);
    }
    const struct idmpStream *x = idmpOpen(o);
    return effort + (x ? x->count + idmpProducers(x) : 0);
}

static size_t streamTypeNodesMemory(struct stream *s, size_t samples) {
    struct raxIterator it;
    size_t seen = 0, bytes = 0;
    raxStart(&it, &s->nodes);
    for (bool more = raxSeek(&it, "^", STR("")); more && (!samples || seen < samples); more = raxNext(&it)) {
        bytes += zmallocSize(it.value);
        seen++;
    }
    raxStop(&it);
    if (seen) bytes = (size_t)((double)bytes / (double)seen * (double)s->nodes.size);
    return bytes + s->nodes.bytes + (s->tail ? zmallocSize(s->tail) : 0);
}

static size_t streamTypeGroupMemory(struct streamGroup *g) {
    struct raxIterator it;
    size_t bytes = zmallocSize(g) + g->pending.bytes + g->consumers.bytes + streamDueBytes(g);
    bytes += g->pending.size * zmallocGoodSize(sizeof(struct streamNack));
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamConsumer *consumer = it.value;
        bytes += zmallocSize(consumer) + sdsAllocSize(consumer->name) + consumer->pending.bytes;
    }
    raxStop(&it);
    return bytes;
}

static size_t streamTypeMemory(const struct object *o, size_t samples) {
    struct stream *s = streamOpen(o);
    struct raxIterator it;
    size_t bytes = zmallocSize(s) + streamTypeNodesMemory(s, samples) + s->groups.bytes;
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        bytes += streamTypeGroupMemory(it.value);
    raxStop(&it);
    const struct idmpStream *x = idmpOpen(o);
    return bytes + (x ? idmpMemory(x, samples) : 0);
}

static struct value streamHookCopy(const struct object *o) {
    struct idmpStream *x = idmpOpen(o);
    return x ? idmpValue(idmpDup(x)) : streamValue(streamDup(streamOpen(o)));
}

static void streamHookDigest(const struct object *o, uint8_t digest[20]) {
    struct streamIterator it;
    char text[STREAM_ID_TEXT];
    streamIterate(&it, streamOpen(o), STREAM_ID_MIN, STREAM_ID_MAX, false);
    while (streamNext(&it)) {
        digestMix(digest, streamIDText(it.id, text));
        for (int64_t i = 0; i < it.pairs; i++) {
            struct str field, value;
            streamNextPair(&it, &field, &value);
            digestMix(digest, field);
            digestMix(digest, value);
        }
    }
    streamStop(&it);
}

static const struct objectType stream_type = {
    .id = OBJ_STREAM,
    .name = "stream",
    .encodingName = streamHookEncodingName,
    .free = streamHookFree,
    .freeEffort = streamHookFreeEffort,
    .memoryUsage = streamTypeMemory,
    .copy = streamHookCopy,
    .digest = streamHookDigest,
    .onAdded = idmpOnAdded,
    .onRemoved = idmpOnRemoved,
    .onAllRemoved = idmpOnAllRemoved,
    .defrag = streamDefrag,
    RDB_HOOK_FIELDS(stream, STREAM_RDB_TYPES),
    .rdbVersionNeeded = idmpRdbVersionNeeded,
    .parts = streamPartsOf,
};

void streamInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("stream-node-max-bytes", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &stream_node_max_bytes,
                   4096, 0, INT64_MAX, NULL),
        CONFIG_INT("stream-node-max-entries", NULL, CONFIG_MODIFIABLE, &stream_node_max_entries, 100, 0,
                   INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    idmpInit();
    objectTypeRegister(&stream_type);
    commandRegister(commandsStream);
}
