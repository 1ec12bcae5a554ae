/* SPDX-License-Identifier: BSD-3-Clause */
/* test_backends.h - for tests of what runs in event loops: runs the same tests with each backend. Without
 * io_uring a skipped test is counted instead. */
#pragma once

#include "net/ae.h"

static void noRings(void **state) {
    (void)state;
    print_message("skipped: no io_uring here\n");
    skip();
}

static bool ringsAvailable(void) {
    aeSetBackend(AE_URING);
    struct aeEventLoop *loop = aeCreate(1);
    bool available = loop && aeBackendOf(loop) == AE_URING;
    if (loop) aeDelete(loop);
    return available;
}

/* To be used at the end of main(). */
#define RUN_WITH_EACH_BACKEND(tests)                                                                         \
    do {                                                                                                     \
        const struct CMUnitTest none[] = {cmocka_unit_test(noRings)};                                        \
        bool rings = ringsAvailable();                                                                       \
        aeSetBackend(AE_EPOLL);                                                                              \
        int failed = cmocka_run_group_tests_name("epoll", tests, NULL, NULL);                                \
        aeSetBackend(AE_URING);                                                                              \
        return failed + (rings ? cmocka_run_group_tests_name("io_uring", tests, NULL, NULL)                  \
                               : cmocka_run_group_tests_name("io_uring", none, NULL, NULL));                 \
    } while (0)
