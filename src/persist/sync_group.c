/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_group.c - see sync_group.h. */
#include "persist/sync_group.h"

#include "base/assert.h"

#define INLINE_MOST_US 300
#define WAIT_MOST_US   10000 /* one fsync may have taken seconds */
#define SKIP_MOST      63
#define LATE_ONE_IN    128 /* fewer than one in a hundred, as the 99th percentile is to be two fsyncs */

/* The fsync begins. Those behind may have waited for more than two when it ends. */
static void syncGroupBegin(struct syncGroup *g, size_t clients, int64_t now_us) {
    bool are_late = !g->is_cut && g->oldest_us && now_us > g->oldest_us + g->took_us;
    if (are_late) g->debt += LATE_ONE_IN * g->behind;
    g->joined = clients;
    g->waits = false;
}

static void syncGroupNoteInVain(struct syncGroup *g) {
    syncGroupBegin(g, g->joined, g->until_us);
    if (g->is_cut) return;
    if (g->skip < SKIP_MOST) g->skip = 2 * g->skip + 1;
    g->left = g->skip;
}

void syncGroupNoteSynced(struct syncGroup *g, size_t clients, int64_t took_us, int64_t now_us) {
    serverAssert(took_us > 0);
    if (g->waits) syncGroupNoteInVain(g);
    g->behind = clients > g->joined ? clients - g->joined : 0;
    g->debt -= g->joined < g->debt ? g->joined : g->debt;
    g->expected = clients;
    g->took_us = took_us;
    g->until_us = now_us + (took_us < WAIT_MOST_US ? took_us : WAIT_MOST_US);
}

void syncGroupNoteWrite(struct syncGroup *g, int64_t now_us) {
    bool joins = g->waits && now_us < g->until_us;
    if (!joins && !g->next_us) g->next_us = now_us;
}

void syncGroupNoteAllSynced(struct syncGroup *g) {
    g->behind = 0;
    g->next_us = 0;
}

int64_t syncGroupUntil(struct syncGroup *g, size_t clients, int64_t now_us) {
    serverAssert(!g->waits);
    g->oldest_us = g->behind ? g->next_us : 0;
    g->next_us = 0;
    int64_t on_time_us = g->oldest_us + g->took_us;
    bool may_be_late = g->debt + LATE_ONE_IN * g->behind <= LATE_ONE_IN * g->expected;
    g->is_cut = g->oldest_us && on_time_us < g->until_us && !may_be_late;
    if (g->is_cut) g->until_us = on_time_us;
    bool is_complete = clients >= g->expected || now_us >= g->until_us;
    if (is_complete || g->left) {
        if (!is_complete) g->left--;
        syncGroupBegin(g, clients, now_us);
        return 0;
    }
    g->waits = true;
    g->joined = clients;
    return g->until_us;
}

bool syncGroupIsComplete(struct syncGroup *g, size_t clients, int64_t now_us) {
    if (!g->waits || now_us >= g->until_us) return false;
    g->joined = clients;
    if (clients < g->expected) return false;
    syncGroupBegin(g, clients, now_us);
    g->skip /= 2;
    return true;
}

bool syncGroupIsInline(const struct syncGroup *g, size_t clients) {
    return clients <= 1 && g->expected <= 1 && g->took_us && g->took_us < INLINE_MOST_US;
}
