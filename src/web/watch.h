/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h - work that is done while somebody looks at the page, and stops by itself soon after. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LASTS_MS 6000 /* behind the last question */

struct watch {
    int period_ms;
    void (*start)(void); /* NULL: nothing to do */
    void (*tick)(void);
    void (*stop)(void);
    int64_t until_ms; /* private */
    bool runs;
};

/* Somebody looks: starts it, or lets it go on. */
void watchOn(struct watch *w);
