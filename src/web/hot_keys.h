/* SPDX-License-Identifier: BSD-3-Clause */
/* hot_keys.h - the keys that commands use most, while somebody watches the page.
 *
 * About one of 16 commands is sampled, and its keys are counted (ds/top_keys.h). Every few seconds all counts
 * are halved, so that recent use counts more. */
#pragma once

#include <stdint.h>

#include "ds/top_keys.h"

#define HOT_KEYS 64 /* counters */

void hotKeysInit(void);
/* Keeps sampling active for some seconds. */
void hotKeysWatch(void);
/* Returns the counted keys (none while nobody watches), and the number of recent samples. */
const struct topKeys *hotKeysCurrent(uint64_t *seen);
