/* SPDX-License-Identifier: BSD-3-Clause */
/* ack_pause.c - see ack_pause.h. The pauses are few, one for each Sentinel that fails over, so a short array
 * holds them; one of them gives way to one too many. */
#include "repl/ack_pause.h"

#include "base/clock.h"
#include "base/log.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "repl/link_stream.h"

#define PAUSES_MAX 16

static struct pausedAcks {
    uint64_t client;  /* its id */
    int64_t until_us; /* of the steady clock */
} pauses[PAUSES_MAX];
static int pause_count;
static bool for_election; /* the pause of an election of the cluster, which logs it */

static void ackPauseApply(void) {
    linkStreamPauseAcks(pause_count || for_election);
}

static void ackPauseRemove(int at) {
    pauses[at] = pauses[--pause_count];
    if (pause_count) return;
    serverLog(LL_NOTICE, "Acknowledgements to the primary go on");
    ackPauseApply();
}

void ackPauseForElection(bool pause) {
    for_election = pause;
    ackPauseApply();
}

static int ackPauseFind(uint64_t client) {
    int at = 0;
    while (at < pause_count && pauses[at].client != client) at++;
    return at;
}

static void ackPauseBegin(struct client *c) {
    int at = ackPauseFind(c->id);
    if (at == PAUSES_MAX) at = 0;
    if (!pause_count) {
        sds who = clientLogName(c, sdsempty());
        serverLog(LL_NOTICE, "Acknowledgements to the primary are paused for a failover (requested by '%s')",
                  who);
        sdsfree(who);
    }
    if (at == pause_count) pause_count++;
    ackPauseApply();
    pauses[at] = (struct pausedAcks){c->id, monotonicUs() + ACK_PAUSE_MS * INT64_C(1000)};
}

void ackPauseEnd(struct client *c) {
    int at = ackPauseFind(c->id);
    if (at < pause_count) ackPauseRemove(at);
}

static void ackPauseEndAll(struct client *c) {
    (void)c;
    while (pause_count) ackPauseRemove(pause_count - 1);
}

bool ackPauseCommand(struct client *c) {
    void (*order)(struct client * c) = strIs(c->argv[2], "pause")     ? ackPauseBegin
                                       : strIs(c->argv[2], "resume")  ? ackPauseEnd
                                       : strIs(c->argv[2], "release") ? ackPauseEndAll
                                                                      : NULL;
    if (!strIs(c->argv[1], "ack") || !order) return false;
    order(c);
    return replyOk(c), true;
}

static void ackPauseCheckTime(void) {
    for (int at = pause_count - 1; at >= 0; at--)
        if (monotonicUs() >= pauses[at].until_us) ackPauseRemove(at);
}

static sds ackPauseInfo(sds s) {
    int paused = pause_count + for_election;
    return paused ? infoField(s, "replica_acks_paused:%d", paused) : s;
}

void ackPauseInit(void) {
    cronRegister(ackPauseCheckTime, 0);
    infoRegister("replication", ackPauseInfo);
}
