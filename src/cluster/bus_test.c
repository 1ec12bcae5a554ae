/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_test.c - messages of the bus. Messages captured from nodes of Valkey 9.1 (tests/fixtures/cluster) are
 * parsed and written again to the same bytes; our own messages are parsed again; truncated, overlong and
 * invalid ones are refused, and nothing beyond them is read. */
#include "cluster/bus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cluster/bus_rewrite.h"

#ifndef FIXTURES /* set by the Makefile */
#define FIXTURES "../tests/fixtures"
#endif

#define ID_A "0123456789abcdefghijklmnopqrstuvwxyz0000"
#define ID_B "ffffffffffffffffffffffffffffffffffffffff"

/* ---- Packets ---- */

static sds busTestFixture(const char *name) {
    char path[512], bytes[8192];
    snprintf(path, sizeof path, "%s/cluster/%s.bin", FIXTURES, name);
    FILE *f = fopen(path, "rb");
    if (!f) print_message("cannot open %s\n", path);
    assert_non_null(f);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return sdsnewlen(bytes, len);
}

/* Parses a copy of the exact length, so that a sanitizer sees reads beyond its end. The views point into the
 * copy, which the next call frees. */
static enum busVerdict busTestParse(struct str packet, struct busMessage *m, uint32_t *expected) {
    static uint8_t *copy;
    free(copy);
    copy = malloc(packet.len);
    memcpy(copy, packet.ptr, packet.len);
    assert_int_equal(busLength(copy), packet.len);
    return busRead(copy, (uint32_t)packet.len, m, expected);
}

static void readGood(struct str packet, struct busMessage *m) {
    uint32_t expected;
    assert_int_equal(busTestParse(packet, m, &expected), BUS_READ);
    assert_int_equal(expected, packet.len);
}

static void assertSameBytes(struct str a, struct str b) {
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.ptr, b.ptr, a.len);
}

/* ---- Captured messages ---- */

static const char *const captured[] = {
    "ping",          "ping_forgotten",     "pong",   "meet",   "fail", "auth_request", "auth_ack",
    "publish_light", "publishshard_light", "update", "mfstart"};
#define CAPTURED (sizeof captured / sizeof *captured)

static void capturedPacketsAreWrittenAgainToTheSameBytes(void **state) {
    (void)state;
    for (size_t i = 0; i < CAPTURED; i++) {
        sds packet = busTestFixture(captured[i]);
        struct busMessage m;
        readGood(sdsview(packet), &m);
        sds again = busRewrite(&m);
        assertSameBytes(sdsview(again), sdsview(packet));
        sdsfree(again);
        sdsfree(packet);
    }
}

static struct busMessage capturedMessage(const char *name) {
    struct busMessage m;
    sds packet = busTestFixture(name);
    readGood(sdsview(packet), &m);
    sdsfree(packet);
    return m;
}

static void aCapturedPingDescribesItsSender(void **state) {
    (void)state;
    struct busMessage m = capturedMessage("ping");
    const struct busHeader *h = &m.header;
    assert_int_equal(h->type, BUS_PING);
    assert_true(busIsIdValid(h->sender));
    assert_int_equal(h->bus_port, h->port + 200);
    assert_int_equal(h->node_flags & (NODE_EXTENSIONS | NODE_LIGHT_PUBSUB | NODE_LIGHT_MODULE | NODE_MYSELF),
                     NODE_EXTENSIONS | NODE_LIGHT_PUBSUB | NODE_LIGHT_MODULE | NODE_MYSELF);
    assert_int_equal(h->flags, BUS_HAS_EXTENSIONS);
    assert_int_equal(h->gossip_count, 2);
    for (int i = 0; i < 2; i++) {
        struct busGossip g;
        busGossipRead(&m, i, &g);
        assert_true(busIsIdValid(g.id));
        assert_string_equal(g.ip, "127.0.0.1");
        assert_int_equal(g.bus_port, g.port + 200);
        assert_int_equal(g.other_port, 0);
    }
}

static void capturedExtensionsHaveTheirValues(void **state) {
    (void)state;
    struct busMessage m = capturedMessage("pong");
    assert_int_equal(m.header.extension_count, 7);
    static const struct {
        int type;
        const char *text; /* NULL: no text */
    } expected[] = {{EXT_HOSTNAME, "host-0.example"},
                    {EXT_HUMAN_NAME, "node0"},
                    {EXT_CLIENT_IPV4, "10.1.2.3"},
                    {EXT_CLIENT_IPV6, "fd00::1"},
                    {EXT_CLIENT_PORT, NULL},
                    {EXT_AVAILABILITY_ZONE, "zone-a"},
                    {EXT_SHARD_ID, NULL}};
    struct busExtension x;
    size_t at = 0;
    for (int i = 0; i < 7; i++) {
        assert_true(busExtensionNext(&m, &at, &x));
        assert_int_equal(x.type, expected[i].type);
        if (expected[i].text) assert_true(strEq(x.data, strOf(expected[i].text)));
        if (x.type == EXT_CLIENT_PORT) assert_int_equal(busExtensionNumber(&x), 7001);
        if (x.type == EXT_SHARD_ID) assert_non_null(busExtensionId(&x));
    }
    assert_false(busExtensionNext(&m, &at, &x));
}

static void capturedPayloadsHaveTheirValues(void **state) {
    (void)state;
    struct busMessage m = capturedMessage("publish_light");
    assert_true(m.light);
    assert_true(strEq(m.channel, STR("chan")));
    assert_true(strEq(m.message, STR("msg1")));
    m = capturedMessage("publishshard_light");
    assert_int_equal(m.header.type, BUS_PUBLISHSHARD);
    assert_true(strEq(m.channel, STR("b")));
    assert_true(strEq(m.message, STR("sharded")));
    m = capturedMessage("fail");
    assert_true(busIsIdValid(m.about.id));
    m = capturedMessage("update");
    struct slotSet slots;
    int last;
    memcpy(&slots, m.about.slots, sizeof slots);
    assert_true(busIsIdValid(m.about.id));
    assert_int_equal(slotSetFindRun(&slots, 0, &last), 0);
    assert_int_equal(last, 5460);
    assert_int_equal(slotSetCount(&slots), 5461);
    assert_true(m.about.config_epoch && m.about.config_epoch <= m.header.current_epoch);
    m = capturedMessage("auth_request");
    assert_int_not_equal(m.header.primary[0], '\0');
    assert_int_equal(m.header.node_flags & NODE_REPLICA, NODE_REPLICA);
}

/* ---- Our own messages ---- */

static struct busHeader busTestMakeHeader(enum busType type) {
    struct busHeader h = {.type = (uint16_t)type,
                          .port = 6379,
                          .other_port = 6380,
                          .bus_port = 65535,
                          .node_flags = 0x1c11,
                          .state = 1,
                          .flags = BUS_PAUSED | BUS_FENCES,
                          .sync_replicas = 0x1234,
                          .history = 0xfedcba9876543210,
                          .reign = 0x0123456789abcdef,
                          .current_epoch = 0x0102030405060708,
                          .config_epoch = UINT64_MAX,
                          .offset = 0x8000000000000000,
                          .ip = "fe80:1111:2222:3333:4444:5555:255.255.255.255"};
    memcpy(h.sender, ID_A, NODE_ID_LEN);
    memcpy(h.primary, ID_B, NODE_ID_LEN);
    slotSetAdd(&h.slots, 0);
    slotSetAdd(&h.slots, KEY_SLOTS - 1);
    return h;
}

static void everyFieldOfTheHeaderComesBack(void **state) {
    (void)state;
    struct busHeader h = busTestMakeHeader(BUS_MFSTART);
    sds s = busBegin(sdsnew("before"), &h);
    busEnd(s, 6);
    assert_int_equal(sdslen(s), 6 + BUS_HEADER_LEN);
    struct busMessage m;
    readGood(strN(s + 6, BUS_HEADER_LEN), &m);
    assert_int_equal(m.header.port, h.port);
    assert_int_equal(m.header.other_port, h.other_port);
    assert_int_equal(m.header.bus_port, h.bus_port);
    assert_int_equal(m.header.node_flags, h.node_flags);
    assert_int_equal(m.header.state, h.state);
    assert_int_equal(m.header.flags, h.flags);
    assert_true(m.header.current_epoch == h.current_epoch && m.header.config_epoch == h.config_epoch);
    assert_true(m.header.offset == h.offset && m.header.sync_replicas == h.sync_replicas);
    assert_true(m.header.history == h.history && m.header.reign == h.reign);
    assert_memory_equal(m.header.sender, h.sender, NODE_ID_LEN);
    assert_memory_equal(m.header.primary, h.primary, NODE_ID_LEN);
    assert_string_equal(m.header.ip, h.ip);
    assert_true(slotSetIsEqual(&m.header.slots, &h.slots));
    sdsfree(s);
}

/* Checks the offsets without our parser. */
static void theHeaderLiesAsItIsDocumented(void **state) {
    (void)state;
    struct busHeader h = busTestMakeHeader(BUS_AUTH_ACK);
    sds s = busBegin(sdsempty(), &h);
    busEnd(s, 0);
    assert_memory_equal(s, "RCmb\0\0\x08\xd0\0\1\x18\xeb\0\6\0\0\1\2\3\4\5\6\7\x08", 24);
    assert_memory_equal(s + 24, "\xff\xff\xff\xff\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", 16);
    assert_memory_equal(s + 40, ID_A, NODE_ID_LEN);
    assert_memory_equal(s + 80, "\1\0", 2);
    assert_memory_equal(s + 2126, "\0\x80", 2);
    assert_memory_equal(s + 2128, ID_B, NODE_ID_LEN);
    assert_memory_equal(s + 2168, "fe80:", 5);
    assert_memory_equal(s + 2214, "\0\0", 2);
    assert_memory_equal(s + 2216, "\0\0\0\0\0\0\0\0\0\0\0\0\x12\x34\xfe\xdc\xba\x98\x76\x54\x32\x10", 22);
    assert_memory_equal(s + 2238, "\1\x23\x45\x67\x89\xab\xcd\xef", 8);
    assert_memory_equal(s + 2246, "\x18\xec\xff\xff\x1c\x11\1\x81\0\0", 10);
    sdsfree(s);
}

static void gossipComesBackInItsOrder(void **state) {
    (void)state;
    struct busHeader h = busTestMakeHeader(BUS_PING);
    sds s = busBegin(sdsempty(), &h);
    for (int i = 0; i < 300; i++) {
        struct busGossip g = {.ping_sent_s = 1000u + (unsigned)i,
                              .pong_received_s = UINT32_MAX,
                              .port = (uint16_t)i,
                              .other_port = 2,
                              .bus_port = 3,
                              .flags = NODE_PFAIL};
        memcpy(g.id, ID_A, NODE_ID_LEN);
        snprintf(g.ip, sizeof g.ip, "10.0.0.%d", i);
        s = busAddGossip(s, 0, &g);
    }
    busEnd(s, 0);
    struct busMessage m;
    readGood(sdsview(s), &m);
    assert_int_equal(m.header.gossip_count, 300);
    for (int i = 0; i < 300; i++) {
        struct busGossip g;
        char ip[NODE_IP_LEN];
        busGossipRead(&m, i, &g);
        snprintf(ip, sizeof ip, "10.0.0.%d", i);
        assert_string_equal(g.ip, ip);
        assert_int_equal(g.port, i);
        assert_int_equal(g.ping_sent_s, 1000 + i);
        assert_int_equal(g.pong_received_s, UINT32_MAX);
        assert_int_equal(g.flags, NODE_PFAIL);
    }
    sdsfree(s);
}

static void textsOfEveryLengthComeBackPadded(void **state) {
    (void)state;
    char text[256];
    memset(text, 'x', sizeof text);
    for (size_t len = 0; len <= 255; len++) {
        struct busHeader h = busTestMakeHeader(BUS_PONG);
        h.flags = BUS_HAS_EXTENSIONS;
        sds s = busBegin(sdsempty(), &h);
        s = busAddText(s, 0, EXT_HOSTNAME, strN(text, len));
        s = busAddShardId(s, 0, ID_B);
        busEnd(s, 0);
        assert_int_equal(sdslen(s), BUS_HEADER_LEN + 8 + (len / 8 + 1) * 8 + 48);
        struct busMessage m;
        struct busExtension x;
        size_t at = 0;
        readGood(sdsview(s), &m);
        assert_true(busExtensionNext(&m, &at, &x));
        assert_int_equal(x.type, EXT_HOSTNAME);
        assert_true(strEq(x.data, strN(text, len)));
        assert_true(busExtensionNext(&m, &at, &x));
        assert_memory_equal(busExtensionId(&x), ID_B, NODE_ID_LEN);
        assert_false(busExtensionNext(&m, &at, &x));
        sdsfree(s);
    }
}

static void payloadsComeBackInBothForms(void **state) {
    (void)state;
    struct busHeader h = busTestMakeHeader(BUS_MODULE);
    for (int light = 0; light < 2; light++) {
        struct busMessage m;
        sds s = light ? busBeginLight(sdsempty(), BUS_MODULE) : busBegin(sdsempty(), &h);
        s = busAddModule(s, 0x1122334455667788, 200, STR("pay\0load"));
        busEnd(s, 0);
        readGood(sdsview(s), &m);
        assert_int_equal(m.light, light);
        assert_true(m.module.id == 0x1122334455667788);
        assert_int_equal(m.module.type, 200);
        assert_true(strEq(m.module.payload, STR("pay\0load")));
        sdsfree(s);
    }
    sds s = busBeginLight(sdsempty(), BUS_PUBLISH);
    s = busAddPublish(s, STR(""), STR(""));
    busEnd(s, 0);
    struct busMessage m;
    readGood(sdsview(s), &m);
    assert_int_equal(m.channel.len + m.message.len, 0);
    sdsfree(s);
}

/* ---- Invalid messages ---- */

static void busTestPut32(sds s, size_t at, uint32_t v) {
    for (int i = 0; i < 4; i++) s[at + (size_t)i] = (char)(v >> (24 - 8 * i));
}
static void busTestPut16(sds s, size_t at, uint16_t v) {
    s[at] = (char)(v >> 8);
    s[at + 1] = (char)v;
}

static void thePrefixShowsWhatIsNoMessage(void **state) {
    (void)state;
    sds s = busTestFixture("ping");
    uint32_t len = (uint32_t)sdslen(s);
    assert_int_equal(busLength((uint8_t *)s), len);
    for (int i = 0; i < 4; i++) {
        s[i] ^= 1;
        assert_int_equal(busLength((uint8_t *)s), 0);
        s[i] ^= 1;
    }
    static const struct {
        uint32_t length;
        bool good;
    } lengths[] = {{0, false},
                   {15, false},
                   {BUS_LIGHT_LEN, false},
                   {BUS_HEADER_LEN - 1, false},
                   {BUS_HEADER_LEN, true},
                   {BUS_LENGTH_MAX, true},
                   {BUS_LENGTH_MAX + 1, false},
                   {UINT32_MAX, false}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        busTestPut32(s, 4, lengths[i].length);
        assert_int_equal(busLength((uint8_t *)s), lengths[i].good ? lengths[i].length : 0);
    }
    busTestPut16(s, 12, 0x8000 | BUS_PUBLISH);
    busTestPut32(s, 4, BUS_LIGHT_LEN - 1);
    assert_int_equal(busLength((uint8_t *)s), 0);
    busTestPut32(s, 4, BUS_LIGHT_LEN);
    assert_int_equal(busLength((uint8_t *)s), BUS_LIGHT_LEN);
    sdsfree(s);
}

/* Each captured packet, truncated to each length that includes a header, is refused. */
static void aPacketThatIsCutIsNeverRead(void **state) {
    (void)state;
    for (size_t i = 0; i < CAPTURED; i++) {
        sds packet = busTestFixture(captured[i]);
        size_t least = (unsigned char)packet[12] & 0x80 ? BUS_LIGHT_LEN : BUS_HEADER_LEN,
               whole = sdslen(packet);
        for (size_t len = least; len < whole; len++) {
            struct busMessage m;
            uint32_t expected;
            busTestPut32(packet, 4, (uint32_t)len);
            enum busVerdict verdict = busTestParse(strN(packet, len), &m, &expected);
            assert_true(verdict == BUS_WRONG_LENGTH || verdict == BUS_BROKEN);
        }
        sdsfree(packet);
    }
}

static void aPacketWithMoreBehindItIsNotRead(void **state) {
    (void)state;
    for (size_t i = 0; i < CAPTURED; i++) {
        sds packet = busTestFixture(captured[i]);
        uint32_t whole = (uint32_t)sdslen(packet), expected;
        packet = sdscatlen(packet, "\0\0\0\0\0\0\0\0", 8);
        struct busMessage m;
        busTestPut32(packet, 4, whole + 8);
        assert_int_equal(busTestParse(sdsview(packet), &m, &expected), BUS_WRONG_LENGTH);
        assert_int_equal(expected, whole);
        sdsfree(packet);
    }
}

static enum busVerdict busTestVerdictOf(sds packet) {
    struct busMessage m;
    uint32_t expected;
    enum busVerdict verdict = busTestParse(sdsview(packet), &m, &expected);
    if (verdict == BUS_BROKEN) assert_true(m.header.type < BUS_TYPES); /* its name is logged */
    return verdict;
}

static void unknownVersionsAndTypesAreReported(void **state) {
    (void)state;
    sds s = busTestFixture("mfstart");
    s[9] = 0;
    assert_int_equal(busTestVerdictOf(s), BUS_OTHER_VERSION);
    s[9] = 1;
    for (int type = BUS_TYPES; type < 0x8000; type += 97) {
        busTestPut16(s, 12, (uint16_t)type);
        assert_int_equal(busTestVerdictOf(s), BUS_UNKNOWN_TYPE);
    }
    sdsfree(s);
    s = busTestFixture("publish_light");
    for (int type = 0; type < 0x8000; type++) {
        busTestPut16(s, 12, (uint16_t)(0x8000 | type));
        bool light = type == BUS_PUBLISH || type == BUS_PUBLISHSHARD;
        enum busVerdict expected = light                ? BUS_READ
                                   : type == BUS_MODULE ? BUS_WRONG_LENGTH
                                   : type < BUS_TYPES   ? BUS_BROKEN
                                                        : BUS_UNKNOWN_TYPE;
        assert_int_equal(busTestVerdictOf(s), expected);
    }
    sdsfree(s);
}

/* Lengths whose sum does not fit 32 bits. */
static void lengthsThatOverflowAreNotBelieved(void **state) {
    (void)state;
    static const uint32_t lengths[][2] = {
        {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX}, {0, UINT32_MAX - 7}, {9, 0}, {0, 9}};
    sds s = busTestFixture("publish_light");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        busTestPut32(s, 16, lengths[i][0]);
        busTestPut32(s, 20, lengths[i][1]);
        assert_int_equal(busTestVerdictOf(s), BUS_WRONG_LENGTH);
    }
    sdsfree(s);
    s = busBeginLight(sdsempty(), BUS_MODULE);
    s = busAddModule(s, 1, 1, STR("four"));
    busEnd(s, 0);
    busTestPut32(s, 16 + 8, UINT32_MAX);
    assert_int_equal(busTestVerdictOf(s), BUS_WRONG_LENGTH);
    sdsfree(s);
}

static void extensionsAreMeasuredBeforeTheyAreRead(void **state) {
    (void)state;
    sds s = busTestFixture("ping");
    size_t first = BUS_HEADER_LEN + 2 * BUS_GOSSIP_LEN;
    static const uint32_t lengths[] = {0, 4, 7, 9, 12, 1 << 20, UINT32_MAX, UINT32_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        busTestPut32(s, first, lengths[i]);
        assert_int_equal(busTestVerdictOf(s), BUS_BROKEN);
    }
    sdsfree(s);
    s = busTestFixture("ping");
    busTestPut16(s, 14, UINT16_MAX); /* entries of gossip */
    assert_int_equal(busTestVerdictOf(s), BUS_WRONG_LENGTH);
    busTestPut16(s, 14, 2);
    busTestPut16(s, 2214, UINT16_MAX); /* extensions */
    assert_int_equal(busTestVerdictOf(s), BUS_BROKEN);
    busTestPut16(s, 2214, 1); /* fewer than there are */
    assert_int_equal(busTestVerdictOf(s), BUS_WRONG_LENGTH);
    sdsfree(s);
}

static void extensionsThatAreTooShortHaveNoValue(void **state) {
    (void)state;
    for (int type = EXT_HOSTNAME; type < EXT_TYPES + 2; type++) {
        struct busExtension x = {.type = (uint16_t)type, .data = strN("", 0)};
        assert_int_equal(busExtensionNumber(&x), 0);
        assert_null(busExtensionId(&x));
    }
    struct busExtension x = {.type = EXT_SHARD_ID, .data = STR("0123456789ABCDEF0123456789ABCDEF01234567")};
    assert_null(busExtensionId(&x)); /* no capitals */
    x = (struct busExtension){.type = EXT_FORGOTTEN, .data = STR(ID_A "\0\0\0\0\0\0\0")};
    assert_int_equal(busExtensionNumber(&x), 0);
}

static void onlyHeartbeatsHaveGossip(void **state) {
    (void)state;
    sds s = busTestFixture("fail");
    struct busMessage m;
    busTestPut16(s, 14, 3);
    busTestPut16(s, 2214, 3);
    readGood(sdsview(s), &m);
    assert_int_equal(m.header.gossip_count, 0);
    assert_int_equal(m.header.extension_count, 0);
    sdsfree(s);
}

/* An ip that fills its field, without a NUL. */
static void aTextWithoutEndEndsWithItsField(void **state) {
    (void)state;
    sds s = busTestFixture("ping");
    memset(s + 2168, '1', NODE_IP_LEN);
    memset(s + BUS_HEADER_LEN + 48, '2', NODE_IP_LEN);
    struct busMessage m;
    struct busGossip g;
    readGood(sdsview(s), &m);
    busGossipRead(&m, 0, &g);
    assert_int_equal(strlen(m.header.ip), NODE_IP_LEN - 1);
    assert_int_equal(strlen(g.ip), NODE_IP_LEN - 1);
    sdsfree(s);
}

static void idsAreLettersAndDigits(void **state) {
    (void)state;
    char id[NODE_ID_LEN];
    memcpy(id, ID_A, NODE_ID_LEN);
    assert_true(busIsIdValid(id));
    for (int c = 0; c < 256; c++) {
        id[NODE_ID_LEN - 1] = (char)c;
        assert_int_equal(busIsIdValid(id), (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capturedPacketsAreWrittenAgainToTheSameBytes),
        cmocka_unit_test(aCapturedPingDescribesItsSender),
        cmocka_unit_test(capturedExtensionsHaveTheirValues),
        cmocka_unit_test(capturedPayloadsHaveTheirValues),
        cmocka_unit_test(everyFieldOfTheHeaderComesBack),
        cmocka_unit_test(theHeaderLiesAsItIsDocumented),
        cmocka_unit_test(gossipComesBackInItsOrder),
        cmocka_unit_test(textsOfEveryLengthComeBackPadded),
        cmocka_unit_test(payloadsComeBackInBothForms),
        cmocka_unit_test(thePrefixShowsWhatIsNoMessage),
        cmocka_unit_test(aPacketThatIsCutIsNeverRead),
        cmocka_unit_test(aPacketWithMoreBehindItIsNotRead),
        cmocka_unit_test(unknownVersionsAndTypesAreReported),
        cmocka_unit_test(lengthsThatOverflowAreNotBelieved),
        cmocka_unit_test(extensionsAreMeasuredBeforeTheyAreRead),
        cmocka_unit_test(extensionsThatAreTooShortHaveNoValue),
        cmocka_unit_test(onlyHeartbeatsHaveGossip),
        cmocka_unit_test(aTextWithoutEndEndsWithItsField),
        cmocka_unit_test(idsAreLettersAndDigits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
