/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_file.c - see full_sync_file.h. */
#include "repl/full_sync_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "data/server_state/persistence.h"
#include "net/connection.h"
#include "registry/background.h"

#define PIECE (1024 * 1024) /* most bytes in one turn of the loop, so that other clients are served */

struct fileTransfer {
    struct syncTransfer t; /* first */
    int fd;
    uint64_t at, size;
    char head[32]; /* $<length> */
    size_t head_len, head_sent;
};

static struct fileTransfer *fullSyncFileOf(const struct replicaClient *r) {
    return r->transfer;
}

static bool fullSyncFileSendHead(struct replicaClient *r, struct fileTransfer *f) {
    struct iovec iov = {f->head + f->head_sent, f->head_len - f->head_sent};
    ssize_t n = transferSend(r, &iov, 1);
    if (n > 0) f->head_sent += (size_t)n;
    return n >= 0;
}

/* A read of 0 bytes means that the file has become shorter, so the transfer fails. */
static bool fullSyncFileSendPiece(struct replicaClient *r, struct fileTransfer *f) {
    uint64_t left = f->size - f->at;
    ssize_t n = connSendFile(r->client->conn, f->fd, f->at, left < PIECE ? left : PIECE);
    if (n == 0) return false;
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n < 0) n = 0;
    transferSent(r, (size_t)n);
    f->at += (uint64_t)n;
    return true;
}

static bool fullSyncFileWrite(struct replicaClient *r) {
    struct fileTransfer *f = fullSyncFileOf(r);
    if (f->head_sent < f->head_len && !fullSyncFileSendHead(r, f)) return false;
    if (f->head_sent == f->head_len && f->at < f->size && !fullSyncFileSendPiece(r, f)) {
        serverLog(LL_WARNING, "Sending the RDB file to replica %s: %s", replicaName(r), strerror(errno));
        return false;
    }
    if (f->head_sent == f->head_len && f->at == f->size) transferDone(r, true);
    return true;
}

static bool fullSyncFileWaits(const struct replicaClient *r) {
    (void)r;
    return true;
}

static void fullSyncFileLeave(struct replicaClient *r) {
    close(fullSyncFileOf(r)->fd);
    zfree(r->transfer);
    r->transfer = NULL;
}

static const struct transferMethods file_methods = {fullSyncFileWrite, fullSyncFileWaits, fullSyncFileLeave,
                                                    false};

/* ---- A file that was written for replicas only ---- */

static struct {
    bool known; /* the file is the one with these numbers: a newer file of this name has others */
    dev_t dev;
    ino_t ino;
} for_replicas_only;

void syncFileNoteSaved(bool for_replicas) {
    struct stat st;
    for_replicas_only.known = for_replicas && stat(persistence.rdbPath(), &st) == 0;
    if (!for_replicas_only.known) return;
    for_replicas_only.dev = st.st_dev;
    for_replicas_only.ino = st.st_ino;
}

static void fullSyncFileCloseOnThread(void *arg) {
    close((int)(intptr_t)arg);
}

/* Another thread closes the last descriptor, which frees the blocks of the file. */
static void fullSyncFileRemoveFile(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    unlink(path);
    if (fd >= 0) bioSubmit(BIO_CLOSE_FILE, fullSyncFileCloseOnThread, (void *)(intptr_t)fd);
}

void syncFileRemove(void) {
    struct stat st;
    if (!for_replicas_only.known || !rdb_del_sync_files || persistence.hasSavePoints()) return;
    if (persistenceAofOn()) return;
    for_replicas_only.known = false;
    const char *path = persistence.rdbPath();
    if (stat(path, &st) != 0 || st.st_dev != for_replicas_only.dev || st.st_ino != for_replicas_only.ino)
        return;
    serverLog(LL_NOTICE, "The RDB file that was written for replicas only is deleted");
    fullSyncFileRemoveFile(path);
}

/* ---- The start ---- */

bool syncFileSend(struct replicaClient *r) {
    struct stat st;
    int fd = open(persistence.rdbPath(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        serverLog(LL_WARNING,
                  "The synchronization of a replica failed, as the RDB file could not be opened: %s",
                  strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    struct fileTransfer *f = zcalloc(1, sizeof *f);
    f->t.methods = &file_methods;
    f->fd = fd;
    f->size = (uint64_t)st.st_size;
    f->head_len = (size_t)snprintf(f->head, sizeof f->head, "$%llu\r\n", (unsigned long long)f->size);
    r->transfer = f;
    r->state = REPLICA_SEND;
    clientWriteLater(r->client);
    return true;
}
