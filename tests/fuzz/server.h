/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - for fuzzers of whole files: all modules of the server in this process, without its loop,
 * sockets, threads and signal handlers; and checks that must hold for all data that was accepted.
 *
 * The modules are those of server/main.c, which is included here with its main() renamed. */
#pragma once

#define main serverMain
#include "server/main.c"
#undef main

#include "data/digest.h"
#include "data/rdb/rdb_dataset.h"
#include "script/functions.h"
#include "script/script_private.h"
#include "types/rdb_exercise.h"

static void setDirective(const char *name, struct str value) {
    const char *err;
    bool ok = configSet(name, value, &err);
    serverAssert(ok);
}

/* Ends a script that has run for too long: this descriptor is ready whenever the script polls for
 * clients. */
static void endScript(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)fd, (void)data, (void)mask;
    script_run.killed = script_run.name != NULL;
}

static void serverWithoutLoop(void) {
    static const uint8_t seed[16] = "the same always";
    int pipe_fds[2];
    hashSetSeed(seed);
    randomSeed(1);
    ticksCalibrate();
    clockRefresh();
    mainRegisterModules();
    configLoadText("port 0\nsave \"\"\ndatabases 4\nrdbchecksum no\nappendonly no\n"
                   "proto-max-bulk-len 1mb\nbusy-reply-threshold 50\n");
    logSetLevel(getenv("FUZZ_VERBOSE") ? LL_DEBUG : LL_NOTHING);
    commandlogRefreshLimits();
    mainCreateLoop();
    dbInit();
    scriptStart();
    aclStart();
    bool ok = pipe(pipe_fds) == 0 && write(pipe_fds[1], "", 1) == 1 &&
              aeCreateFileEvent(server_el, pipe_fds[0], AE_READABLE, endScript, NULL) == 0;
    serverAssert(ok);
}

static void emptyServer(void) {
    dbEmpty(NULL, false);
    functionsFlush(false);
}

/* Computes a digest of all keys with their values and expiries, and of the number of libraries. */
static void digestAll(uint8_t digest[20]) {
    memset(digest, 0, 20);
    for (int i = 0; i < dbCount(); i++) {
        struct keyspaceIterator it;
        struct object *o;
        keyspaceIteratorInit(&it, &dbGet(i)->keyspace, SLOTS_SHOWN);
        while ((o = keyspaceIteratorNext(&it))) {
            int64_t expire = objectExpire(o);
            uint8_t one[20];
            exerciseValue(o, one);
            digestMix(one, strN((char *)&i, sizeof i));
            digestMix(one, strN((char *)&expire, sizeof expire));
            digestMix(one, objectKey(o));
            digestXorDigest(digest, one);
        }
        keyspaceIteratorStop(&it);
    }
    size_t libraries = functionsLibraryCount();
    digestMix(digest, strN((char *)&libraries, sizeof libraries));
}

/* Changes every value, and a copy of it, until nothing is left. */
static void exerciseAll(void) {
    for (int i = 0; i < dbCount(); i++) {
        struct keyspaceIterator it;
        struct object *o;
        keyspaceIteratorInit(&it, &dbGet(i)->keyspace, SLOTS_SHOWN);
        while ((o = keyspaceIteratorNext(&it))) exerciseChange(o);
        keyspaceIteratorStop(&it);
    }
}

/* Asserts that saving and loading gives the same data. */
static void assertComesBack(void) {
    uint8_t before[20], after[20];
    sds bytes = sdsempty();
    struct rioWriter w;
    digestAll(before);
    rioWriterInit(&w, rioSinkSds, &bytes);
    bool ok = rdbSaveStream(&w, &(struct rdbSaveOptions){0}) && rioFlush(&w);
    serverAssert(ok);
    rioWriterFree(&w);
    emptyServer();
    struct rdbReader r = {0};
    rioReaderInitMemory(&r.io, sdsview(bytes));
    loadingStart(EVENT_LOADS_RDB, sdslen(bytes));
    bool loaded = rdbLoadStream(&r, &(struct rdbLoadOptions){.keep_expired = true}, NULL);
    loadingStop(true);
    serverAssert(loaded);
    rdbReaderFree(&r);
    sdsfree(bytes);
    digestAll(after);
    serverAssert(memcmp(before, after, sizeof before) == 0);
}
