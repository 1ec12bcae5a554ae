/* SPDX-License-Identifier: BSD-3-Clause */
/* read_phase.c - see read_phase.h. */
#include "base/read_phase.h"

#include <sched.h>

#include "base/assert.h"
#include "base/ticks.h"

#define SPINS 2000 /* some 50 us, before the writer offers its processor to a reader that may need it */

__thread struct readContext read_context;
struct readPhaseStats read_phase_stats;

static struct readPhaseReader *readers[READ_PHASE_READERS_MAX];
static int reader_count;
/* In a line that is only written when the data is closed and opened. */
static struct { _Alignas(64) _Atomic bool closed; } phase = {true};

/* ---- The writer ---- */

void readPhaseRegister(struct readPhaseReader *r) {
    serverAssert(phase.closed && reader_count < READ_PHASE_READERS_MAX);
    readers[reader_count++] = r;
}

void readPhaseUnregister(struct readPhaseReader *r) {
    serverAssert(phase.closed && !r->reads);
    int at = 0;
    while (readers[at] != r) at++;
    readers[at] = readers[--reader_count];
}

void readPhaseOpen(void) {
    if (reader_count) atomic_store_explicit(&phase.closed, false, memory_order_release);
}

static void readPhaseAwait(const struct readPhaseReader *r) {
    uint64_t start = ticksNow();
    for (int spins = 0; atomic_load(&r->reads); spins++) {
        if (spins < SPINS)
            ticksPause();
        else
            sched_yield();
    }
    read_phase_stats.waits++;
    read_phase_stats.wait_ticks += ticksNow() - start;
}

bool readPhaseClose(void) {
    if (atomic_load_explicit(&phase.closed, memory_order_relaxed)) return false;
    atomic_store(&phase.closed, true);
    read_phase_stats.closings++;
    for (int i = 0; i < reader_count; i++)
        if (atomic_load(&readers[i]->reads)) readPhaseAwait(readers[i]);
    return true;
}

/* ---- A reader ---- */

bool readPhaseIsClosed(void) {
    return atomic_load_explicit(&phase.closed, memory_order_relaxed);
}

bool readPhaseEnter(struct readPhaseReader *r, uint64_t patience_ticks) {
    uint64_t until = 0;
    for (;;) {
        atomic_store(&r->reads, true);
        if (__builtin_expect(!atomic_load(&phase.closed), 1)) {
            r->phases++;
            return true;
        }
        atomic_store_explicit(&r->reads, false, memory_order_release);
        for (uint64_t now = ticksNow(); readPhaseIsClosed(); now = ticksNow()) {
            if (!until) until = now + patience_ticks;
            if (now >= until) return false;
            ticksPause();
        }
    }
}

void readPhaseLeave(struct readPhaseReader *r) {
    atomic_store_explicit(&r->reads, false, memory_order_release);
}
