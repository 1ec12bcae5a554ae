/* SPDX-License-Identifier: BSD-3-Clause */
/* persistence.c - see persistence.h. */
#include "data/server_state/persistence.h"

#include "base/assert.h"

#define HOOKS_MAX 4

struct persistence persistence;
bool rdb_del_sync_files;
static void (*saved[HOOKS_MAX])(bool success);
static void (*loaded[HOOKS_MAX])(const struct rdbReplication *replication, bool from_aof);
static int saved_count, loaded_count;

void persistenceOnSaved(void (*fn)(bool success)) {
    serverAssert(fn && saved_count < HOOKS_MAX);
    saved[saved_count++] = fn;
}

void persistenceSaved(bool success) {
    for (int i = 0; i < saved_count; i++) saved[i](success);
}

void persistenceOnLoaded(void (*fn)(const struct rdbReplication *replication, bool from_aof)) {
    serverAssert(fn && loaded_count < HOOKS_MAX);
    loaded[loaded_count++] = fn;
}

void persistenceLoaded(const struct rdbReplication *replication, bool from_aof) {
    for (int i = 0; i < loaded_count; i++) loaded[i](replication, from_aof);
}
