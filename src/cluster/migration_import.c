/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_import.c - the target of a migration: a client that brings keys of slots which another node still
 * owns. Its commands run as if this node's primary had sent them, and get no replies.
 *
 * The keys are hidden until this node owns the slots: migration_track.c. Keys of an import that fails are
 * deleted, on replicas, too. */
#include <string.h>

#include "base/assert.h"
#include "base/key_slot.h"
#include "base/log.h"
#include "base/num.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/migration_jobs.h"
#include "cluster/migration_private.h"
#include "cluster/slot_keys.h"
#include "command/call.h"
#include "command/command.h"
#include "command/data_hooks.h"
#include "command/propagate.h"
#include "command/wait.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/notify.h"
#include "data/server_state/persistence.h"
#include "net/resp.h"

int migration_links;
static void migrationImportAfterCall(struct client *c);

/* Returns NULL if the client is not the link of a migration. */
static struct migrationJob *migrationImportFindJob(const struct client *c) {
    if (!migration_links) return NULL;
    forEachJob(job) {
        if (job->client_id && job->client_id == c->id) return job;
    }
    return NULL;
}

bool migrationIsLink(const struct client *c) {
    return migrationImportFindJob(c) != NULL;
}

static void migrationImportForgetLink(struct migrationJob *job, const struct client *c) {
    if (!job->client_id) return;
    if (c) migration_traffic.imported += c->net_in - job->net_in_before;
    job->client_id = 0;
    if (--migration_links) return;
    callHookIdle(migrationImportAfterCall, true);
    client_imports_slots = NULL;
}

/* ---- Messages ---- */

static void migrationImportSend(struct migrationJob *job, const char *word) {
    struct client *c = importClient(job);
    if (!c || c->flags & CLIENT_CLOSE_ASAP) return;
    struct str argv[] = {STR("CLUSTER"), STR("SYNCSLOTS"), strOf(word)};
    char text[128];
    char *end = respWriteRequest(text, 3, argv);
    c->flags &= ~(uint32_t)CLIENT_REPLY_OFF;
    replyRaw(c, text, (size_t)(end - text));
    c->flags |= CLIENT_REPLY_OFF;
}

/* ---- Actions ---- */

/* The source has stopped writing, and all that it wrote has arrived. */
static void migrationImportAskReplicas(struct migrationJob *job) {
    job->imported_offset = propagateOffset();
    if (clusterReplicasOnline() && wait_sources.askReplicas) wait_sources.askReplicas();
    engineReserveEpoch(&cluster_engine, clusterNow());
}

/* A replica must have the keys before the slots are claimed: it may have to replace this node. */
static bool migrationImportAreReplicasBehind(const struct migrationJob *job) {
    return clusterReplicasOnline() && !wait_sources.replicas(job->imported_offset, false);
}

/* Most voters must know that this node is about to claim: a node that is cut off from them would claim slots
 * that are served elsewhere, and win them back when no node remembers. The source must know, too, and keeps
 * its epoch from now on: otherwise its last message from before the claim might have a greater epoch, and
 * this node would give the slots up while the source gives them to it. */
static bool migrationImportIsAnnounced(const struct migrationJob *job) {
    struct engine *e = &cluster_engine;
    const struct clusterNode *source = topologyFind(&e->t, job->source);
    bool reserved_epoch = engineIsEpochReserved(e) && source && engineIsReservationKnownBy(e, source);
    if (!reserved_epoch) engineReserveEpoch(e, clusterNow());
    return reserved_epoch && !jobsAnyGivesSlots();
}

static void migrationImportWaitForOthers(struct migrationJob *job) {
    bool behind = migrationImportAreReplicasBehind(job), reserved_epoch = migrationImportIsAnnounced(job);
    int64_t waited_ms = clusterNow() - job->m.updated_ms;
    if (!reserved_epoch && waited_ms >= MIGRATION_VOTERS_MS)
        jobFail(job, "Other primaries did not answer in time");
    if (!reserved_epoch || (behind && waited_ms < MIGRATION_REPLICA_MS)) return;
    if (behind)
        serverLog(LL_NOTICE, "Slot migration %s goes on, though no replica has all that was brought.",
                  job->name);
    jobStep(job, EV_REPLICATED);
}

/* The append-only file gets the keys before nodes.conf gets the slots, so that a node that
 * restarts with these has those. */
static void migrationImportTakeSlots(struct migrationJob *job) {
    struct topology *t = clusterTopology();
    if (persistenceAofOn() && persistence.aofSync) persistence.aofSync();
    serverLog(LL_NOTICE, "Slots %s have moved from node %s to node %s", job->ranges, job->source,
              t->myself->id);
    slotSetForEach(&job->slots, slot) slotAssign(t, slot, t->myself);
    engineBumpEpoch(&cluster_engine, clusterNow());
    engineAddTodo(&cluster_engine, TODO_SAVE | TODO_SYNC | TODO_STATE | TODO_SLOTS | TODO_BROADCAST);
    importUnhide(job);
    importPropagateEnd(job);
}

void importDo(struct migrationJob *job, unsigned actions) {
    serverAssert(!job->m.export);
    if (actions & DO_SEND_ACK) migrationImportSend(job, "ACK");
    if (actions & DO_SEND_REQUEST_PAUSE) migrationImportSend(job, "REQUEST-PAUSE");
    if (actions & DO_ASK_REPLICAS) migrationImportAskReplicas(job);
    if (actions & DO_SEND_REQUEST_FAILOVER) migrationImportSend(job, "REQUEST-FAILOVER");
    if (actions & DO_TAKE_SLOTS) migrationImportTakeSlots(job);
    if (actions & DO_DELETE_KEYS) job->keys_to_delete = true;
    if (!(actions & DO_END) || !job->client_id) return;
    struct client *c = importClient(job);
    migrationImportForgetLink(job, c);
    if (c) clientClose(c);
}

/* Deletes keys, which is a change of its own and must not happen within a command. A node that has become a
 * replica leaves the deletion to its primary. */
void importEndOfTurn(struct migrationJob *job) {
    if (job->m.state == IMPORT_PAUSED) migrationImportWaitForOthers(job);
    if (job->m.state == IMPORT_GRANTED && !migration_debug.prevent_failover) jobStep(job, EV_MAY_CLAIM);
    if (!job->keys_to_delete || !trackIsDecider()) return;
    job->keys_to_delete = false;
    slotSetForEach(&job->slots, slot) {
        if (clusterTopology()->owner[slot] != nodeShardPrimary(clusterMyself())) slotDeleteKeys(slot);
    }
    if (!migrationHasEnded(&job->m)) return;
    importUnhide(job);
    importPropagateEnd(job);
}

struct client *importClient(const struct migrationJob *job) {
    return job->client_id ? clientById(job->client_id) : NULL;
}

/* The time of the link's last activity cannot be used, because it includes what this node sends. */
void importNoteInput(struct migrationJob *job) {
    const struct client *c = importClient(job);
    if (!c || c->net_in == job->net_in_counted) return;
    job->net_in_counted = c->net_in;
    job->m.received_ms = clusterNow();
}

/* ---- Events of the client ---- */

static void migrationImportOnClientFree(struct client *c) {
    struct migrationJob *job = migrationImportFindJob(c);
    if (!job) return;
    migrationImportForgetLink(job, c);
    jobStep(job, EV_LOST);
}

static void migrationImportAfterCall(struct client *c) {
    struct migrationJob *job = migrationImportFindJob(c);
    if (!job) return;
    if (!(c->flags & CLIENT_ERROR)) return;
    serverLog(LL_WARNING, "A command of slot migration %s has failed: %s", job->name,
              c->cmd ? c->cmd->fullname : "?");
    jobFail(job, "Failed to process command during slot migration. Check logs for more information");
}

static void migrationImportOnRefused(struct client *c) {
    struct migrationJob *job = migrationImportFindJob(c);
    if (!job) return;
    jobFail(job, evictLimit() && evictOutOfMemory()
                     ? "Ran out of memory (OOM) during slot import"
                     : "Failed to process command during slot migration. Check logs for more information");
}

/* Keys expire on the source only. */
static bool migrationImportIsLinkRunning(void) {
    const struct client *owner = migration_links ? callOwner() : NULL;
    return owner && migrationIsLink(owner);
}

static void migrationImportBegin(struct client *c, struct migrationJob *job) {
    job->client_id = c->id;
    job->net_in_before = c->net_in;
    c->bulk_sender = true;
    migration_links++;
    callHookIdle(migrationImportAfterCall, false);
    client_imports_slots = migrationIsLink;
}

/* ---- SYNCSLOTS ---- */

struct establish {
    struct str source, name;
    struct clusterNode *source_node, *owner; /* owner: of the slots, as this node sees it */
    struct slotSet slots;
    bool any;
};

/* Returns whether the command comes from this node's primary or from a file. */
static bool migrationImportIsReplayed(const struct client *c) {
    return c->flags & (CLIENT_PRIMARY | CLIENT_FAKE);
}

static const char *migrationImportCheckSource(const struct establish *e) {
    if (!e->source_node) return "ERR Target node does not know the source node";
    return e->source_node == clusterMyself() ? "ERR Source node is target node itself" : NULL;
}

static bool migrationImportParseSource(struct client *c, struct str id, struct establish *e) {
    e->source = id;
    if (id.len != NODE_ID_LEN) return replySyntaxError(c);
    e->source_node = topologyFind(clusterTopology(), id.ptr);
    const char *objection = migrationImportIsReplayed(c) ? NULL : migrationImportCheckSource(e);
    if (objection) replyError(c, objection);
    return !objection;
}

static bool migrationImportParseName(struct client *c, struct str name, struct establish *e) {
    e->name = name;
    if (name.len != JOB_NAME_LEN) replySyntaxError(c);
    return name.len == JOB_NAME_LEN;
}

/* Parses ranges that the primary has checked before. */
static int migrationImportParseReplayedRanges(struct client *c, int i, struct slotSet *slots) {
    for (int64_t a, b; i < c->argc && string2ll(c->argv[i], &a); i += 2) {
        if (i + 1 >= c->argc || !string2ll(c->argv[i + 1], &b) || a < 0 || b < a || b >= KEY_SLOTS) {
            replyError(c, "ERR Invalid or out of range slot");
            return -1;
        }
        for (int slot = (int)a; slot <= (int)b; slot++) slotSetAdd(slots, slot);
    }
    return i;
}

static int migrationImportParseRanges(struct client *c, int i, struct establish *e) {
    i = migrationImportIsReplayed(c) ? migrationImportParseReplayedRanges(c, i, &e->slots)
                                     : jobParseRanges(c, i, &e->slots, &e->owner);
    e->any = true;
    for (int slot = 0; i >= 0 && slot < KEY_SLOTS && !migrationImportIsReplayed(c); slot++) {
        bool mine = clusterTopology()->owner[slot] == clusterMyself();
        if (!slotSetHas(&e->slots, slot) || !migrationIncludesSlot(slot) || mine) continue;
        replyError(c, "ERR Slot is already being imported on the target by a different migration");
        return -1;
    }
    return i;
}

/* Parses SOURCE id, NAME job and SLOTSRANGE a b ..., each once, in any order. */
static bool migrationImportParseEstablish(struct client *c, struct establish *e) {
    for (int i = 3; i < c->argc;) {
        bool more = i + 1 < c->argc;
        if (more && !e->source.ptr && strIs(c->argv[i], "source")) {
            if (!migrationImportParseSource(c, c->argv[i + 1], e)) return false;
            i += 2;
        } else if (more && !e->name.ptr && strIs(c->argv[i], "name")) {
            if (!migrationImportParseName(c, c->argv[i + 1], e)) return false;
            i += 2;
        } else if (!e->any && strIs(c->argv[i], "slotsrange")) {
            if ((i = migrationImportParseRanges(c, i + 1, e)) < 0) return false;
        } else {
            return replySyntaxError(c);
        }
    }
    if (e->source.ptr && e->name.ptr && e->any) return true;
    return replySyntaxError(c);
}

/* Returns whether a script or a module runs the command: it has no connection that could become a link, and
 * each call needs a reply. */
static bool migrationImportIsCalled(const struct client *c) {
    return !c->conn && !migrationImportIsReplayed(c);
}

static void migrationImportRefuseWord(struct client *c, struct str word) {
    sds upper = sdsnewstr(word);
    sdstoupper(upper);
    replyErrorFmt(c, "ERR CLUSTER SYNCSLOTS %s should only be used by slot migration clients", upper);
    sdsfree(upper);
}

static void migrationImportEstablish(struct client *c) {
    struct establish e = {.any = false};
    if (migrationImportIsReplayed(c)) {
        if (!migrationImportParseEstablish(c, &e)) return;
        trackBegin(e.name.ptr, &e.slots);
        changesCount(1);
        return;
    }
    if (!jobMayBegin(c) || !migrationImportParseEstablish(c, &e)) return;
    if (migrationImportIsCalled(c)) {
        migrationImportRefuseWord(c, c->argv[2]);
        return;
    }
    if (e.owner != e.source_node) {
        replyError(c, "ERR Target node does not agree about current slot ownership");
        return;
    }
    struct migrationJob *job = jobAdd(false, false, e.name.ptr, &e.slots, e.source.ptr, clusterMyself()->id);
    job->keys_to_delete = true; /* left by an earlier import during which a replica took over */
    importHide(job);
    migrationImportBegin(c, job);
    jobNotifyModules(job, EVENT_IMPORT_STARTED);
    changesCount(1); /* replicas and files have to know */
    replyOk(c);
    c->flags |= CLIENT_REPLY_OFF;
}

static const struct {
    const char *word;
    enum migrationEvent event;
} messages_of_source[] = {
    {"ack", MSG_ACK},
    {"snapshot-eof", MSG_SNAPSHOT_EOF},
    {"paused", MSG_PAUSED},
    {"failover-granted", MSG_GRANTED},
};
static const char *const messages_of_target[] = {"request-pause", "request-failover"};

static void migrationImportFinish(struct client *c) {
    struct str name = {0}, state = {0}, message = {0};
    for (int i = 3; i + 1 < c->argc; i += 2) {
        if (strIs(c->argv[i], "name")) name = c->argv[i + 1];
        if (strIs(c->argv[i], "state")) state = c->argv[i + 1];
        if (strIs(c->argv[i], "message")) message = c->argv[i + 1];
    }
    if (name.len != JOB_NAME_LEN || !state.len) {
        replySyntaxError(c);
        return;
    }
    trackEnd(name.ptr, strIs(state, "success"), message);
    changesCount(1);
}

void clusterSyncslotsCommand(struct client *c) {
    struct str word = c->argv[2];
    if (strIs(word, "capa")) {
        if (migrationImportIsCalled(c)) replyNull(c);
        return;
    }
    if (strIs(word, "establish")) {
        migrationImportEstablish(c);
        return;
    }
    if (migrationImportIsReplayed(c)) {
        if (strIs(word, "finish")) migrationImportFinish(c);
        return;
    }
    struct migrationJob *job = migrationImportFindJob(c);
    for (size_t i = 0; i < sizeof messages_of_source / sizeof *messages_of_source; i++) {
        if (!strIs(word, messages_of_source[i].word)) continue;
        if (job) jobStep(job, messages_of_source[i].event);
        if (job) return;
    }
    bool known = strIs(word, "finish");
    for (size_t i = 0; i < sizeof messages_of_source / sizeof *messages_of_source; i++)
        known |= strIs(word, messages_of_source[i].word);
    for (size_t i = 0; i < sizeof messages_of_target / sizeof *messages_of_target; i++)
        known |= strIs(word, messages_of_target[i]);
    if (!known) {
        replySyntaxError(c);
        return;
    }
    migrationImportRefuseWord(c, word);
}

void importInit(void) {
    clientOnFree(migrationImportOnClientFree);
    callAddHook(CALL_AFTER, migrationImportAfterCall, true);
    callOnRefused(migrationImportOnRefused);
    dbAddExpiryVeto(migrationImportIsLinkRunning);
}
