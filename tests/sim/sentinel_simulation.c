/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_simulation.c - Sentinels in virtual time: their environment, processes, invariants. */
#include "tests/sim/sentinel_simulation_private.h"

/* ---- The environment of a supervisor ---- */

static bool sentinelSimConnect(void *ctx, struct peerLink *link, enum channel ch,
                               const struct hostAddress *address, char *err, size_t errlen) {
    struct sentinelSimProcess *p = ctx;
    struct sentinelSim *s = p->sim;
    int to = sentinelSimProcessAt(address->ip);
    if (to < 0 || to >= s->count) {
        snprintf(err, errlen, "no such host");
        return false;
    }
    struct sentinelSimProcess *peer = &s->process[to];
    struct sentinelSimChannel *c = sentinelSimAddChannel(
        s, (struct sentinelSimChannel){
               .from = p->index, .to = to, .to_life = peer->life, .link = link, .ch = ch});
    link->channel[ch] = c;
    if (!sentinelSimReaches(p, peer)) { /* no answer at all: the Sentinel waits until its timeout */
        c->dead = true;
    } else if (!peer->alive) {
        c->dead = true;
        simQueueAdd(&s->queue,
                    sentinelSimEventAt(s, c, p->index, s->now_ms + SIM_CONNECT_FAILS_MS, SIM_CLOSED));
    } else {
        c->request_ms = c->reply_ms = s->now_ms + 2 * sentinelSimLatency(s);
        simQueueAdd(&s->queue, sentinelSimEventAt(s, c, p->index, c->reply_ms, SIM_CONNECTED));
    }
    return true;
}

static void sentinelSimClose(void *ctx, struct peerLink *link, enum channel ch) {
    struct sentinelSimProcess *p = ctx;
    sentinelSimFreeChannel(p->sim, link->channel[ch]);
    link->channel[ch] = NULL;
}

static void sentinelSimSend(void *ctx, struct peerLink *link, enum channel ch, int argc,
                            const struct str *argv) {
    struct sentinelSimProcess *p = ctx;
    sds bytes = sdsnewlen(NULL, respRequestRoom(argc, argv));
    sdssetlen(bytes, (size_t)(respWriteRequest(bytes, argc, argv) - bytes));
    sentinelSimTransmit(p->sim, link->channel[ch], SIM_REQUEST, bytes);
}

static bool sentinelSimOwnIp(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]) {
    const struct sentinelSimProcess *p = ctx;
    if (!link->channel[CHANNEL_COMMAND]) return false;
    snprintf(ip, HOST_IP_LEN, "10.0.0.%d", p->index + 1);
    return true;
}

static bool sentinelSimResolve(void *ctx, const char *name, char ip[HOST_IP_LEN]) {
    return (void)ctx, (void)name, (void)ip, false;
}
static uint64_t sentinelSimDrawRandom(void *ctx) {
    return simRandom(&((struct sentinelSimProcess *)ctx)->sim->random);
}

static void sentinelSimNoteWinner(struct sentinelSimProcess *p);

static void sentinelSimOnEvent(void *ctx, enum eventLevel level, const char *name, const char *payload) {
    struct sentinelSimProcess *p = ctx;
    p->events = sdscatprintf(p->events, "%s %s\n", name, payload);
    if (p->sim->o.verbose && level > EVENT_DEBUG)
        printf("%8lld %3d %s %s\n", (long long)p->sim->now_ms, p->index, name, payload);
    if (strcmp(name, "+elected-leader") == 0) sentinelSimNoteWinner(p);
}

static void sentinelSimOnLog(void *ctx, int level, const char *line) {
    const struct sentinelSimProcess *p = ctx;
    if (p->sim->o.verbose && level > LL_DEBUG)
        printf("%8lld %3d %s\n", (long long)p->sim->now_ms, p->index, line);
}

static void sentinelSimOnScript(void *ctx, const char *path, int argc, const char *const *argv) {
    struct sentinelSimProcess *p = ctx;
    p->events = sdscatprintf(p->events, "script %s", path);
    for (int i = 0; i < argc; i++) p->events = sdscatprintf(p->events, " %s", argv[i]);
    p->events = sdscat(p->events, "\n");
}

static bool sentinelSimNoLinePresent(void *priv, struct str word) {
    return (void)priv, (void)word, false;
}

static bool sentinelSimSave(void *ctx) {
    struct sentinelSimProcess *p = ctx;
    sdsfree(p->disk);
    p->disk = supervisorConfigLines(&p->supervisor, sentinelSimNoLinePresent, NULL);
    return true;
}

static void sentinelSimCrash(void *ctx) {
    (void)ctx;
    serverPanic("no test makes a Sentinel crash");
}

static const struct supervisorEnv sim_environment = {
    .connect = sentinelSimConnect,
    .close = sentinelSimClose,
    .send = sentinelSimSend,
    .ownIp = sentinelSimOwnIp,
    .resolve = sentinelSimResolve,
    .random = sentinelSimDrawRandom,
    .event = sentinelSimOnEvent,
    .log = sentinelSimOnLog,
    .script = sentinelSimOnScript,
    .save = sentinelSimSave,
    .crash = sentinelSimCrash,
};

/* ---- Processes ---- */

static void sentinelSimScheduleTick(struct sentinelSimProcess *p) {
    int64_t wait =
        sentinelSimIsSentinel(p) ? 1000 / (10 + (int64_t)(simRandom(&p->sim->random) % 10)) : SIM_TICK_MS;
    simQueueAdd(&p->sim->queue,
                (struct simEvent){
                    .at_ms = p->sim->now_ms + wait, .kind = SIM_TICK, .process = p->index, .life = p->life});
}

static void sentinelSimApplyConfigLine(struct supervisor *sup, enum configPass pass, const char *line,
                                       size_t len) {
    int argc;
    sds *words = sdssplitargs(line, len, &argc);
    struct str argv[16];
    serverAssert(words && argc > 0 && argc <= 16);
    for (int i = 0; i < argc; i++) argv[i] = sdsview(words[i]);
    if (supervisorConfigPass(argv[0]) == pass) {
        const char *err = supervisorConfigLine(sup, argc, argv);
        if (err) serverPanic("%s: %.*s", err, (int)len, line);
    }
    sdsfreesplitres(words, argc);
}

static void sentinelSimReadConfig(struct sentinelSimProcess *p) {
    for (int pass = PASS_SELF; pass <= PASS_REST; pass++) {
        for (const char *line = p->disk, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            sentinelSimApplyConfigLine(&p->supervisor, (enum configPass)pass, line, (size_t)(end - line));
        }
    }
}

static void sentinelSimStartSentinel(struct sentinelSimProcess *p) {
    struct supervisor *sup = &p->supervisor;
    supervisorInit(sup, &sim_environment, p, sentinelSimWallClock(p));
    sup->settings.own_port = SIM_SENTINEL_PORT;
    sentinelSimReadConfig(p);
    supervisorStart(sup, sentinelSimWallClock(p));
}

static void sentinelSimStartServer(struct sentinelSimProcess *p) {
    struct sentinelSim *s = p->sim;
    sentinelSimNewRunId(s, p->run_id);
    p->loading_until_ms = s->now_ms + p->loading_ms;
    memset(p->acks_paused_until_ms, 0, sizeof p->acks_paused_until_ms);
    bool promoted = p->disk_following < 0 && p->following >= 0 && p->life > 1; /* by its file */
    if (promoted) p->branch = sentinelSimAddBranch(s, p->branch, p->offset);
    p->following = -1;
    sentinelSimFollow(p, p->disk_following);
}

static void sentinelSimStartProcess(struct sentinelSimProcess *p) {
    p->alive = true;
    p->hung = false;
    p->life++;
    if (sentinelSimIsSentinel(p))
        sentinelSimStartSentinel(p);
    else
        sentinelSimStartServer(p);
    sentinelSimScheduleTick(p);
}

static void sentinelSimStopProcess(struct sentinelSimProcess *p) {
    struct sentinelSim *s = p->sim;
    p->alive = false;
    for (int i = 0; i < p->held_count; i++) sdsfree(p->held[i].bytes);
    p->held_count = 0;
    for (int i = 0; i < s->channel_count; i++)
        if (s->channels[i]->to == p->index) sentinelSimBreakChannel(s, s->channels[i]);
    if (sentinelSimIsSentinel(p)) supervisorDestroy(&p->supervisor);
}

void sentinelSimKill(struct sentinelSim *s, int process) {
    if (s->process[process].alive) sentinelSimStopProcess(&s->process[process]);
}
void sentinelSimRestart(struct sentinelSim *s, int process) {
    if (!s->process[process].alive) sentinelSimStartProcess(&s->process[process]);
}

void sentinelSimHang(struct sentinelSim *s, int process, bool hang) {
    struct sentinelSimProcess *p = &s->process[process];
    p->hung = hang && p->alive;
    if (p->hung) return;
    for (int i = 0; i < p->held_count; i++) {
        p->held[i].at_ms = s->now_ms;
        simQueueAdd(&s->queue, p->held[i]);
    }
    p->held_count = 0;
}

void sentinelSimSide(struct sentinelSim *s, int process, int side) {
    s->process[process].side = side;
    for (int i = 0; i < s->channel_count; i++) { /* some of the connections that were cut are reset now */
        struct sentinelSimChannel *c = s->channels[i];
        bool stuck = c->dead && sentinelSimReaches(&s->process[c->from], &s->process[c->to]);
        if (stuck && (c->from == process || c->to == process) && simRandom(&s->random) % 2)
            simQueueAdd(&s->queue,
                        sentinelSimEventAt(s, c, c->from, s->now_ms + 2 * sentinelSimLatency(s), SIM_CLOSED));
    }
}

void sentinelSimSetClock(struct sentinelSim *s, int process, int64_t off_ms) {
    s->process[process].clock_off_ms = off_ms;
}
void sentinelSimSetBreaks(struct sentinelSim *s, double breaks) {
    s->o.breaks = breaks;
}
void sentinelSimSetLoading(struct sentinelSim *s, int server, int64_t ms) {
    s->process[server].loading_ms = ms;
}
void sentinelSimReplicaOf(struct sentinelSim *s, int server, int of) {
    sentinelSimFollow(&s->process[server], of);
}
void sentinelSimSetPriority(struct sentinelSim *s, int server, int priority) {
    s->process[server].priority = priority;
}
void sentinelSimSetNeverSyncs(struct sentinelSim *s, int server, bool never) {
    s->process[server].never_syncs = never;
}
void sentinelSimSetBehind(struct sentinelSim *s, int server, uint64_t bytes) {
    s->process[server].behind = bytes;
}
void sentinelSimSetFailoverCommand(struct sentinelSim *s, int server, enum sentinelSimFailoverMode how) {
    s->process[server].failover = how;
}

/* ---- Checks ---- */

static void sentinelSimGrowEpochs(struct sentinelSim *s, uint64_t epoch) {
    if (epoch < s->epochs) return;
    uint64_t room = 2 * epoch + 64;
    s->winner = zrealloc(s->winner, room * sizeof *s->winner);
    s->place = zrealloc(s->place, room * sizeof *s->place);
    for (uint64_t i = s->epochs; i < room; i++) s->winner[i] = s->place[i] = -1;
    s->epochs = room;
}

static void sentinelSimNoteWinner(struct sentinelSimProcess *p) {
    struct sentinelSim *s = p->sim;
    const struct instance *primary = supervisorFindPrimary(&p->supervisor, SIM_NAME);
    if (primary->flags & FLAG_FORCE_FAILOVER) return;
    uint64_t epoch = primary->p.failover_epoch;
    sentinelSimGrowEpochs(s, epoch);
    if (s->winner[epoch] >= 0)
        serverPanic("epoch %llu was won by %d and %d (seed %llu)", (unsigned long long)epoch,
                    s->winner[epoch], p->index, (unsigned long long)s->o.seed);
    s->winner[epoch] = p->index;
}

static void sentinelSimCheckVote(struct sentinelSimProcess *p, const struct instance *primary) {
    struct sentinelSimVotes *v = &p->votes;
    uint64_t epoch = primary->p.leader_epoch;
    serverAssert(epoch >= v->highest);
    v->highest = epoch;
    if (!primary->p.leader[0]) return;
    if (epoch >= v->room) {
        uint64_t room = 2 * epoch + 64;
        v->leader = zrealloc(v->leader, room * sizeof *v->leader);
        memset(v->leader + v->room, 0, (room - v->room) * sizeof *v->leader);
        v->room = room;
    }
    if (v->leader[epoch][0] && strcmp(v->leader[epoch], primary->p.leader) != 0)
        serverPanic("%d voted twice in epoch %llu (seed %llu)", p->index, (unsigned long long)epoch,
                    (unsigned long long)p->sim->o.seed);
    strcpy(v->leader[epoch], primary->p.leader);
}

static void sentinelSimCheckAddress(struct sentinelSimProcess *p, const struct instance *primary) {
    struct sentinelSim *s = p->sim;
    uint64_t epoch = primary->config_epoch;
    int place = sentinelSimProcessAt(supervisorCurrentAddress(primary)->ip);
    serverAssert(epoch >= p->config_epoch);
    p->config_epoch = epoch;
    sentinelSimGrowEpochs(s, epoch);
    if (s->place[epoch] >= 0 && s->place[epoch] != place)
        serverPanic("epoch %llu has primaries %d and %d (seed %llu)", (unsigned long long)epoch,
                    s->place[epoch], place, (unsigned long long)s->o.seed);
    s->place[epoch] = place;
}

static void sentinelSimCheck(struct sentinelSimProcess *p) {
    if (!p->alive || !sentinelSimIsSentinel(p)) return;
    const struct instance *primary = supervisorFindPrimary(&p->supervisor, SIM_NAME);
    sentinelSimCheckVote(p, primary);
    sentinelSimCheckAddress(p, primary);
}

/* ---- Events ---- */

static void sentinelSimHoldEvent(struct sentinelSimProcess *p, struct simEvent ev) {
    p->held = zrealloc(p->held, (size_t)(p->held_count + 1) * sizeof *p->held);
    p->held[p->held_count++] = ev;
}

static void sentinelSimHandleChannelEvent(struct sentinelSimProcess *p, struct sentinelSimChannel *c,
                                          const struct simEvent *ev) {
    switch (ev->kind) {
    case SIM_CONNECTED:
        supervisorOnChannelUp(&p->supervisor, c->link, c->ch, sentinelSimWallClock(p));
        return;
    case SIM_REQUEST:
        if (c->to_life == p->life) sentinelSimOnRequest(p, c, ev->bytes);
        return;
    case SIM_REPLY: sentinelSimOnReply(p, c, ev->bytes); return;
    case SIM_CLOSED: {
        struct peerLink *link = c->link;
        enum channel ch = c->ch;
        sentinelSimFreeChannel(p->sim, c);
        supervisorOnChannelDown(&p->supervisor, link, ch, "Connection reset by peer",
                                sentinelSimWallClock(p));
        return;
    }
    case SIM_TICK: serverUnreachable();
    }
}

static void sentinelSimHandleEvent(struct sentinelSim *s, struct simEvent ev) {
    struct sentinelSimProcess *p = &s->process[ev.process];
    struct sentinelSimChannel *c = ev.kind == SIM_TICK ? NULL : sentinelSimFindChannel(s, ev.connection);
    if (!p->alive || p->life != ev.life) {
        sdsfree(ev.bytes);
        return;
    }
    if (p->hung) {
        sentinelSimHoldEvent(p, ev);
        return;
    }
    if (ev.kind == SIM_TICK) {
        if (sentinelSimIsSentinel(p))
            supervisorTick(&p->supervisor, sentinelSimWallClock(p));
        else
            sentinelSimServerTick(p);
        sentinelSimScheduleTick(p);
    } else if (c) {
        sentinelSimHandleChannelEvent(p, c, &ev);
    }
    sdsfree(ev.bytes);
    sentinelSimCheck(p);
}

void sentinelSimRun(struct sentinelSim *s, int64_t ms) {
    int64_t end = s->now_ms + ms;
    while (s->queue.count && s->queue.heap[0].at_ms <= end) {
        struct simEvent ev = simQueueTake(&s->queue);
        s->now_ms = ev.at_ms > s->now_ms ? ev.at_ms : s->now_ms;
        sentinelSimHandleEvent(s, ev);
    }
    s->now_ms = end;
}

/* ---- Creation and end ---- */

static sds sentinelSimIpOf(int process) {
    return sdscatprintf(sdsempty(), "10.0.0.%d", process + 1);
}

static sds sentinelSimFirstConfig(struct sentinelSim *s, int sentinel, char ids[][RUN_ID_LEN + 1]) {
    const struct sentinelSimOptions *o = &s->o;
    sds disk = sdscatprintf(sdsempty(), "myid %s\n", ids[sentinel]);
    sds ip = sentinelSimIpOf(sentinelSimServer(s, 0));
    disk = sdscatprintf(disk, "monitor " SIM_NAME " %s %d %d\n", ip, SIM_SERVER_PORT, o->quorum);
    sdsfree(ip);
    disk = sdscatprintf(disk, "down-after-milliseconds " SIM_NAME " %lld\n", (long long)o->down_after_ms);
    disk = sdscatprintf(disk, "failover-timeout " SIM_NAME " %lld\n", (long long)o->failover_timeout_ms);
    disk = sdscatprintf(disk, "parallel-syncs " SIM_NAME " %d\n", o->parallel_syncs);
    if (o->reboot_down_after_ms)
        disk = sdscatprintf(disk, "primary-reboot-down-after-period " SIM_NAME " %lld\n",
                            (long long)o->reboot_down_after_ms);
    if (o->only_primary_known) return disk;
    for (int i = 1; i <= o->replicas; i++)
        disk = sdscatprintf(disk, "known-replica " SIM_NAME " 10.0.0.%d %d\n", sentinelSimServer(s, i) + 1,
                            SIM_SERVER_PORT);
    for (int i = 0; i < o->sentinels; i++) {
        if (i != sentinel)
            disk = sdscatprintf(disk, "known-sentinel " SIM_NAME " 10.0.0.%d %d %s\n", i + 1,
                                SIM_SENTINEL_PORT, ids[i]);
    }
    return disk;
}

struct sentinelSim *sentinelSimCreate(const struct sentinelSimOptions *o) {
    struct sentinelSim *s = zcalloc(1, sizeof *s);
    s->o = *o;
    s->random = o->seed;
    s->count = o->sentinels + 1 + o->replicas;
    serverAssert(s->count <= SIM_PROCESSES_MAX);
    sentinelSimAddBranch(s, -1, 0);
    char ids[SIM_PROCESSES_MAX][RUN_ID_LEN + 1];
    for (int i = 0; i < o->sentinels; i++) sentinelSimNewRunId(s, ids[i]);
    for (int i = s->count - 1; i >= 0; i--) { /* servers start first */
        struct sentinelSimProcess *p = &s->process[i];
        p->sim = s;
        p->index = i;
        p->events = sdsempty();
        p->priority = REPLICA_PRIORITY;
        p->disk_following = i <= sentinelSimServer(s, 0) ? -1 : sentinelSimServer(s, 0);
        if (sentinelSimIsSentinel(p)) p->disk = sentinelSimFirstConfig(s, i, ids);
        sentinelSimStartProcess(p);
    }
    return s;
}

void sentinelSimDestroy(struct sentinelSim *s) {
    for (int i = 0; i < s->count; i++) {
        struct sentinelSimProcess *p = &s->process[i];
        sentinelSimKill(s, i);
        sdsfree(p->disk);
        sdsfree(p->events);
        zfree(p->held);
        zfree(p->votes.leader);
    }
    serverAssert(s->channel_count == 0);
    simQueueFree(&s->queue);
    zfree(s->channels);
    zfree(s->branches);
    zfree(s->winner);
    zfree(s->place);
    zfree(s);
}

/* ---- Observation ---- */

int64_t sentinelSimNow(const struct sentinelSim *s) {
    return s->now_ms;
}
int sentinelSimCount(const struct sentinelSim *s) {
    return s->count;
}
int sentinelSimServer(const struct sentinelSim *s, int nth) {
    return s->o.sentinels + nth;
}
struct supervisor *sentinelSimSupervisor(struct sentinelSim *s, int sentinel) {
    return s->process[sentinel].alive ? &s->process[sentinel].supervisor : NULL;
}
struct instance *sentinelSimWatched(struct sentinelSim *s, int sentinel) {
    return supervisorFindPrimary(&s->process[sentinel].supervisor, SIM_NAME);
}
enum manualFailover sentinelSimFailover(struct sentinelSim *s, int sentinel, bool coordinated) {
    struct sentinelSimProcess *p = &s->process[sentinel];
    return supervisorFailover(&p->supervisor, sentinelSimWatched(s, sentinel), coordinated,
                              sentinelSimWallClock(p));
}
int sentinelSimPrimaryOf(struct sentinelSim *s, int sentinel) {
    return sentinelSimProcessAt(supervisorCurrentAddress(sentinelSimWatched(s, sentinel))->ip);
}
bool sentinelSimIsPrimary(const struct sentinelSim *s, int server) {
    return s->process[server].alive && s->process[server].following < 0;
}

bool sentinelSimIsPaused(const struct sentinelSim *s, int server) {
    return sentinelSimAcksArePaused(&s->process[server]);
}

uint64_t sentinelSimCountLost(const struct sentinelSim *s, int server) {
    uint64_t lost = 0, kept = s->process[server].offset;
    int mine = s->process[server].branch;
    for (int b = s->branch_count - 1; b >= 0; b--) { /* a parent is older than its branches */
        const struct sentinelSimBranch *branch = &s->branches[b];
        uint64_t has = b == mine ? kept : branch->from;
        if (branch->acked > has) lost += branch->acked - has;
        if (b != mine) continue;
        kept = branch->from;
        mine = branch->parent;
    }
    return lost;
}

int sentinelSimCountEvents(struct sentinelSim *s, int sentinel, const char *name, const char *with) {
    int count = 0;
    for (const char *line = s->process[sentinel].events, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        size_t len = (size_t)(end - line), n = strlen(name);
        if (len <= n || memcmp(line, name, n) != 0 || line[n] != ' ') continue;
        sds payload = sdsnewlen(line + n + 1, len - n - 1);
        count += !with || strstr(payload, with);
        sdsfree(payload);
    }
    return count;
}

const char *sentinelSimEventText(struct sentinelSim *s, int sentinel) {
    return s->process[sentinel].events;
}
void sentinelSimForgetEvents(struct sentinelSim *s) {
    for (int i = 0; i < s->count; i++) sdssetlen(s->process[i].events, 0);
}

static bool sentinelSimSentinelAgrees(struct sentinelSim *s, int i, const struct instance *with) {
    const struct instance *primary = sentinelSimWatched(s, i);
    if (primary->flags || primary->config_epoch != with->config_epoch || s->process[i].supervisor.tilt)
        return false;
    return sentinelSimPrimaryOf(s, i) == sentinelSimProcessAt(with->address.ip) &&
           primary->p.sentinels.count == s->o.sentinels - 1 && primary->p.replicas.count >= s->o.replicas;
}

bool sentinelSimAgrees(struct sentinelSim *s) {
    const struct instance *first = NULL;
    for (int i = 0; i < s->o.sentinels; i++) {
        if (!s->process[i].alive) continue;
        if (!first) first = sentinelSimWatched(s, i);
        if (!sentinelSimSentinelAgrees(s, i, first)) return false;
    }
    int primary = sentinelSimProcessAt(first->address.ip);
    for (int i = s->o.sentinels; i < s->count; i++) {
        const struct sentinelSimProcess *p = &s->process[i];
        bool good = i == primary
                        ? p->following < 0
                        : p->following == primary && sentinelSimInSync(p) && !sentinelSimAcksArePaused(p);
        if (p->alive && !good) return false;
    }
    return s->process[primary].alive;
}

void sentinelSimPrint(struct sentinelSim *s) {
    for (int i = 0; i < s->count; i++) {
        struct sentinelSimProcess *p = &s->process[i];
        if (!p->alive) {
            printf("---- %d is dead\n", i);
        } else if (sentinelSimIsSentinel(p)) {
            sds text = supervisorConfigLines(&p->supervisor, sentinelSimNoLinePresent, NULL);
            sds flags = instanceFormatFlags(sentinelSimWatched(s, i));
            printf("---- %d %s %s\n%s", i, flags, p->supervisor.tilt ? "in tilt" : "", text);
            sdsfree(flags);
            sdsfree(text);
        } else {
            printf("---- %d follows %d, offset %llu%s\n", i, p->following, (unsigned long long)p->offset,
                   sentinelSimInSync(p) ? ", in sync" : "");
        }
    }
}
