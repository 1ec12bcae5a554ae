/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_group.c - see sync_group.h. */
#include "persist/sync_group.h"

#include "base/assert.h"

#define INLINE_MOST_US 300
#define WAIT_MOST_US   10000 /* one fsync may have taken seconds */
#define SKIP_MOST      63

void syncGroupNoteSynced(struct syncGroup *g, size_t clients, int64_t took_us, int64_t now_us) {
    serverAssert(took_us > 0);
    g->expected = clients;
    g->took_us = took_us;
    g->until_us = now_us + (took_us < WAIT_MOST_US ? took_us : WAIT_MOST_US);
    if (g->waits) { /* in vain */
        if (g->skip < SKIP_MOST) g->skip = 2 * g->skip + 1;
        g->left = g->skip;
    }
    g->waits = false;
}

int64_t syncGroupUntil(struct syncGroup *g, size_t clients, int64_t now_us) {
    serverAssert(!g->waits);
    if (clients >= g->expected || now_us >= g->until_us) return 0;
    if (g->left) {
        g->left--;
        return 0;
    }
    g->waits = true;
    return g->until_us;
}

bool syncGroupIsComplete(struct syncGroup *g, size_t clients, int64_t now_us) {
    if (!g->waits || clients < g->expected || now_us >= g->until_us) return false;
    g->waits = false;
    g->skip /= 2;
    return true;
}

bool syncGroupIsInline(const struct syncGroup *g, size_t clients) {
    return clients <= 1 && g->expected <= 1 && g->took_us && g->took_us < INLINE_MOST_US;
}
