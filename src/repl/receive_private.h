/* SPDX-License-Identifier: BSD-3-Clause */
/* receive_private.h - what the parts of receive.h share: receive.c (the course), receive_file.c (onto the
 * disk), receive_load.c (into memory). */
#pragma once

#include <sys/types.h>

#include "repl/receive.h"

#define RECEIVE_MARK 40 /* length of the mark after a snapshot of unknown length */

enum receiveState {
    RECEIVE_IDLE,
    RECEIVE_HEADER,  /* waits for $<length> or $EOF:<mark> */
    RECEIVE_FILE,    /* bytes go to the disk */
    RECEIVE_SYNCING, /* all bytes have come; the disk is not done yet */
    RECEIVE_LOAD,    /* ready to be loaded from the file or the connection, before the loop sleeps */
    RECEIVE_FAILED,  /* `done` is to be called before the loop sleeps */
};
struct receiving {
    struct receivePlan plan;
    enum receiveState state;
    bool beside;    /* swapdb */
    bool cancelled; /* while it is being loaded: it ends as soon as possible */
    int64_t size;   /* bytes of the snapshot; -1: not known yet; 0: it ends with the mark */
    char mark[RECEIVE_MARK];
    uint64_t got; /* bytes of the snapshot that have come */
    int64_t io_ms;
    sds rest;                  /* bytes after the snapshot that have been read; NULL: none */
    int64_t keep_alive_due_ms; /* when plan.keepAlive is called next */
    struct rdbReplication replication;
};
extern struct receiving receiving;

/* Reads from the connection as read(2) does, and accounts for the bytes. */
ssize_t receiveRead(void *buf, size_t n);
/* The synchronization has failed, which has been logged. */
void receiveFail(void);
void receiveFailDownload(const char *what);
/* Calls plan.keepAlive when that is due. */
void receiveSendKeepAlive(void);

/* ---- receive_file.c ---- */
bool receiveFileOpen(void); /* the connection's bytes go to a file from now on; false: logged */
void receiveFileStep(void); /* called before the loop sleeps */
int receiveFileFd(void);    /* the file to be read; -1: there is none */
/* Returns a temporary name of the complete file in our folder, by which it may be renamed; NULL: logged. */
const char *receiveFileName(void);
void receiveFileKeep(const char *path); /* renames it to path, or logs that it could not be */
void receiveFileDrop(void);             /* deletes the temporary file, if there is one */

/* ---- receive_load.c ---- */
extern bool replica_lazy_flush;
bool receiveLoad(void); /* serves clients meanwhile; false: logged */
