/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_simulation_servers.c - servers as small models, and how servers and Sentinels answer requests. */
#include "repl/ack_pause.h"
#include "tests/sim/sentinel_simulation_private.h"

#define SYNC_MS         1000 /* a replica gets in sync with a new primary within this time */
#define WRITES_PER_TICK 7

_Static_assert(SIM_ACK_PAUSE_MS == ACK_PAUSE_MS, "the model has the limit of the server");

/* ---- Servers ---- */

bool sentinelSimInSync(const struct sentinelSimProcess *p) {
    if (p->following < 0) return false;
    const struct sentinelSimProcess *primary = &p->sim->process[p->following];
    return primary->alive && sentinelSimReaches(p, primary) && primary->loading_until_ms <= p->sim->now_ms &&
           p->synced_ms <= p->sim->now_ms;
}

int sentinelSimAddBranch(struct sentinelSim *s, int parent, uint64_t from) {
    s->branches = zrealloc(s->branches, (size_t)(s->branch_count + 1) * sizeof *s->branches);
    s->branches[s->branch_count] = (struct sentinelSimBranch){parent, from, from};
    return s->branch_count++;
}

void sentinelSimFollow(struct sentinelSimProcess *p, int primary) {
    struct sentinelSim *s = p->sim;
    if (primary == p->following) return;
    if (primary < 0) p->branch = sentinelSimAddBranch(s, p->branch, p->offset);
    p->following = primary;
    p->failover_until_ms = 0;
    p->link_lost_ms = primary < 0 ? 0 : s->now_ms;
    p->synced_ms = p->never_syncs ? INT64_MAX : s->now_ms + 1 + (int64_t)(simRandom(&s->random) % SYNC_MS);
}

/* FAILOVER: the target takes over as soon as it is in sync. */
static void sentinelSimTickFailover(struct sentinelSimProcess *p) {
    struct sentinelSimProcess *to = &p->sim->process[p->failover_to];
    if (p->sim->now_ms >= p->failover_until_ms) p->failover_until_ms = 0;
    bool ready = p->failover == SIM_FAILOVER_WORKS && to->alive && !to->hung && to->following == p->index;
    if (!p->failover_until_ms || !ready || !sentinelSimInSync(to)) return;
    if (to->branch != p->branch || to->offset != p->offset) return;
    sentinelSimFollow(to, -1);
    sentinelSimFollow(p, to->index);
}

/* Clients get what as many replicas as they want have acknowledged. */
static void sentinelSimNoteAcks(struct sentinelSimProcess *p) {
    struct sentinelSim *s = p->sim;
    uint64_t *acked = &s->branches[p->branch].acked;
    for (int i = s->o.sentinels; i < s->count; i++) {
        const struct sentinelSimProcess *r = &s->process[i];
        if (r == p || r->acked_branch != p->branch || r->acked_offset <= *acked) continue;
        int count = 0;
        for (int k = s->o.sentinels; k < s->count; k++)
            count += &s->process[k] != p && s->process[k].acked_branch == p->branch &&
                     s->process[k].acked_offset >= r->acked_offset;
        if (count >= s->o.sync_replicas) *acked = r->acked_offset;
    }
}

bool sentinelSimAcksArePaused(const struct sentinelSimProcess *p) {
    for (int i = 0; i < p->sim->o.sentinels; i++)
        if (p->acks_paused_until_ms[i] > p->sim->now_ms) return true;
    return false;
}

static void sentinelSimReceive(struct sentinelSimProcess *p) {
    const struct sentinelSimProcess *primary = &p->sim->process[p->following];
    if (primary->hung && p->link_lost_ms) return; /* there is nobody who sends what is missing */
    uint64_t end = primary->offset > p->behind ? primary->offset - p->behind : 0;
    if (p->branch != primary->branch || end > p->offset) p->offset = end;
    p->branch = primary->branch;
    p->link_lost_ms = 0;
    if (sentinelSimAcksArePaused(p)) return;
    p->acked_branch = p->branch;
    p->acked_offset = p->offset;
}

void sentinelSimServerTick(struct sentinelSimProcess *p) {
    struct sentinelSim *s = p->sim;
    if (p->failover_until_ms) sentinelSimTickFailover(p);
    if (p->following < 0) {
        if (s->o.sync_replicas) sentinelSimNoteAcks(p);
        if (!p->failover_until_ms) p->offset += WRITES_PER_TICK;
    } else if (sentinelSimInSync(p)) {
        sentinelSimReceive(p);
    } else if (!p->link_lost_ms) {
        p->link_lost_ms = s->now_ms;
        p->synced_ms = s->now_ms + 1 + (int64_t)(simRandom(&s->random) % SYNC_MS);
    }
}

static sds sentinelSimCatReplicas(const struct sentinelSimProcess *p, sds info) {
    int count = 0;
    for (int i = p->sim->o.sentinels; i < p->sim->count; i++) {
        const struct sentinelSimProcess *r = &p->sim->process[i];
        if (!r->alive || r->following != p->index || !sentinelSimReaches(p, r)) continue;
        info = sdscatprintf(info, "slave%d:ip=10.0.0.%d,port=%d,state=online,offset=%llu,lag=0\r\n", count++,
                            i + 1, SIM_SERVER_PORT, (unsigned long long)r->offset);
    }
    return info;
}

static sds sentinelSimInfoText(const struct sentinelSimProcess *p) {
    sds info = sdscatprintf(sdsempty(), "# Server\r\nrun_id:%s\r\n# Replication\r\n", p->run_id);
    info = sdscat(info, p->following < 0 ? "role:master\r\n" : "role:slave\r\n");
    if (p->following >= 0) {
        bool up = sentinelSimInSync(p) && !p->link_lost_ms;
        info = sdscatprintf(info, "master_host:10.0.0.%d\r\nmaster_port:%d\r\nmaster_link_status:%s\r\n",
                            p->following + 1, SIM_SERVER_PORT, up ? "up" : "down");
        info = sdscatprintf(info, "slave_repl_offset:%llu\r\n", (unsigned long long)p->offset);
        if (!up)
            info = sdscatprintf(info, "master_link_down_since_seconds:%lld\r\n",
                                (long long)((p->sim->now_ms - p->link_lost_ms) / 1000));
        info = sdscatprintf(info, "slave_priority:%d\r\nreplica_announced:1\r\n", p->priority);
        if (sentinelSimAcksArePaused(p)) info = sdscat(info, "replica_acks_paused:1\r\n");
    }
    info = sentinelSimCatReplicas(p, info);
    if (p->sim->o.sync_replicas)
        info = sdscatprintf(info, "min_replicas_sync:%d\r\n", p->sim->o.sync_replicas);
    info = sdscatprintf(info, "master_replid:%040d\r\nmaster_replid2:%040d\r\n", p->branch + 1,
                        p->sim->branches[p->branch].parent + 1);
    info = sdscatprintf(info, "second_repl_offset:%lld\r\n",
                        (long long)p->sim->branches[p->branch].from + (p->branch ? 1 : -1));
    if (p->failover != SIM_FAILOVER_UNKNOWN)
        info = sdscatprintf(info, "master_failover_state:%s\r\n",
                            p->failover_until_ms ? "waiting-for-sync" : "no-failover");
    return info;
}

static sds sentinelSimCatBulk(sds reply, const char *text) {
    return sdscatprintf(reply, "$%zu\r\n%s\r\n", strlen(text), text);
}

static sds sentinelSimInfoReply(const struct sentinelSimProcess *p) {
    sds info = sentinelSimInfoText(p), reply = sentinelSimCatBulk(sdsempty(), info);
    sdsfree(info);
    return reply;
}

static int sentinelSimPublish(struct sentinelSimProcess *p, const char *message) {
    struct sentinelSim *s = p->sim;
    int count = 0;
    for (int i = 0; i < s->channel_count; i++) {
        struct sentinelSimChannel *c = s->channels[i];
        if (c->to != p->index || c->to_life != p->life || !c->subscribed) continue;
        sds bytes = sentinelSimCatBulk(
            sentinelSimCatBulk(sentinelSimCatBulk(sdsnew("*3\r\n"), "message"), HELLO_CHANNEL), message);
        sentinelSimTransmit(s, c, SIM_REPLY, bytes);
        count++;
    }
    return count;
}

static void sentinelSimKillClients(struct sentinelSimProcess *p, enum channel ch) {
    struct sentinelSim *s = p->sim;
    for (int i = 0; i < s->channel_count; i++) {
        struct sentinelSimChannel *c = s->channels[i];
        if (c->to == p->index && c->to_life == p->life && c->ch == ch) sentinelSimBreakChannel(s, c);
    }
}

struct sentinelSimRequest {
    int argc;
    char *argv[8];
};

static bool sentinelSimArgIs(const struct sentinelSimRequest *w, int i, const char *text) {
    return i < w->argc && strcasecmp(w->argv[i], text) == 0;
}

/* FAILOVER ABORT, FAILOVER TO ip port TIMEOUT ms */
static void sentinelSimFailoverCommand(struct sentinelSimProcess *p, const struct sentinelSimRequest *w) {
    if (sentinelSimArgIs(w, 1, "ABORT")) {
        p->failover_until_ms = 0;
    } else if (p->following < 0 && p->failover != SIM_FAILOVER_UNKNOWN &&
               p->failover != SIM_FAILOVER_REFUSED) {
        p->failover_to = sentinelSimProcessAt(w->argv[2]);
        p->failover_until_ms = p->sim->now_ms + atoll(w->argv[5]);
    }
}

static sds sentinelSimServerReply(struct sentinelSimProcess *p, struct sentinelSimChannel *c,
                                  const struct sentinelSimRequest *w) {
    if (sentinelSimArgIs(w, 0, "INFO")) return sentinelSimInfoReply(p);
    if (sentinelSimArgIs(w, 0, "PUBLISH"))
        return sdscatprintf(sdsempty(), ":%d\r\n", sentinelSimPublish(p, w->argv[2]));
    if (sentinelSimArgIs(w, 0, "SUBSCRIBE")) {
        c->subscribed = true;
        return sdscat(sentinelSimCatBulk(sentinelSimCatBulk(sdsnew("*3\r\n"), "subscribe"), HELLO_CHANNEL),
                      ":1\r\n");
    }
    if (sentinelSimArgIs(w, 0, "PING"))
        return sdsnew(p->loading_until_ms > p->sim->now_ms ? "-LOADING reading\r\n" : "+PONG\r\n");
    if (sentinelSimArgIs(w, 0, "SLAVEOF") && sentinelSimArgIs(w, 1, "ACK")) {
        if (p->sim->o.without_pauses) return sdsnew("-ERR Invalid master port\r\n");
        bool pause = sentinelSimArgIs(w, 2, "PAUSE");
        if (sentinelSimArgIs(w, 2, "RELEASE"))
            memset(p->acks_paused_until_ms, 0, sizeof p->acks_paused_until_ms);
        p->acks_paused_until_ms[c->from] = pause ? p->sim->now_ms + ACK_PAUSE_MS : 0;
    } else if (sentinelSimArgIs(w, 0, "SLAVEOF")) {
        p->acks_paused_until_ms[c->from] = 0;
        sentinelSimFollow(p, sentinelSimArgIs(w, 1, "NO") ? -1 : sentinelSimProcessAt(w->argv[1]));
    } else if (sentinelSimArgIs(w, 0, "CONFIG"))
        p->disk_following = p->following;
    else if (sentinelSimArgIs(w, 0, "FAILOVER"))
        sentinelSimFailoverCommand(p, w);
    else if (sentinelSimArgIs(w, 0, "CLIENT") && sentinelSimArgIs(w, 1, "KILL"))
        sentinelSimKillClients(p, sentinelSimArgIs(w, 3, "pubsub") ? CHANNEL_PUBSUB : CHANNEL_COMMAND);
    return sdsnew("+OK\r\n");
}

static sds sentinelSimSentinelReply(struct sentinelSimProcess *p, const struct sentinelSimRequest *w) {
    struct supervisor *sup = &p->supervisor;
    if (sentinelSimArgIs(w, 0, "PING")) return sdsnew("+PONG\r\n");
    if (sentinelSimArgIs(w, 0, "PUBLISH")) {
        supervisorProcessHello(sup, strOf(w->argv[2]), sentinelSimWallClock(p));
        return sdsnew(":1\r\n");
    }
    if (!sentinelSimArgIs(w, 0, "SENTINEL")) return sdsnew("+OK\r\n");
    serverAssert(sentinelSimArgIs(w, 1, "is-master-down-by-addr") && w->argc == 6);
    struct downAnswer a =
        supervisorAnswerDown(sup, w->argv[2], atoi(w->argv[3]), strtoull(w->argv[4], NULL, 10),
                             sentinelSimArgIs(w, 5, "*") ? NULL : w->argv[5], sentinelSimWallClock(p));
    return sdscatprintf(sdsempty(), "*3\r\n:%d\r\n$%zu\r\n%s\r\n:%llu\r\n", a.down,
                        a.leader[0] ? strlen(a.leader) : 1, a.leader[0] ? a.leader : "*",
                        (unsigned long long)a.leader_epoch);
}

/* ---- Requests ---- */

static void sentinelSimReadRequest(struct sentinelSimRequest *w, const char *bytes) {
    struct respReply request;
    int64_t used = respReadReply(bytes, sdslen(bytes), &request);
    serverAssert(used == (int64_t)sdslen(bytes) && request.type == RESP_T_ARRAY && request.elements <= 8);
    w->argc = (int)request.elements;
    for (int i = 0; i < w->argc; i++) w->argv[i] = sdsnewstr(request.element[i].str);
    respReplyFree(&request);
}

static void sentinelSimFreeRequest(struct sentinelSimRequest *w) {
    for (int i = 0; i < w->argc; i++) sdsfree(w->argv[i]);
}

static sds sentinelSimRunRequest(struct sentinelSimProcess *p, struct sentinelSimChannel *c,
                                 const char *bytes) {
    struct sentinelSimRequest w;
    sentinelSimReadRequest(&w, bytes);
    sds reply = sentinelSimIsSentinel(p) ? sentinelSimSentinelReply(p, &w) : sentinelSimServerReply(p, c, &w);
    sentinelSimFreeRequest(&w);
    return reply;
}

static sds sentinelSimRunQueued(struct sentinelSimProcess *p, struct sentinelSimChannel *c) {
    sds reply = sdscatprintf(sdsempty(), "*%d\r\n", c->queued_count);
    for (int i = 0; i < c->queued_count; i++) {
        sds one = sentinelSimRunRequest(p, c, c->queued[i]);
        reply = sdscat(reply, one);
        sdsfree(one);
    }
    sentinelSimDropQueued(c);
    return reply;
}

void sentinelSimOnRequest(struct sentinelSimProcess *p, struct sentinelSimChannel *c, sds bytes) {
    struct sentinelSimRequest w;
    sentinelSimReadRequest(&w, bytes);
    sds reply;
    if (sentinelSimArgIs(&w, 0, "MULTI")) {
        c->multi = true;
        reply = sdsnew("+OK\r\n");
    } else if (sentinelSimArgIs(&w, 0, "EXEC")) {
        reply = sentinelSimRunQueued(p, c);
    } else if (c->multi) {
        c->queued = zrealloc(c->queued, (size_t)(c->queued_count + 1) * sizeof *c->queued);
        c->queued[c->queued_count++] = sdsdup(bytes);
        reply = sdsnew("+QUEUED\r\n");
    } else {
        reply = sentinelSimRunRequest(p, c, bytes);
    }
    sentinelSimFreeRequest(&w);
    sentinelSimTransmit(p->sim, c, SIM_REPLY, reply);
}

void sentinelSimOnReply(struct sentinelSimProcess *p, struct sentinelSimChannel *c, sds bytes) {
    struct respReply reply;
    int64_t used = respReadReply(bytes, sdslen(bytes), &reply);
    serverAssert(used == (int64_t)sdslen(bytes));
    if (c->ch == CHANNEL_COMMAND)
        supervisorProcessReply(&p->supervisor, c->link, &reply, sentinelSimWallClock(p));
    else
        supervisorProcessMessage(&p->supervisor, c->link, &reply, sentinelSimWallClock(p));
    respReplyFree(&reply);
}
