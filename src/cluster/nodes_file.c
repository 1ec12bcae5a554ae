/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes_file.c - see nodes_file.h. The file belongs to one node and is whole at any time.
 *
 * The lock is on the file itself. A save replaces the file, so the new file is locked before it gets the
 * name; the lock of the old file ends with it.
 *
 * The contents are synced before a file gets the name, whoever saves: it replaces one with votes in it, and
 * on file systems that write names before contents a loss of power would leave an empty file, and with it a
 * node without its identity. Only the name itself need not be on the disk when nothing has been promised. */
#include "cluster/nodes_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cluster/state.h"
#include "cluster/topology_file.h"

#define FILE_MODE 0644

static int locked_fd = -1;

/* ---- The lock ---- */

static void nodesFileLockOrExit(int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK)
        serverLog(LL_WARNING,
                  "The cluster configuration file %s is in use by another node. Every node needs a "
                  "cluster-config-file of its own.",
                  cluster_settings.config_file);
    else
        serverLog(LL_WARNING, "Locking %s failed: %s", cluster_settings.config_file, strerror(errno));
    exit(1);
}

static void nodesFileUnlock(void) {
    if (locked_fd >= 0) close(locked_fd);
    locked_fd = -1;
}

/* ---- Reading ---- */

bool nodesFileLoad(struct topology *t) {
    serverAssert(t->count == 0 && locked_fd < 0);
    const char *path = cluster_settings.config_file;
    locked_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (locked_fd < 0) {
        serverLog(LL_WARNING, "Opening %s in order to lock it failed: %s", path, strerror(errno));
        exit(1);
    }
    nodesFileLockOrExit(locked_fd);
    sds text = fileRead(path, NULL), err = NULL;
    if (!text) {
        serverLog(LL_WARNING, "Reading the cluster configuration from %s failed: %s", path, strerror(errno));
        exit(1);
    }
    bool found = sdslen(text) > 0;
    if (found && !topologyParse(t, sdsview(text), cluster_engine.settings.tls, clusterNow(), &err)) {
        serverLog(LL_WARNING, "The cluster configuration file \"%s\" is corrupt (%s), so the server exits",
                  path, err);
        exit(1);
    }
    sdsfree(text);
    return found;
}

/* ---- Writing ---- */

static bool nodesFileWriteAll(int fd, sds text) {
    for (size_t at = 0; at < sdslen(text);) {
        ssize_t n = write(fd, text + at, sdslen(text) - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static bool nodesFileReplace(int fd, const char *temporary, const char *path, sds text, bool sync) {
    if (!nodesFileWriteAll(fd, text) || fsync(fd) != 0) return false;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(temporary, path) != 0) return false;
    return !sync || fileSyncFolderOf(path);
}

bool nodesFileSave(const struct topology *t, bool sync) {
    serverAssert(t->myself);
    const char *path = cluster_settings.config_file;
    sds text = topologyFormat(sdsempty(), t, cluster_engine.settings.tls);
    sds temporary = sdscatprintf(sdsempty(), "%s.tmp-%d-%lld", path, (int)getpid(), (long long)clusterNow());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    bool saved = fd >= 0 && nodesFileReplace(fd, temporary, path, text, sync);
    if (saved) {
        nodesFileUnlock();
        locked_fd = fd;
    } else {
        serverLog(LL_WARNING, "Could not save the cluster node config to %s: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(temporary);
        }
    }
    sdsfree(temporary);
    sdsfree(text);
    return saved;
}
