/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes_conf.c - libFuzzer target for the text of nodes.conf.
 *
 *     make fuzz-nodes_conf FUZZ_SECONDS=600
 *
 * An input is a text. What is parsed has the invariants of a topology, and is written as a text that is
 * parsed and written as the same text again. */
#include <stdlib.h>

#include "base/assert.h"
#include "cluster/topology_file.h"

#define NOW_MS 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the text as it is written; NULL: it was refused. */
static sds parseAndWrite(struct str text, bool tls) {
    struct topology t;
    sds err = NULL, again = NULL;
    topologyInit(&t);
    if (topologyParse(&t, text, tls, NOW_MS, &err)) {
        serverAssert(!err);
        topologyVerify(&t);
        again = topologyFormat(sdsempty(), &t, tls);
        sdsfree(nodeFormatLine(sdsempty(), &t, t.myself, LINE_TLS_CLIENT6));
    } else {
        serverAssert(err && sdslen(err));
        sdsfree(err);
    }
    topologyClear(&t);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    bool tls = size && text[size - 1] == '\t'; /* no valid text ends so */
    sds once = parseAndWrite(strN(text, size - tls), tls);
    if (once) {
        sds twice = parseAndWrite(sdsview(once), tls);
        serverAssert(twice && sdslen(once) == sdslen(twice) && memcmp(once, twice, sdslen(once)) == 0);
        sdsfree(once);
        sdsfree(twice);
    }
    free(text);
    return 0;
}
