/* SPDX-License-Identifier: BSD-3-Clause */
/* propagate.c - collects what the running command propagates, and passes it to the sinks.
 *
 *     propagation.buf   | held | rewrites of the outermost | rewrites of what it called | spare: one command
 *
 * A command whose request is available as the bytes it came in goes to the sinks as these bytes. Any other is
 * encoded in the spare part, except its big arguments, which the sinks get from where they are.
 *
 * Whether a unit needs MULTI and EXEC is known when its second command comes: the first is held until then,
 * unless it is known to be the last. Later commands are not held.
 *
 * Rewrites are encoded when they are declared, and are passed on when their command has ended: after the
 * deletions of expired keys that it found, and after what it called.
 *
 * Invariant: between units the buffer is empty, and nothing is pending. */
#include "command/propagate.h"

#include <string.h>

#include "base/assert.h"
#include "base/key_slot.h"
#include "base/num.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "data/keyspace/db.h"
#include "net/resp.h"

#define SINKS_MAX   4
#define SELECT_ROOM 64
#define BUFFER_KEEP (64 * 1024) /* a larger buffer is freed at the end of its unit */

static struct {
    propagateSink *fn;
    unsigned options;
} sinks[SINKS_MAX];
static int sink_count, described_sinks, mutes;
int propagate_sinks, propagate_replica_sinks, propagate_old_readers;
struct propagationUnit propagation;
static uint64_t sent_bytes;  /* bytes passed to sinks */
static int selected_db = -1; /* database of the last SELECT among them; -1: there is none */

static const struct str multi_text = STR("*1\r\n$5\r\nMULTI\r\n"), exec_text = STR("*1\r\n$4\r\nEXEC\r\n");
static const struct str crlf = STR("\r\n"), no_raw;

static const struct propagatedCommand about_nothing = {NULL, -1};

/* ---- Description ---- */

/* O(keys) */
static __attribute__((noinline, cold)) void propagateLookUpCommand(struct propagationUnit *u, int argc,
                                                                   const struct str *argv,
                                                                   const struct serverCommand *cmd) {
    struct keyRef *keys = NULL;
    u->about.cmd = cmd ? cmd : commandLookup(argv, argc);
    int count = u->about.cmd ? commandGetKeyRefs(u->about.cmd, argv, argc, &keys) : 0;
    bool has_key = count > 0 && !(keys[0].flags & KEY_NOT_KEY);
    u->about.slot = has_key ? keySlot(argv[keys[0].pos]) : -1;
    zfree(keys);
}

/* Sets u->about. cmd NULL: looks the command up. */
static inline void propagateDescribe(struct propagationUnit *u, int argc, const struct str *argv,
                                     const struct serverCommand *cmd) {
    if (__builtin_expect(described_sinks, 0)) propagateLookUpCommand(u, argc, argv, cmd);
}

/* ---- Passing to sinks ---- */

static inline void propagateToAllSinks(struct propagated *p) {
    p->offset = sent_bytes;
    for (int i = 0; i < sink_count; i++) sinks[i].fn(p);
    if (!(p->exclude & PROPAGATED_NOT_TO_REPLICAS)) sent_bytes += p->len;
}

static size_t propagateWriteSelect(char dst[SELECT_ROOM], int dbid) {
    char digits[LONG_STR_SIZE];
    struct str argv[] = {STR("SELECT"), strN(digits, ll2string(digits, dbid))};
    return (size_t)(respWriteRequest(dst, 2, argv) - dst);
}

static __attribute__((noinline, cold)) void propagateSelectDb(int dbid, bool first) {
    char text[SELECT_ROOM];
    struct str bytes = strN(text, propagateWriteSelect(text, dbid));
    propagateToAllSinks(&(struct propagated){.pieces = &bytes,
                                             .count = 1,
                                             .len = bytes.len,
                                             .commands = 1,
                                             .dbid = dbid,
                                             .about = &about_nothing,
                                             .first = first});
    selected_db = dbid;
}

static inline void propagateToSinks(struct propagated *p, int dbid) {
    p->dbid = dbid;
    if (__builtin_expect(dbid != selected_db, 0) && dbid >= 0) {
        propagateSelectDb(dbid, p->first);
        p->first = false;
    }
    propagateToAllSinks(p);
}

static void propagateTextToSinks(const struct str *text, bool first) {
    propagateToSinks(&(struct propagated){.pieces = text,
                                          .count = 1,
                                          .len = text->len,
                                          .commands = 1,
                                          .about = &about_nothing,
                                          .first = first,
                                          .last = !first,
                                          .bracket = true},
                     -1);
}

static void propagatePartToSinks(const struct propagationPart *part, bool alone) {
    struct str bytes = strN(propagation.buf + part->at, part->len);
    propagateToSinks(&(struct propagated){.pieces = &bytes,
                                          .count = 1,
                                          .len = bytes.len,
                                          .commands = part->commands,
                                          .about = &part->about,
                                          .first = alone,
                                          .last = alone,
                                          .for_replicas = part->for_replicas,
                                          .exclude = part->exclude},
                     part->dbid);
}

static inline bool propagateIsFirst(const struct propagationUnit *u) {
    return !u->in_multi && !u->held.len;
}

/* Begins MULTI, since there will be more than one command. */
static void propagateOpenMulti(struct propagationUnit *u) {
    if (u->in_multi) return;
    u->in_multi = u->busy = true;
    propagateTextToSinks(&multi_text, true);
    if (u->held.len) propagatePartToSinks(&u->held, false);
    u->held.len = 0;
}

/* Ends the unit: afterwards all sinks have everything that has come so far. */
static void propagateEndUnit(struct propagationUnit *u) {
    if (u->held.len)
        propagatePartToSinks(&u->held, true);
    else if (u->in_multi)
        propagateTextToSinks(&exec_text, false);
    u->held.len = 0;
    u->in_multi = false;
}

/* Runs propagateAtUnitEnd's function, whose changes belong to the unit. */
static void propagateRunAtEnd(struct propagationUnit *u) {
    u->depth++;
    while (u->at_end) {
        void (*fn)(void) = u->at_end;
        u->at_end = NULL;
        fn();
    }
    u->depth--;
    u->busy = true;
}

void propagateAtUnitEnd(void (*fn)(void)) {
    serverAssert(propagation.depth > 0);
    propagation.at_end = fn;
    propagation.busy = true;
}

void propagateEndBusy(void) {
    struct propagationUnit *u = &propagation;
    if (!u->depth) u->apart = false;
    if (!u->depth && u->at_end) propagateRunAtEnd(u);
    /* Rewrites of a called command that was not propagated are dropped. */
    while (u->rewrite_count && u->rewrites[u->rewrite_count - 1].depth > u->depth) u->rewrite_count--;
    if (u->depth) return;
    propagateEndUnit(u);
    u->busy = u->suppressed = false;
    u->used = 0;
    if (u->size <= BUFFER_KEEP) return;
    zfree(u->buf);
    u->buf = NULL;
    u->size = 0;
}

/* ---- Encoding ---- */

static char *propagateReserve(struct propagationUnit *u, size_t n) {
    if (u->size - u->used < n) {
        u->size = u->used + n < 2 * u->size ? 2 * u->size : u->used + n;
        u->buf = zrealloc(u->buf, u->size);
        if (u->size > BUFFER_KEEP) u->busy = true;
    }
    return u->buf + u->used;
}

static char *propagateCopyBytes(char *at, struct str bytes) {
    memcpy(at, bytes.ptr, bytes.len);
    return at + bytes.len;
}

/* Encodes a command into the buffer, where it stays for later. */
static struct propagationPart propagateEncodeToBuffer(struct propagationUnit *u, int dbid, int argc,
                                                      const struct str *argv, struct str raw) {
    serverAssert(u->depth > 0);
    char *start = propagateReserve(u, raw.ptr ? raw.len : respRequestRoom(argc, argv));
    char *end = raw.ptr ? propagateCopyBytes(start, raw) : respWriteRequest(start, argc, argv);
    struct propagationPart part = {u->used, (size_t)(end - start), dbid, 1, u->depth, false, 0, u->about};
    u->used += part.len;
    u->busy = true;
    return part;
}

/* Encodes a command in the spare part, in pieces around its big arguments. */
static int propagateEncodePieces(struct propagationUnit *u, int argc, const struct str *argv,
                                 const struct str **pieces) {
    static struct str *list;
    static int cap;
    size_t room = respRequestRoom(argc, argv);
    int count = 1;
    for (int i = 0; i < argc; i++) {
        if (argv[i].len < RESP_BIG_ARG) continue;
        room -= argv[i].len;
        count += 2;
    }
    if (count > cap) list = zrealloc(list, (size_t)(cap = count) * sizeof *list);
    char *from = propagateReserve(u, room), *at = respWriteRequestHead(from, argc);
    struct str *piece = list;
    for (int i = 0; i < argc; i++) {
        at = respWriteBulkHead(at, argv[i].len);
        if (argv[i].len >= RESP_BIG_ARG) {
            *piece++ = strN(from, (size_t)(at - from));
            *piece++ = argv[i];
            from = at;
        } else {
            at = propagateCopyBytes(at, argv[i]);
        }
        at = propagateCopyBytes(at, crlf);
    }
    *piece = strN(from, (size_t)(at - from));
    *pieces = list;
    return count;
}

/* ---- Commands in sequence ---- */

static inline void propagateSendPieces(struct propagationUnit *u, struct propagated *p, int dbid, bool last) {
    p->exclude = u->exclude;
    bool alone = last && p->commands == 1 && propagateIsFirst(u);
    if (!alone) propagateOpenMulti(u);
    p->first = p->last = alone;
    propagateToSinks(p, dbid);
}

static inline void propagateSendBytes(struct propagationUnit *u, struct str bytes, int dbid, int commands,
                                      bool last, bool for_replicas) {
    propagateSendPieces(u,
                        &(struct propagated){.pieces = &bytes,
                                             .count = 1,
                                             .len = bytes.len,
                                             .commands = commands,
                                             .about = &u->about,
                                             .for_replicas = for_replicas},
                        dbid, last);
}

static void propagateEncodeAndSend(struct propagationUnit *u, int dbid, int argc, const struct str *argv,
                                   bool last, bool for_replicas) {
    size_t room = respRequestRoom(argc, argv);
    if (room < RESP_BIG_ARG) {
        char *start = propagateReserve(u, room);
        propagateSendBytes(u, strN(start, (size_t)(respWriteRequest(start, argc, argv) - start)), dbid, 1,
                           last, for_replicas);
    } else {
        struct propagated p = {.commands = 1, .about = &u->about, .for_replicas = for_replicas};
        p.count = propagateEncodePieces(u, argc, argv, &p.pieces);
        for (int i = 0; i < p.count; i++) p.len += p.pieces[i].len;
        propagateSendPieces(u, &p, dbid, last);
    }
}

/* Emits a command. last: no other one will come in this unit. */
static inline __attribute__((always_inline)) void propagateEmit(struct propagationUnit *u, int dbid, int argc,
                                                                const struct str *argv, struct str raw,
                                                                bool last, bool for_replicas) {
    if (!last && propagateIsFirst(u)) {
        u->held = propagateEncodeToBuffer(u, dbid, argc, argv, raw);
        u->held.for_replicas = for_replicas;
        u->held.exclude = u->exclude;
    } else if (raw.ptr) {
        propagateSendBytes(u, raw, dbid, 1, last, for_replicas);
    } else {
        propagateEncodeAndSend(u, dbid, argc, argv, last, for_replicas);
    }
}

static void propagateAddRewrite(struct propagationUnit *u, struct propagationPart part) {
    struct propagationPart *before = u->rewrite_count ? &u->rewrites[u->rewrite_count - 1] : NULL;
    if (before && before->depth == part.depth && before->dbid == part.dbid &&
        before->at + before->len == part.at && !described_sinks) {
        before->len += part.len;
        before->commands++;
        return;
    }
    if (u->rewrite_count == u->rewrite_cap) {
        u->rewrite_cap = u->rewrite_cap ? 2 * u->rewrite_cap : 4;
        u->rewrites = zrealloc(u->rewrites, (size_t)u->rewrite_cap * sizeof *u->rewrites);
    }
    u->rewrites[u->rewrite_count++] = part;
}

static void propagateHoldBack(struct propagationUnit *u, const struct propagationPart *part) {
    u->held = *part;
    u->held.exclude = u->exclude;
}

/* Emits what the command that has ended has declared. False: it has declared nothing. */
static bool propagateEmitRewrites(struct propagationUnit *u, bool last) {
    int count = u->rewrite_count, from = count;
    while (from && u->rewrites[from - 1].depth == u->depth) from--;
    if (from == count) return false;
    for (int i = from; i < count && !u->suppressed; i++) {
        struct propagationPart *part = &u->rewrites[i];
        bool ends = last && i == count - 1;
        u->about = part->about;
        if (!ends && part->commands == 1 && propagateIsFirst(u))
            propagateHoldBack(u, part);
        else
            propagateSendBytes(u, strN(u->buf + part->at, part->len), part->dbid, part->commands, ends,
                               false);
    }
    u->rewrite_count = from;
    u->used = u->rewrites[from].at;
    if (u->held.len && u->held.at + u->held.len > u->used) u->used = u->held.at + u->held.len;
    return true;
}

/* Returns whether the request's bytes can be passed on: they are one canonical array (not an inline request;
 * the parser accepts no other arrays), and the arguments have not been replaced. */
static bool propagateRawIsUsable(const struct client *c, struct str raw) {
    const struct str *last = &c->argv[c->argc - 1];
    return raw.ptr && raw.ptr[0] == '*' && last->ptr + last->len + 2 == raw.ptr + raw.len;
}

void propagateCommand(struct client *c, bool dirty, struct str raw) {
    struct propagationUnit *u = &propagation;
    bool last = u->depth == 1 && !u->at_end;
    bool rewritten = u->rewrite_count && propagateEmitRewrites(u, last);
    bool forced = u->forced && !dirty;
    bool emits = (dirty || forced) && !rewritten && !u->suppressed;
    u->suppressed = u->forced = false;
    if (!dirty && !forced) return;
    if (emits) {
        propagateDescribe(u, c->argc, c->argv, c->cmd);
        propagateEmit(u, c->db->id, c->argc, c->argv, propagateRawIsUsable(c, raw) ? raw : no_raw, last,
                      forced);
    }
    c->wrote_at = propagateOffset();
}

/* ---- Public API ---- */

void propagateRewrite(struct client *c, int argc, const struct str *argv) {
    struct propagationUnit *u = &propagation;
    if (!propagateWanted()) return;
    propagateDescribe(u, argc, argv, NULL);
    propagateAddRewrite(u, propagateEncodeToBuffer(u, c->db->id, argc, argv, no_raw));
}

void propagateRewriteOpen(struct client *c, int argc, struct str name, struct str key) {
    struct propagationUnit *u = &propagation;
    serverAssert(u->depth > 0 && argc >= 2);
    propagateDescribe(u, 2, (struct str[]){name, key}, NULL);
    char *start = propagateReserve(u, RESP_HDR_SIZE);
    size_t len = (size_t)(respWriteRequestHead(start, argc) - start);
    propagateAddRewrite(u,
                        (struct propagationPart){u->used, len, c->db->id, 1, u->depth, false, 0, u->about});
    u->used += len;
    u->busy = true;
    propagateRewriteArg(name);
    propagateRewriteArg(key);
}

void propagateRewriteArg(struct str arg) {
    struct propagationUnit *u = &propagation;
    struct propagationPart *part = &u->rewrites[u->rewrite_count - 1];
    serverAssert(part->at + part->len == u->used);
    char *start = propagateReserve(u, RESP_HDR_SIZE + arg.len + 2);
    char *end = propagateCopyBytes(propagateCopyBytes(respWriteBulkHead(start, arg.len), arg), crlf);
    part->len += (size_t)(end - start);
    u->used += (size_t)(end - start);
}

void propagateSeparately(void) {
    if (read_context.reads) return; /* it refuses what would be propagated */
    struct propagationUnit *u = &propagation;
    if (propagateWanted() && u->depth == 1 && propagateIsFirst(u)) u->apart = u->busy = true;
}

void propagateSuppress(struct client *c) {
    (void)c;
    propagation.suppressed = propagateWanted();
}

void propagateNow(int dbid, int argc, const struct str *argv) {
    struct propagationUnit *u = &propagation;
    if (!sink_count) return;
    bool alone = u->depth == 0 || (u->apart && u->depth == 1 && propagateIsFirst(u));
    propagateDescribe(u, argc, argv, NULL);
    propagateEmit(u, dbid, argc, argv, no_raw, alone, false);
    if (u->busy && u->depth == 0) propagateEndBusy();
}

void propagateModuleCommand(int dbid, int argc, const struct str *argv, unsigned exclude) {
    if (!propagateWanted() || exclude == PROPAGATED_TO_NOBODY) return;
    propagation.exclude = (uint8_t)exclude;
    propagateNow(dbid, argc, argv);
    propagation.exclude = 0;
}

void propagateMute(bool on) {
    mutes += on ? 1 : -1;
    propagate_sinks = mutes ? 0 : sink_count;
}

static void propagateCountSinks(void) {
    propagate_replica_sinks = described_sinks = 0;
    for (int i = 0; i < sink_count; i++) {
        propagate_replica_sinks += (sinks[i].options & SINK_FOR_REPLICAS) != 0;
        described_sinks += (sinks[i].options & SINK_DESCRIBED) != 0;
    }
    propagate_sinks = mutes ? 0 : sink_count;
}

void propagateAddSink(propagateSink *fn, unsigned options) {
    serverAssert(sink_count < SINKS_MAX);
    /* Rewrites that were declared already have no description. Only handlers declare; none adds sinks. */
    serverAssert(!(options & SINK_DESCRIBED) || !propagation.rewrite_count);
    propagateSelectAnew();
    sinks[sink_count].fn = fn;
    sinks[sink_count++].options = options;
    propagateCountSinks();
}

void propagateRemoveSink(propagateSink *fn) {
    for (int i = 0; i < sink_count; i++) {
        if (sinks[i].fn != fn) continue;
        propagateEndUnit(&propagation);
        sinks[i] = sinks[--sink_count];
        propagateCountSinks();
        return;
    }
}

void propagateSelectAnew(void) {
    propagateEndUnit(&propagation);
    selected_db = -1;
}

int propagateSelected(void) {
    return selected_db;
}

bool propagateToReplicas(int argc, const struct str *argv) {
    struct propagationUnit *u = &propagation;
    if (u->depth) return false;
    if (!propagateWanted()) return true;
    char *start = propagateReserve(u, respRequestRoom(argc, argv));
    struct str bytes = strN(start, (size_t)(respWriteRequest(start, argc, argv) - start));
    propagateToAllSinks(&(struct propagated){.pieces = &bytes,
                                             .count = 1,
                                             .len = bytes.len,
                                             .commands = 1,
                                             .dbid = -1,
                                             .about = &about_nothing,
                                             .first = true,
                                             .last = true,
                                             .for_replicas = true});
    return true;
}

uint64_t propagateOffset(void) {
    const struct propagationUnit *u = &propagation;
    char select[SELECT_ROOM];
    size_t waits = u->held.exclude & PROPAGATED_NOT_TO_REPLICAS ? 0 : u->held.len;
    if (u->held.len && u->held.dbid != selected_db) waits += propagateWriteSelect(select, u->held.dbid);
    return sent_bytes + waits + (u->in_multi ? exec_text.len : 0);
}
