/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_due_test.c - the order in which entries of a group have been pending, against a table of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "types/stream/stream.h"

#define IDS 400

struct dueModel {
    struct streamGroup *group;
    struct streamConsumer *consumer;
    int64_t delivered_ms[IDS]; /* 0: not pending */
    bool taken[IDS];
};

static struct streamID dueTestID(int i) {
    return (struct streamID){100 + (uint64_t)i / 3, (uint64_t)i % 3};
}

/* Returns the number of the entry that was delivered first; -1: there is none. */
static int dueTestExpected(const struct dueModel *m) {
    int first = -1;
    for (int i = 0; i < IDS; i++) {
        if (!m->delivered_ms[i] || m->taken[i]) continue;
        if (first < 0 || m->delivered_ms[i] < m->delivered_ms[first]) first = i;
    }
    return first;
}

static bool dueTestIsTaken(const struct dueModel *m, struct streamID id) {
    for (int i = 0; i < IDS; i++)
        if (m->taken[i] && !streamIDCompare(dueTestID(i), id)) return true;
    return false;
}

/* Entries that were taken away come back when the index is built anew; the user then takes them away again.
 */
static int dueTestCheckFirst(struct dueModel *m) {
    struct streamID id;
    struct streamNack *nack = streamDueFirst(m->group, &id);
    for (; nack && dueTestIsTaken(m, id); nack = streamDueFirst(m->group, &id)) streamDueTakeFirst(m->group);
    int expected = dueTestExpected(m);
    assert_int_equal(nack != NULL, expected >= 0);
    if (!nack) return -1;
    assert_int_equal(streamIDCompare(id, dueTestID(expected)), 0);
    assert_int_equal(nack->delivered_ms, m->delivered_ms[expected]);
    assert_ptr_equal(nack, streamPendingFind(m->group, id));
    return expected;
}

/* Takes some away, as XREADGROUP CLAIM does, and delivers them at the end; some are never put back. */
static void dueTestClaim(struct dueModel *m, int64_t now_ms) {
    int claimed[IDS], n = 0;
    for (uint64_t most = randomBelow(8); most; most--) {
        int first = dueTestCheckFirst(m);
        if (first < 0) break;
        streamDueTakeFirst(m->group);
        m->taken[first] = true;
        if (!randomBelow(10)) continue; /* an entry that does not exist */
        claimed[n++] = first;
    }
    while (n) {
        int i = claimed[--n];
        streamPendingFind(m->group, dueTestID(i))->delivered_ms = m->delivered_ms[i] = now_ms;
        streamDueInsert(m->group, dueTestID(i), now_ms);
        m->taken[i] = false;
    }
}

static void dueTestStep(struct dueModel *m, int64_t now_ms) {
    int i = (int)randomBelow(IDS);
    struct streamNack *nack = streamPendingFind(m->group, dueTestID(i));
    switch (randomBelow(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (m->taken[i]) break; /* no entry: nothing delivers it */
        streamPendingSet(m->group, dueTestID(i), m->consumer, now_ms);
        m->delivered_ms[i] = now_ms;
        break;
    case 4: /* XCLAIM with another time */
        if (!nack || m->taken[i]) break;
        m->delivered_ms[i] = 1 + (int64_t)randomBelow((uint64_t)now_ms);
        streamPendingDelivered(m->group, dueTestID(i), nack, m->delivered_ms[i]);
        break;
    case 5:
    case 6:
    case 7:
        streamPendingRemove(m->group, dueTestID(i));
        m->delivered_ms[i] = 0;
        m->taken[i] = false;
        break;
    case 8:
        if (randomBelow(50)) break;
        streamDueDrop(m->group);
        for (int k = 0; k < IDS; k++) m->taken[k] = false;
        break;
    default: dueTestClaim(m, now_ms);
    }
}

static void dueTestModel(void **state) {
    (void)state;
    struct stream *s = streamNew();
    struct dueModel m = {.group = streamGroupCreate(s, STR("g"), STREAM_ID_MIN, 0)};
    m.consumer = streamConsumerCreate(m.group, STR("c"), 0);
    for (uint64_t i = 0; i < modelShare(300000); i++) {
        dueTestStep(&m, 10 + (int64_t)i / 4);
        if (i % 7 == 0) dueTestCheckFirst(&m);
        if (randomBelow(20000)) continue;
        for (int k = 0; k < IDS; k++) { /* nothing is pending */
            streamPendingRemove(m.group, dueTestID(k));
            m.delivered_ms[k] = 0;
            m.taken[k] = false;
        }
        dueTestCheckFirst(&m);
        assert_null(m.group->due);
    }
    assert_true(streamDueBytes(m.group) < 64 * (2 * IDS + 200));
    streamFree(s);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(dueTestModel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
