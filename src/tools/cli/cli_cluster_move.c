/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_move.c - moves slots from one node to another, in either of two ways. Part of
 * cli_cluster.h.
 *
 * Key by key: the target imports, the source migrates, MIGRATE moves batches until the slot is empty in
 * all databases, then SETSLOT NODE ends it: on the target first, so that the slot always has an owner.
 * Clients are redirected with ASK meanwhile. A failure leaves the slot open, and fix can continue from
 * there.
 *
 * By the servers (CLUSTER MIGRATESLOTS): a range is one job, which is watched until it ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

#define MAX_DATABASES   256
#define WATCH_US        100000
#define MIGRATE_WORDS   12 /* words of MIGRATE other than keys */
#define DEFAULT_BATCH   10
#define DEFAULT_TIMEOUT 60000

/* ---- Key by key ---- */

struct batch { /* keys that are being moved */
    struct cluster *cluster;
    struct cliNode *from, *to;
    int slot, database;
    struct str *keys; /* views into `held` */
    sds *held;
    int count;
};

static int cliMoveBatchSize(const struct cluster *c) {
    return c->options->pipeline > 0 ? c->options->pipeline : DEFAULT_BATCH;
}

/* Loads the next keys of the slot; false on failure. */
static bool cliMoveNextKeys(struct batch *b) {
    char slot[LONG_STR_SIZE], count[LONG_STR_SIZE];
    struct respReply reply;
    ll2string(slot, b->slot);
    ll2string(count, cliMoveBatchSize(b->cluster));
    if (!cliClusterRequest(b->from, &reply, "CLUSTER", "GETKEYSINSLOT", slot, count, NULL)) return false;
    b->count = (int)reply.elements;
    b->held = zmalloc((reply.elements + 1) * sizeof(b->held[0]));
    b->keys = zmalloc((reply.elements + 1) * sizeof(b->keys[0]));
    for (int i = 0; i < b->count; i++) {
        b->held[i] = sdsnewstr(reply.element[i].str);
        b->keys[i] = sdsview(b->held[i]);
    }
    return clusterFinishRequest(b->from, &reply);
}

static void cliMoveReleaseKeys(struct batch *b) {
    sdsfreesplitres(b->held, b->count);
    zfree(b->keys);
    b->held = NULL;
    b->keys = NULL;
    b->count = 0;
}

/* Sends MIGRATE host port "" db timeout [REPLACE] [AUTH password | AUTH2 user password] KEYS key ... */
static bool cliMoveMigrate(const struct batch *b, bool replace, struct respReply *reply) {
    const struct cli *cli = b->cluster->cli;
    const struct cliCluster *o = b->cluster->options;
    char port[LONG_STR_SIZE], database[LONG_STR_SIZE], timeout[LONG_STR_SIZE];
    struct str *words = zmalloc((size_t)(MIGRATE_WORDS + b->count) * sizeof(words[0]));
    int argc = 0;
    words[argc++] = STR("MIGRATE");
    words[argc++] = sdsview(b->to->link.host);
    words[argc++] = strN(port, ll2string(port, b->to->link.port));
    words[argc++] = STR("");
    words[argc++] = strN(database, ll2string(database, b->database));
    words[argc++] = strN(timeout, ll2string(timeout, o->timeout_ms > 0 ? o->timeout_ms : DEFAULT_TIMEOUT));
    if (replace) words[argc++] = STR("REPLACE");
    if (cli->password) words[argc++] = cli->user ? STR("AUTH2") : STR("AUTH");
    if (cli->password && cli->user) words[argc++] = sdsview(cli->user);
    if (cli->password) words[argc++] = sdsview(cli->password);
    words[argc++] = STR("KEYS");
    serverAssert(argc <= MIGRATE_WORDS);
    memcpy(words + argc, b->keys, (size_t)b->count * sizeof(words[0]));
    bool replied = cliClusterRequestWords(b->from, reply, argc + b->count, words);
    zfree(words);
    return replied;
}

/* Returns the digests of a batch's keys as one text; NULL if the node refuses. */
static sds cliMoveRequestDigests(const struct batch *b, struct cliNode *n) {
    struct str *words = zmalloc((size_t)(b->count + 2) * sizeof(words[0]));
    struct respReply reply;
    words[0] = STR("DEBUG");
    words[1] = STR("DIGEST-VALUE");
    memcpy(words + 2, b->keys, (size_t)b->count * sizeof(words[0]));
    bool replied = clusterSelect(n, b->database) && cliClusterRequestWords(n, &reply, b->count + 2, words);
    zfree(words);
    if (!replied) return NULL;
    sds out = reply.type == RESP_T_ERROR ? NULL : sdsempty();
    for (size_t i = 0; out && i < reply.elements; i++)
        out = sdscat(sdscatstr(out, reply.element[i].str), "\n");
    clusterFinishRequest(n, &reply);
    return out;
}

/* Returns whether both nodes have a key with different values. The digest of a missing key is zeros. */
static bool cliMoveValuesDiffer(const sds a, const sds b) {
    static const char none[] = "0000000000000000000000000000000000000000\n";
    size_t size = sizeof(none) - 1;
    if (sdslen(a) != sdslen(b)) return true;
    for (size_t at = 0; at + size <= sdslen(a); at += size) {
        bool missing = memcmp(a + at, none, size) == 0 || memcmp(b + at, none, size) == 0;
        if (!missing && memcmp(a + at, b + at, size) != 0) return true;
    }
    return false;
}

/* Decides about keys that exist on both nodes: equal values come from an earlier try that was
 * interrupted, and may be replaced. */
static bool cliMoveMayReplace(const struct batch *b) {
    cliClusterPrint(TONE_WARNING, "\n*** Target key exists\n");
    cliClusterPrint(TONE_WARNING, "*** Checking key values on both nodes...\n");
    sds ours = cliMoveRequestDigests(b, b->from), theirs = ours ? cliMoveRequestDigests(b, b->to) : NULL;
    bool same = theirs && !cliMoveValuesDiffer(ours, theirs);
    if (!theirs) {
        cliClusterPrint(TONE_ERROR, "*** Value check failed!\n");
        printf("You can relaunch the command with --cluster-replace option to force key overriding.\n");
    } else if (!same) {
        cliClusterPrint(TONE_ERROR,
                        "*** Found key(s) in both source node and target node having different values.\n");
        printf("    Source node: %s:%d\n    Target node: %s:%d\n", AT(b->from), AT(b->to));
        printf("Please fix the above key(s) manually and try again or relaunch the command\n"
               "with --cluster-replace option to force key overriding.\n");
    } else {
        cliClusterPrint(TONE_WARNING, "*** Replacing target keys...\n");
    }
    sdsfree(ours);
    sdsfree(theirs);
    return same;
}

static bool cliMoveErrorStarts(const struct respReply *reply, const char *with) {
    return reply->type == RESP_T_ERROR && strStarts(reply->str, strOf(with));
}

static bool cliMoveBatch(const struct batch *b) {
    struct respReply reply;
    bool replace = b->cluster->options->replace;
    if (!cliMoveMigrate(b, replace, &reply)) return false;
    sds text = sdsnewstr(reply.type == RESP_T_ERROR ? reply.str : STR(""));
    bool busy = !replace && strstr(text, "BUSYKEY") != NULL;
    sdsfree(text);
    if (!busy) return clusterFinishRequest(b->from, &reply);
    respReplyFree(&reply);
    return cliMoveMayReplace(b) && cliMoveMigrate(b, true, &reply) && clusterFinishRequest(b->from, &reply);
}

static bool cliMoveKeys(struct batch *b, int flags) {
    bool ok = true;
    for (int count = 1; ok && count;) {
        ok = cliMoveNextKeys(b);
        count = ok ? b->count : 0;
        ok = ok && (count == 0 || cliMoveBatch(b));
        for (int i = 0; i < count && ok && !(flags & MOVE_QUIET); i++) putchar('.');
        fflush(stdout);
        cliMoveReleaseKeys(b);
    }
    return ok;
}

static bool cliMoveAllKeys(struct cluster *c, struct cliNode *from, struct cliNode *to, int slot, int flags) {
    int databases[MAX_DATABASES], count = clusterDatabases(from, databases, MAX_DATABASES);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        struct batch batch = {.cluster = c, .from = from, .to = to, .slot = slot, .database = databases[i]};
        ok = clusterSelect(from, databases[i]) && cliMoveKeys(&batch, flags);
    }
    return clusterSelect(from, 0) && clusterSelect(to, 0) && ok;
}

/* Sends CLUSTER SETSLOT slot IMPORTING|MIGRATING|NODE id. */
static bool cliMoveSetSlot(struct cliNode *n, const char *slot, const char *state, const char *id,
                           struct respReply *reply) {
    return cliClusterRequestRetrying(n, reply, "CLUSTER", "SETSLOT", slot, state, id, NULL);
}

static bool cliMoveFailed(struct respReply *reply) {
    printf("clusterManagerMoveSlot failed: %.*s\n", (int)reply->str.len, reply->str.ptr);
    respReplyFree(reply);
    return false;
}

static bool cliMoveOpenSlot(struct cliNode *from, struct cliNode *to, const char *slot) {
    struct respReply reply;
    if (!cliMoveSetSlot(to, slot, "IMPORTING", from->is.id, &reply)) return false;
    if (reply.type == RESP_T_ERROR) return cliMoveFailed(&reply);
    respReplyFree(&reply);
    if (!cliMoveSetSlot(from, slot, "MIGRATING", to->is.id, &reply)) return false;
    if (reply.type == RESP_T_ERROR) return cliMoveFailed(&reply);
    respReplyFree(&reply);
    return true;
}

static bool cliMoveAssignSlot(struct cliNode *n, const char *slot, const char *owner, bool fix) {
    struct respReply reply;
    bool replied = fix ? cliClusterRequest(n, &reply, "CLUSTER", "SETSLOT", slot, "NODE", owner, NULL)
                       : cliMoveSetSlot(n, slot, "NODE", owner, &reply);
    if (!replied) return false;
    /* A source that has lost its last slot becomes a replica and may know the new owner already. */
    bool fine = reply.type != RESP_T_ERROR ||
                cliMoveErrorStarts(&reply, "ERR Please use SETSLOT only with") ||
                (fix && cliMoveErrorStarts(&reply, "ERR Unknown node"));
    if (!fine) return cliMoveFailed(&reply);
    respReplyFree(&reply);
    return true;
}

static bool cliMoveSettleEverywhere(struct cluster *c, struct cliNode *from, struct cliNode *to,
                                    const char *slot, bool fix) {
    const char *owner = to->is.id;
    if (!cliMoveAssignSlot(to, slot, owner, fix) || !cliMoveAssignSlot(from, slot, owner, fix)) return false;
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        if (n != to && n != from && clusterIsPrimary(n) && !cliMoveAssignSlot(n, slot, owner, fix))
            return false;
    }
    return true;
}

bool clusterMoveSlot(struct cluster *c, struct cliNode *from, struct cliNode *to, int slot, int flags) {
    char number[LONG_STR_SIZE];
    ll2string(number, slot);
    if (!(flags & MOVE_QUIET)) printf("Moving slot %d from %s:%d to %s:%d", slot, AT(from), AT(to));
    fflush(stdout);
    bool ok = (flags & MOVE_COLD) || cliMoveOpenSlot(from, to, number);
    ok = ok && cliMoveAllKeys(c, from, to, slot, flags);
    if (!(flags & MOVE_QUIET) && ok) printf("\n");
    if (!ok || (flags & MOVE_COLD)) return ok;
    if (!cliMoveSettleEverywhere(c, from, to, number, flags & MOVE_FIX)) return false;
    nodeSlotsRemove(&from->is.slots, slot);
    nodeSlotsAdd(&to->is.slots, slot);
    return true;
}

/* ---- By the servers ---- */

enum job { JOB_RUNS, JOB_DONE, JOB_FAILED, JOB_UNKNOWN };

/* Returns the state of the range's newest job on one node, which lists the newest first. */
static enum job cliMoveRequestJobState(struct cliNode *n, const char *operation, const char *range) {
    struct respReply reply;
    enum job job = JOB_UNKNOWN;
    if (!cliClusterRequest(n, &reply, "CLUSTER", "GETSLOTMIGRATIONS", NULL)) return JOB_FAILED;
    bool listed = reply.type == RESP_T_ARRAY;
    for (size_t i = 0; listed && i < reply.elements; i++) {
        const struct respReply *map = &reply.element[i];
        struct str state = respFieldText(map, "state"), message = respFieldText(map, "message");
        if (!strIs(respFieldText(map, "operation"), operation) ||
            !strIs(respFieldText(map, "slot_ranges"), range))
            continue;
        bool lost = strIs(state, "failed") || strIs(state, "cancelled");
        job = strIs(state, "success") ? JOB_DONE : lost ? JOB_FAILED : JOB_RUNS;
        if (lost) printf("\nAtomic slot migration failed: %.*s\n", (int)message.len, message.ptr);
        break;
    }
    respReplyFree(&reply);
    return job;
}

/* Returns the state of the job. A source that has lost its last slots becomes a replica and forgets its
 * jobs with the full synchronization; then the target's state counts. */
static enum job cliMoveJobState(struct cliNode *from, struct cliNode *to, const char *range) {
    enum job job = cliMoveRequestJobState(from, "EXPORT", range);
    if (job == JOB_UNKNOWN) job = cliMoveRequestJobState(to, "IMPORT", range);
    if (job != JOB_UNKNOWN) return job;
    printf("\nAtomic slot migration failed: neither side knows of it any more\n");
    return JOB_FAILED;
}

static bool cliMoveRangeAtomically(struct cliNode *from, struct cliNode *to, int first, int last, int flags) {
    char a[LONG_STR_SIZE], b[LONG_STR_SIZE];
    struct respReply reply;
    ll2string(a, first);
    ll2string(b, last);
    sds range = sdscatprintf(sdsempty(), "%s-%s", a, b);
    if (!(flags & MOVE_QUIET))
        printf("Moving slot range %s from %s:%d to %s:%d via atomic slot migration", range, AT(from), AT(to));
    fflush(stdout);
    bool ok = cliClusterRequestRetrying(from, &reply, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", a, b, "NODE",
                                        to->is.id, NULL);
    if (ok && reply.type == RESP_T_ERROR) {
        printf("\nAtomic slot migration failed: %.*s\n", (int)reply.str.len, reply.str.ptr);
        ok = false;
    }
    if (ok) respReplyFree(&reply);
    enum job job = ok ? JOB_RUNS : JOB_FAILED;
    while (job == JOB_RUNS) {
        if (!(flags & MOVE_QUIET)) printf(".");
        fflush(stdout);
        usleep(WATCH_US);
        job = cliMoveJobState(from, to, range);
    }
    sdsfree(range);
    for (int slot = first; slot <= last && job == JOB_DONE; slot++) {
        nodeSlotsRemove(&from->is.slots, slot);
        nodeSlotsAdd(&to->is.slots, slot);
    }
    return job == JOB_DONE;
}

bool clusterMoveRange(struct cluster *c, struct cliNode *from, struct cliNode *to, int first, int last,
                      int flags) {
    bool bar = isatty(STDOUT_FILENO) && cliClusterHasProgressBar(); /* it shows the same */
    clusterProgressHide();
    if (c->options->atomic && !cliMoveRangeAtomically(from, to, first, last, flags)) return false;
    for (int slot = first; slot <= last; slot++) {
        if (!c->options->atomic && !clusterMoveSlot(c, from, to, slot, flags)) return false;
        if (!bar) putchar('#');
    }
    if (bar && c->options->atomic && !(flags & MOVE_QUIET)) putchar('\n');
    fflush(stdout);
    return true;
}
