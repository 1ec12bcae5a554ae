/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_data.c - --cluster import and backup. Part of cli_cluster.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

/* ---- import ---- */

#define DEFAULT_TIMEOUT 60000
#define MIGRATE_WORDS   12

static struct cliNode *cliDataConnectSource(struct cluster *c) {
    const struct cliCluster *o = c->options;
    struct respReply reply;
    sds host;
    int port;
    if (!toolAddressParse(strOf(o->from), &host, &port, NULL)) return NULL;
    struct cliNode *source = clusterNodeCreate(c, host, port);
    sdsfree(host);
    source->link.user = o->from_user; /* still owned by the options */
    source->link.password = o->from_password;
    bool ok = cliConnect(&source->link) && cliClusterRequest(source, &reply, "INFO", "cluster", NULL);
    if (ok) {
        bool cluster = reply.type != RESP_T_ERROR && cliInfoNumber(reply.str, "cluster_enabled") == 1;
        if (cluster) cliClusterPrint(TONE_ERROR, "[ERR] The source node should not be a cluster node.\n");
        ok = clusterFinishRequest(source, &reply) && !cluster;
    }
    if (ok) return source;
    clusterNodeFree(source);
    return NULL;
}

static struct cliNode *cliDataFindOwner(const struct cluster *c, int slot) {
    for (int i = 0; i < c->count; i++) {
        if (nodeSlotsHas(&c->nodes[i]->is.slots, slot)) return c->nodes[i];
    }
    return NULL;
}

static bool cliDataMigrateKey(struct cluster *c, struct cliNode *source, const struct cliNode *target,
                              struct str key, struct respReply *reply) {
    const struct cliCluster *o = c->options;
    const struct cli *cli = c->cli;
    char port[LONG_STR_SIZE], timeout[LONG_STR_SIZE];
    struct str words[MIGRATE_WORDS] = {
        STR("MIGRATE"),
        sdsview(target->link.host),
        strN(port, ll2string(port, target->link.port)),
        key,
        STR("0"),
        strN(timeout, ll2string(timeout, o->timeout_ms > 0 ? o->timeout_ms : DEFAULT_TIMEOUT))};
    int argc = 6;
    if (o->copy) words[argc++] = STR("COPY");
    if (o->replace) words[argc++] = STR("REPLACE");
    if (cli->password) words[argc++] = cli->user ? STR("AUTH2") : STR("AUTH");
    if (cli->password && cli->user) words[argc++] = sdsview(cli->user);
    if (cli->password) words[argc++] = sdsview(cli->password);
    return cliClusterRequestWords(source, reply, argc, words);
}

static bool cliDataImportKey(struct cluster *c, struct cliNode *source, struct str key) {
    struct cliNode *target = cliDataFindOwner(c, toolKeySlot(key));
    struct respReply reply;
    if (!target) return false;
    clusterProgressHide();
    printf("Migrating %.*s to %s:%d: ", (int)key.len, key.ptr, AT(target));
    fflush(stdout);
    if (!cliDataMigrateKey(c, source, target, key, &reply)) return false;
    bool ok = reply.type != RESP_T_ERROR;
    if (ok)
        printf("OK\n");
    else
        printf("Source %s:%d replied with error:\n%.*s\n", AT(source), (int)reply.str.len, reply.str.ptr);
    respReplyFree(&reply);
    return ok;
}

static int64_t cliDataCountKeys(struct cliNode *source) {
    struct respReply reply;
    if (!cliClusterRequest(source, &reply, "DBSIZE", NULL)) return -1;
    int64_t keys = reply.integer;
    return clusterFinishRequest(source, &reply) ? keys : -1;
}

/* Imports all keys. The keys of a step of SCAN are migrated before the next step, whose reply comes on
 * the same connection. */
static bool cliDataImportAll(struct cluster *c, struct cliNode *source, int64_t all) {
    sds cursor = sdsnew("0");
    bool ok = true;
    int64_t done = 0;
    do {
        int count;
        cliScanRequest(&source->link, cursor);
        sds *keys = cliScanReadStep(&source->link, &cursor, &count);
        for (int i = 0; i < count && ok; i++) ok = cliDataImportKey(c, source, sdsview(keys[i]));
        sdsfreesplitres(keys, count);
        done += count;
        clusterProgress("keys imported", done < all ? done : all - 1, all);
    } while (ok && strcmp(cursor, "0") != 0);
    clusterProgress("keys imported", all, all);
    sdsfree(cursor);
    return ok;
}

int clusterImport(struct cluster *c) {
    if (!clusterCheck(c, false, false)) return 1;
    struct cliNode *source = cliDataConnectSource(c);
    if (!source) return 1;
    int64_t keys = cliDataCountKeys(source);
    if (keys >= 0) printf("*** Importing %lld keys from DB 0\n", (long long)keys);
    bool ok = keys >= 0 && cliDataImportAll(c, source, keys);
    clusterNodeFree(source);
    return ok ? 0 : 1;
}

/* ---- backup ---- */

#define NODES_FILE_MODE 0644

static bool cliDataSaveNode(struct cliNode *n, const char *folder) {
    cliClusterPrint(TONE_STEP, ">>> Node %s:%d -> Saving RDB...\n", AT(n));
    n->link.file = sdscatprintf(sdsempty(), "%s/valkey-node-%s-%d-%s.rdb", folder, AT(n), n->is.id);
    bool ok = cliTransfer(&n->link) == 0;
    sdsfree(n->link.file);
    n->link.file = NULL;
    cliDisconnect(&n->link); /* the server treats this connection as a replica */
    return ok;
}

static sds cliDataNodeAsJson(sds out, const struct cliNode *n) {
    sds slots = sdsempty();
    for (int first, last = -1; nodeSlotsRun(&n->is.slots, last + 1, &first, &last);)
        slots = sdscatprintf(slots, first == last ? "%s[%d]" : "%s[%d,%d]", sdslen(slots) ? "," : "", first,
                             last);
    out = sdscatprintf(out, "  {\n    \"name\": \"%s\",\n    \"host\": \"%s\",\n    \"port\": %d,\n",
                       n->is.id, AT(n));
    out = n->is.primary[0] ? sdscatprintf(out, "    \"replicate\": \"%s\",\n", n->is.primary)
                           : sdscat(out, "    \"replicate\": null,\n");
    out = sdscatprintf(out, "    \"slots\": [%s],\n    \"slots_count\": %d,\n    \"flags\": \"%s\",\n", slots,
                       nodeSlotsCount(&n->is.slots), n->is.flags);
    out = sdscatprintf(out, "    \"current_epoch\": %llu\n  }", (unsigned long long)n->is.epoch);
    sdsfree(slots);
    return out;
}

static bool cliDataSaveNodes(const struct cluster *c, const char *folder) {
    sds path = sdscatprintf(sdsempty(), "%s/nodes.json", folder), text = sdsnew("[\n");
    printf("Saving cluster configuration to: %s\n", path);
    for (int i = 0; i < c->count; i++) {
        if (i) text = sdscat(text, ",\n");
        text = cliDataNodeAsJson(text, c->nodes[i]);
    }
    text = sdscat(text, "\n]");
    bool ok = fileReplace(path, sdsview(text), NODES_FILE_MODE);
    if (!ok)
        cliClusterPrint(TONE_ERROR, "[ERR] Failed to save nodes.json to %s: %s\n", path, strerror(errno));
    sdsfree(path);
    sdsfree(text);
    return ok;
}

int clusterBackup(struct cluster *c, const char *folder) {
    struct stat st;
    bool whole = clusterCheck(c, false, false), ok = true;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
        cliClusterPrint(TONE_ERROR, "[ERR] %s is not a valid directory\n", folder);
        return 1;
    }
    for (int i = 0; i < c->count && ok; i++) {
        if (clusterIsPrimary(c->nodes[i])) ok = cliDataSaveNode(c->nodes[i], folder);
    }
    ok = ok && cliDataSaveNodes(c, folder);
    if (ok && whole)
        cliClusterPrint(TONE_OK, "[OK] Backup created into: %s\n", folder);
    else if (ok)
        cliClusterPrint(TONE_WARNING,
                        "[WARNING] The cluster is not healthy: the backup in %s may not be complete.\n",
                        folder);
    return ok ? 0 : 1;
}
