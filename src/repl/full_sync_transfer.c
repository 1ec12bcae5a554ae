/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_transfer.c - see full_sync_transfer.h. */
#include "repl/full_sync_transfer.h"

#include <errno.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/log.h"
#include "client/client_output.h"
#include "data/child.h"
#include "net/connection.h"
#include "registry/cron.h"
#include "repl/repl_settings.h"

ssize_t transferSend(struct replicaClient *r, const struct iovec *iov, int count) {
    ssize_t n = connWritev(r->client->conn, iov, count);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (n < 0) n = 0;
    transferSent(r, (size_t)n);
    return n;
}

void transferSent(struct replicaClient *r, size_t n) {
    if (n == 0) return;
    serverAssert(r->transfer);
    clientNoteSent(r->client, n);
    replstats.net_out += n;
    transferOf(r)->taken_ms = cmd_time_ms;
}

void transferDone(struct replicaClient *r, bool at_once) {
    serverAssert(r->transfer);
    transferOf(r)->methods->leave(r);
    replicaMarkOnline(r, at_once);
}

void transferFailed(struct replicaClient *r) {
    if (r->transfer) transferOf(r)->methods->leave(r);
    clientClose(r->client);
}

void transferChildFailed(struct replicaClient *r) {
    serverLog(LL_WARNING, "The synchronization of a replica failed because its snapshot failed");
    transferFailed(r);
}

void transferEnded(struct replicaClient *r, bool success) {
    if (!success) {
        transferChildFailed(r);
        return;
    }
    serverLog(
        LL_NOTICE,
        "Replica %s has been sent the snapshot; the replication stream follows after its next REPLCONF ACK",
        replicaName(r));
    transferDone(r, false);
}

bool transferWriteMarked(struct rioWriter *w, const struct syncPlan *plan) {
    char head[SYNC_MARK + 16];
    rioWrite(w, head, (size_t)snprintf(head, sizeof head, "$EOF:%s\r\n", plan->mark));
    rioFlush(w); /* the header is no part of the checksum */
    if (!rdbSaveStream(w, &plan->options) || !rioFlush(w)) return false;
    childAlmostDone(); /* a replica may close the connection when it has the mark, before we have reported */
    rioWrite(w, plan->mark, SYNC_MARK);
    return rioFlush(w);
}

bool transferChildSucceeded(int exit_code, int sig) {
    if (sig)
        serverLog(LL_WARNING, "The snapshot for replicas was ended by signal %d", sig);
    else if (exit_code)
        serverLog(LL_WARNING, "Background RDB transfer error");
    else
        serverLog(LL_NOTICE, "The snapshot for replicas has ended without an error");
    return !sig && !exit_code;
}
