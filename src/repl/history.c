/* SPDX-License-Identifier: BSD-3-Clause */
/* history.c - see history.h. */
#include "repl/history.h"

#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/random.h"
#include "client/reply.h"
#include "command/propagate.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/info.h"

#define SIZE_DEFAULT       (10 << 20)
#define SIZE_MIN           (16 << 10)
#define TRIM_PER_NEW_BLOCK 64  /* blocks freed when one is added... */
#define TRIM_PER_TURN      640 /* ...and in a turn of the loop */

struct history history;
void (*history_new_block)(void);
int history_primary_db = -1;

static int64_t backlog_size;
static bool is_sink;        /* historySink is registered */
static bool has_old_reader; /* historyNoteOldReader */
static uint64_t base;       /* of a primary: offset - propagateOffset(), modulo 2^64 */

static void historyClearSecondId(void) {
    memset(history.id2, '0', REPL_ID_LEN);
    history.second_offset = -1;
}

static void historyTakeNewId(void) {
    randomHexChars(history.id, REPL_ID_LEN);
    historyClearSecondId();
}

/* ---- The bytes ---- */

/* Called when a backlog is created, too, as nothing is applied while the configuration is loaded. */
static bool historyApplySize(const char **err) {
    (void)err;
    history.chain.keep = (size_t)backlog_size;
    return true;
}

static void historyOnNewBlock(void) {
    chainTrim(&history.chain, TRIM_PER_NEW_BLOCK);
    if (history_new_block) history_new_block();
}

static inline void historyAppend(const struct str *pieces, int count) {
    history.grown = true;
    if (__builtin_expect(chainAppend(&history.chain, pieces, count), 0)) historyOnNewBlock();
}

static void historySink(const struct propagated *p) {
    debugAssert(historyOffset() == base + p->offset);
    if (p->exclude & PROPAGATED_NOT_TO_REPLICAS) return;
    historyAppend(p->pieces, p->count);
}

static void historySetSink(bool on) {
    if (is_sink == on) return;
    is_sink = on;
    if (!on) {
        propagateRemoveSink(historySink);
        return;
    }
    propagateAddSink(historySink, SINK_FOR_REPLICAS);
    propagateSelectAnew();
    base = historyOffset() - propagateOffset();
}

static void historyOnRole(bool replica) {
    historySetSink(!replica && history.backlog);
}

uint64_t historyOffsetOf(uint64_t wrote_at) {
    uint64_t offset = base + wrote_at;
    return wrote_at && is_sink && (int64_t)offset > 0 ? offset : 0;
}

void historyCreateBacklog(bool keep_id) {
    serverAssert(!history.backlog);
    history.backlog = historyApplySize(NULL);
    chainRestart(&history.chain, historyOffset());
    if (!keep_id) historyTakeNewId();
    historyOnRole(roleIsReplica());
}

void historyNoteOldReader(void) {
    propagate_old_readers += !has_old_reader;
    has_old_reader = true;
}

void historyFreeBacklog(void) {
    serverAssert(history.backlog);
    historySetSink(false);
    propagate_old_readers -= has_old_reader;
    has_old_reader = false;
    history.backlog = false;
    chainRestart(&history.chain, historyOffset());
    historyTakeNewId();
}

void historyFeed(const struct str *pieces, int count) {
    serverAssert(!is_sink);
    if (history.backlog) {
        historyAppend(pieces, count);
        return;
    }
    for (int i = 0; i < count; i++) history.chain.end += pieces[i].len;
    history.chain.start = history.chain.end;
}

static void historyTrimBeforeSleep(void) {
    if (history.backlog) chainTrim(&history.chain, TRIM_PER_TURN);
}

/* ---- IDs ---- */

bool historyIdEquals(const char *id, struct str other) {
    return other.len == REPL_ID_LEN && strncasecmp(id, other.ptr, REPL_ID_LEN) == 0;
}

static void historyKeepAsSecond(void) {
    memcpy(history.id2, history.id, sizeof history.id2);
    history.second_offset = (int64_t)(historyOffset() + 1);
}

void historyBecomePrimary(void) {
    serverAssert(!is_sink);
    historyKeepAsSecond();
    randomHexChars(history.id, REPL_ID_LEN);
    serverLog(LL_NOTICE,
              "The former replication ID %s stays valid up to offset %lld; the new replication ID is %s",
              history.id2, (long long)history.second_offset, history.id);
}

void historyAdopt(const char *id, uint64_t offset) {
    serverAssert(offset <= HISTORY_OFFSET_MAX);
    serverAssert(!is_sink);
    memcpy(history.id, id, REPL_ID_LEN);
    historyClearSecondId();
    history.backlog = historyApplySize(NULL);
    chainRestart(&history.chain, offset);
}

void historyRename(const char *newid) {
    serverAssert(strlen(newid) == REPL_ID_LEN && !historyIdEquals(history.id, strOf(newid)));
    historyKeepAsSecond();
    memcpy(history.id, newid, REPL_ID_LEN);
}

bool historyRestore(const struct rdbReplication *r) {
    if (!r->known || r->offset < 0 || r->offset > HISTORY_OFFSET_MAX) return false;
    historyAdopt(r->id, (uint64_t)r->offset);
    if (roleIsReplica()) return true;
    historyKeepAsSecond();
    randomHexChars(history.id, REPL_ID_LEN);
    historyOnRole(false);
    return true;
}

bool historyCanContinue(struct str id, int64_t offset, sds *why) {
    const struct chain *c = &history.chain;
    bool second = historyIdEquals(history.id2, id);
    *why = NULL;
    if (!historyIdEquals(history.id, id) && !(second && offset <= history.second_offset)) {
        if (second)
            *why = sdscatprintf(
                sdsempty(),
                "Partial resynchronization refused: the replica asks for offset %lld of the former "
                "replication ID, which is valid up to %lld",
                (long long)offset, (long long)history.second_offset);
        else if (id.len == 0 || id.ptr[0] != '?')
            *why = sdscatprintf(
                sdsempty(),
                "Partial resynchronization refused: the replica asks for replication ID '%.*s', but this "
                "server's are '%s' and '%s'",
                (int)(id.len < 64 ? id.len : 64), id.ptr, history.id, history.id2);
        return false;
    }
    return history.backlog && offset > 0 && (uint64_t)offset - 1 >= c->start &&
           (uint64_t)offset - 1 <= c->end;
}

/* ---- In files ---- */

void historyDescribe(struct rdbReplication *r) {
    *r = (struct rdbReplication){.stream_db = -1};
    if (roleIsReplica())
        r->stream_db = history_primary_db;
    else if (history.backlog)
        r->stream_db = propagateSelected();
    r->known = history.backlog;
    memcpy(r->id, history.id, sizeof r->id);
    r->offset = (int64_t)historyOffset();
}

/* ---- Registration ---- */

static sds historyInfo(sds s) {
    const struct chain *c = &history.chain;
    s = infoField(s, "master_replid:%s", history.id);
    s = infoField(s, "master_replid2:%s", history.id2);
    s = infoField(s, "master_repl_offset:%llu", (unsigned long long)c->end);
    s = infoField(s, "second_repl_offset:%lld", (long long)history.second_offset);
    s = infoField(s, "repl_backlog_active:%d", history.backlog);
    s = infoField(s, "repl_backlog_size:%llu", (unsigned long long)backlog_size);
    s = infoField(s, "repl_backlog_first_byte_offset:%llu",
                  history.backlog ? (unsigned long long)c->start + 1 : 0);
    return infoField(s, "repl_backlog_histlen:%llu", (unsigned long long)(c->end - c->start));
}

static void historyDebugChangeId(struct client *c) {
    serverLog(LL_NOTICE, "DEBUG CHANGE-REPL-ID gives this server new replication IDs");
    historyTakeNewId();
    replyOk(c);
}

void historyInit(void) {
    static struct configDirective directives[] = {
        {.name = "repl-backlog-size",
         .type = CONFIG_TYPE_INT,
         .flags = CONFIG_MODIFIABLE | CONFIG_MEMORY,
         .var.i = &backlog_size,
         .def = SIZE_DEFAULT,
         .min = 1,
         .max = INT64_MAX,
         .clamp_min = SIZE_MIN,
         .clamp_max = INT64_MAX,
         .apply = historyApplySize},
    };
    static const char *const help[] = {
        "CHANGE-REPL-ID",
        "    Change the replication id, so that replicas need a full synchronization.",
        NULL,
    };
    static const struct debugSubcommand change_id = {"change-repl-id", 0, 0, historyDebugChangeId, help};
    configRegister(directives, sizeof directives / sizeof *directives);
    debugRegister(&change_id);
    chainInit(&history.chain, SIZE_DEFAULT);
    historyTakeNewId();
    roleOnChange(historyOnRole);
    infoRegister("replication", historyInfo);
    beforeSleepRegister(historyTrimBeforeSleep);
    rdb_replication_now = historyDescribe;
}
