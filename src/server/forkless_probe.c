/* SPDX-License-Identifier: BSD-3-Clause */
/* forkless_probe.c - keeps a snapshot without a fork always running, for tests (directive forkless-always).
 * Part of debug_command.h.
 *
 * One snapshot follows the other. The thread waits before it takes the first key, for as many milliseconds as
 * the directive says: a small dataset would be saved at once, while this way commands meet keys that have not
 * been saved. Every other one writes an RDB stream, which is loaded beside the databases at the end: each key
 * must be as it was at the start. The others write commands, which are not checked.
 *
 *     start: digests of keys ──▶ commands change keys ──▶ end: the stream has the same keys and digests
 *
 * Clients do not see these snapshots: they count as no child, and end when another child starts (child.h). */
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "command/loading.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb.h"
#include "registry/at_exit.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "server/debug_command.h"

#define CHECKED_KEYS  2000 /* more keys, or more memory, are not checked: that would take too long */
#define CHECKED_BYTES (6 * 1024 * 1024)

static int64_t hold_ms; /* forkless-always; 0: off */

struct probeKey {
    int dbid;
    sds key;
    uint8_t digest[20];
};

static struct {
    bool running, commands, checked;
    int64_t hold_ms;
    struct rdbSaveOptions options;
    struct probeKey *keys; /* at the start */
    size_t count;
    sds bytes; /* what the snapshot has written; nothing unless it is checked */
} probe;

/* ---- The thread ---- */

static int forklessProbeSink(void *priv, const char *p, size_t n) {
    (void)priv;
    if (probe.checked) probe.bytes = sdscatlen(probe.bytes, p, n);
    return 0;
}

static int forklessProbeRun(void *priv) {
    struct rioWriter w;
    (void)priv;
    for (int64_t ms = 0; ms < probe.hold_ms && !childIsCancelled(); ms++) usleep(1000);
    rioWriterInit(&w, forklessProbeSink, NULL);
    bool ok = probe.commands ? forklessWriteAll(&w, NULL) : rdbSaveStream(&w, &probe.options);
    rioWriterFree(&w);
    return ok ? 0 : 1;
}

/* ---- The start ---- */

static size_t forklessProbeCountKeys(void) {
    size_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += keyspaceSize(&dbGet(i)->keyspace);
    return n;
}

/* While files are loaded, fields past their expiry are seen: they are saved, too. */
static void forklessProbeDigest(uint8_t digest[20], int dbid, const struct object *o) {
    bool was = db_loading;
    db_loading = true;
    memset(digest, 0, 20);
    debugDigestKey(digest, dbid, o);
    db_loading = was;
}

static void forklessProbeNoteKeys(size_t count) {
    probe.keys = zmalloc((count + 1) * sizeof *probe.keys);
    probe.count = 0;
    for (int i = 0; i < dbCount(); i++) {
        struct keyspaceIterator it;
        keyspaceIteratorInit(&it, &dbGet(i)->keyspace, SLOTS_ALL);
        for (struct object *o; (o = keyspaceIteratorNext(&it));) {
            struct probeKey *k = &probe.keys[probe.count++];
            k->dbid = i;
            k->key = sdsnewstr(objectKey(o));
            forklessProbeDigest(k->digest, i, o);
        }
        keyspaceIteratorStop(&it);
    }
}

static void forklessProbeForget(void) {
    for (size_t i = 0; i < probe.count; i++) sdsfree(probe.keys[i].key);
    zfree(probe.keys);
    sdsfree(probe.bytes);
    probe.keys = NULL;
    probe.bytes = NULL;
    probe.count = 0;
    probe.running = false;
}

/* ---- The end ---- */

static void forklessProbeCompare(struct keyspace **into) {
    size_t loaded = 0;
    for (int i = 0; i < dbCount(); i++) loaded += into[i] ? keyspaceSize(into[i]) : 0;
    for (size_t i = 0; i < probe.count; i++) {
        const struct probeKey *k = &probe.keys[i];
        struct str key = sdsview(k->key);
        const struct object *o = into[k->dbid] ? keyspaceFind(into[k->dbid], key, keyHash(key)) : NULL;
        uint8_t digest[20];
        if (o) forklessProbeDigest(digest, k->dbid, o);
        if (!o || memcmp(digest, k->digest, sizeof digest) != 0)
            serverPanic("a snapshot %s the key '%.*s' of database %d as it was at the start",
                        o ? "does not have" : "lacks", (int)key.len, key.ptr, k->dbid);
    }
    if (loaded != probe.count) serverPanic("a snapshot has %zu keys instead of %zu", loaded, probe.count);
}

/* Loads what was written beside the databases; nobody sees that either. */
static void forklessProbeCheck(void) {
    struct rdbReader r = {.keep_expired = true};
    struct keyspace **into = zcalloc((size_t)dbCount(), sizeof *into);
    struct rdbLoadOptions options = {.keep_expired = true, .into = into};
    struct rdbLoadResult last = rdb_last_load;
    void (*used_memory)(uint64_t) = rdb_load_used_memory;
    int level = logGetLevel();
    logSetLevel(LL_WARNING);
    rdb_load_used_memory = NULL;
    db_loading = true;
    rioReaderInitMemory(&r.io, sdsview(probe.bytes));
    if (!rdbLoadStream(&r, &options, NULL)) serverPanic("a snapshot cannot be loaded: %s", r.io.error);
    db_loading = false;
    logSetLevel(level);
    rdbReaderFree(&r);
    rdbSectionsExchange(false);
    rdb_load_used_memory = used_memory;
    rdb_last_load = last;
    forklessProbeCompare(into);
    for (int i = 0; i < dbCount(); i++) keyspaceRelease(into[i], false);
    zfree(into);
}

static void forklessProbeDone(int exit_code, int sig, void *priv) {
    (void)priv;
    if (exit_code && !sig) serverPanic("a snapshot failed");
    if (!exit_code && probe.checked) forklessProbeCheck();
    probe.commands = !probe.commands;
    forklessProbeForget();
}

/* Modules' data may not be read beside the old ones. */
static bool forklessProbeMayRun(void) {
    return hold_ms && !probe.running && childRunning() == CHILD_NONE && !loadingActive() && !db_loading &&
           !(forkless_module_veto && forkless_module_veto());
}

static void forklessProbeStart(void) {
    const char *err;
    if (!forklessProbeMayRun()) return;
    size_t count = forklessProbeCountKeys();
    probe.running = true;
    probe.hold_ms = hold_ms;
    probe.bytes = sdsempty();
    probe.options = (struct rdbSaveOptions){.version = 0};
    probe.checked = !probe.commands && count <= CHECKED_KEYS && zmallocUsedMemory() < CHECKED_BYTES;
    if (probe.checked) forklessProbeNoteKeys(count);
    struct forklessPlan plan = {.kind = CHILD_PROBE,
                                .rdb = probe.commands ? NULL : &probe.options,
                                .run = forklessProbeRun,
                                .done = forklessProbeDone};
    if (!forklessStart(&plan, &err)) forklessProbeForget();
}

static bool forklessProbeOnExit(int flags) {
    (void)flags;
    childEndProbe();
    return true;
}

void forklessProbeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("forkless-always", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &hold_ms, 0, 0, 10000, NULL),
    };
    configRegister(directives, 1);
    beforeSleepRegister(forklessProbeStart);
    atExitRegister(forklessProbeOnExit);
}
