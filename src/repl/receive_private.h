/* SPDX-License-Identifier: BSD-3-Clause */
/* receive_private.h - what the parts of receive.h share: receive.c (the course of it), receive_file.c (onto
 * the disk), receive_load.c (into memory). */
#pragma once

#include <sys/types.h>

#include "repl/receive.h"

#define RECEIVE_MARK 40 /* bytes behind a snapshot whose length nobody knew */

enum receiveState {
    RECEIVE_IDLE,
    RECEIVE_HEADER,  /* $<length> or $EOF:<mark> is awaited */
    RECEIVE_FILE,    /* bytes go to the disk */
    RECEIVE_SYNCING, /* all of them are there; the disk is not done yet */
    RECEIVE_LOAD,    /* into memory, from the file or from the connection, before the loop sleeps */
    RECEIVE_FAILED,  /* `done` has to be told, before the loop sleeps */
};
struct receiving {
    struct receivePlan plan;
    enum receiveState state;
    bool beside;    /* swapdb */
    bool cancelled; /* while it is loaded: it ends when that can be ended */
    int64_t size;   /* of the snapshot; -1: not known yet; 0: it ends with the mark */
    char mark[RECEIVE_MARK];
    uint64_t got; /* bytes of it */
    int64_t io_ms;
    sds rest;             /* bytes behind it that have been read; NULL: none */
    int64_t alive_due_ms; /* when plan.alive is called next */
    struct rdbReplication replication;
};
extern struct receiving receiving;

/* read(2) from the connection, counted. For all parts. */
ssize_t receiveRead(void *buf, size_t n);
/* It has failed, which has been logged. */
void receiveFail(void);
void receiveFailDownload(const char *what);
/* plan.alive, when that is due. */
void receiveSendKeepAlive(void);

/* ---- receive_file.c ---- */
bool receiveFileOpen(void); /* the connection's bytes go to a file from now on. False: logged */
void receiveFileStep(void); /* before the loop sleeps */
int receiveFile(void);      /* to be read; -1: there is none */
/* The whole file has a temporary name now, in our folder; NULL: logged. It may be renamed by that. */
const char *receiveFileName(void);
void receiveFileKeep(const char *path); /* under this name; that it could not be is logged */
void receiveFileDrop(void);             /* what has no other name goes. Also when there is no file */

/* ---- receive_load.c ---- */
extern bool replica_lazy_flush;
bool receiveLoad(void); /* serves clients meanwhile. False: logged */
