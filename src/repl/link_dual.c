/* SPDX-License-Identifier: BSD-3-Clause */
/* link_dual.c - see link_dual.h. */
#include "repl/link_dual.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "client/client_output.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/memory_report.h"
#include "repl/history.h"
#include "repl/link_handshake.h"
#include "repl/link_wire.h"
#include "repl/receive.h"

#define READ_ROOM (64 * 1024)

static int64_t buffer_limit; /* bytes; 0: client-output-buffer-limit applies */

static void linkDualOnMainLine(struct linkWire *w, struct str line);
static void linkDualOnRdbConnected(struct linkWire *w);
static void linkDualOnRdbLine(struct linkWire *w, struct str line);
static void linkDualOnFailed(struct linkWire *w, const char *why);

static struct {
    bool running, loaded;
    bool snapshot_begun;
    struct linkWire main, rdb;
    int rdb_unanswered; /* commands without a reply yet */
    bool psync_sent;
    struct connection *conn; /* the stream's, once it has begun */
    sds stream;              /* what has come of the stream */
    size_t peak;
    int64_t dbid, last_io_ms;
    void (*end)(const struct dualResult *how);
    void (*keepAlive)(void);
    struct receivePlan plan;
} dual = {.main = LINK_WIRE(NULL, linkDualOnMainLine, linkDualOnFailed),
          .rdb = LINK_WIRE(linkDualOnRdbConnected, linkDualOnRdbLine, linkDualOnFailed)};

/* ---- End ---- */

static void linkDualRelease(void) {
    linkWireDrop(&dual.main);
    linkWireDrop(&dual.rdb);
    if (dual.conn) connClose(dual.conn);
    dual.conn = NULL;
    sdsfree(dual.stream);
    dual.stream = NULL;
    dual.running = false;
}

void dualCancel(void) {
    if (!dual.running) return;
    if (receiveRunning()) receiveCancel();
    linkDualRelease();
}

static void linkDualAbort(void) {
    serverLog(LL_NOTICE, "Dual channel replication: the synchronization is aborted");
    dualCancel();
    dual.end(&(struct dualResult){0});
}

static void linkDualOnFailed(struct linkWire *w, const char *why) {
    serverLog(LL_WARNING, "Dual channel replication: the %s connection with the primary failed: %s",
              w == &dual.rdb ? "RDB" : "main", why);
    linkDualAbort();
}

/* The snapshot is loaded and the stream has begun. */
static void linkDualFinish(void) {
    struct dualResult how = {.ok = true, .conn = dual.conn, .dbid = (int)dual.dbid, .stream = dual.stream};
    connSetReadHandler(dual.conn, NULL);
    dual.conn = NULL;
    dual.stream = NULL;
    linkDualRelease();
    dual.end(&how);
    serverLog(LL_NOTICE, "Dual channel replication: the buffered replication stream has been applied");
    sdsfree(how.stream);
}

/* ---- The main connection ---- */

static bool linkDualIsFull(void) {
    uint64_t limit = buffer_limit ? (uint64_t)buffer_limit : clientOutputHardLimit(CLIENT_CLASS_REPLICA);
    return limit && sdslen(dual.stream) >= limit;
}

static void linkDualKeepStream(struct connection *conn) {
    /* Reads at most READ_ROOM bytes, though the string may have more room, to respect the limit. */
    dual.stream = sdsMakeRoomFor(dual.stream, READ_ROOM);
    ssize_t n = connRead(conn, dual.stream + sdslen(dual.stream), READ_ROOM);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        if (n == 0)
            serverLog(LL_WARNING, "Dual channel replication: the primary closed the main connection");
        else
            serverLog(LL_WARNING, "Dual channel replication: reading from the main connection failed: %s",
                      strerror(errno));
        linkDualAbort();
        return;
    }
    sdssetlen(dual.stream, sdslen(dual.stream) + (size_t)n);
    if (sdslen(dual.stream) > dual.peak) dual.peak = sdslen(dual.stream);
    dual.last_io_ms = cmd_time_ms;
    if (!linkDualIsFull()) return;
    serverLog(
        LL_NOTICE,
        "Dual channel replication: the buffer is full (%zu bytes), so what follows stays with the primary "
        "for now",
        sdslen(dual.stream));
    connSetReadHandler(conn, NULL);
}

static void linkDualBeginStream(void) {
    dual.conn = linkWireTake(&dual.main);
    dual.stream = sdsempty();
    connSetReadHandler(dual.conn, linkDualKeepStream);
    serverLog(LL_NOTICE, "Dual channel replication: the replication stream of the primary begins%s",
              dual.loaded ? "" : ", while the snapshot is still being loaded");
    if (dual.loaded) linkDualFinish();
}

static void linkDualRefused(struct str line) {
    serverLog(LL_WARNING, "Dual channel replication: the reply of the primary is not understood: %.*s",
              (int)line.len, line.ptr);
    linkDualAbort();
}

static void linkDualRequestStream(void) {
    char digits[LONG_STR_SIZE];
    unsigned len = ull2string(digits, dual.plan.offset + 1);
    serverLog(
        LL_NOTICE,
        "Dual channel replication: a partial resynchronization is requested on the main connection (%s:%s)",
        dual.plan.id, digits);
    dual.psync_sent = true;
    linkWireSend(&dual.main, 3, (struct str[]){STR("PSYNC"), strOf(dual.plan.id), strN(digits, len)});
}

/* Handles the reply to set-rdb-client-id, then the one to PSYNC. A primary accepts PSYNC only when it has
 * sent all earlier replies. */
static void linkDualOnMainLine(struct linkWire *w, struct str line) {
    (void)w;
    dual.last_io_ms = cmd_time_ms;
    if (!line.len) return;
    if (!strStarts(line, dual.psync_sent ? STR("+CONTINUE") : STR("+")))
        linkDualRefused(line);
    else if (dual.psync_sent)
        linkDualBeginStream();
    else
        linkDualRequestStream();
}

static void linkDualSendRdbClientId(struct str id) {
    dual.psync_sent = false;
    linkWireSetReading(&dual.main, true);
    linkWireSend(&dual.main, 3, (struct str[]){STR("REPLCONF"), STR("set-rdb-client-id"), id});
}

/* ---- The RDB connection ---- */

static void linkDualOnRdbConnected(struct linkWire *w) {
    struct str auth[HANDSHAKE_WORDS_MAX];
    int words = handshakeAuthWords(auth);
    struct str argv[HANDSHAKE_WORDS_MAX] = {
        STR("REPLCONF"),          STR("capa"),    STR("eof"),         STR("capa"), STR("stream-idmp"),
        STR("rdb-only"),          STR("1"),       STR("rdb-channel"), STR("1"),    STR("listening-port"),
        handshakeAnnouncedPort(), STR("version"), STR(VALKEY_VERSION)};
    dual.last_io_ms = cmd_time_ms;
    dual.rdb_unanswered = 1;
    if (words) {
        dual.rdb_unanswered++;
        linkWireSend(w, words, auth);
    }
    linkWireSend(w, 13 + handshakeCodecWords(argv + 13), argv);
    if (!handshakeAnnouncedAddress().ptr) return;
    dual.rdb_unanswered++;
    linkWireSend(w, 3, (struct str[]){STR("REPLCONF"), STR("ip-address"), handshakeAnnouncedAddress()});
}

static void linkDualOnSnapshot(bool ok, struct str rest, const struct rdbReplication *replication) {
    (void)rest, (void)replication;
    connClose(dual.plan.conn);
    if (!ok) {
        linkDualAbort();
        return;
    }
    dual.loaded = true;
    if (dual.conn) linkDualFinish();
}

/* Parses $ENDOFF:<offset> <id> <database> <client id> */
static bool linkDualParseEndOffset(struct str line, struct str *client_id) {
    char id[REPL_ID_LEN + 1], client[LONG_STR_SIZE];
    long long offset, db;
    sds text = sdsnewstr(line);
    bool ok = sscanf(text, "$ENDOFF:%lld %40s %lld %20s", &offset, id, &db, client) == 4 && offset >= 0 &&
              offset <= HISTORY_OFFSET_MAX && db >= -1 && db <= INT_MAX && strlen(id) == REPL_ID_LEN;
    sdsfree(text);
    if (!ok) return false;
    const char *last = line.ptr + line.len;
    while (last[-1] != ' ') last--;
    *client_id = strN(last, (size_t)(line.ptr + line.len - last));
    dual.plan = (struct receivePlan){
        .offset = (uint64_t)offset, .done = linkDualOnSnapshot, .keepAlive = dual.keepAlive};
    memcpy(dual.plan.id, id, sizeof id);
    dual.dbid = db;
    return true;
}

static void linkDualOnRdbLine(struct linkWire *w, struct str line) {
    struct str client_id;
    dual.last_io_ms = cmd_time_ms;
    if (!line.len) return;
    if (dual.rdb_unanswered) {
        if (line.ptr[0] != '+')
            linkDualRefused(line);
        else if (--dual.rdb_unanswered == 0)
            linkWireSendRaw(w, STR("SYNC\r\n"));
        return;
    }
    if (!linkDualParseEndOffset(line, &client_id)) {
        linkDualRefused(line);
        return;
    }
    linkDualSendRdbClientId(client_id);
    dual.plan.conn = linkWireTake(w);
    dual.snapshot_begun = true;
    receiveStart(&dual.plan);
}

/* ---- Start ---- */

void dualStart(struct connection *main, const char *host, int port, void (*keepAlive)(void),
               void (*end)(const struct dualResult *how)) {
    char err[256];
    serverAssert(!dual.running);
    serverAssert(main && keepAlive && end);
    dual.running = true;
    dual.loaded = dual.snapshot_begun = false;
    dual.end = end;
    dual.keepAlive = keepAlive;
    dual.peak = 0;
    dual.last_io_ms = cmd_time_ms;
    dual.main.conn = main;
    main->data = &dual.main;
    if (!linkWireConnect(&dual.rdb, host, port, err, sizeof err)) linkDualOnFailed(&dual.rdb, err);
}

bool dualRunning(void) {
    return dual.running;
}

bool dualAwaitsSnapshot(void) {
    return dual.running && !dual.snapshot_begun;
}

int64_t dualLastIoMs(void) {
    return receiveRunning() && receiveLastIoMs() > dual.last_io_ms ? receiveLastIoMs() : dual.last_io_ms;
}

static size_t linkDualMemory(void) {
    return dual.stream ? sdsAllocSize(dual.stream) : 0;
}

void dualInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("replica-full-sync-buffer-limit", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &buffer_limit,
                   0, 0, INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    memoryAddPart(MEMORY_PRIMARY_STREAM, linkDualMemory);
}

size_t dualStreamBytes(void) {
    return dual.stream ? sdslen(dual.stream) : 0;
}

size_t dualStreamPeakBytes(void) {
    return dual.peak;
}
