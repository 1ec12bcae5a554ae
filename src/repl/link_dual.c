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
#include "registry/cron.h"
#include "registry/memory_report.h"
#include "repl/history.h"
#include "repl/link_handshake.h"
#include "repl/link_wire.h"
#include "repl/receive.h"

#define READ_ROOM (64 * 1024)

static void linkDualMainReceived(struct wire *w, struct str line);
static void linkDualRdbConnected(struct wire *w);
static void linkDualRdbReceived(struct wire *w, struct str line);
static void linkDualFailed(struct wire *w, const char *why);

static struct {
    bool running, loaded;
    bool begun; /* the snapshot comes */
    struct wire main, rdb;
    int rdb_unanswered;      /* commands */
    bool asked;              /* for the stream */
    struct connection *conn; /* of the stream, once it flows */
    sds stream;              /* what has come of it */
    size_t peak;
    int64_t dbid, last_io_ms;
    void (*end)(const struct dualEnd *how);
    void (*alive)(void);
    struct receivePlan plan;
} dual = {.main = WIRE(NULL, linkDualMainReceived, linkDualFailed),
          .rdb = WIRE(linkDualRdbConnected, linkDualRdbReceived, linkDualFailed)};

/* ---- Its end ---- */

static void linkDualLetGo(void) {
    wireDrop(&dual.main);
    wireDrop(&dual.rdb);
    if (dual.conn) connClose(dual.conn);
    dual.conn = NULL;
    sdsfree(dual.stream);
    dual.stream = NULL;
    dual.running = false;
}

void dualCancel(void) {
    if (!dual.running) return;
    if (receiveRunning()) receiveCancel();
    linkDualLetGo();
}

static void linkDualGiveUp(void) {
    serverLog(LL_NOTICE, "Dual channel replication: the synchronization is aborted");
    dualCancel();
    dual.end(&(struct dualEnd){0});
}

static void linkDualFailed(struct wire *w, const char *why) {
    serverLog(LL_WARNING, "Dual channel replication: the %s connection with the primary failed: %s",
              w == &dual.rdb ? "RDB" : "main", why);
    linkDualGiveUp();
}

/* Snapshot and stream are both there. */
static void linkDualFinish(void) {
    struct dualEnd how = {.ok = true, .conn = dual.conn, .dbid = (int)dual.dbid, .stream = dual.stream};
    connSetReadHandler(dual.conn, NULL);
    dual.conn = NULL;
    dual.stream = NULL;
    linkDualLetGo();
    dual.end(&how);
    serverLog(LL_NOTICE, "Dual channel replication: the buffered replication stream has been applied");
    sdsfree(how.stream);
}

/* ---- The main connection ---- */

static bool linkDualIsFull(void) {
    uint64_t limit = clientOutputHardLimit(CLIENT_CLASS_REPLICA);
    return limit && sdslen(dual.stream) >= limit;
}

static void linkDualKeepStream(struct connection *conn) {
    /* There is more room than that, as strings grow; but there is a limit, too. */
    dual.stream = sdsMakeRoomFor(dual.stream, READ_ROOM);
    ssize_t n = connRead(conn, dual.stream + sdslen(dual.stream), READ_ROOM);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        if (n == 0)
            serverLog(LL_WARNING, "Dual channel replication: the primary closed the main connection");
        else
            serverLog(LL_WARNING, "Dual channel replication: reading from the main connection failed: %s",
                      strerror(errno));
        linkDualGiveUp();
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
    dual.conn = wireTake(&dual.main);
    dual.stream = sdsempty();
    connSetReadHandler(dual.conn, linkDualKeepStream);
    serverLog(LL_NOTICE, "Dual channel replication: the replication stream of the primary begins%s",
              dual.loaded ? "" : ", while the snapshot is still being loaded");
    if (dual.loaded) linkDualFinish();
}

static void linkDualRefused(struct str line) {
    serverLog(LL_WARNING, "Dual channel replication: the reply of the primary is not understood: %.*s",
              (int)line.len, line.ptr);
    linkDualGiveUp();
}

static void linkDualAskForStream(void) {
    char digits[LONG_STR_SIZE];
    unsigned len = ull2string(digits, dual.plan.offset + 1);
    serverLog(
        LL_NOTICE,
        "Dual channel replication: a partial resynchronization is requested on the main connection (%s:%s)",
        dual.plan.id, digits);
    dual.asked = true;
    linkWireSend(&dual.main, 3, (struct str[]){STR("PSYNC"), strOf(dual.plan.id), strN(digits, len)});
}

/* To set-rdb-client-id, then to PSYNC: a primary takes that only when it has answered all before it. */
static void linkDualMainReceived(struct wire *w, struct str line) {
    (void)w;
    dual.last_io_ms = cmd_time_ms;
    if (!line.len) return;
    if (!strStarts(line, dual.asked ? STR("+CONTINUE") : STR("+")))
        linkDualRefused(line);
    else if (dual.asked)
        linkDualBeginStream();
    else
        linkDualAskForStream();
}

static void linkDualNameRdbClient(struct str id) {
    dual.asked = false;
    wireListen(&dual.main, true);
    linkWireSend(&dual.main, 3, (struct str[]){STR("REPLCONF"), STR("set-rdb-client-id"), id});
}

/* ---- The RDB connection ---- */

static void linkDualRdbConnected(struct wire *w) {
    struct str auth[INTRODUCTION_MAX];
    int words = introduceAuth(auth);
    struct str argv[INTRODUCTION_MAX] = {
        STR("REPLCONF"), STR("capa"),        STR("eof"),         STR("rdb-only"),
        STR("1"),        STR("rdb-channel"), STR("1"),           STR("listening-port"),
        introducePort(), STR("version"),     STR(VALKEY_VERSION)};
    dual.last_io_ms = cmd_time_ms;
    dual.rdb_unanswered = 1;
    if (words) {
        dual.rdb_unanswered++;
        linkWireSend(w, words, auth);
    }
    linkWireSend(w, 11, argv);
    if (!introduceAddress().ptr) return;
    dual.rdb_unanswered++;
    linkWireSend(w, 3, (struct str[]){STR("REPLCONF"), STR("ip-address"), introduceAddress()});
}

static void linkDualReceived(bool ok, struct str rest, const struct rdbReplication *replication) {
    (void)rest, (void)replication;
    connClose(dual.plan.conn);
    if (!ok) {
        linkDualGiveUp();
        return;
    }
    dual.loaded = true;
    if (dual.conn) linkDualFinish();
}

/* $ENDOFF:<offset> <id> <database> <client id> */
static bool linkDualReadEnd(struct str line, struct str *client_id) {
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
    dual.plan =
        (struct receivePlan){.offset = (uint64_t)offset, .done = linkDualReceived, .alive = dual.alive};
    memcpy(dual.plan.id, id, sizeof id);
    dual.dbid = db;
    return true;
}

static void linkDualRdbReceived(struct wire *w, struct str line) {
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
    if (!linkDualReadEnd(line, &client_id)) {
        linkDualRefused(line);
        return;
    }
    linkDualNameRdbClient(client_id);
    dual.plan.conn = wireTake(w);
    dual.begun = true;
    receiveStart(&dual.plan);
}

/* ---- Its start ---- */

void dualStart(struct connection *main, const char *host, int port, void (*alive)(void),
               void (*end)(const struct dualEnd *how)) {
    char err[256];
    serverAssert(!dual.running);
    serverAssert(main && alive && end);
    dual.running = true;
    dual.loaded = dual.begun = false;
    dual.end = end;
    dual.alive = alive;
    dual.peak = 0;
    dual.last_io_ms = cmd_time_ms;
    dual.main.conn = main;
    main->data = &dual.main;
    if (!wireConnect(&dual.rdb, host, port, err, sizeof err)) linkDualFailed(&dual.rdb, err);
}

bool dualRunning(void) {
    return dual.running;
}

bool dualWaits(void) {
    return dual.running && !dual.begun;
}

int64_t dualLastIoMs(void) {
    return receiveRunning() && receiveLastIoMs() > dual.last_io_ms ? receiveLastIoMs() : dual.last_io_ms;
}

static size_t linkDualMemory(void) {
    return dual.stream ? sdsAllocSize(dual.stream) : 0;
}

void dualInit(void) {
    memoryAddPart(MEMORY_PRIMARY_STREAM, linkDualMemory);
}

size_t dualKept(void) {
    return dual.stream ? sdslen(dual.stream) : 0;
}

size_t dualKeptPeak(void) {
    return dual.peak;
}
