/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_mix.c - a load of several commands, each drawn by weight. A mix is a request whose bytes are
 * put together for each batch. Part of benchmark.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "tools/benchmark/benchmark.h"

#define WEIGHT_MAX 1000000

static void benchMixAddPart(struct benchRequest *mix, struct benchTest test, int64_t weight) {
    mix->parts = zrealloc(mix->parts, (size_t)(mix->part_count + 1) * sizeof mix->parts[0]);
    mix->weights += weight;
    mix->parts[mix->part_count++] = (struct benchPart){test.title, test.request, mix->weights};
    if (sdslen(test.request->one) > sdslen(mix->one)) { /* buffers have to hold the longest command */
        sdsfree(mix->one);
        mix->one = sdsdup(test.request->one);
    }
}

static void benchMixExit(const char *what, const char *word) {
    fprintf(stderr, "--mix: %s '%s'. It is a list such as get:80,set:20, of tests that -t accepts.\n", what,
            word);
    exit(1);
}

struct benchTest benchMixCreate(const struct benchOptions *o) {
    struct benchTest test = {.title = sdsempty(), .request = zcalloc(1, sizeof *test.request)};
    test.request->one = sdsempty();
    test.request->commands = 1;
    int count;
    sds *words = sdssplitlen(o->mix, strlen(o->mix), ",", 1, &count);
    for (int i = 0; i < count; i++) {
        char *colon = strchr(words[i], ':');
        int64_t weight = 1;
        if (colon && (!string2ll(strOf(colon + 1), &weight) || weight < 1 || weight > WEIGHT_MAX))
            benchMixExit("invalid weight", words[i]);
        if (colon) *colon = 0;
        struct benchTest part;
        if (!benchSuiteTest(o, words[i], &part)) benchMixExit("no single test is named", words[i]);
        if (test.request->part_count == BENCH_PARTS_MAX) benchMixExit("too many tests; cannot add", words[i]);
        if (test.library && part.library) benchMixExit("only one test may use functions, not", words[i]);
        if (part.library) test.library = part.library;
        test.title =
            sdscatprintf(test.title, "%s%lld %s", i ? " + " : "MIX of ", (long long)weight, part.title);
        benchMixAddPart(test.request, part, weight);
    }
    if (count == 0) benchMixExit("no test is given in", o->mix);
    sdsfreesplitres(words, count);
    return test;
}

size_t benchMixFill(const struct benchRequest *mix, char *buf, int count, const struct benchNumbers *numbers,
                    const struct benchCluster *cluster, const struct benchNode *node, int *sent) {
    char *p = buf;
    memset(sent, 0, (size_t)mix->part_count * sizeof *sent);
    while (count-- > 0) {
        int64_t drawn = (int64_t)randomBelow((uint64_t)mix->weights);
        int i = 0;
        while (drawn >= mix->parts[i].up_to) i++;
        const struct benchRequest *part = mix->parts[i].request;
        memcpy(p, part->one, sdslen(part->one));
        if (part->slot_count) benchRequestPatch(part, p, 1, numbers);
        if (part->tag_count) benchRequestTag(part, p, 1, cluster, node);
        p += sdslen(part->one);
        sent[i]++;
    }
    return (size_t)(p - buf);
}

void benchPartsFree(struct benchRequest *mix) {
    for (int i = 0; i < mix->part_count; i++) {
        sdsfree(mix->parts[i].title);
        benchRequestFree(mix->parts[i].request);
    }
    zfree(mix->parts);
}
