/* SPDX-License-Identifier: BSD-3-Clause */
/* survey.h - what the keys are like: how many of each type, what they take, and the largest of them.
 *
 * Nobody keeps that; while somebody looks, a little of the keyspace is looked at, ten times a second, by a
 * scan. Its order is that of hashes, so what it has seen so far stands for all of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/type.h"

#define SURVEY_SIZES                                                                                         \
    40 /* keys of 2^i bytes and more, less than twice as many; the last one has all beyond                   \
        */
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
    uint64_t keys; /* seen */
    bool whole;    /* all there were */
    struct surveyType types[OBJ_TYPES_MAX];
    struct surveyKey largest[SURVEY_LARGEST]; /* the largest first; key NULL: there are no more */
};

void surveyInit(void);
/* Somebody looks, and will for some seconds. */
void surveyWatch(void);
/* The last whole one, or the one that is being made while there is none. */
const struct survey *surveyNow(void);
