/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_read_test.c - which clients' requests may run in a thread: no state that a client can be in is
 * forgotten. */
#include "command/parallel_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sds.h"
#include "client/client.h"

#define FLAG_BITS 32

/* With one of these a read is what it always is. */
static const uint32_t fine_flags[] = {
    CLIENT_OFFLOADED, CLIENT_AUTHENTICATED, CLIENT_UNIX_SOCKET, CLIENT_NO_TOUCH, CLIENT_NO_EVICT,
    CLIENT_READONLY,  CLIENT_REDIRECTABLE,  CLIENT_MULTI_KNOWN, CLIENT_ERROR,
};

static bool parallelReadTestIsFine(uint32_t flag) {
    for (size_t i = 0; i < sizeof fine_flags / sizeof *fine_flags; i++)
        if (fine_flags[i] == flag) return true;
    return false;
}

static void onlyUsualClientsRead(void **state) {
    (void)state;
    for (int bit = 0; bit < FLAG_BITS; bit++) {
        struct client c = {.flags = 1u << bit};
        assert_int_equal(parallelReadFits(&c), parallelReadTestIsFine(c.flags));
        c.flags |= CLIENT_OFFLOADED | CLIENT_AUTHENTICATED;
        assert_int_equal(parallelReadFits(&c), parallelReadTestIsFine(1u << bit));
    }
}

static void stashedInputComesFirst(void **state) {
    (void)state;
    struct client c = {.flags = CLIENT_OFFLOADED | CLIENT_AUTHENTICATED};
    assert_true(parallelReadFits(&c));
    c.querybuf = sdsnew("*1\r\n$4\r\nPING\r\n");
    assert_false(parallelReadFits(&c));
    sdsfree(c.querybuf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onlyUsualClientsRead),
        cmocka_unit_test(stashedInputComesFirst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
