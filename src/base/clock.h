/* clock.h - time. Units are in the names. */
#pragma once

#include <stdint.h>

int64_t ustime(void);      /* wall clock, microseconds since the epoch */
int64_t mstime(void);      /* wall clock, milliseconds */
int64_t monotonicUs(void); /* steady clock, microseconds; for durations */
