/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c - see watch.h. */
#include "web/watch.h"

#include "base/clock.h"
#include "net/ae.h"

static int64_t watchOnTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id;
    struct watch *w = data;
    if (monotonicUs() / 1000 < w->until_ms) {
        w->tick();
        return w->period_ms;
    }
    w->runs = false;
    w->stop();
    return AE_NOMORE;
}

void watchKeepRunning(struct watch *w) {
    w->until_ms = monotonicUs() / 1000 + WATCH_LASTS_MS;
    if (w->runs) return;
    w->runs = true;
    if (w->start) w->start();
    aeCreateTimeEvent(server_el, w->period_ms, watchOnTimer, w);
}
