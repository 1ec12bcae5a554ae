/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas_info.c - reports about the replicas: INFO, ROLE, memory, min-replicas. Part of replicas.h. */
#include <stdio.h>

#include "client/reply.h"
#include "data/lifetime/evict.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/memory_report.h"
#include "repl/history.h"
#include "repl/packed_stream.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"

/* Returns the seconds since the last sign of life. */
static int64_t replicasInfoLagSeconds(const struct replicaClient *r) {
    return r->state == REPLICA_ONLINE ? (cmd_time_ms - r->acked_ms) / 1000 : 0;
}

int replicasCountGood(void) {
    int good = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->state == REPLICA_ONLINE && replicasInfoLagSeconds(r) <= repl_max_lag_s) good++;
    }
    return good;
}

static const char *replicasInfoTypeName(const struct replicaClient *r) {
    if (r->rdb_channel) return "rdb-channel";
    return r->state == REPLICA_BG_TRANSFER ? "main-channel" : "replica";
}

/* Writes the part of the line that only a compressed stream has. */
static void replicasInfoPacked(const struct replicaClient *r, char *text, size_t room) {
    if (!r->packed) return;
    snprintf(text, room, ",repl_compression=%s,repl_compressed_bytes=%llu,repl_uncompressed_bytes=%llu",
             streamCodecName(packedStreamCodec(r->packed)), (unsigned long long)packedStreamOut(r->packed),
             (unsigned long long)packedStreamIn(r->packed));
}

static sds replicasInfo(sds s) {
    int n = 0;
    s = infoField(s, "connected_slaves:%zu", replicas.length);
    if (repl_min_replicas && repl_max_lag_s)
        s = infoField(s, "min_slaves_good_slaves:%d", replicasCountGood());
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        char packed[160] = "";
        replicasInfoPacked(r, packed, sizeof packed);
        s = infoField(s, "slave%d:ip=%s,port=%d,state=%s,offset=%llu,lag=%lld,type=%s%s", n++,
                      replicaAddress(r), r->listening_port, replicaStateName(r), (unsigned long long)r->acked,
                      (long long)replicasInfoLagSeconds(r), replicasInfoTypeName(r), packed);
    }
    return infoField(s, "replicas_waiting_psync:%zu", replica_hooks.countAwaitedMains());
}

void replicasReplyRole(struct client *c) {
    int64_t online = 0;
    replyArrayLen(c, 3);
    replyBulkCstr(c, "master");
    replyLongLong(c, (int64_t)historyOffset());
    struct replyMark mark = replyDeferLen(c);
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->state != REPLICA_ONLINE) continue;
        replyArrayLen(c, 3);
        replyBulkCstr(c, replicaAddress(r));
        replyBulkLongLong(c, r->listening_port);
        replyBulkLongLong(c, (int64_t)r->acked);
        online++;
    }
    replySetArrayLen(c, mark, online);
}

/* Without replicas all memory counts as the backlog's. */
static size_t replicasInfoBeyondBacklog(void) {
    return replicas.length ? chainMemoryBeyondHistory(&history.chain) : 0;
}

/* Eviction does not count this memory: each key that it deletes is one more command for the replicas. */
static size_t replicasInfoExemptFromEviction(void) {
    return chainMemoryBeyondHistory(&history.chain);
}

static size_t replicasInfoBacklogMemory(void) {
    return history.chain.memory - replicasInfoBeyondBacklog();
}

void replicasInfoInit(void) {
    infoRegister("replication", replicasInfo);
    memoryAddPart(MEMORY_REPL_BACKLOG, replicasInfoBacklogMemory);
    memoryAddPart(MEMORY_REPLICAS, replicasInfoBeyondBacklog);
    evictExempt(replicasInfoExemptFromEviction);
}
