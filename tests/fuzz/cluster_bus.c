/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_bus.c - libFuzzer target for the messages of the cluster bus: parses a message, and writes what was
 * parsed.
 *
 *     make fuzz-cluster_bus FUZZ_SECONDS=600
 *
 * An input is a packet; its length field is set to the right value, so that the packet is not refused for it.
 * What is parsed and written must be parsed as the same again. */
#include <stdlib.h>

#include "base/assert.h"
#include "cluster/bus.h"
#include "cluster/bus_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void setLength(uint8_t *p, size_t len) {
    for (int i = 0; i < 4; i++) p[4 + i] = (uint8_t)(len >> (24 - 8 * i));
}

/* Checks that writing and parsing once more changes nothing. */
static void checkRoundTrip(const struct busMessage *m) {
    sds once = busRewrite(m);
    struct busMessage again;
    uint32_t expected;
    serverAssert(busLength((uint8_t *)once) == sdslen(once));
    enum busVerdict verdict = busRead((uint8_t *)once, (uint32_t)sdslen(once), &again, &expected);
    serverAssert(verdict == BUS_READ && expected == sdslen(once));
    serverAssert(again.header.type == m->header.type && again.light == m->light);
    sds twice = busRewrite(&again);
    serverAssert(sdslen(once) == sdslen(twice) && memcmp(once, twice, sdslen(once)) == 0);
    sdsfree(once);
    sdsfree(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < BUS_PREFIX) return 0;
    uint8_t *packet = malloc(size);
    memcpy(packet, data, size);
    memcpy(packet, "RCmb", 4);
    setLength(packet, size);
    if (busLength(packet)) {
        struct busMessage m;
        uint32_t expected;
        enum busVerdict verdict = busRead(packet, (uint32_t)size, &m, &expected);
        if (verdict == BUS_READ) {
            serverAssert(expected == size);
            checkRoundTrip(&m);
        } else if (verdict == BUS_WRONG_LENGTH || verdict == BUS_BROKEN) {
            serverAssert(m.header.type < BUS_TYPES); /* its name is logged */
        }
    }
    free(packet);
    return 0;
}
