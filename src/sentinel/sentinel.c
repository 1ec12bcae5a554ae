/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.c - see sentinel.h. */
#include "sentinel/sentinel.h"

struct supervisor sentinel;

bool sentinelSave(void) {
    return supervisorSave(&sentinel);
}
