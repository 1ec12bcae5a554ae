/* SPDX-License-Identifier: BSD-3-Clause */
/* api_stream.c - module functions for keys that hold a stream. */
#include <errno.h>

#include "base/zmalloc.h"
#include "module/module_key.h"
#include "registry/cron.h"
#include "types/stream/stream.h"

static struct streamID apiStreamIdOf(const ValkeyModuleStreamID *id) {
    return (struct streamID){id->ms, id->seq};
}
static ValkeyModuleStreamID apiStreamIdToModule(struct streamID id) {
    return (ValkeyModuleStreamID){id.ms, id.seq};
}

static int apiStreamFail(int why) {
    errno = why;
    return VALKEYMODULE_ERR;
}

static bool apiStreamIsStream(struct ValkeyModuleKey *key, unsigned mode, bool absent_ok) {
    return moduleKeyCheck(key, OBJ_STREAM, mode, absent_ok);
}

/* ---- Changing ---- */

/* Computes the ID of a new entry: the time, or the successor of the last ID. */
static bool apiStreamAutomaticId(const struct stream *s, struct streamID *id) {
    struct streamID now = {(uint64_t)cmd_time_ms, 0};
    if (!s || streamIDCompare(now, s->last_id) > 0) {
        *id = now;
        return true;
    }
    *id = s->last_id;
    return streamIDNext(id);
}

/* Returns 0 or an errno. */
static int apiStreamChooseId(const struct stream *s, int flags, const ValkeyModuleStreamID *wanted,
                             struct streamID *id) {
    struct streamID last = s ? s->last_id : STREAM_ID_MIN;
    if (flags & VALKEYMODULE_STREAM_ADD_AUTOID) return apiStreamAutomaticId(s, id) ? 0 : EFBIG;
    *id = apiStreamIdOf(wanted);
    if (streamIDIsZero(*id)) return EDOM;
    if (streamIDCompare(last, STREAM_ID_MAX) == 0) return EFBIG;
    return streamIDCompare(*id, last) <= 0 ? EDOM : 0;
}

int vmStreamAdd(struct ValkeyModuleKey *key, int flags, ValkeyModuleStreamID *id,
                struct ValkeyModuleString **argv, int64_t numfields) {
    bool automatic = flags & VALKEYMODULE_STREAM_ADD_AUTOID;
    if (!key || (!automatic && !id) || numfields < 0 || (numfields && !argv) ||
        flags & ~VALKEYMODULE_STREAM_ADD_AUTOID)
        return apiStreamFail(EINVAL);
    if (!apiStreamIsStream(key, VALKEYMODULE_WRITE, true)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    struct streamID chosen;
    struct object *o = moduleKeyObject(key);
    struct stream *s = o ? streamOpen(o) : NULL;
    int why = apiStreamChooseId(s, flags, id, &chosen);
    if (why) return apiStreamFail(why);
    if (!s) s = streamNew();
    struct str *pairs = stringViews(argv, 2 * (size_t)numfields);
    bool added = streamAppend(s, chosen, pairs, (size_t)numfields);
    zfree(pairs);
    if (!added && !o) streamFree(s);
    if (!added) return apiStreamFail(ERANGE);
    if (!o) dbAdd(key->db, moduleKeyName(key), streamValue(s));
    if (id) *id = apiStreamIdToModule(chosen);
    return VALKEYMODULE_OK;
}

int vmStreamDelete(struct ValkeyModuleKey *key, ValkeyModuleStreamID *id) {
    if (!key || !id) return apiStreamFail(EINVAL);
    if (!apiStreamIsStream(key, VALKEYMODULE_WRITE, false)) return VALKEYMODULE_ERR;
    if (key->walk == WALK_STREAM) return apiStreamFail(EBADF);
    if (!streamDelete(streamOpen(moduleKeyObject(key)), apiStreamIdOf(id))) return apiStreamFail(ENOENT);
    return VALKEYMODULE_OK;
}

static long long apiStreamTrim(struct ValkeyModuleKey *key, int flags, struct streamTrim t) {
    if (!key || flags & ~VALKEYMODULE_STREAM_TRIM_APPROX || t.maxlen < 0) errno = EINVAL;
    if (!key || flags & ~VALKEYMODULE_STREAM_TRIM_APPROX || t.maxlen < 0) return -1;
    if (!apiStreamIsStream(key, VALKEYMODULE_WRITE, false)) return -1;
    moduleKeyEndWalk(key);
    t.approximate = flags & VALKEYMODULE_STREAM_TRIM_APPROX;
    return streamTrimTo(streamOpen(moduleKeyObject(key)), &t);
}
long long vmStreamTrimByLength(struct ValkeyModuleKey *key, int flags, long long length) {
    return apiStreamTrim(key, flags, (struct streamTrim){.kind = TRIM_MAXLEN, .maxlen = length});
}
long long vmStreamTrimByID(struct ValkeyModuleKey *key, int flags, ValkeyModuleStreamID *id) {
    if (!id) errno = EINVAL;
    return id ? apiStreamTrim(key, flags, (struct streamTrim){.kind = TRIM_MINID, .minid = apiStreamIdOf(id)})
              : -1;
}

/* ---- Iteration ---- */

/* Excludes an end of the range if requested. Returns false if no ID lies beyond it. */
static bool apiStreamExcludeEnd(struct streamID *id, bool given, bool exclusive,
                                bool (*by)(struct streamID *id)) {
    return !given || !exclusive || by(id);
}

/* Iterates from start to end, or with REVERSE from end to start. */
int vmStreamIteratorStart(struct ValkeyModuleKey *key, int flags, ValkeyModuleStreamID *startid,
                          ValkeyModuleStreamID *endid) {
    int known = VALKEYMODULE_STREAM_ITERATOR_EXCLUSIVE | VALKEYMODULE_STREAM_ITERATOR_REVERSE;
    if (!key || flags & ~known) return apiStreamFail(EINVAL);
    if (!apiStreamIsStream(key, 0, false)) return VALKEYMODULE_ERR;
    if (key->walk == WALK_STREAM) return apiStreamFail(EBADF);
    moduleKeyEndWalk(key);
    bool exclusive = flags & VALKEYMODULE_STREAM_ITERATOR_EXCLUSIVE;
    key->stream.start = startid ? apiStreamIdOf(startid) : STREAM_ID_MIN;
    key->stream.end = endid ? apiStreamIdOf(endid) : STREAM_ID_MAX;
    if (!apiStreamExcludeEnd(&key->stream.start, startid, exclusive, streamIDNext) ||
        !apiStreamExcludeEnd(&key->stream.end, endid, exclusive, streamIDPrev))
        return apiStreamFail(EDOM);
    key->stream.on_entry = false;
    streamIterate(&key->stream.it, streamOpen(moduleKeyObject(key)), key->stream.start, key->stream.end,
                  flags & VALKEYMODULE_STREAM_ITERATOR_REVERSE);
    key->walk = WALK_STREAM;
    return VALKEYMODULE_OK;
}

static bool apiStreamIsIterating(struct ValkeyModuleKey *key) {
    if (!key) errno = EINVAL;
    if (!key || !apiStreamIsStream(key, 0, false)) return false;
    if (key->walk == WALK_STREAM) return true;
    errno = EBADF;
    return false;
}

int vmStreamIteratorStop(struct ValkeyModuleKey *key) {
    if (!apiStreamIsIterating(key)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    return VALKEYMODULE_OK;
}

int vmStreamIteratorNextID(struct ValkeyModuleKey *key, ValkeyModuleStreamID *id, long *numfields) {
    if (!apiStreamIsIterating(key)) return VALKEYMODULE_ERR;
    key->stream.on_entry = streamNext(&key->stream.it);
    if (!key->stream.on_entry) return apiStreamFail(ENOENT);
    key->stream.pairs_left = key->stream.it.pairs;
    if (id) *id = apiStreamIdToModule(key->stream.it.id);
    if (numfields) *numfields = (long)key->stream.it.pairs;
    return VALKEYMODULE_OK;
}

int vmStreamIteratorNextField(struct ValkeyModuleKey *key, struct ValkeyModuleString **field_ptr,
                              struct ValkeyModuleString **value_ptr) {
    struct str field, value;
    if (!apiStreamIsIterating(key)) return VALKEYMODULE_ERR;
    if (!key->stream.on_entry || !key->stream.pairs_left) return apiStreamFail(ENOENT);
    key->stream.pairs_left--;
    streamNextPair(&key->stream.it, &field, &value);
    if (field_ptr) *field_ptr = vmCreateString(key->ctx, field.ptr, field.len);
    if (value_ptr) *value_ptr = vmCreateString(key->ctx, value.ptr, value.len);
    return VALKEYMODULE_OK;
}

/* Deletes the current entry and restarts the iteration behind it, because iterators end when
 * the stream changes. */
int vmStreamIteratorDelete(struct ValkeyModuleKey *key) {
    if (!apiStreamIsIterating(key)) return VALKEYMODULE_ERR;
    if (!(key->mode & VALKEYMODULE_WRITE)) return apiStreamFail(EBADF);
    if (!key->stream.on_entry) return apiStreamFail(ENOENT);
    struct streamID id = key->stream.it.id, next = id;
    bool reverse = key->stream.it.reverse;
    struct stream *s = streamOpen(moduleKeyObject(key));
    streamStop(&key->stream.it);
    streamDelete(s, id);
    bool more = reverse ? streamIDPrev(&next) : streamIDNext(&next);
    if (more)
        *(reverse ? &key->stream.end : &key->stream.start) = next;
    else
        key->stream.start = STREAM_ID_MAX, key->stream.end = STREAM_ID_MIN; /* nothing lies behind it */
    streamIterate(&key->stream.it, s, key->stream.start, key->stream.end, reverse);
    key->stream.on_entry = false;
    return VALKEYMODULE_OK;
}
