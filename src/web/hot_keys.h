/* SPDX-License-Identifier: BSD-3-Clause */
/* hot_keys.h - which keys commands use most, while somebody looks.
 *
 * One of some sixteen commands is looked at. The keys most used are kept in a table of HOT_KEYS places
 * (Space-Saving, Metwally and others 2005): one that is not in it takes the place of the least used, and with
 * it its count, as so often it may have come before. Every few seconds all counts are halved: what matters is
 * of late. */
#pragma once

#include <stdint.h>

#include "base/sds.h"

#define HOT_KEYS 64

struct webHotKey {
    sds key; /* NULL: a free place */
    int db;
    uint64_t hash;
    double count, error; /* it has come so often, of which so often may have been others */
};

void hotKeysInit(void);
/* Somebody looks, and will for some seconds. */
void hotKeysWatch(void);
/* All HOT_KEYS places, in any order, and how many keys have been seen of late. */
const struct webHotKey *hotKeysNow(double *seen);
