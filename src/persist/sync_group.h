/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_group.h - when the next fsync of `appendfsync always` begins, and for whom.
 *
 * Clients whose replies leave when an fsync ends come back a moment later. If the next fsync has begun by
 * then, they wait for all of it and for the one behind it, and take turns with the other half of the clients:
 *
 *     at once:   [fsync for A][fsync for B][fsync for A][fsync for B]     two fsyncs until a reply
 *     gathered:  [fsync for A and B]..[fsync for A and B]..               one, and the moment
 *
 * So the next fsync waits for as many clients as waited when the last one ended, at most for the time of one.
 * Where they do not come back in time (the disk is fast, or clients come when they like), a wait in vain
 * doubles the number of fsyncs that do not wait. A client that is alone is always complete.
 *
 * Clients that have come while the last fsync ran would wait for more than two, if the next one waited for
 * long. One reply in LATE_ONE_IN may: such waits make a debt, which replies pay off. While it is as large as
 * the group allows, the next fsync begins when the first of these clients has waited for the time of one.
 *
 * The logic has no clock and no threads: times are arguments, in microseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct syncGroup {
    size_t expected;     /* clients that waited when the last fsync ended */
    int64_t took_us;     /* how long that one took; 0: there was none */
    int64_t until_us;    /* the next one waits for them until then */
    bool waits;          /* it has been submitted, and waits */
    bool is_cut;         /* not until all can have come: some would wait too long */
    unsigned skip, left; /* how many begin at once after one that waited in vain; of these still to come */
    int64_t next_us;     /* the first write that the one that runs does not have; 0: there is none */
    int64_t oldest_us;   /* the first write of those behind, which came while the last one ran; 0: nobody */
    size_t joined;       /* clients that the one that runs is for */
    size_t behind;       /* clients that came while the last one ran */
    size_t debt;         /* LATE_ONE_IN for each that waited for more than two, less one for each reply */
};

/* In these, `clients` is how many wait for an fsync that has not ended. */
void syncGroupNoteSynced(struct syncGroup *g, size_t clients, int64_t took_us, int64_t now_us);
/* Something has been written. */
void syncGroupNoteWrite(struct syncGroup *g, int64_t now_us);
/* The last fsync has had all that was written: nobody is behind. */
void syncGroupNoteAllSynced(struct syncGroup *g);
/* Returns until when the fsync that is submitted now waits; 0: it begins at once. When the last one has just
 * ended, `clients` are those behind. */
int64_t syncGroupUntil(struct syncGroup *g, size_t clients, int64_t now_us);
/* Returns true once, when all have come for whom the fsync waits. */
bool syncGroupIsComplete(struct syncGroup *g, size_t clients, int64_t now_us);
/* Whether the thread of a client that is alone had better make the fsync itself: it is fast. */
bool syncGroupIsInline(const struct syncGroup *g, size_t clients);
