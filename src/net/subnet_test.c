/* SPDX-License-Identifier: BSD-3-Clause */
/* subnet_test.c - lists of networks: what is valid, and random prefixes against a comparison bit by bit. */
#include "net/subnet.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

static bool testContains(const char *list, const char *address) {
    struct subnetList subnets;
    uint8_t bytes[SUBNET_ADDRESS];
    char mapped[80];
    snprintf(mapped, sizeof mapped, "%s%s", strchr(address, ':') ? "" : "::ffff:", address);
    assert_true(subnetsParse(strOf(list), &subnets));
    assert_int_equal(inet_pton(AF_INET6, mapped, bytes), 1);
    bool result = subnetsContain(&subnets, bytes);
    subnetsFree(&subnets);
    return result;
}

static void test_valid(void **state) {
    (void)state;
    static const char *const good[] = {"",
                                       " ",
                                       ",",
                                       "1.2.3.4",
                                       "1.2.3.4/32 , ::1,fe80::/10",
                                       "0.0.0.0/0",
                                       "::/0",
                                       "10.1.2.3/8",
                                       "\t::ffff:1.2.3.4/120"};
    static const char *const bad[] = {
        "1.2.3",     "1.2.3.4/33",      "1.2.3.4/",     "/8",         "1.2.3.4/-1", "::1/129",   "host",
        "1.2.3.4/x", "1.2.3.4;1.2.3.5", "10.0.0.0/8/8", "1.2.3.4, x", "[::1]",      "1.2.3.4/ 8"};
    struct subnetList list;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(subnetsParse(strOf(good[i]), &list));
        subnetsFree(&list);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(subnetsParse(strOf(bad[i]), &list));
        assert_int_equal(list.count, 0);
    }
    assert_false(subnetsParse(strN("1.2.3.4\0", 8), &list));
}

static void test_contain(void **state) {
    (void)state;
    assert_true(testContains("127.0.0.1", "127.0.0.1"));
    assert_false(testContains("127.0.0.1", "127.0.0.2"));
    assert_true(testContains("10.9.9.9/8", "10.0.0.1"));
    assert_true(testContains("192.168.1.128/25", "192.168.1.255"));
    assert_false(testContains("192.168.1.128/25", "192.168.1.127"));
    assert_true(testContains("1.1.1.1 fd00::/8,2.2.2.2", "2.2.2.2"));
    assert_true(testContains("fd00::/8", "fdff::1"));
    assert_false(testContains("fd00::/8", "fe00::1"));
    assert_true(testContains("0.0.0.0/0", "9.9.9.9"));
    assert_false(testContains("0.0.0.0/0", "::1"));
    assert_true(testContains("::/0", "::1"));
    assert_false(testContains("::/0", "9.9.9.9"));
    assert_true(testContains("::ffff:9.9.9.0/120", "9.9.9.9"));
    assert_false(testContains("", "9.9.9.9"));
}

static bool testBit(const uint8_t *bytes, int i) {
    return bytes[i / 8] >> (7 - i % 8) & 1;
}

static void test_random_prefixes(void **state) {
    (void)state;
    for (uint64_t n = 0; n < modelShare(200000); n++) {
        uint8_t a[SUBNET_ADDRESS], b[SUBNET_ADDRESS];
        char text[INET6_ADDRSTRLEN], list[INET6_ADDRSTRLEN + 8];
        for (int i = 0; i < SUBNET_ADDRESS; i++) a[i] = b[i] = (uint8_t)randomU64();
        for (uint64_t flips = randomBelow(3); flips; flips--) {
            uint64_t at = randomBelow(128);
            b[at / 8] ^= (uint8_t)(1 << at % 8);
        }
        int bits = (int)randomBelow(129), same = 0;
        while (same < bits && testBit(a, same) == testBit(b, same)) same++;
        assert_non_null(inet_ntop(AF_INET6, a, text, sizeof text));
        snprintf(list, sizeof list, "%s/%d", text, bits);
        struct subnetList subnets;
        assert_true(subnetsParse(strOf(list), &subnets));
        assert_int_equal(subnetsContain(&subnets, b), same == bits);
        subnetsFree(&subnets);
    }
}

int main(void) {
    randomSeed(3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_contain),
        cmocka_unit_test(test_random_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
