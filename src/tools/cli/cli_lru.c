/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_lru.c - --lru-test: the hit rate of a cache with the server's memory limit and policy. Part of
 * cli.h.
 *
 * GETs use keys of a power law, 80% of them 20% of the keys; a miss is followed by a SET, as in a cache.
 * Both are sent in batches. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"
#include "tools/cli/cli.h"

#define BATCH     250
#define REPORT_US 1000000

/* With u uniform in [0, 1), u^k is below 0.2 with probability 0.8 for k = log(0.2) / log(0.8). */
static int64_t cliLruDrawKey(int64_t keys) {
    return (int64_t)(pow(randomDouble(), log(0.2) / log(0.8)) * (double)keys);
}

static struct str cliLruKeyName(char *buf, size_t size, int64_t n) {
    return strN(buf, (size_t)snprintf(buf, size, "lru:%lld", (long long)n));
}

/* Sends BATCH GETs; the missing keys are collected in `missing`. */
static int cliLruGetBatch(struct cli *c, int64_t *missing) {
    int64_t keys[BATCH];
    char name[32];
    for (int i = 0; i < BATCH; i++) {
        keys[i] = cliLruDrawKey(c->lru_keys);
        struct str words[] = {STR("GET"), cliLruKeyName(name, sizeof(name), keys[i])};
        cliSendWords(c, 2, words);
    }
    int misses = 0;
    for (int i = 0; i < BATCH; i++) {
        struct respReply reply;
        cliExpect(c, &reply);
        if (reply.type == RESP_T_NULL) missing[misses++] = keys[i];
        respReplyFree(&reply);
    }
    return misses;
}

static void cliLruSetBatch(struct cli *c, const int64_t *keys, int count) {
    char name[32], value[5];
    for (int i = 0; i < count; i++) {
        randomHexChars(value, sizeof(value));
        struct str words[] = {STR("SET"), cliLruKeyName(name, sizeof(name), keys[i]),
                              strN(value, sizeof(value))};
        cliSendWords(c, 3, words);
    }
    for (int i = 0; i < count; i++) {
        struct respReply reply;
        cliExpect(c, &reply);
        respReplyFree(&reply);
    }
}

int cliLruTest(struct cli *c) {
    for (;;) {
        int64_t missing[BATCH], gets = 0, misses = 0, start_us = monotonicUs();
        while (monotonicUs() - start_us < REPORT_US) {
            int count = cliLruGetBatch(c, missing);
            cliLruSetBatch(c, missing, count);
            gets += BATCH;
            misses += count;
        }
        printf("%lld Gets/sec | Hits: %lld (%.2f%%) | Misses: %lld (%.2f%%)\n", (long long)gets,
               (long long)(gets - misses), (double)(gets - misses) * 100 / (double)gets, (long long)misses,
               (double)misses * 100 / (double)gets);
        fflush(stdout);
    }
}
