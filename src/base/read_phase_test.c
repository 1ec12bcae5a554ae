/* SPDX-License-Identifier: BSD-3-Clause */
/* read_phase_test.c - readers and a writer that would see each other's half-done work. Run with
 * ThreadSanitizer, too: the data is not atomic. */
#include "base/read_phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/thread.h"
#include "base/ticks.h"

#define READERS 3
#define ROUNDS  20000

static uint64_t data[4];
static _Atomic bool ends;

struct readPhaseTestReader {
    struct readPhaseReader phase;
    pthread_t thread;
    uint64_t seen, mixtures, went_back, read; /* `read` is for the writer, while it is closed */
};
static struct readPhaseTestReader readers[READERS];

static void *readPhaseTestRead(void *arg) {
    struct readPhaseTestReader *r = arg;
    while (!ends) {
        if (!readPhaseEnter(&r->phase, 100)) continue;
        uint64_t first = data[0];
        for (int i = 1; i < 4; i++) r->mixtures += data[i] != first;
        r->went_back += first < r->seen;
        r->seen = first;
        r->read++;
        readPhaseLeave(&r->phase);
    }
    return NULL;
}

static void nobodySeesAMixture(void **state) {
    (void)state;
    ticksCalibrate();
    for (int i = 0; i < READERS; i++) {
        readPhaseRegister(&readers[i].phase);
        assert_int_equal(threadCreate(&readers[i].thread, readPhaseTestRead, &readers[i]), 0);
    }
    uint64_t read = 0;
    for (uint64_t round = 1; round <= ROUNDS || read < ROUNDS; round++) {
        readPhaseOpen();
        for (int i = 0; i < (int)(round % 64); i++) ticksPause();
        assert_true(readPhaseClose());
        assert_false(readPhaseClose());
        read = 0;
        for (int i = 0; i < READERS; i++) read += readers[i].read;
        for (int i = 0; i < 4; i++) data[i] = round;
    }
    ends = true;
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].mixtures, 0);
        assert_int_equal(readers[i].went_back, 0);
        readPhaseUnregister(&readers[i].phase);
    }
}

static void withoutReadersItStaysClosed(void **state) {
    (void)state;
    readPhaseOpen();
    assert_true(readPhaseIsClosed());
    assert_false(readPhaseClose());
}

static void aReaderGivesUp(void **state) {
    (void)state;
    static struct readPhaseReader r;
    readPhaseRegister(&r);
    assert_false(readPhaseEnter(&r, 0));
    assert_false(readPhaseEnter(&r, 1000));
    readPhaseOpen();
    assert_true(readPhaseEnter(&r, 0));
    readPhaseLeave(&r);
    assert_true(readPhaseClose());
    assert_int_equal(r.phases, 1);
    readPhaseUnregister(&r);
}

static void onlyAReaderRefuses(void **state) {
    (void)state;
    assert_false(readRefuses());
    assert_false(read_context.refused);
    read_context.reads = true;
    assert_true(readRefuses());
    assert_true(read_context.refused);
    read_context = (struct readContext){0};
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobodySeesAMixture),
        cmocka_unit_test(withoutReadersItStaysClosed),
        cmocka_unit_test(aReaderGivesUp),
        cmocka_unit_test(onlyAReaderRefuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
