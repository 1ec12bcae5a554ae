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
#define SAID_MAX     8 /* commands of an introduction */
#define WORDS(array) ((int)(sizeof(array) / sizeof *(array)))

static sds auth_user, auth_password, announce_ip;
static int64_t announce_port;

enum saying { SAID_PING, SAID_AUTH, SAID_OPTION, SAID_PSYNC };

static void linkHandshakeOnConnected(struct wire *w);
static void linkHandshakeOnLine(struct wire *w, struct str line);
static void linkHandshakeOnFailed(struct wire *w, const char *why);

static struct {
    struct wire wire;
    struct handshakeWish wish;
    void (*end)(const struct handshakeAnswer *answer);
    struct {
        enum saying what;
        const char *option; /* of REPLCONF */
    } said[SAID_MAX];       /* not answered yet, from `next` on */
    int count, next;
    int64_t last_io_ms;
} hand = {.wire = WIRE(linkHandshakeOnConnected, linkHandshakeOnLine, linkHandshakeOnFailed)};

/* ---- What is said ---- */

static void linkHandshakeSay(enum saying what, int argc, const struct str *argv) {
    serverAssert(hand.count < SAID_MAX);
    hand.said[hand.count].what = what;
    hand.said[hand.count++].option = what == SAID_OPTION ? argv[1].ptr : NULL;
    linkWireSend(&hand.wire, argc, argv);
}

int introduceAuth(struct str argv[INTRODUCTION_MAX]) {
    int argc = 0;
    if (!auth_password) return 0;
    argv[argc++] = STR("AUTH");
    if (auth_user) argv[argc++] = sdsview(auth_user);
    argv[argc++] = sdsview(auth_password);
    return argc;
}

struct str introducePort(void) {
    static char digits[LONG_STR_SIZE];
    int64_t port = announce_port;
    if (!port && dial_settings.replication_tls) port = configNumber("tls-port");
    if (!port) port = configNumber("port");
    return strN(digits, ll2string(digits, port));
}

struct str introduceAddress(void) {
    return announce_ip ? sdsview(announce_ip) : strN(NULL, 0);
}

/* The snapshot goes straight into memory, over a transport that notices every lost bit. */
static bool linkHandshakeChecksumIsNotNeeded(void) {
    return dial_settings.replication_tls && repl_diskless_load != DISKLESS_LOAD_DISABLED;
}

static void linkHandshakeSayCapabilities(void) {
    struct str argv[INTRODUCTION_MAX] = {STR("REPLCONF"), STR("capa"), STR("eof"), STR("capa"),
                                         STR("psync2")};
    int argc = 5;
    if (linkHandshakeChecksumIsNotNeeded()) {
        argv[argc++] = STR("capa");
        argv[argc++] = STR("skip-rdb-checksum");
    }
    if (repl_dual_channel) {
        argv[argc++] = STR("capa");
        argv[argc++] = STR("dual-channel");
    }
    linkHandshakeSay(SAID_OPTION, argc, argv);
}

static void linkHandshakeIntroduce(void) {
    struct str auth[INTRODUCTION_MAX];
    int words = introduceAuth(auth);
    hand.count = hand.next = 0;
    if (words) linkHandshakeSay(SAID_AUTH, words, auth);
    linkHandshakeSay(SAID_OPTION, 3, (struct str[]){STR("REPLCONF"), STR("listening-port"), introducePort()});
    if (introduceAddress().ptr)
        linkHandshakeSay(SAID_OPTION, 3,
                         (struct str[]){STR("REPLCONF"), STR("ip-address"), introduceAddress()});
    linkHandshakeSayCapabilities();
    linkHandshakeSay(SAID_OPTION, 3, (struct str[]){STR("REPLCONF"), STR("version"), STR(VALKEY_VERSION)});
    if (cluster_membership)
        linkHandshakeSay(
            SAID_OPTION, 3,
            (struct str[]){STR("REPLCONF"), STR("set-cluster-node-id"), cluster_membership->myId()});
}

static void linkHandshakeSayPsync(void) {
    const struct handshakeWish *wish = &hand.wish;
    char digits[LONG_STR_SIZE];
    bool known = wish->id[0];
    struct str argv[] = {STR("PSYNC"), known ? strOf(wish->id) : STR("?"), STR("-1"), STR("FAILOVER")};
    if (known) argv[2] = strN(digits, ull2string(digits, wish->offset + 1));
    if (known)
        serverLog(LL_NOTICE, "A partial resynchronization is requested (%s:%llu)", wish->id,
                  (unsigned long long)wish->offset + 1);
    else
        serverLog(LL_NOTICE, "No state of a former primary is kept, so a full synchronization is requested");
    hand.count = hand.next = 0;
    linkHandshakeSay(SAID_PSYNC, wish->handover ? 4 : 3, argv);
}

/* ---- Its end ---- */

static void linkHandshakeFinish(enum handshakeEnd how, struct handshakeAnswer *answer) {
    answer->end = how;
    if (how == HANDSHAKE_FAILED || how == HANDSHAKE_REJECTED)
        wireDrop(&hand.wire);
    else
        answer->conn = wireTake(&hand.wire);
    hand.end(answer);
}

static void linkHandshakeGiveUp(void) {
    linkHandshakeFinish(HANDSHAKE_FAILED, &(struct handshakeAnswer){0});
}

static void linkHandshakeOnFailed(struct wire *w, const char *why) {
    (void)w;
    serverLog(LL_WARNING, "The connection to the primary failed: %s", why);
    linkHandshakeGiveUp();
}

/* ---- What is heard ---- */

/* A primary that wants a password first is there, at least. */
static void linkHandshakeHeardPong(struct str line) {
    if (line.ptr[0] != '+' && !strStarts(line, STR("-NOAUTH")) && !strStarts(line, STR("-NOPERM")) &&
        !strStarts(line, STR("-ERR operation not permitted"))) {
        serverLog(LL_WARNING, "The primary answered PING with an error: '%.*s'", (int)line.len, line.ptr);
        linkHandshakeGiveUp();
        return;
    }
    serverLog(LL_NOTICE, "The primary has answered PING");
    linkHandshakeIntroduce();
}

static void linkHandshakeHeardOption(const char *option, struct str line) {
    if (strcmp(option, "set-cluster-node-id") == 0) option = "SET-CLUSTER-NODE-ID";
    if (strcmp(option, "version") == 0) option = "VERSION"; /* as it has always been logged */
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

/* The next word of the line; len 0: there is none. */
static struct str linkHandshakeNextWord(struct str *line) {
    while (line->len && *line->ptr == ' ') line->ptr++, line->len--;
    struct str word = {line->ptr, 0};
    while (word.len < line->len && word.ptr[word.len] != ' ') word.len++;
    line->ptr += word.len;
    line->len -= word.len;
    return word;
}

static void linkHandshakeHeardFull(struct str line) {
    struct handshakeAnswer answer = {0};
    int64_t offset;
    (void)linkHandshakeNextWord(&line);
    struct str id = linkHandshakeNextWord(&line);
    bool good = linkHandshakeIsId(id) && string2ll(linkHandshakeNextWord(&line), &offset) && offset >= 0;
    if (good && offset > HISTORY_OFFSET_MAX) {
        serverLog(LL_WARNING, "The primary names an offset that is too large, %lld: no synchronization.",
                  (long long)offset);
        linkHandshakeGiveUp();
        return;
    }
    if (good) {
        memcpy(answer.id, id.ptr, id.len);
        answer.offset = (uint64_t)offset;
        serverLog(LL_NOTICE, "The primary begins a full synchronization: %s:%llu", answer.id,
                  (unsigned long long)answer.offset);
    } else {
        serverLog(LL_WARNING, "The primary's +FULLRESYNC reply is malformed");
    }
    linkHandshakeFinish(HANDSHAKE_FULL, &answer);
}

static void linkHandshakeHeardContinue(struct str line) {
    struct handshakeAnswer answer = {0};
    serverLog(LL_NOTICE, "The primary grants the partial resynchronization");
    (void)linkHandshakeNextWord(&line);
    struct str id = linkHandshakeNextWord(&line);
    if (linkHandshakeIsId(id)) memcpy(answer.id, id.ptr, id.len);
    linkHandshakeFinish(HANDSHAKE_CONTINUE, &answer);
}

/* It may be of a time before PSYNC. */
static void linkHandshakeAskTheOldWay(struct str line) {
    if (strStarts(line, STR("-ERR")))
        serverLog(LL_NOTICE, "The primary refuses PSYNC: %.*s", (int)line.len, line.ptr);
    else
        serverLog(LL_WARNING, "The primary's reply to PSYNC is not understood: %.*s", (int)line.len,
                  line.ptr);
    serverLog(LL_NOTICE, "The older command SYNC is tried instead");
    linkWireSendRaw(&hand.wire, STR("SYNC\r\n"));
    linkHandshakeFinish(HANDSHAKE_OLD_FULL, &(struct handshakeAnswer){0});
}

static void linkHandshakeHeardPsync(struct str line) {
    if (strStarts(line, STR("+FULLRESYNC"))) {
        linkHandshakeHeardFull(line);
    } else if (strStarts(line, STR("+CONTINUE"))) {
        linkHandshakeHeardContinue(line);
    } else if (strStarts(line, STR("+DUALCHANNELSYNC"))) {
        serverLog(LL_NOTICE,
                  "Dual channel replication: a full synchronization is needed, so the RDB channel is opened");
        linkHandshakeFinish(HANDSHAKE_DUAL, &(struct handshakeAnswer){0});
    } else if (hand.wish.handover) {
        serverLog(LL_WARNING, "Failover target rejected psync request: %.*s", (int)line.len, line.ptr);
        linkHandshakeFinish(HANDSHAKE_REJECTED, &(struct handshakeAnswer){0});
    } else if (strStarts(line, STR("-NOMASTERLINK")) || strStarts(line, STR("-LOADING"))) {
        serverLog(LL_NOTICE, "The primary cannot synchronize replicas at the moment: %.*s", (int)line.len,
                  line.ptr);
        linkHandshakeGiveUp();
    } else {
        linkHandshakeAskTheOldWay(line);
    }
}

static void linkHandshakeOnLine(struct wire *w, struct str line) {
    (void)w;
    hand.last_io_ms = cmd_time_ms;
    if (!line.len) return; /* it is alive, and busy */
    int i = hand.next++;
    switch (hand.said[i].what) {
    case SAID_PING: linkHandshakeHeardPong(line); return;
    case SAID_PSYNC: linkHandshakeHeardPsync(line); return;
    case SAID_AUTH:
        if (line.ptr[0] == '-') {
            serverLog(LL_WARNING, "Unable to AUTH to PRIMARY: %.*s", (int)line.len, line.ptr);
            linkHandshakeGiveUp();
            return;
        }
        break;
    case SAID_OPTION: linkHandshakeHeardOption(hand.said[i].option, line); break;
    }
    if (hand.next == hand.count) linkHandshakeSayPsync();
}

/* ---- Its start ---- */

static void linkHandshakeOnConnected(struct wire *w) {
    (void)w;
    hand.last_io_ms = cmd_time_ms;
    serverLog(LL_NOTICE, "The connection to the primary is established");
    hand.count = hand.next = 0;
    linkHandshakeSay(SAID_PING, 1, (struct str[]){STR("PING")});
}

enum handshakePhase handshakePhase(void) {
    if (wireFree(&hand.wire)) return HANDSHAKE_NONE;
    return hand.wire.conn || hand.wire.dial.connected ? HANDSHAKE_TALKING : HANDSHAKE_CONNECTING;
}

int64_t handshakeLastIoMs(void) {
    return hand.last_io_ms;
}

bool handshakeStart(const char *host, int port, const struct handshakeWish *wish,
                    void (*end)(const struct handshakeAnswer *answer)) {
    char err[256];
    handshakeCancel();
    serverAssert(end);
    hand.wish = *wish;
    hand.end = end;
    hand.last_io_ms = cmd_time_ms;
    if (wireConnect(&hand.wire, host, port, err, sizeof err)) return true;
    serverLog(LL_WARNING, "Connecting to the primary failed: %s", err);
    return false;
}

void handshakeCancel(void) {
    wireDrop(&hand.wire);
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
    wireInit();
}
