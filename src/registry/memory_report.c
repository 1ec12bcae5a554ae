/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_report.c - see memory_report.h. */
#include "registry/memory_report.h"

#include "base/assert.h"

static size_t (*reporters[MEMORY_PARTS])(void);

void memoryAddPart(enum memoryPart part, size_t (*bytes)(void)) {
    serverAssert(!reporters[part]);
    reporters[part] = bytes;
}

size_t memoryPartBytes(enum memoryPart part) {
    return reporters[part] ? reporters[part]() : 0;
}
