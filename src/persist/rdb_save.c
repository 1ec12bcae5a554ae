/* rdb_save.c - writing the whole dataset. Part of rdb_file.h.
 *
 * Runs in a fork child as a rule, so nothing is changed, and nothing but what must be is written to.
 *
 * A table gives its objects in no order of memory: each would be a cache miss or two. So the iterator runs
 * ahead, and the objects lie in a ring meanwhile:
 *
 *     iterator ──> | o o o o o o o o | o o o o o o o o | ──> written
 *                    object fetched     its container */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "data/child.h"
#include "data/db.h"
#include "data/evict.h"
#include "registry/latency.h"
#include "data/type.h"
#include "persist/rdb_file.h"

#define RING         32                /* objects on their way; a power of two */
#define CONTAINER_AT (RING / 2)        /* places before its turn that a container is fetched */
#define SYNC_BYTES   (4 * 1024 * 1024) /* rdb-save-incremental-fsync */

bool rdb_checksum, rdb_incremental_fsync;
int64_t rdb_key_save_delay_us;

struct saver {
    struct rioWriter *w;
    void (*progress)(uint64_t keys);
    uint64_t keys, told_at; /* keys so far; bytes that had gone out when progress was told */
    bool idle, frequency;   /* tell of use: as the eviction policy goes by it */
};

/* ---- Head ---- */

static int versionNeeded(void) {
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (!objectTypes[i] || !objectTypes[i]->needsNewRdb) continue;
        for (int id = 0; id < dbCount(); id++) {
            if (objectTypes[i]->needsNewRdb(dbKeyspace(&dbs[id]))) return RDB_VERSION_EXPIRING;
        }
    }
    return RDB_VERSION;
}

static void writeMagic(struct rioWriter *w) {
    char magic[16];
    int version = versionNeeded();
    snprintf(magic, sizeof magic, version == RDB_VERSION_EXPIRING ? "VALKEY%03d" : "REDIS%04d", version);
    rioWrite(w, magic, RDB_MAGIC_LEN);
}

static void writeAux(struct rioWriter *w, const char *name, struct str value) {
    rioWriteByte(w, RDB_OP_AUX);
    rdbWriteString(w, strOf(name));
    rdbWriteString(w, value);
}

static void writeAuxInt(struct rioWriter *w, const char *name, int64_t value) {
    char text[LONG_STR_SIZE];
    writeAux(w, name, strN(text, ll2string(text, value)));
}

static void rdbSaveWriteHead(struct rioWriter *w, int flags) {
    writeMagic(w);
    writeAux(w, "valkey-ver", STR(VALKEY_VERSION));
    writeAuxInt(w, "redis-bits", (int64_t)sizeof(void *) * 8);
    writeAuxInt(w, "ctime", time(NULL));
    writeAuxInt(w, "used-mem", (int64_t)zmallocUsedMemory());
    writeAuxInt(w, "aof-base", flags & RDB_SAVE_AOF_BASE ? 1 : 0);
    int count;
    const struct rdbSection *const *sections = rdbSections(&count);
    for (int i = 0; i < count; i++) sections[i]->save(w);
}

/* ---- Keys ---- */

static void writeObject(struct saver *s, const struct object *o) {
    struct rioWriter *w = s->w;
    if (objectHasExpire(o)) {
        rioWriteByte(w, RDB_OP_EXPIRETIME_MS);
        rdbWriteInt64(w, objectExpire(o));
    }
    if (s->idle) {
        rioWriteByte(w, RDB_OP_IDLE);
        rdbWriteLen(w, objectIdleSeconds(o));
    } else if (s->frequency) {
        rioWriteByte(w, RDB_OP_FREQ);
        rioWriteByte(w, (uint8_t)objectFrequency(o));
    }
    rioWriteByte(w, rdbValueType(o));
    rdbWriteString(w, objectKey(o));
    rdbWriteValue(w, o);
}

/* Progress is told once in a buffer's worth: that needs no clock for small keys. */
static void wroteKey(struct saver *s, const struct object *o) {
    s->keys++;
    if (childIs()) {
        if (__builtin_expect(rdb_key_save_delay_us != 0, 0)) rdbDelay(rdb_key_save_delay_us, s->keys);
        const struct objectType *type = objectTypeOf(o);
        if (type->dismiss && objectHasPtr(o)) type->dismiss(o);
    }
    if (!s->progress || (s->told_at == s->w->flushed && !rdb_key_save_delay_us)) return;
    s->told_at = s->w->flushed;
    s->progress(s->keys);
}

static void fetchContainer(const struct object *o) {
    if (objectHasPtr(o)) __builtin_prefetch(objectPtr(o));
}

static bool writeKeys(struct saver *s, struct db *db) {
    struct dbIterator it;
    struct object *ring[RING], *next;
    size_t in = 0, out = 0;
    dbIteratorInit(&it, db);
    do {
        next = dbIteratorNext(&it);
        if (next) {
            ring[in++ % RING] = next;
            __builtin_prefetch(next);
            if (in - out > CONTAINER_AT) fetchContainer(ring[(in - 1 - CONTAINER_AT) % RING]);
            if (in - out < RING) continue;
        }
        if (out == in) break;
        const struct object *o = ring[out++ % RING];
        writeObject(s, o);
        wroteKey(s, o);
    } while ((next || out < in) && !s->w->error);
    dbIteratorStop(&it);
    return !s->w->error;
}

static bool writeDb(struct saver *s, struct db *db) {
    if (dbSize(db) == 0) return true;
    rioWriteByte(s->w, RDB_OP_SELECTDB);
    rdbWriteLen(s->w, (uint64_t)db->id);
    rioWriteByte(s->w, RDB_OP_RESIZEDB);
    rdbWriteLen(s->w, dbSize(db));
    rdbWriteLen(s->w, dbExpiresSize(db));
    return writeKeys(s, db);
}

bool rdbSaveStream(struct rioWriter *w, int flags, void (*progress)(uint64_t keys)) {
    struct saver s = {
        .w = w, .progress = progress, .idle = evict_policy & BY_LRU, .frequency = evict_policy & BY_LFU};
    w->checksum = rdb_checksum;
    rdbSaveWriteHead(w, flags);
    for (int i = 0; i < dbCount(); i++) {
        if (!writeDb(&s, &dbs[i])) return false;
    }
    rioWriteByte(w, RDB_OP_EOF);
    uint64_t crc = rioWriterCrc(w); /* 0, when none is kept, says so to the reader */
    w->checksum = false;
    rdbWriteInt64(w, (int64_t)crc);
    return rioFlush(w);
}

/* ---- Files ---- */

/* temp-<pid>.rdb beside `path`. */
static sds temporaryFor(const char *path, pid_t pid) {
    const char *slash = strrchr(path, '/');
    sds s = sdsnewlen(path, slash ? (size_t)(slash - path) + 1 : 0);
    return sdscatprintf(s, "temp-%d.rdb", (int)pid);
}

void rdbRemoveTemporary(const char *path, pid_t pid) {
    sds temporary = temporaryFor(path, pid);
    int64_t started_us = latencyTimerStart();
    unlink(temporary);
    latencyTimerEnd("rdb-unlink-temp-file", started_us);
    sdsfree(temporary);
}

static const char *currentFolder(void) {
    static char buf[PATH_MAX];
    return getcwd(buf, sizeof buf) ? buf : "unknown";
}

static bool writeFile(int fd, int flags, void (*progress)(uint64_t keys)) {
    struct rioFile file = {.fd = fd, .sync_bytes = rdb_incremental_fsync ? SYNC_BYTES : 0};
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    bool ok = rdbSaveStream(&w, flags, progress);
    int problem = w.error;
    rioWriterFree(&w);
    if (ok && fsync(fd) == 0) return true;
    if (!ok) errno = problem;
    return false;
}

static bool saveTo(const char *path, const char *temporary, int flags, void (*progress)(uint64_t keys)) {
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        serverLog(LL_WARNING, "Failed opening the temp RDB file %s (in server root dir %s) for saving: %s",
                  temporary, currentFolder(), strerror(errno));
        return false;
    }
    bool ok = writeFile(fd, flags, progress);
    int problem = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        problem = errno;
    }
    errno = problem;
    if (!ok) {
        serverLog(LL_WARNING, "Write error saving DB on disk: %s", strerror(problem));
        return false;
    }
    if (rename(temporary, path) != 0) {
        serverLog(LL_WARNING,
                  "Error moving temp DB file %s on the final destination %s (in server root dir %s): %s",
                  temporary, path, currentFolder(), strerror(errno));
        return false;
    }
    if (!fileSyncFolderOf(path)) {
        serverLog(LL_WARNING, "Failed to fsync directory while saving DB: %s", strerror(errno));
        return false;
    }
    return true;
}

bool rdbSaveFile(const char *path, int flags, void (*progress)(uint64_t keys)) {
    sds temporary = temporaryFor(path, getpid());
    bool ok = saveTo(path, temporary, flags, progress);
    int problem = errno;
    if (!ok) unlink(temporary);
    sdsfree(temporary);
    errno = problem;
    if (ok) serverLog(LL_NOTICE, "DB saved on disk");
    return ok;
}
