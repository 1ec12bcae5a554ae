/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_nodes.c - the nodes of a cluster: a connection to each, and each one's view. Part of
 * cli_cluster.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

#define MAX_WORDS        16
#define MAX_DATABASES    256
#define SLOTS_AT_ONCE    512
#define PATIENCE_SECONDS 20
#define AGREE_SECONDS    120

/* ---- One node ---- */

struct cliNode *clusterNodeCreate(const struct cluster *c, const char *host, int port) {
    const struct cli *cli = c->cli;
    struct cliNode *n = zcalloc(1, sizeof(*n));
    n->link = (struct cli){.way = cli->way,
                           .port = port,
                           .user = cli->user,
                           .password = cli->password,
                           .connect_timeout_ms = cli->connect_timeout_ms,
                           .tls = cli->tls,
                           .output = CLI_RAW,
                           .delimiter = cli->delimiter,
                           .terminator = cli->terminator};
    n->link.host = sdsnew(host);
    n->link.link.fd = -1;
    return n;
}

static void cliNodesFreeFacts(struct cliNode *n) {
    sdsfree(n->is.host);
    sdsfree(n->is.flags);
    zfree(n->is.open);
    sdsfree(n->signature);
    n->is = (struct toolNode){0};
    n->signature = NULL;
}

void clusterNodeFree(struct cliNode *n) {
    if (!n) return;
    cliDisconnect(&n->link);
    sdsfree(n->link.host);
    cliNodesFreeFacts(n);
    zfree(n);
}

bool cliClusterRequestWords(struct cliNode *n, struct respReply *reply, int argc, const struct str *argv) {
    struct cli *link = &n->link;
    if (link->link.fd == -1 && !cliConnect(link)) return false;
    bool ok = cliSendWords(link, argc, argv);
    while (ok && (ok = cliRead(link, reply) == CLI_READ_OK) && reply->type == RESP_T_PUSH)
        respReplyFree(reply);
    if (ok) return true;
    cliDisconnect(link);
    fflush(stdout);
    fprintf(stderr, "Node %s:%d closed the connection\n", AT(n));
    return false;
}

static int cliNodesCollectWords(struct str *words, va_list args) {
    int argc = 0;
    for (const char *word; (word = va_arg(args, const char *));) {
        serverAssert(argc < MAX_WORDS);
        words[argc++] = strOf(word);
    }
    return argc;
}

bool cliClusterRequest(struct cliNode *n, struct respReply *reply, ...) {
    struct str words[MAX_WORDS];
    va_list args;
    va_start(args, reply);
    int argc = cliNodesCollectWords(words, args);
    va_end(args);
    return cliClusterRequestWords(n, reply, argc, words);
}

/* Returns whether an error is temporary: the node does not know a node yet, since gossip takes a moment;
 * or its replicas acknowledged too late, and nothing was changed. */
static bool clusterErrorIsTemporary(const struct respReply *reply) {
    if (reply->type != RESP_T_ERROR) return false;
    return strStarts(reply->str, STR("ERR Unknown node")) ||
           strStarts(reply->str, STR("ERR I don't know about node")) ||
           strStarts(reply->str, STR("NOREPLICAS "));
}

bool cliClusterRequestRetrying(struct cliNode *n, struct respReply *reply, ...) {
    struct str words[MAX_WORDS];
    va_list args;
    va_start(args, reply);
    int argc = cliNodesCollectWords(words, args);
    va_end(args);
    for (int tries = 0;; tries++) {
        if (!cliClusterRequestWords(n, reply, argc, words)) return false;
        if (!clusterErrorIsTemporary(reply) || tries == PATIENCE_SECONDS) return true;
        respReplyFree(reply);
        sleep(1);
    }
}

bool clusterFinishRequest(const struct cliNode *n, struct respReply *reply) {
    bool ok = reply->type != RESP_T_ERROR;
    if (!ok) printf("Node %s:%d replied with error:\n%.*s\n", AT(n), (int)reply->str.len, reply->str.ptr);
    respReplyFree(reply);
    return ok;
}

bool clusterRunWords(struct cliNode *n, int argc, const struct str *argv) {
    struct respReply reply;
    return cliClusterRequestWords(n, &reply, argc, argv) && clusterFinishRequest(n, &reply);
}

bool clusterRun(struct cliNode *n, ...) {
    struct str words[MAX_WORDS];
    va_list args;
    va_start(args, n);
    int argc = cliNodesCollectWords(words, args);
    va_end(args);
    return clusterRunWords(n, argc, words);
}

bool clusterNodeConnect(struct cliNode *n) {
    struct respReply reply;
    if (n->link.link.fd != -1) return true;
    if (!cliConnect(&n->link) || !cliClusterRequest(n, &reply, "INFO", "cluster", NULL)) return false;
    bool ok = reply.type == RESP_T_ERROR || cliInfoNumber(reply.str, "cluster_enabled") == 1;
    if (!ok) cliClusterPrint(TONE_ERROR, "[ERR] Node %s:%d is not configured as a cluster node.\n", AT(n));
    return clusterFinishRequest(n, &reply) && ok;
}

/* Moves the facts about the node itself out of its view. */
static void cliNodesMoveFacts(struct cliNode *n, struct toolNode *self) {
    cliNodesFreeFacts(n);
    n->is = *self;
    self->host = self->flags = NULL;
    self->open = NULL;
    self->open_count = 0;
}

bool clusterNodeLoad(struct cliNode *n, struct toolNode **view, int *view_count) {
    struct respReply reply;
    struct toolNode *nodes = NULL, *self = NULL;
    if (!cliClusterRequest(n, &reply, "CLUSTER", "NODES", NULL)) return false;
    int count = reply.type == RESP_T_ERROR ? -1 : toolNodesParse(reply.str, &nodes);
    if (!clusterFinishRequest(n, &reply)) return false;
    for (int i = 0; i < count; i++) {
        if (nodes[i].myself) self = &nodes[i];
    }
    if (self) {
        cliNodesMoveFacts(n, self);
        n->signature = toolNodesSignature(nodes, count);
    } else {
        cliClusterPrint(TONE_ERROR, "[ERR] Unable to load info for node %s:%d\n", AT(n));
    }
    if (self && view) {
        *view = nodes;
        *view_count = count;
    } else {
        toolNodesFree(nodes, count);
    }
    return self != NULL;
}

/* ---- Keys ---- */

int clusterDatabases(struct cliNode *n, int *databases, int max) {
    struct respReply reply;
    int count = 0;
    if (!cliClusterRequest(n, &reply, "INFO", "keyspace", NULL)) return 0;
    sds text = reply.type == RESP_T_ERROR ? sdsempty() : sdsnewstr(reply.str);
    respReplyFree(&reply);
    for (const char *at = text; (at = strstr(at, "\ndb")) && count < max;) {
        int db;
        at += strlen("\ndb");
        if (sscanf(at, "%d", &db) == 1) databases[count++] = db;
    }
    sdsfree(text);
    return count;
}

int64_t clusterNodeKeys(struct cliNode *n) {
    struct respReply reply;
    if (!cliClusterRequest(n, &reply, "INFO", "keyspace", NULL)) return 0;
    sds text = sdsnewstr(reply.type == RESP_T_ERROR ? STR("") : reply.str);
    int64_t keys = cliInfoKeys(text);
    sdsfree(text);
    clusterFinishRequest(n, &reply);
    return keys;
}

bool clusterSelect(struct cliNode *n, int database) {
    char number[LONG_STR_SIZE];
    if (n->link.db == database) return true;
    ll2string(number, database);
    if (!clusterRun(n, "SELECT", number, NULL)) return false;
    n->link.db = database;
    return true;
}

int64_t clusterKeysInSlot(struct cliNode *n, int slot) {
    int databases[MAX_DATABASES], count = clusterDatabases(n, databases, MAX_DATABASES);
    char number[LONG_STR_SIZE];
    int64_t keys = 0;
    ll2string(number, slot);
    for (int i = 0; i < count; i++) {
        struct respReply reply;
        if (!clusterSelect(n, databases[i]) ||
            !cliClusterRequest(n, &reply, "CLUSTER", "COUNTKEYSINSLOT", number, NULL))
            return -1;
        keys += reply.integer;
        if (!clusterFinishRequest(n, &reply)) return -1;
    }
    return clusterSelect(n, 0) ? keys : -1;
}

/* Sends the requests for `count` slots together. */
static bool cliNodesCountSlots(struct cliNode *n, int first, int count, int64_t *keys) {
    for (int i = 0; i < count; i++) {
        char number[LONG_STR_SIZE];
        const struct str words[] = {STR("CLUSTER"), STR("COUNTKEYSINSLOT"),
                                    strN(number, ll2string(number, first + i))};
        cliQueueWords(&n->link, 3, words);
    }
    bool ok = true;
    for (int i = 0; i < count; i++) {
        struct respReply reply;
        if (cliRead(&n->link, &reply) != CLI_READ_OK) return false;
        keys[first + i] += reply.integer;
        ok = clusterFinishRequest(n, &reply) && ok;
    }
    return ok;
}

bool clusterKeysBySlot(struct cliNode *n, int64_t *keys) {
    int databases[MAX_DATABASES], count = clusterDatabases(n, databases, MAX_DATABASES);
    for (int i = 0; i < count; i++) {
        if (!clusterSelect(n, databases[i])) return false;
        for (int slot = 0; slot < CLUSTER_SLOTS; slot += SLOTS_AT_ONCE) {
            if (!cliNodesCountSlots(n, slot, SLOTS_AT_ONCE, keys)) return false;
        }
    }
    return clusterSelect(n, 0);
}

void clusterNodePrint(const struct cliNode *n, const char *indent) {
    bool replica = n->is.primary[0];
    printf("%s%c: %s %s:%d\n", indent, replica ? 'S' : 'M', n->is.id, AT(n));
    if (!replica || !n->planned) {
        sds slots = slotSetText(&n->is.slots);
        printf("%s   slots:%s (%d slots) %s\n", indent, slots, nodeSlotsCount(&n->is.slots), n->is.flags);
        sdsfree(slots);
    }
    if (replica) printf("%s   replicates %s\n", indent, n->is.primary);
    if (!n->planned && n->replicas) printf("%s   %d additional replica(s)\n", indent, n->replicas);
}

/* ---- All nodes ---- */

void clusterAdd(struct cluster *c, struct cliNode *n) {
    c->nodes = zrealloc(c->nodes, (size_t)(c->count + 1) * sizeof(struct cliNode *));
    c->nodes[c->count++] = n;
}

void clusterFree(struct cluster *c) {
    for (int i = 0; i < c->count; i++) clusterNodeFree(c->nodes[i]);
    zfree(c->nodes);
    c->nodes = NULL;
    c->count = 0;
}

struct cliNode *clusterFind(const struct cluster *c, const char *id) {
    for (int i = 0; i < c->count; i++) {
        if (strcmp(c->nodes[i]->is.id, id) == 0) return c->nodes[i];
    }
    return NULL;
}

struct cliNode *clusterFindByStart(const struct cluster *c, const char *start) {
    struct cliNode *found = NULL;
    for (int i = 0; i < c->count; i++) {
        if (strncmp(c->nodes[i]->is.id, start, strlen(start)) != 0) continue;
        if (found) return NULL;
        found = c->nodes[i];
    }
    return found;
}

static void clusterCountReplicas(struct cluster *c) {
    for (int i = 0; i < c->count; i++) c->nodes[i]->replicas = 0;
    for (int i = 0; i < c->count; i++) {
        struct cliNode *replica = c->nodes[i];
        if (!replica->is.primary[0]) continue;
        struct cliNode *primary = clusterFind(c, replica->is.primary);
        if (primary)
            primary->replicas++;
        else
            cliClusterPrint(TONE_WARNING, "*** WARNING: %s:%d claims to be replica of unknown node ID %s.\n",
                            AT(replica), replica->is.primary);
    }
}

static void cliNodesLoadKnownNode(struct cluster *c, const struct toolNode *seen, const char *fallback_host) {
    bool unusable = seen->noaddr || seen->failed || seen->handshake || !seen->connected;
    struct cliNode *n =
        unusable ? NULL : clusterNodeCreate(c, sdslen(seen->host) ? seen->host : fallback_host, seen->port);
    if (n && clusterNodeConnect(n) && clusterNodeLoad(n, NULL, NULL)) {
        clusterAdd(c, n);
        return;
    }
    clusterNodeFree(n);
    if (!seen->replica && !seen->handshake) c->unreachable++;
}

bool clusterLoad(struct cluster *c, const char *host, int port) {
    struct toolNode *view;
    int count;
    struct cliNode *first = clusterNodeCreate(c, host, port);
    if (!clusterNodeConnect(first) || !clusterNodeLoad(first, &view, &count)) {
        clusterNodeFree(first);
        return false;
    }
    clusterAdd(c, first);
    for (int i = 0; i < count; i++) {
        if (!view[i].myself) cliNodesLoadKnownNode(c, &view[i], host);
    }
    toolNodesFree(view, count);
    clusterCountReplicas(c);
    return true;
}

bool clusterViewsAgree(struct cluster *c, bool fresh) {
    for (int i = 0; i < c->count; i++) {
        if (fresh && !clusterNodeLoad(c->nodes[i], NULL, NULL)) return false;
        if (strcmp(c->nodes[i]->signature, c->nodes[0]->signature) != 0) return false;
    }
    return true;
}

bool clusterWaitForAgreement(struct cluster *c) {
    for (int seconds = 0; seconds < AGREE_SECONDS; seconds++) {
        if (clusterViewsAgree(c, true)) return true;
        printf(".");
        fflush(stdout);
        sleep(1);
    }
    cliClusterPrint(TONE_ERROR, "\n[ERR] The nodes do not agree after %d seconds.\n", AGREE_SECONDS);
    return false;
}
