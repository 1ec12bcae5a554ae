/* SPDX-License-Identifier: BSD-3-Clause */
/* read_phase.h - many threads read the data, or one changes it, never both at once.
 *
 *     the writer     closed ───────────────▶ open ────────▶ closed          (it holds the data while closed)
 *     a reader                     enter ──▶ reads ──▶ leave
 *
 * A reader announces that it reads in a cache line of its own, and then looks whether the data is closed; the
 * writer closes, and then looks whether anybody reads. These four steps are sequentially consistent, so one
 * of the two sees the other (as in Dekker's algorithm). Readers never wait for each other and write nothing
 * that another reader reads. The writer goes first: once it has closed, no reader enters, and it waits only
 * for those that are inside, which leave as soon as they see that it waits (readPhaseIsClosed).
 *
 * The data starts closed. With no reader registered, opening and closing costs one test.
 *
 * Invariants
 *  1. While a reader is between Enter and Leave, the writer is between Open and Close.
 *  2. All that the writer wrote before Open is visible to a reader after Enter, and all that a reader wrote
 *     before Leave is visible to the writer after Close. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define READ_PHASE_READERS_MAX 255

/* A reader's; aligned to a line, which only it writes. */
struct readPhaseReader {
    _Alignas(64) _Atomic bool reads;
    uint64_t phases;          /* entered; for the writer while it is closed */
    _Atomic uint64_t refused; /* how often it was not entered in time */
};

/* ---- The writer ---- */
void readPhaseRegister(struct readPhaseReader *r); /* while closed */
void readPhaseUnregister(struct readPhaseReader *r);
void readPhaseOpen(void);
/* Waits until no reader is inside. Returns whether it was open. */
bool readPhaseClose(void);
/* How often Close had to wait for a reader, and for how many ticks altogether. */
struct readPhaseStats {
    uint64_t closings, waits, wait_ticks;
};
extern struct readPhaseStats read_phase_stats;

/* ---- A reader ---- */
/* Waits at most so many ticks while the data is closed. False: it still is. */
bool readPhaseEnter(struct readPhaseReader *r, uint64_t patience_ticks);
void readPhaseLeave(struct readPhaseReader *r);
/* Whether the writer waits, so that a reader should leave soon. */
bool readPhaseIsClosed(void);

/* ---- Requests that a reader cannot run ----
 *
 * A command that runs in a reader may find that it would have to change something: a key has expired, an
 * error has to be counted. The code that would change it calls readRefuses first. In a reader that returns
 * true and is noted: what the command has replied is dropped, and the main thread runs it again. */
struct readContext {
    bool reads;            /* this thread runs commands as a reader now */
    bool refused;          /* the running command has to run on the main thread */
    uint64_t hits, misses; /* of look-ups of keys */
};
extern __thread struct readContext read_context;
static inline bool readRefuses(void) {
    if (__builtin_expect(!read_context.reads, 1)) return false;
    read_context.refused = true;
    return true;
}
