/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_replace.c - the append-only file while the whole dataset is replaced (a full
 * synchronization). Part of aof_private.h.
 *
 *     aofStop       base.1  incr.1              nothing is written any more
 *     aofRestart    base.2  incr.2              base.2 is the RDB file that was received; without one a
 *                                               child writes it, as when the file is switched on
 *
 * Until the manifest names the new base, a start reads all of the old data. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "data/server_state/persistence.h"
#include "persist/aof_private.h"

static void aofReplaceStop(void) {
    if (aof.state != AOF_OFF) aofSwitchOff();
}

static uint64_t aofReplaceSizeOf(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Writes the manifest, which puts the new files into use. On success *m becomes aof.manifest;
 * otherwise it stays the caller's. */
static bool aofReplaceUseManifest(struct aofManifest *m) {
    int fd = aofOpenIncrement(m);
    if (fd < 0) return false;
    if (!aofWriteManifest(m)) {
        close(fd);
        return false;
    }
    aofManifestFree(&aof.manifest);
    aof.manifest = *m;
    aofUseIncrement(fd, 0);
    return true;
}

static bool aofReplaceStartWithBase(const char *rdb) {
    struct aofManifest m = aofManifestCopy(&aof.manifest);
    aofManifestRetire(&m, INT64_MAX);
    int64_t seq = aofManifestNextSeq(&m, 'b');
    sds name = aofFileName(seq, 'b', true), path = aofPath(aof_dir, name);
    bool named = aofMakeDir() && rename(rdb, path) == 0;
    if (!named)
        serverLog(LL_WARNING,
                  "The snapshot %s received from the primary could not become the AOF base file %s: %s", rdb,
                  path, strerror(errno));
    aofManifestAdd(&m, name, seq, 'b');
    bool ok = named && aofReplaceUseManifest(&m);
    if (ok) {
        serverLog(LL_NOTICE, "The snapshot received from the primary becomes the AOF base file %s", name);
        aof.size = aof.base_size = aofReplaceSizeOf(path);
        aof.state = AOF_ON;
        aofSetSink(true);
        aofDeleteHistory();
    } else {
        if (named) unlink(path);
        aofManifestFree(&m);
    }
    sdsfree(path);
    return ok;
}

static bool aofReplaceRestart(const char *rdb) {
    const char *err;
    if (aof.state != AOF_OFF) return true; /* it was not stopped */
    if (rdb && aof_use_rdb_preamble && aofReplaceStartWithBase(rdb)) return true;
    return aofSwitchOn(&err);
}

void aofReplaceInit(void) {
    persistence.aofEnabled = aofEnabled;
    persistence.aofStop = aofReplaceStop;
    persistence.aofRestart = aofReplaceRestart;
}
