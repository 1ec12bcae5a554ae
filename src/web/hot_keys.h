/* SPDX-License-Identifier: BSD-3-Clause */
/* hot_keys.h - the keys that commands use most, while somebody watches the page.
 *
 * About one of 16 commands is sampled. The most used keys are kept in a table of HOT_KEYS places
 * (Space-Saving, Metwally and others 2005): a key that is not in the table replaces the least used one and
 * takes over its count, because it may have come as often before. Every few seconds all counts are halved,
 * so that recent use counts more. */
#pragma once

#include <stdint.h>

#include "base/sds.h"

#define HOT_KEYS 64

struct webHotKey {
    sds key; /* NULL: a free place */
    int db;
    uint64_t hash;
    double count, error; /* the key's uses; as many as `error` of them may have been other keys' */
};

void hotKeysInit(void);
/* Keeps sampling active for some seconds. */
void hotKeysWatch(void);
/* Returns all HOT_KEYS places in any order, and the number of recent samples. */
const struct webHotKey *hotKeysCurrent(double *seen);
