/* SPDX-License-Identifier: BSD-3-Clause */
/* link_handshake.c - see link_handshake.h. */
#include "repl/link_handshake.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/history.h"
#include "repl/link_wire.h"
#include "repl/repl_settings.h"

#define PORT_MAX     65535
#define COMMANDS_MAX 8 /* sent in a row without waiting for replies */
#define WORDS(array) ((int)(sizeof(array) / sizeof *(array)))

static sds auth_user, auth_password, announce_ip;
static int64_t announce_port;
static enum streamCodec announced_codec;

enum handshakeCommand { SENT_PING, SENT_AUTH, SENT_OPTION, SENT_PSYNC };

static void linkHandshakeOnConnected(struct linkWire *w);
static void linkHandshakeOnLine(struct linkWire *w, struct str line);
static void linkHandshakeOnFailed(struct linkWire *w, const char *why);

static struct {
    struct linkWire wire;
    struct handshakeRequest request;
    void (*end)(const struct handshakeResult *answer);
    struct {
        enum handshakeCommand what;
        const char *option; /* the option of REPLCONF */
    } sent[COMMANDS_MAX];   /* without a reply yet from `next` on */
    int count, next;
    int64_t last_io_ms;
} shake = {.wire = LINK_WIRE(linkHandshakeOnConnected, linkHandshakeOnLine, linkHandshakeOnFailed)};

/* ---- Sending ---- */

static void linkHandshakeSend(enum handshakeCommand what, int argc, const struct str *argv) {
    serverAssert(shake.count < COMMANDS_MAX);
    shake.sent[shake.count].what = what;
    shake.sent[shake.count++].option = what == SENT_OPTION ? argv[1].ptr : NULL;
    linkWireSend(&shake.wire, argc, argv);
}

int handshakeAuthWords(struct str argv[HANDSHAKE_WORDS_MAX]) {
    int argc = 0;
    if (!auth_password) return 0;
    argv[argc++] = STR("AUTH");
    if (auth_user) argv[argc++] = sdsview(auth_user);
    argv[argc++] = sdsview(auth_password);
    return argc;
}

int handshakeCodecWords(struct str *argv) {
    int argc = 0;
    announced_codec = replCompression();
    if (announced_codec == STREAM_PLAIN) return 0;
    argv[argc++] = STR("capa");
    argv[argc++] = STR("lz4");
    if (announced_codec == STREAM_LZ4) return argc;
    argv[argc++] = STR("capa");
    argv[argc++] = STR("zstd");
    return argc;
}

enum streamCodec handshakeAnnouncedCodec(void) {
    return announced_codec;
}

struct str handshakeAnnouncedPort(void) {
    static char digits[LONG_STR_SIZE];
    int64_t port = announce_port;
    if (!port && dial_settings.replication_tls) port = configNumber("tls-port");
    if (!port) port = configNumber("port");
    return strN(digits, ll2string(digits, port));
}

struct str handshakeAnnouncedAddress(void) {
    return announce_ip ? sdsview(announce_ip) : strN(NULL, 0);
}

/* Returns whether the snapshot goes straight into memory over a transport (TLS) that notices errors. */
static bool linkHandshakeCanSkipChecksum(void) {
    return dial_settings.replication_tls && repl_diskless_load != DISKLESS_LOAD_DISABLED;
}

static void linkHandshakeSendCapabilities(void) {
    struct str argv[HANDSHAKE_WORDS_MAX] = {STR("REPLCONF"), STR("capa"), STR("eof"),        STR("capa"),
                                            STR("psync2"),   STR("capa"), STR("stream-idmp")};
    int argc = 7;
    if (linkHandshakeCanSkipChecksum()) {
        argv[argc++] = STR("capa");
        argv[argc++] = STR("skip-rdb-checksum");
    }
    if (repl_dual_channel) {
        argv[argc++] = STR("capa");
        argv[argc++] = STR("dual-channel");
    }
    argc += handshakeCodecWords(argv + argc);
    linkHandshakeSend(SENT_OPTION, argc, argv);
}

static void linkHandshakeSendOptions(void) {
    struct str auth[HANDSHAKE_WORDS_MAX];
    int words = handshakeAuthWords(auth);
    shake.count = shake.next = 0;
    if (words) linkHandshakeSend(SENT_AUTH, words, auth);
    linkHandshakeSend(SENT_OPTION, 3,
                      (struct str[]){STR("REPLCONF"), STR("listening-port"), handshakeAnnouncedPort()});
    if (handshakeAnnouncedAddress().ptr)
        linkHandshakeSend(SENT_OPTION, 3,
                          (struct str[]){STR("REPLCONF"), STR("ip-address"), handshakeAnnouncedAddress()});
    linkHandshakeSendCapabilities();
    linkHandshakeSend(SENT_OPTION, 3, (struct str[]){STR("REPLCONF"), STR("version"), STR(VALKEY_VERSION)});
    if (cluster_membership)
        linkHandshakeSend(
            SENT_OPTION, 3,
            (struct str[]){STR("REPLCONF"), STR("set-cluster-node-id"), cluster_membership->myId()});
}

static void linkHandshakeSendPsync(void) {
    const struct handshakeRequest *request = &shake.request;
    char digits[LONG_STR_SIZE];
    bool known = request->id[0];
    struct str argv[] = {STR("PSYNC"), known ? strOf(request->id) : STR("?"), STR("-1"), STR("FAILOVER")};
    if (known) argv[2] = strN(digits, ull2string(digits, request->offset + 1));
    if (known)
        serverLog(LL_NOTICE, "A partial resynchronization is requested (%s:%llu)", request->id,
                  (unsigned long long)request->offset + 1);
    else
        serverLog(LL_NOTICE, "No state of a former primary is kept, so a full synchronization is requested");
    shake.count = shake.next = 0;
    linkHandshakeSend(SENT_PSYNC, request->handover ? 4 : 3, argv);
}

/* ---- End ---- */

static void linkHandshakeFinish(enum handshakeOutcome outcome, struct handshakeResult *answer) {
    answer->outcome = outcome;
    if (outcome == HANDSHAKE_FAILED || outcome == HANDSHAKE_REJECTED)
        linkWireDrop(&shake.wire);
    else
        answer->conn = linkWireTake(&shake.wire);
    shake.end(answer);
}

static void linkHandshakeFail(void) {
    linkHandshakeFinish(HANDSHAKE_FAILED, &(struct handshakeResult){0});
}

static void linkHandshakeOnFailed(struct linkWire *w, const char *why) {
    (void)w;
    serverLog(LL_WARNING, "The connection to the primary failed: %s", why);
    linkHandshakeFail();
}

/* ---- Replies ---- */

/* An error that asks for a password shows that the primary is there, too. */
static void linkHandshakeOnPong(struct str line) {
    if (line.ptr[0] != '+' && !strStarts(line, STR("-NOAUTH")) && !strStarts(line, STR("-NOPERM")) &&
        !strStarts(line, STR("-ERR operation not permitted"))) {
        serverLog(LL_WARNING, "The primary answered PING with an error: '%.*s'", (int)line.len, line.ptr);
        linkHandshakeFail();
        return;
    }
    serverLog(LL_NOTICE, "The primary has answered PING");
    linkHandshakeSendOptions();
}

static void linkHandshakeOnOptionReply(const char *option, struct str line) {
    if (strcmp(option, "set-cluster-node-id") == 0) option = "SET-CLUSTER-NODE-ID";
    if (strcmp(option, "version") == 0) option = "VERSION"; /* the spelling in the log */
    if (line.ptr[0] == '-')
        serverLog(LL_NOTICE, "The primary does not know REPLCONF %s, which does no harm: %.*s", option,
                  (int)line.len, line.ptr);
}

static bool linkHandshakeIsId(struct str word) {
    if (word.len != REPL_ID_LEN) return false;
    for (size_t i = 0; i < word.len; i++) {
        if (charHexDigit(word.ptr[i]) < 0) return false;
    }
    return true;
}

/* Returns the next word of the line; len 0: there is none. */
static struct str linkHandshakeNextWord(struct str *line) {
    while (line->len && *line->ptr == ' ') line->ptr++, line->len--;
    struct str word = {line->ptr, 0};
    while (word.len < line->len && word.ptr[word.len] != ' ') word.len++;
    line->ptr += word.len;
    line->len -= word.len;
    return word;
}

static void linkHandshakeOnFullResync(struct str line) {
    struct handshakeResult answer = {0};
    int64_t offset;
    (void)linkHandshakeNextWord(&line);
    struct str id = linkHandshakeNextWord(&line);
    bool valid = linkHandshakeIsId(id) && string2ll(linkHandshakeNextWord(&line), &offset) && offset >= 0;
    if (valid && offset > HISTORY_OFFSET_MAX) {
        serverLog(LL_WARNING, "The primary names an offset that is too large, %lld: no synchronization.",
                  (long long)offset);
        linkHandshakeFail();
        return;
    }
    if (valid) {
        memcpy(answer.id, id.ptr, id.len);
        answer.offset = (uint64_t)offset;
        serverLog(LL_NOTICE, "The primary begins a full synchronization: %s:%llu", answer.id,
                  (unsigned long long)answer.offset);
    } else {
        serverLog(LL_WARNING, "The primary's +FULLRESYNC reply is malformed");
    }
    linkHandshakeFinish(HANDSHAKE_FULL, &answer);
}

static void linkHandshakeOnContinue(struct str line) {
    struct handshakeResult answer = {0};
    serverLog(LL_NOTICE, "The primary grants the partial resynchronization");
    (void)linkHandshakeNextWord(&line);
    struct str id = linkHandshakeNextWord(&line);
    if (linkHandshakeIsId(id)) memcpy(answer.id, id.ptr, id.len);
    linkHandshakeFinish(HANDSHAKE_CONTINUE, &answer);
}

/* The primary may be older than PSYNC. */
static void linkHandshakeFallBackToSync(struct str line) {
    if (strStarts(line, STR("-ERR")))
        serverLog(LL_NOTICE, "The primary refuses PSYNC: %.*s", (int)line.len, line.ptr);
    else
        serverLog(LL_WARNING, "The primary's reply to PSYNC is not understood: %.*s", (int)line.len,
                  line.ptr);
    serverLog(LL_NOTICE, "The older command SYNC is tried instead");
    linkWireSendRaw(&shake.wire, STR("SYNC\r\n"));
    linkHandshakeFinish(HANDSHAKE_OLD_FULL, &(struct handshakeResult){0});
}

static void linkHandshakeOnPsyncReply(struct str line) {
    if (strStarts(line, STR("+FULLRESYNC"))) {
        linkHandshakeOnFullResync(line);
    } else if (strStarts(line, STR("+CONTINUE"))) {
        linkHandshakeOnContinue(line);
    } else if (strStarts(line, STR("+DUALCHANNELSYNC"))) {
        serverLog(LL_NOTICE,
                  "Dual channel replication: a full synchronization is needed, so the RDB channel is opened");
        linkHandshakeFinish(HANDSHAKE_DUAL, &(struct handshakeResult){0});
    } else if (shake.request.handover) {
        serverLog(LL_WARNING, "Failover target rejected psync request: %.*s", (int)line.len, line.ptr);
        linkHandshakeFinish(HANDSHAKE_REJECTED, &(struct handshakeResult){0});
    } else if (strStarts(line, STR("-NOMASTERLINK")) || strStarts(line, STR("-LOADING"))) {
        serverLog(LL_NOTICE, "The primary cannot synchronize replicas at the moment: %.*s", (int)line.len,
                  line.ptr);
        linkHandshakeFail();
    } else {
        linkHandshakeFallBackToSync(line);
    }
}

static void linkHandshakeOnLine(struct linkWire *w, struct str line) {
    (void)w;
    shake.last_io_ms = cmd_time_ms;
    if (!line.len) return; /* a sign of life of a busy primary */
    int i = shake.next++;
    switch (shake.sent[i].what) {
    case SENT_PING: linkHandshakeOnPong(line); return;
    case SENT_PSYNC: linkHandshakeOnPsyncReply(line); return;
    case SENT_AUTH:
        if (line.ptr[0] == '-') {
            serverLog(LL_WARNING, "Unable to AUTH to PRIMARY: %.*s", (int)line.len, line.ptr);
            linkHandshakeFail();
            return;
        }
        break;
    case SENT_OPTION: linkHandshakeOnOptionReply(shake.sent[i].option, line); break;
    }
    if (shake.next == shake.count) linkHandshakeSendPsync();
}

/* ---- Start ---- */

static void linkHandshakeOnConnected(struct linkWire *w) {
    (void)w;
    shake.last_io_ms = cmd_time_ms;
    serverLog(LL_NOTICE, "The connection to the primary is established");
    shake.count = shake.next = 0;
    linkHandshakeSend(SENT_PING, 1, (struct str[]){STR("PING")});
}

enum handshakePhase handshakePhase(void) {
    if (linkWireIsIdle(&shake.wire)) return HANDSHAKE_NONE;
    return shake.wire.conn || shake.wire.dial.connected ? HANDSHAKE_TALKING : HANDSHAKE_CONNECTING;
}

int64_t handshakeLastIoMs(void) {
    return shake.last_io_ms;
}

bool handshakeStart(const char *host, int port, const struct handshakeRequest *request,
                    void (*end)(const struct handshakeResult *answer)) {
    char err[256];
    handshakeCancel();
    serverAssert(end);
    shake.request = *request;
    shake.end = end;
    shake.last_io_ms = cmd_time_ms;
    if (linkWireConnect(&shake.wire, host, port, err, sizeof err)) return true;
    serverLog(LL_WARNING, "Connecting to the primary failed: %s", err);
    return false;
}

void handshakeCancel(void) {
    linkWireDrop(&shake.wire);
}

void handshakeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("primaryauth", "masterauth",
                      CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL, &auth_password, NULL, NULL,
                      NULL),
        CONFIG_STRING("primaryuser", "masteruser",
                      CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL, &auth_user, NULL, NULL,
                      NULL),
        CONFIG_STRING("replica-announce-ip", "slave-announce-ip", CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL,
                      &announce_ip, NULL, NULL, NULL),
        CONFIG_INT("replica-announce-port", "slave-announce-port", CONFIG_MODIFIABLE, &announce_port, 0, 0,
                   PORT_MAX, NULL),
    };
    configRegister(directives, WORDS(directives));
    linkWireInit();
}
