/* SPDX-License-Identifier: BSD-3-Clause */
/* client_test.c - the parts of a client: when they are freed and counted, the line that describes it, and its
 * size without any part. */
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "client/client_evict.h"
#include "client/client_info.h"
#include "client/client_output.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "data/keyspace/db.h"

static sds freed; /* what was freed, in order */

static void freeFirst(struct client *c) {
    freed = sdscatprintf(freed, "first:%llu ", (unsigned long long)c->id);
}
static void freeSecond(struct client *c) {
    freed = sdscatprintf(freed, "second:%llu ", (unsigned long long)c->id);
}
static size_t partMemory(const struct client *c) {
    return c->flags & CLIENT_MONITOR ? 1000 : 0;
}
static sds clientTestCatChannels(sds s, struct client *c) {
    return clientInfoNumber(s, c->flags & CLIENT_PUBSUB ? 12 : 0);
}
static bool clientTestShowsTracking(const struct client *c) {
    return c->resp == 3;
}

static void anIdleClientIsSmall(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    assert_in_range(clientMemory(c), 1, 448);
    assert_null(c->session);
    assert_null(c->limits);
    clientFreeNow(c);
}

static void partsAreCounted(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    size_t idle = clientMemory(c);
    c->flags |= CLIENT_MONITOR;
    assert_int_equal(clientMemory(c), idle + 1000);
    replyLiteral(c, "+a reply\r\n");
    assert_in_range(clientMemory(c), idle + 1000 + 10, idle + 1000 + 20 * 1024);
    c->flags = 0;
    replyFreeChain(c);
    assert_int_equal(clientMemory(c), idle);
    clientSetLabel(c, CLIENT_NAME, STR("somebody with a name"));
    assert_in_range(clientMemory(c), idle + 20, idle + 200);
    clientFreeNow(c);
}

/* Parts are freed in reverse order of registration, clients in the order in which they were closed. */
static void partsAreFreed(void **state) {
    (void)state;
    struct client *a = clientCreate(NULL), *b = clientCreate(NULL), *c = clientCreate(NULL);
    sdsfree(freed);
    freed = sdsempty();
    sds expected =
        sdscatprintf(sdsempty(), "second:%llu first:%llu second:%llu first:%llu second:%llu first:%llu ",
                     (unsigned long long)b->id, (unsigned long long)b->id, (unsigned long long)a->id,
                     (unsigned long long)a->id, (unsigned long long)c->id, (unsigned long long)c->id);
    clientClose(a);
    clientClose(b);
    clientClose(a);
    clientFreeNow(b); /* the last of those waiting to be freed */
    clientClose(c);
    clientFreeClosed();
    clientFreeClosed();
    assert_string_equal(freed, expected);
    sdsfree(expected);
}

static void clientTestLabels(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    assert_null(clientLabel(c, CLIENT_NAME).ptr);
    clientSetLabel(c, CLIENT_LIB_NAME, STR(""));
    assert_null(c->session);
    clientSetLabel(c, CLIENT_NAME, STR("bob"));
    clientSetLabel(c, CLIENT_NAME, STR("alice"));
    assert_true(strEq(clientLabel(c, CLIENT_NAME), STR("alice")));
    assert_null(clientLabel(c, CLIENT_LIB_VERSION).ptr);
    clientSetLabel(c, CLIENT_NAME, STR(""));
    assert_null(clientLabel(c, CLIENT_NAME).ptr);
    assert_string_equal(clientPeerName(c), "");
    clientFreeNow(c);
}

/* Registered fields are at their places in the line; others are missing. */
static void lineHasRegisteredFields(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    c->flags |= CLIENT_PUBSUB | CLIENT_NO_TOUCH;
    c->resp = 3;
    clientSetLabel(c, CLIENT_LIB_NAME, STR("lib"));
    sds line = clientInfoLine(c, sdsnew("> "));
    sds expected =
        sdscatprintf(sdsempty(),
                     "> id=%llu addr= laddr= fd=-1 name= age=0 idle=0 flags=PtT capa= db=0 sub=12 qbuf=0 "
                     "qbuf-free=0 argv-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=%zu events= user= resp=3 "
                     "lib-name=lib lib-ver= tot-net-in=0 tot-net-out=0 tot-cmds=0",
                     (unsigned long long)c->id, clientMemory(c));
    assert_string_equal(line, expected);
    sdsfree(line);
    sdsfree(expected);
    c->flags = 0;
    c->resp = 2;
    sds flags = clientInfoFlags(sdsempty(), c);
    assert_string_equal(flags, "N");
    sdsfree(flags);
    assert_true(clientInfoIsLetter('S'));
    assert_false(clientInfoIsLetter('q'));
    clientFreeNow(c);
}

static void authenticationIsRequired(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    assert_false(clientAuthMissing(c));
    assert_false(client_users->authenticate(c, STR("default"), STR("")));
    assert_int_equal(client_users->name(c).len, 0);
    clientFreeNow(c);
}

static void clientTestClasses(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    assert_int_equal(clientClassOf(c), CLIENT_CLASS_NORMAL);
    c->flags |= CLIENT_PUBSUB;
    assert_int_equal(clientClassOf(c), CLIENT_CLASS_PUBSUB);
    c->flags |= CLIENT_REPLICA;
    assert_int_equal(clientClassOf(c), CLIENT_CLASS_REPLICA);
    clientFreeNow(c);
}

static int clientTestSetup(void **state) {
    (void)state;
    freed = sdsempty();
    dbRegister();
    dbInit();
    clientCoreInit();
    clientEvictInit();
    clientOutputInit();
    clientSessionInit();
    clientOnFree(freeFirst);
    clientOnFree(freeSecond);
    clientOnMemory(partMemory);
    clientInfoField("sub", clientTestCatChannels);
    clientInfoLetter('t', clientTestShowsTracking);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anIdleClientIsSmall),     cmocka_unit_test(partsAreCounted),
        cmocka_unit_test(partsAreFreed),           cmocka_unit_test(clientTestLabels),
        cmocka_unit_test(lineHasRegisteredFields), cmocka_unit_test(authenticationIsRequired),
        cmocka_unit_test(clientTestClasses),
    };
    return cmocka_run_group_tests(tests, clientTestSetup, NULL);
}
