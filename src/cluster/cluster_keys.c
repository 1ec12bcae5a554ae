/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_keys.c - the keys of slots: CLUSTER COUNTKEYSINSLOT, GETKEYSINSLOT, FLUSHSLOT, and CLUSTERSCAN.
 *
 * A cursor of CLUSTERSCAN is a routing key, too: it contains the hash tag of the slot in which the scan
 * continues.
 *
 *     <fingerprint> - {<tag>} - <cursor in the slot>        0-{<tag>}-0: at the beginning of the slot
 *
 * The fingerprint identifies this process, because its cursors have no meaning in others. Another process
 * starts at the beginning of the slot; only a few keys are returned twice. A call continues from slot to slot
 * while they have one owner. */
#include <stdio.h>
#include <string.h>

#include "base/key_slot.h"
#include "base/num.h"
#include "base/random.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/migration_jobs.h"
#include "cluster/slot_tag.h"
#include "command/command.h"
#include "commands/cmd_cluster.h"
#include "data/keyspace/db.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "types/keys/generic.h"

#define FINGERPRINT_LEN 6
#define CURSOR_LEN      (FINGERPRINT_LEN + sizeof "-{abc}-" + LONG_STR_SIZE)

/* ---- The keys of a slot ---- */

void clusterCountkeysinslotCommand(struct client *c) {
    int64_t slot;
    if (!argLongLong(c, c->argv[2], &slot, NULL)) return;
    if (slot < 0 || slot >= KEY_SLOTS)
        replyError(c, "ERR Invalid slot");
    else
        replyLongLong(c, (int64_t)keyspaceSlotSize(&c->db->keyspace, (int)slot));
}

void clusterGetkeysinslotCommand(struct client *c) {
    int64_t slot, count;
    if (!argLongLong(c, c->argv[2], &slot, NULL) || !argLongLong(c, c->argv[3], &count, NULL)) return;
    if (slot < 0 || slot >= KEY_SLOTS || count < 0) {
        replyError(c, "ERR Invalid slot or number of keys");
        return;
    }
    int64_t size = (int64_t)keyspaceSlotSize(&c->db->keyspace, (int)slot);
    if (count > size) count = size;
    replyArrayLen(c, count);
    struct keyspaceIterator it;
    keyspaceIteratorInitSlots(&it, &c->db->keyspace, (int)slot, (int)slot);
    while (count-- > 0) replyBulk(c, objectKey(keyspaceIteratorNext(&it)));
    keyspaceIteratorStop(&it);
}

/* Replicas run the same command, so the deletions are not propagated one by one. */
void clusterFlushslotCommand(struct client *c) {
    int64_t slot;
    bool async = lazyfree_lazy_user_flush;
    if (!string2ll(c->argv[2], &slot) || slot < 0 || slot >= KEY_SLOTS) {
        replyError(c, "ERR Invalid or out of range slot");
        return;
    }
    if (c->argc > 4) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 4 && !strIs(c->argv[3], "sync") && !strIs(c->argv[3], "async")) {
        replySyntaxError(c);
        return;
    }
    if (c->argc == 4) async = strIs(c->argv[3], "async");
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += dbDropSlot(&dbs[i], (int)slot, async, true);
    changesCount(n);
    if (n) migrationSlotFlushed((int)slot);
    replyOk(c);
}

/* ---- CLUSTERSCAN ---- */

struct clusterCursor {
    int slot;
    uint64_t local;
};

/* Returns 6 characters from `0` to `o`, each with 6 random bits. */
static struct str clusterKeysFingerprint(void) {
    static char text[FINGERPRINT_LEN];
    if (!*text) {
        for (int i = 0; i < FINGERPRINT_LEN; i++) text[i] = (char)('0' + randomBelow(64));
    }
    return strN(text, FINGERPRINT_LEN);
}

/* Returns false if the argument is not a valid cursor. */
static bool clusterKeysReadCursor(struct str arg, struct clusterCursor *out) {
    const char *end = arg.ptr + arg.len, *first = arg.len ? memchr(arg.ptr, '-', arg.len) : NULL;
    const char *second = first ? memchr(first + 1, '-', (size_t)(end - first - 1)) : NULL;
    if (!second || !scanReadCursor(strN(second + 1, (size_t)(end - second - 1)), &out->local)) return false;
    out->slot = keySlot(arg);
    if (!strEq(strN(arg.ptr, (size_t)(first - arg.ptr)), clusterKeysFingerprint())) out->local = 0;
    return true;
}

/* KEY_SLOTS stands for the end. */
static struct str clusterKeysWriteCursor(const struct clusterCursor *at, char text[CURSOR_LEN]) {
    if (at->slot == KEY_SLOTS) return STR("0");
    struct str by = at->local ? clusterKeysFingerprint() : STR("0");
    int len = snprintf(text, CURSOR_LEN, "%.*s-{%s}-%llu", (int)by.len, by.ptr, slotTag(at->slot),
                       (unsigned long long)at->local);
    return strN(text, (size_t)len);
}

/* Returns the first slot after `slot` that has another owner. */
static int clusterKeysFindRunEnd(int slot) {
    const struct topology *t = clusterTopology();
    const struct clusterNode *owner = t->owner[slot];
    while (slot < KEY_SLOTS && t->owner[slot] == owner) slot++;
    return slot;
}

/* Scans slots before `end`. */
static void clusterKeysScanRun(struct client *c, struct clusterCursor *at, int end, int64_t count,
                               int64_t steps, struct scannedKeys *found) {
    while (at->slot < end && steps-- && found->count < (size_t)count) {
        at->local = keyspaceScanSlot(&c->db->keyspace, at->slot, at->local, scanCollect, found);
        if (at->local) continue;
        int next = keyspaceNextSlot(&c->db->keyspace, at->slot + 1);
        at->slot = next < end ? next : end;
    }
}

void clusterscanCommand(struct client *c) {
    struct clusterCursor at = {0};
    struct scanOptions opt;
    bool begins = strEq(c->argv[1], STR("0"));
    char text[CURSOR_LEN];
    if (!cluster_enabled) {
        replyError(c, "ERR This instance has cluster support disabled");
        return;
    }
    if (!scanParseClusterOptions(c, 2, &opt)) return;
    if (!begins && !clusterKeysReadCursor(c->argv[1], &at)) {
        replyError(c, "ERR Invalid cursor");
        return;
    }
    if (!begins && opt.slot >= 0 && opt.slot != at.slot) {
        replyError(c, "ERR Cursor slot mismatch with SLOT argument");
        return;
    }
    int pinned = opt.use_pattern ? patternSlot(opt.pattern) : -1, only = opt.slot >= 0 ? opt.slot : pinned;
    struct scannedKeys found = {0};
    if (only >= 0 && pinned >= 0 && (pinned != only || at.slot > pinned)) {
        at = (struct clusterCursor){KEY_SLOTS, 0};
    } else if (begins || (only >= 0 && at.slot != only)) {
        at = (struct clusterCursor){only >= 0 ? only : 0, 0};
    } else {
        int end = only >= 0 ? only + 1 : clusterKeysFindRunEnd(at.slot);
        clusterKeysScanRun(c, &at, end, opt.count, scanMaxSteps(&opt), &found);
        if (only >= 0 && at.slot > only) at.slot = KEY_SLOTS;
    }
    scanReply(c, clusterKeysWriteCursor(&at, text), &opt, &found);
}
