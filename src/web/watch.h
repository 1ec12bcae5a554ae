/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h - periodic work that runs while somebody watches the page, and stops by itself soon after. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LASTS_MS 6000 /* after the last request */

struct watch {
    int period_ms;
    void (*start)(void); /* may be NULL */
    void (*tick)(void);
    void (*stop)(void);
    int64_t until_ms; /* private */
    bool runs;
};

/* Starts the work, or extends its time. */
void watchKeepRunning(struct watch *w);
