/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_check.c - --cluster info and check, and the repairs that fix makes. Part of cli_cluster.h. */
#include <stdio.h>
#include <string.h>

#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

void clusterPrintInfo(struct cluster *c) {
    int64_t all_keys = 0;
    int primaries = 0;
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        if (!clusterIsPrimary(n)) continue;
        int64_t keys = clusterNodeKeys(n);
        printf("%s:%d (%.8s...) -> %lld keys | %d slots | %d replicas.\n", AT(n), n->is.id, (long long)keys,
               nodeSlotsCount(&n->is.slots), n->replicas);
        all_keys += keys;
        primaries++;
    }
    cliClusterPrint(TONE_OK, "[OK] %lld keys in %d primaries.\n", (long long)all_keys, primaries);
    printf("%.2f keys per slot on average.\n", (double)all_keys / CLUSTER_SLOTS);
}

static void cliCheckAgreement(struct cluster *c) {
    if (clusterViewsAgree(c, false)) {
        cliClusterPrint(TONE_OK, "[OK] All nodes agree about slots configuration.\n");
        return;
    }
    cliClusterPrint(TONE_ERROR, "[ERR] Nodes don't agree about configuration!\n");
    c->problems++;
}

/* Prints the slots that a node is importing or migrating, and adds them to *open. */
static void cliCheckAddOpenSlots(const struct cliNode *n, bool importing, struct nodeSlots *open) {
    sds list = sdsempty();
    for (int i = 0; i < n->is.open_count; i++) {
        const struct cliOpenSlot *slot = &n->is.open[i];
        if (slot->importing != importing) continue;
        list = sdscatprintf(list, "%s%d", sdslen(list) ? "," : "", slot->slot);
        nodeSlotsAdd(open, slot->slot);
    }
    if (sdslen(list)) {
        cliClusterPrint(TONE_WARNING, "[WARNING] Node %s:%d has slots in %s state %s.\n", AT(n),
                        importing ? "importing" : "migrating", list);
    }
    sdsfree(list);
}

static void cliCheckOpenSlots(struct cluster *c, struct nodeSlots *open) {
    cliClusterPrint(TONE_STEP, ">>> Check for open slots...\n");
    for (int i = 0; i < c->count; i++) {
        cliCheckAddOpenSlots(c->nodes[i], false, open);
        cliCheckAddOpenSlots(c->nodes[i], true, open);
    }
    sds list = sdsempty();
    for (int slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (nodeSlotsHas(open, slot)) list = sdscatprintf(list, "%s%d", sdslen(list) ? "," : "", slot);
    }
    if (sdslen(list)) {
        cliClusterPrint(TONE_WARNING, "[WARNING] The following slots are open: %s.\n", list);
        c->problems++;
    }
    sdsfree(list);
}

static void cliCheckCoverage(struct cluster *c, struct nodeSlots *uncovered) {
    cliClusterPrint(TONE_STEP, ">>> Check slots coverage...\n");
    for (int i = 0; i < CLUSTER_SLOTS / 64; i++) {
        uncovered->words[i] = ~0ull;
        for (int j = 0; j < c->count; j++) uncovered->words[i] &= ~c->nodes[j]->is.slots.words[i];
    }
    if (nodeSlotsCount(uncovered) == 0) {
        cliClusterPrint(TONE_OK, "[OK] All %d slots covered.\n", CLUSTER_SLOTS);
        return;
    }
    cliClusterPrint(TONE_ERROR, "[ERR] Not all %d slots are covered by nodes.\n\n", CLUSTER_SLOTS);
    c->problems++;
}

/* Collects the primaries that claim the slot or have keys of it. keys[i]: keys of node i, by slot. */
static int cliCheckCollectOwners(struct cluster *c, int slot, int64_t *const *keys, struct cliNode **owners) {
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        if (keys[i] && (nodeSlotsHas(&c->nodes[i]->is.slots, slot) || keys[i][slot]))
            owners[count++] = c->nodes[i];
    }
    return count;
}

static bool cliCheckSlotOwners(struct cluster *c, int64_t *const *keys, bool fix) {
    bool found = false, ok = true;
    struct cliNode **owners = zmalloc((size_t)c->count * sizeof(owners[0]));
    for (int slot = 0; slot < CLUSTER_SLOTS; slot++) {
        int count = cliCheckCollectOwners(c, slot, keys, owners);
        if (count < 2) continue;
        found = true;
        cliClusterPrint(TONE_WARNING, "[WARNING] Slot %d has %d owners:\n", slot, count);
        for (int i = 0; i < count; i++) printf("    %s:%d\n", AT(owners[i]));
        ok = fix && ok && clusterFixOwners(c, slot, owners, count);
    }
    zfree(owners);
    if (!found) cliClusterPrint(TONE_OK, "[OK] No multiple owners found.\n");
    return ok;
}

static bool cliCheckOwners(struct cluster *c, bool fix) {
    bool ok = true;
    int64_t **keys = zcalloc((size_t)c->count, sizeof(keys[0]));
    cliClusterPrint(TONE_STEP, ">>> Check for multiple slot owners...\n");
    for (int i = 0; i < c->count && ok; i++) {
        if (!clusterIsPrimary(c->nodes[i])) continue;
        keys[i] = zcalloc(CLUSTER_SLOTS, sizeof(keys[i][0]));
        ok = clusterKeysBySlot(c->nodes[i], keys[i]);
        clusterProgress("nodes checked", i + 1, c->count);
    }
    ok = ok && cliCheckSlotOwners(c, keys, fix);
    for (int i = 0; i < c->count; i++) zfree(keys[i]);
    zfree(keys);
    return ok;
}

static bool cliCheckIsFixable(const struct cluster *c, const char *what) {
    if (c->unreachable == 0 || c->options->fix_with_unreachable) return true;
    printf(
        "*** Fixing %s with %d unreachable primaries is dangerous: valkey-cli will assume that slots about primaries "
        "that are not reachable are not covered, and will try to reassign them to the reachable nodes. This can cause "
        "data loss and is rarely what you want to do. If you really want to proceed use the "
        "--cluster-fix-with-unreachable-primaries option.\n",
        what, c->unreachable);
    return false;
}

bool clusterCheck(struct cluster *c, bool fix, bool quiet) {
    struct nodeSlots open = {{0}}, uncovered = {{0}};
    c->problems = 0;
    cliClusterPrint(TONE_STEP, ">>> Performing Cluster Check (using node %s:%d)\n", AT(c->nodes[0]));
    for (int i = 0; i < c->count && !quiet; i++) clusterNodePrint(c->nodes[i], "");
    cliCheckAgreement(c);
    bool disagreed = c->problems > 0;
    cliCheckOpenSlots(c, &open);
    bool all_fixed = true;
    if (fix && nodeSlotsCount(&open))
        all_fixed = cliCheckIsFixable(c, "open slots") && clusterFixOpenSlots(c, &open);
    cliCheckCoverage(c, &uncovered);
    if (fix && all_fixed && nodeSlotsCount(&uncovered))
        all_fixed = cliCheckIsFixable(c, "slots coverage") && clusterFixCoverage(c, &uncovered);
    if (c->options->search_owners) all_fixed = cliCheckOwners(c, fix) && all_fixed;
    /* The remaining differences may be due to what has just been fixed. */
    bool changed = nodeSlotsCount(&open) || nodeSlotsCount(&uncovered);
    return fix ? all_fixed && (!disagreed || changed) : c->problems == 0 && all_fixed;
}
