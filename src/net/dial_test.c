/* SPDX-License-Identifier: BSD-3-Clause */
/* dial_test.c - opening connections: successful, refused, hanging, with a name that does not resolve, from a
 * source address, cancelled at each step, and over TLS in builds with it. */
#include "net/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/test_backends.h"
#include "net/tls.h"

static int listener, port;
static char err[256];
static struct {
    struct dial dial;
    int called;
    struct connection *conn;
    char error[256];
} owner;

static void onDone(struct dial *d, struct connection *conn, const char *error) {
    assert_ptr_equal(d, &owner.dial);
    assert_false(d->running);
    assert_true(!conn != !error);
    owner.called++;
    owner.conn = conn;
    snprintf(owner.error, sizeof owner.error, "%s", error ? error : "");
}

static int dialTestSetUp(void **state) {
    (void)state;
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    server_el = aeCreate(256);
    memset(&owner, 0, sizeof owner);
    memset(&dial_settings, 0, sizeof dial_settings);
    listener = netListenTcp("127.0.0.1", 0, 16, &(bool){false}, err, sizeof err);
    if (listener < 0 || getsockname(listener, (struct sockaddr *)&a, &len) != 0) return -1;
    port = ntohs(a.sin_port);
    return 0;
}

static int dialTestTearDown(void **state) {
    (void)state;
    if (owner.conn) connClose(owner.conn);
    if (listener >= 0) close(listener);
    aeDelete(server_el);
    server_el = NULL;
    return 0;
}

static void dialTestTurns(int count) {
    while (count-- > 0) aeProcessEvents(server_el, AE_FILE_EVENTS | AE_DONT_WAIT);
}

#define UNTIL(condition)                                                                                     \
    for (int64_t end_us = monotonicUs() + 10 * 1000 * 1000; !(condition); dialTestTurns(1))                  \
    assert_true(monotonicUs() < end_us)

static bool dialTo(const char *host, bool tls) {
    return dialStart(&owner.dial, (struct dialTarget){host, port, .tls = tls}, onDone, err, sizeof err);
}

static int dialTestAcceptOne(void) {
    int fd;
    UNTIL((fd = netAccept(listener)) >= 0);
    return fd;
}

/* Checks that nothing more happens with the dial. */
static void expectQuiet(int called) {
    for (int i = 0; i < 20; i++) {
        dialTestTurns(1);
        usleep(1000);
    }
    assert_int_equal(owner.called, called);
}

static void aConnectionBelongsToItsOwner(void **state) {
    (void)state;
    assert_true(dialTo("127.0.0.1", false));
    assert_true(owner.dial.running);
    assert_int_equal(owner.called, 0);
    UNTIL(owner.called);
    assert_string_equal(owner.conn->type->name, "tcp");
    assert_null(owner.conn->read_handler);
    dialCancel(&owner.dial); /* an idle dial: the connection stays */
    int fd = dialTestAcceptOne();
    assert_int_equal(connWritev(owner.conn, &(struct iovec){"x", 1}, 1), 1);
    char c;
    assert_int_equal(aeWait(fd, AE_READABLE, 5000), AE_READABLE);
    assert_int_equal(read(fd, &c, 1), 1);
    close(fd);
    expectQuiet(1);
}

static void aRefusedConnectionSaysSo(void **state) {
    (void)state;
    close(listener);
    listener = -1;
    if (!dialTo("127.0.0.1", false)) return; /* refused at once */
    UNTIL(owner.called);
    assert_null(owner.conn);
    assert_string_equal(owner.error, "Connection refused");
    assert_false(owner.dial.connected);
    expectQuiet(1);
}

static void anAddressThatIsNoneIsNotTried(void **state) {
    (void)state;
    assert_false(dialTo("no address", false));
    assert_true(err[0] != '\0');
    assert_false(owner.dial.running);
    expectQuiet(0);
}

static void theSourceAddressIsBound(void **state) {
    (void)state;
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    dial_settings.source_address = sdsnew("127.0.0.2");
    assert_true(dialTo("127.0.0.1", false));
    UNTIL(owner.called);
    assert_int_equal(getsockname(owner.conn->fd, (struct sockaddr *)&a, &len), 0);
    assert_int_equal(a.sin_addr.s_addr, inet_addr("127.0.0.2"));
    sdsfree(dial_settings.source_address);

    dial_settings.source_address = sdsnew("192.0.2.1"); /* no interface has it */
    assert_false(dialTo("127.0.0.1", false));
    assert_string_equal(err, "Cannot assign requested address");
    sdsfree(dial_settings.source_address);
}

/* Connects to a listener whose queue is full hang until the owner's deadline. */
static void aHangingConnectEndsByCancelling(void **state) {
    (void)state;
    int fds[8], n = 0;
    assert_int_equal(listen(listener, 0), 0);
    while (n < 8 && (fds[n] = netConnect("127.0.0.1", port, 100, err, sizeof err)) >= 0) n++;
    if (n < 8) {
        assert_true(dialTo("127.0.0.1", false));
        expectQuiet(0);
        assert_true(owner.dial.running);
        dialCancel(&owner.dial);
        assert_false(owner.dial.running);
        expectQuiet(0);
    }
    while (n > 0) close(fds[--n]);
}

static void aCancelledDialMayBeStartedAgain(void **state) {
    (void)state;
    assert_true(dialTo("127.0.0.1", false));
    dialCancel(&owner.dial);
    expectQuiet(0);
    assert_true(dialTo("127.0.0.1", false));
    UNTIL(owner.called);
    assert_non_null(owner.conn);
}

/* ---- TLS ---- */

static char pem[64];
static struct connection *accepted;

static struct tlsContext *clientContext(sds *error) {
    struct tlsSettings s = {.peer = TLS_PEER_UNCHECKED};
    return tlsClientContext(&s, error);
}

static struct tlsContext *noContext(sds *error) {
    *error = sdsnew("no certificate");
    return NULL;
}

static void onAccepted(struct connection *conn, const char *error) {
    assert_null(error);
    accepted = conn;
}

static void needTls(void) {
    dial_settings.tlsContext = clientContext;
    if (!tlsAvailable()) skip();
}

static void aMissingContextFailsTheDial(void **state) {
    (void)state;
    dial_settings.tlsContext = noContext;
    assert_true(dialTo("127.0.0.1", true));
    UNTIL(owner.called);
    assert_string_equal(owner.error, "no certificate");
    assert_true(owner.dial.connected);
    expectQuiet(1);
}

static void aFailedHandshakeFailsTheDial(void **state) {
    (void)state;
    needTls();
    assert_true(dialTo("127.0.0.1", true));
    int fd = dialTestAcceptOne();
    UNTIL(owner.dial.connected);
    assert_int_equal(write(fd, "-ERR this is not TLS\r\n", 22), 22);
    UNTIL(owner.called);
    assert_null(owner.conn);
    assert_true(owner.error[0] != '\0');
    close(fd);
    expectQuiet(1);
}

static void aHandshakeMayBeCancelled(void **state) {
    (void)state;
    needTls();
    assert_true(dialTo("127.0.0.1", true));
    int fd = dialTestAcceptOne();
    UNTIL(owner.dial.connected);
    dialTestTurns(3);
    dialCancel(&owner.dial);
    char hello[4096];
    ssize_t n;
    do assert_int_equal(aeWait(fd, AE_READABLE, 5000), AE_READABLE);
    while ((n = read(fd, hello, sizeof hello)) > 0);
    assert_int_equal(n, 0);
    close(fd);
    expectQuiet(0);
}

/* Returns false when there is no openssl(1). */
static bool makeCertificate(void) {
    char command[512];
    snprintf(pem, sizeof pem, "/tmp/dial_test.%d.pem", (int)getpid());
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test "
             "-keyout %s -out %s 2>/dev/null",
             pem, pem);
    (void)!system(command);
    return access(pem, R_OK) == 0;
}

static void aHandshakeThatIsDoneGivesAConnection(void **state) {
    (void)state;
    needTls();
    if (!makeCertificate()) skip();
    sds error = NULL;
    struct tlsSettings s = {.cert_file = pem, .key_file = pem, .peer = TLS_PEER_UNCHECKED};
    struct tlsContext *ctx = tlsServerContext(&s, &error);
    unlink(pem);
    if (!ctx) fail_msg("%s", error);
    assert_true(dialTo("127.0.0.1", true));
    accepted = NULL;
    struct connection *server = tlsAccept(server_el, ctx, dialTestAcceptOne(), 0, onAccepted);
    tlsContextFree(ctx);
    UNTIL(owner.called && accepted);
    assert_true(tlsIs(owner.conn));
    assert_null(owner.conn->data);
    assert_int_equal(connWritev(owner.conn, &(struct iovec){"x", 1}, 1), 1);
    char c;
    UNTIL(connRead(server, &c, 1) == 1);
    connClose(server);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, dialTestSetUp, dialTestTearDown)
    const struct CMUnitTest tests[] = {
        TEST(aConnectionBelongsToItsOwner),    TEST(aRefusedConnectionSaysSo),
        TEST(anAddressThatIsNoneIsNotTried),   TEST(theSourceAddressIsBound),
        TEST(aHangingConnectEndsByCancelling), TEST(aCancelledDialMayBeStartedAgain),
        TEST(aMissingContextFailsTheDial),     TEST(aFailedHandshakeFailsTheDial),
        TEST(aHandshakeMayBeCancelled),        TEST(aHandshakeThatIsDoneGivesAConnection),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
