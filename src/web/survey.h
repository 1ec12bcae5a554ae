/* SPDX-License-Identifier: BSD-3-Clause */
/* survey.h - statistics of the keys: how many of each type there are, their sizes, the largest ones.
 *
 * The server does not keep them. While somebody watches the page, a scan looks at a small part of
 * the keyspace ten times a second. It goes in the order of hashes, so what it has seen so far is
 * a fair sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/type.h"

/* Bucket i counts keys of 2^i bytes up to twice that; the last bucket has all larger ones. */
#define SURVEY_SIZES   40
#define SURVEY_LARGEST 10

struct surveyType {
    uint64_t keys, bytes;
    uint64_t sizes[SURVEY_SIZES];
};
struct surveyKey {
    sds key;
    int db, type;
    uint64_t bytes;
};
struct survey {
    uint64_t keys; /* that were seen */
    bool whole;    /* the survey is complete */
    struct surveyType types[OBJ_TYPES_MAX];
    struct surveyKey largest[SURVEY_LARGEST]; /* in descending order; key NULL: no more */
};

void surveyInit(void);
/* Keeps the survey active for some seconds. */
void surveyWatch(void);
/* Returns the last complete survey, or the current one if there is none. */
const struct survey *surveyCurrent(void);
