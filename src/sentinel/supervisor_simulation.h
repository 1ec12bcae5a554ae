/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_simulation.h - Sentinels, a primary and its replicas in virtual time, for tests: many
 * supervisors, one queue of events, one seed. The same seed gives the same run. What is simulated:
 * connections (latency, breaks, refusals, partitions), processes (death, restart, standstill), clocks that
 * are set, and servers as small models: PING, INFO, SLAVEOF, FAILOVER, PUBLISH and SUBSCRIBE, replication as
 * one number.
 *
 * On one connection everything keeps its order, as in TCP, and gets lost only together with it. A Sentinel
 * that restarts knows what it saved last, and nothing else.
 *
 * After every event the checks hold that must hold always:
 *  - an epoch is won by one Sentinel (but for failovers that a user has forced);
 *  - a Sentinel votes for one in an epoch, also over restarts;
 *  - the epochs of votes and of configurations never go back, also over restarts;
 *  - whoever knows the configuration of an epoch knows the same address.
 *
 * Only tests include this: contract first, then how it is done. */
#pragma once

#include "sentinel/supervisor_simulation_wires.h"

/* Processes are numbered: first the Sentinels, then the servers, of which the first begins as the primary. */
__attribute__((unused)) static struct sim *simCreate(const struct simOptions *o);
__attribute__((unused)) static void simDestroy(struct sim *s);
__attribute__((unused)) static void simRun(struct sim *s, int64_t ms); /* virtual time goes on by that */
__attribute__((unused)) static int64_t simNow(const struct sim *s);
__attribute__((unused)) static int simCount(const struct sim *s);           /* of processes */
__attribute__((unused)) static int simServer(const struct sim *s, int nth); /* number of the nth server */

__attribute__((unused)) static void simKill(struct sim *s, int process);
__attribute__((unused)) static void simRestart(struct sim *s, int process);
/* As SIGSTOP: nothing happens in it, its connections stay. */
__attribute__((unused)) static void simHang(struct sim *s, int process, bool hang);
/* Processes reach those of the same side only; all are on side 0 at first. */
__attribute__((unused)) static void simSide(struct sim *s, int process, int side);
/* Its clock differs by that from the time that goes by, from now on. */
__attribute__((unused)) static void simClock(struct sim *s, int process, int64_t off_ms);
__attribute__((unused)) static void simBreaks(struct sim *s, double breaks);
/* A server that loads its data after the next restart, for so long. */
__attribute__((unused)) static void simLoading(struct sim *s, int server, int64_t ms);
/* By hand: SLAVEOF; -1: NO ONE. */
__attribute__((unused)) static void simReplicaOf(struct sim *s, int server, int of);
__attribute__((unused)) static void simPriority(struct sim *s, int server, int priority);
/* Never in step with a primary that it has not had yet, from now on. */
__attribute__((unused)) static void simNeverSyncs(struct sim *s, int server, bool never);
/* FAILOVER is refused or does nothing there, or is not even known (INFO does not tell of it), from now on. */
__attribute__((unused)) static void simFailoverCommand(struct sim *s, int server, enum simFailover how);

__attribute__((unused)) static struct supervisor *simSupervisor(struct sim *s, int sentinel); /* NULL: dead */
__attribute__((unused)) static struct instance *simWatched(struct sim *s, int sentinel); /* its primary */
__attribute__((unused)) static enum manualFailover simFailover(struct sim *s, int sentinel, bool coordinated);
/* The number of the server that Sentinel has for the primary. */
__attribute__((unused)) static int simPrimaryOf(struct sim *s, int sentinel);
__attribute__((unused)) static bool simIsPrimary(const struct sim *s, int server); /* by its own account */
/* How often an event of that name (and, if not NULL, with that in its payload) has been told by it. */
__attribute__((unused)) static int simEvents(struct sim *s, int sentinel, const char *name, const char *with);
/* All of them: "<name> <payload>\n"...; simForgetEvents: from now on. */
__attribute__((unused)) static const char *simEventText(struct sim *s, int sentinel);
__attribute__((unused)) static void simForgetEvents(struct sim *s);
/* Do all that are alive agree: one primary, that is up and says so, the same epoch, no failover under way,
 * and every server that is alive follows it? */
__attribute__((unused)) static bool simAgrees(struct sim *s);
__attribute__((unused)) static void simPrint(struct sim *s); /* what each believes */

/* ---- What a supervisor asks for ---- */

static bool worldConnect(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                         char *err, size_t errlen) {
    struct simProcess *p = w;
    struct sim *s = p->sim;
    int to = processAt(address->ip);
    if (to < 0 || to >= s->count) {
        snprintf(err, errlen, "no such host");
        return false;
    }
    struct simProcess *peer = &s->process[to];
    struct simChannel *c = channelAdd(
        s, (struct simChannel){.from = p->index, .to = to, .to_life = peer->life, .link = link, .ch = ch});
    link->channel[ch] = c;
    if (!reach(p, peer)) { /* no answer at all: it hangs until it is given up */
        c->dead = true;
    } else if (!peer->alive) {
        c->dead = true;
        eventAdd(s, eventAt(s, c, p->index, s->now_ms + CONNECT_FAILS_MS, EVENT_CLOSED));
    } else {
        c->request_ms = c->reply_ms = s->now_ms + 2 * latency(s);
        eventAdd(s, eventAt(s, c, p->index, c->reply_ms, EVENT_CONNECTED));
    }
    return true;
}

static void worldClose(void *w, struct peerLink *link, enum channel ch) {
    struct simProcess *p = w;
    channelFree(p->sim, link->channel[ch]);
    link->channel[ch] = NULL;
}

static void worldSend(void *w, struct peerLink *link, enum channel ch, int argc, const struct str *argv) {
    struct simProcess *p = w;
    sds bytes = sdsnewlen(NULL, respRequestRoom(argc, argv));
    sdssetlen(bytes, (size_t)(respWriteRequest(bytes, argc, argv) - bytes));
    transmit(p->sim, link->channel[ch], EVENT_REQUEST, bytes);
}

static bool worldOwnIp(void *w, struct peerLink *link, char ip[HOST_IP_LEN]) {
    const struct simProcess *p = w;
    if (!link->channel[CHANNEL_COMMAND]) return false;
    snprintf(ip, HOST_IP_LEN, "10.0.0.%d", p->index + 1);
    return true;
}

static bool worldResolve(void *w, const char *name, char ip[HOST_IP_LEN]) {
    return (void)w, (void)name, (void)ip, false;
}
static uint64_t worldRandom(void *w) {
    return chance(((struct simProcess *)w)->sim);
}

static void noteWinner(struct simProcess *p);

static void worldEvent(void *w, enum eventLevel level, const char *name, const char *payload) {
    struct simProcess *p = w;
    p->events = sdscatprintf(p->events, "%s %s\n", name, payload);
    if (p->sim->o.verbose && level > EVENT_DEBUG)
        printf("%8lld %3d %s %s\n", (long long)p->sim->now_ms, p->index, name, payload);
    if (strcmp(name, "+elected-leader") == 0) noteWinner(p);
}

static void worldLog(void *w, int level, const char *line) {
    const struct simProcess *p = w;
    if (p->sim->o.verbose && level > LL_DEBUG)
        printf("%8lld %3d %s\n", (long long)p->sim->now_ms, p->index, line);
}

static void worldScript(void *w, const char *path, int argc, const char *const *argv) {
    struct simProcess *p = w;
    p->events = sdscatprintf(p->events, "script %s", path);
    for (int i = 0; i < argc; i++) p->events = sdscatprintf(p->events, " %s", argv[i]);
    p->events = sdscat(p->events, "\n");
}

static bool inFile(void *priv, struct str word) {
    return (void)priv, (void)word, false;
}

static bool worldSave(void *w) {
    struct simProcess *p = w;
    sdsfree(p->disk);
    p->disk = supervisorConfigLines(&p->supervisor, inFile, NULL);
    return true;
}

static void worldCrash(void *w) {
    (void)w;
    serverPanic("nobody has asked for a crash");
}

static const struct supervisorWorld world = {
    .connect = worldConnect,
    .close = worldClose,
    .send = worldSend,
    .ownIp = worldOwnIp,
    .resolve = worldResolve,
    .random = worldRandom,
    .event = worldEvent,
    .log = worldLog,
    .script = worldScript,
    .save = worldSave,
    .crash = worldCrash,
};

/* ---- Servers ---- */

/* Does it have what its primary has, this very moment? */
static bool inStep(const struct simProcess *p) {
    if (p->following < 0) return false;
    const struct simProcess *primary = &p->sim->process[p->following];
    return primary->alive && reach(p, primary) && primary->loading_until_ms <= p->sim->now_ms &&
           p->synced_ms <= p->sim->now_ms;
}

static void follow(struct simProcess *p, int whom) {
    struct sim *s = p->sim;
    if (whom == p->following) return;
    p->following = whom;
    p->failover_until_ms = 0;
    p->link_lost_ms = whom < 0 ? 0 : s->now_ms;
    p->synced_ms = p->never_syncs ? INT64_MAX : s->now_ms + 1 + (int64_t)(chance(s) % SYNC_MS);
}

/* FAILOVER: the other one takes over when it is in step. */
static void handOver(struct simProcess *p) {
    struct simProcess *to = &p->sim->process[p->failover_to];
    if (p->sim->now_ms >= p->failover_until_ms) p->failover_until_ms = 0;
    bool ready = p->failover == SIM_FAILOVER_WORKS && to->alive && !to->hung && to->following == p->index;
    if (!p->failover_until_ms || !ready || !inStep(to)) return;
    follow(to, -1);
    follow(p, to->index);
}

static void serverTick(struct simProcess *p) {
    struct sim *s = p->sim;
    if (p->failover_until_ms) handOver(p);
    if (p->following < 0) {
        if (!p->failover_until_ms) p->offset += WRITES_PER_TICK;
    } else if (inStep(p)) {
        p->offset = s->process[p->following].offset;
        p->link_lost_ms = 0;
    } else if (!p->link_lost_ms) {
        p->link_lost_ms = s->now_ms;
        p->synced_ms = s->now_ms + 1 + (int64_t)(chance(s) % SYNC_MS);
    }
}

static sds followersText(const struct simProcess *p, sds info) {
    int count = 0;
    for (int i = p->sim->o.sentinels; i < p->sim->count; i++) {
        const struct simProcess *r = &p->sim->process[i];
        if (!r->alive || r->following != p->index || !reach(p, r)) continue;
        info = sdscatprintf(info, "slave%d:ip=10.0.0.%d,port=%d,state=online,offset=%llu,lag=0\r\n", count++,
                            i + 1, SERVER_PORT, (unsigned long long)r->offset);
    }
    return info;
}

static sds infoText(const struct simProcess *p) {
    sds info = sdscatprintf(sdsempty(), "# Server\r\nrun_id:%s\r\n# Replication\r\n", p->run_id);
    info = sdscat(info, p->following < 0 ? "role:master\r\n" : "role:slave\r\n");
    if (p->following >= 0) {
        bool up = inStep(p) && !p->link_lost_ms;
        info = sdscatprintf(info, "master_host:10.0.0.%d\r\nmaster_port:%d\r\nmaster_link_status:%s\r\n",
                            p->following + 1, SERVER_PORT, up ? "up" : "down");
        info = sdscatprintf(info, "slave_repl_offset:%llu\r\n", (unsigned long long)p->offset);
        if (!up)
            info = sdscatprintf(info, "master_link_down_since_seconds:%lld\r\n",
                                (long long)((p->sim->now_ms - p->link_lost_ms) / 1000));
        info = sdscatprintf(info, "slave_priority:%d\r\nreplica_announced:1\r\n", p->priority);
    }
    info = followersText(p, info);
    if (p->failover != SIM_FAILOVER_UNKNOWN)
        info = sdscatprintf(info, "master_failover_state:%s\r\n",
                            p->failover_until_ms ? "waiting-for-sync" : "no-failover");
    return info;
}

static sds bulk(sds reply, const char *text) {
    return sdscatprintf(reply, "$%zu\r\n%s\r\n", strlen(text), text);
}

static sds bulkInfo(const struct simProcess *p) {
    sds info = infoText(p), reply = bulk(sdsempty(), info);
    sdsfree(info);
    return reply;
}

static int publish(struct simProcess *p, const char *message) {
    struct sim *s = p->sim;
    int count = 0;
    for (int i = 0; i < s->channel_count; i++) {
        struct simChannel *c = s->channels[i];
        if (c->to != p->index || c->to_life != p->life || !c->subscribed) continue;
        sds bytes = bulk(bulk(bulk(sdsnew("*3\r\n"), "message"), HELLO_CHANNEL), message);
        transmit(s, c, EVENT_REPLY, bytes);
        count++;
    }
    return count;
}

static void killClients(struct simProcess *p, enum channel ch) {
    struct sim *s = p->sim;
    for (int i = 0; i < s->channel_count; i++) {
        struct simChannel *c = s->channels[i];
        if (c->to == p->index && c->to_life == p->life && c->ch == ch) channelBreak(s, c);
    }
}

struct words {
    int argc;
    char *argv[8];
};

static bool wordIs(const struct words *w, int i, const char *text) {
    return i < w->argc && strcasecmp(w->argv[i], text) == 0;
}

/* FAILOVER ABORT, FAILOVER TO ip port TIMEOUT ms */
static void failoverCommand(struct simProcess *p, const struct words *w) {
    if (wordIs(w, 1, "ABORT")) {
        p->failover_until_ms = 0;
    } else if (p->following < 0 && p->failover != SIM_FAILOVER_UNKNOWN &&
               p->failover != SIM_FAILOVER_REFUSED) {
        p->failover_to = processAt(w->argv[2]);
        p->failover_until_ms = p->sim->now_ms + atoll(w->argv[5]);
    }
}

static sds serverRuns(struct simProcess *p, struct simChannel *c, const struct words *w) {
    if (wordIs(w, 0, "INFO")) return bulkInfo(p);
    if (wordIs(w, 0, "PUBLISH")) return sdscatprintf(sdsempty(), ":%d\r\n", publish(p, w->argv[2]));
    if (wordIs(w, 0, "SUBSCRIBE")) {
        c->subscribed = true;
        return sdscat(bulk(bulk(sdsnew("*3\r\n"), "subscribe"), HELLO_CHANNEL), ":1\r\n");
    }
    if (wordIs(w, 0, "PING"))
        return sdsnew(p->loading_until_ms > p->sim->now_ms ? "-LOADING reading\r\n" : "+PONG\r\n");
    if (wordIs(w, 0, "SLAVEOF"))
        follow(p, wordIs(w, 1, "NO") ? -1 : processAt(w->argv[1]));
    else if (wordIs(w, 0, "CONFIG"))
        p->disk_following = p->following;
    else if (wordIs(w, 0, "FAILOVER"))
        failoverCommand(p, w);
    else if (wordIs(w, 0, "CLIENT") && wordIs(w, 1, "KILL"))
        killClients(p, wordIs(w, 3, "pubsub") ? CHANNEL_PUBSUB : CHANNEL_COMMAND);
    return sdsnew("+OK\r\n");
}

static sds sentinelRuns(struct simProcess *p, const struct words *w) {
    struct supervisor *sup = &p->supervisor;
    if (wordIs(w, 0, "PING")) return sdsnew("+PONG\r\n");
    if (wordIs(w, 0, "PUBLISH")) {
        supervisorHello(sup, strOf(w->argv[2]), wallClock(p));
        return sdsnew(":1\r\n");
    }
    if (!wordIs(w, 0, "SENTINEL")) return sdsnew("+OK\r\n");
    serverAssert(wordIs(w, 1, "is-master-down-by-addr") && w->argc == 6);
    struct downAnswer a =
        supervisorAnswerDown(sup, w->argv[2], atoi(w->argv[3]), strtoull(w->argv[4], NULL, 10),
                             wordIs(w, 5, "*") ? NULL : w->argv[5], wallClock(p));
    return sdscatprintf(sdsempty(), "*3\r\n:%d\r\n$%zu\r\n%s\r\n:%llu\r\n", a.down,
                        a.leader[0] ? strlen(a.leader) : 1, a.leader[0] ? a.leader : "*",
                        (unsigned long long)a.leader_epoch);
}

/* ---- Requests ---- */

static void wordsRead(struct words *w, const char *bytes) {
    struct respReply request;
    int64_t used = respReadReply(bytes, sdslen(bytes), &request);
    serverAssert(used == (int64_t)sdslen(bytes) && request.type == RESP_T_ARRAY && request.elements <= 8);
    w->argc = (int)request.elements;
    for (int i = 0; i < w->argc; i++) w->argv[i] = sdsnewstr(request.element[i].str);
    respReplyFree(&request);
}

static void wordsFree(struct words *w) {
    for (int i = 0; i < w->argc; i++) sdsfree(w->argv[i]);
}

static sds runOne(struct simProcess *p, struct simChannel *c, const char *bytes) {
    struct words w;
    wordsRead(&w, bytes);
    sds reply = isSentinel(p) ? sentinelRuns(p, &w) : serverRuns(p, c, &w);
    wordsFree(&w);
    return reply;
}

static sds runQueued(struct simProcess *p, struct simChannel *c) {
    sds reply = sdscatprintf(sdsempty(), "*%d\r\n", c->queued_count);
    for (int i = 0; i < c->queued_count; i++) {
        sds one = runOne(p, c, c->queued[i]);
        reply = sdscat(reply, one);
        sdsfree(one);
    }
    dropQueued(c);
    return reply;
}

static void requestArrives(struct simProcess *p, struct simChannel *c, sds bytes) {
    struct words w;
    wordsRead(&w, bytes);
    sds reply;
    if (wordIs(&w, 0, "MULTI")) {
        c->multi = true;
        reply = sdsnew("+OK\r\n");
    } else if (wordIs(&w, 0, "EXEC")) {
        reply = runQueued(p, c);
    } else if (c->multi) {
        c->queued = zrealloc(c->queued, (size_t)(c->queued_count + 1) * sizeof *c->queued);
        c->queued[c->queued_count++] = sdsdup(bytes);
        reply = sdsnew("+QUEUED\r\n");
    } else {
        reply = runOne(p, c, bytes);
    }
    wordsFree(&w);
    transmit(p->sim, c, EVENT_REPLY, reply);
}

static void replyArrives(struct simProcess *p, struct simChannel *c, sds bytes) {
    struct respReply reply;
    int64_t used = respReadReply(bytes, sdslen(bytes), &reply);
    serverAssert(used == (int64_t)sdslen(bytes));
    if (c->ch == CHANNEL_COMMAND)
        supervisorReply(&p->supervisor, c->link, &reply, wallClock(p));
    else
        supervisorMessage(&p->supervisor, c->link, &reply, wallClock(p));
    respReplyFree(&reply);
}

/* ---- Processes ---- */

static void tickLater(struct simProcess *p) {
    int64_t wait = isSentinel(p) ? 1000 / (10 + (int64_t)(chance(p->sim) % 10)) : TICK_MS;
    eventAdd(p->sim,
             (struct event){
                 .at_ms = p->sim->now_ms + wait, .kind = EVENT_TICK, .process = p->index, .life = p->life});
}

static void configLine(struct supervisor *sup, enum configPass pass, const char *line, size_t len) {
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

static void readDisk(struct simProcess *p) {
    for (int pass = PASS_SELF; pass <= PASS_REST; pass++) {
        for (const char *line = p->disk, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            configLine(&p->supervisor, (enum configPass)pass, line, (size_t)(end - line));
        }
    }
}

static void sentinelStart(struct simProcess *p) {
    struct supervisor *sup = &p->supervisor;
    supervisorInit(sup, &world, p, wallClock(p));
    sup->settings.own_port = SENTINEL_PORT;
    readDisk(p);
    supervisorBegin(sup, wallClock(p));
}

static void serverStart(struct simProcess *p) {
    struct sim *s = p->sim;
    newRunId(s, p->run_id);
    p->loading_until_ms = s->now_ms + p->loading_ms;
    p->following = -1;
    follow(p, p->disk_following);
}

static void processStart(struct simProcess *p) {
    p->alive = true;
    p->hung = false;
    p->life++;
    if (isSentinel(p))
        sentinelStart(p);
    else
        serverStart(p);
    tickLater(p);
}

static void processStop(struct simProcess *p) {
    struct sim *s = p->sim;
    p->alive = false;
    for (int i = 0; i < p->held_count; i++) sdsfree(p->held[i].bytes);
    p->held_count = 0;
    for (int i = 0; i < s->channel_count; i++)
        if (s->channels[i]->to == p->index) channelBreak(s, s->channels[i]);
    if (isSentinel(p)) supervisorDestroy(&p->supervisor);
}

static void simKill(struct sim *s, int process) {
    if (s->process[process].alive) processStop(&s->process[process]);
}
static void simRestart(struct sim *s, int process) {
    if (!s->process[process].alive) processStart(&s->process[process]);
}

static void simHang(struct sim *s, int process, bool hang) {
    struct simProcess *p = &s->process[process];
    p->hung = hang && p->alive;
    if (p->hung) return;
    for (int i = 0; i < p->held_count; i++) {
        p->held[i].at_ms = s->now_ms;
        eventAdd(s, p->held[i]);
    }
    p->held_count = 0;
}

static void simSide(struct sim *s, int process, int side) {
    s->process[process].side = side;
    for (int i = 0; i < s->channel_count; i++) { /* some of those that got stuck learn it now */
        struct simChannel *c = s->channels[i];
        bool stuck = c->dead && reach(&s->process[c->from], &s->process[c->to]);
        if (stuck && (c->from == process || c->to == process) && chance(s) % 2)
            eventAdd(s, eventAt(s, c, c->from, s->now_ms + 2 * latency(s), EVENT_CLOSED));
    }
}

static void simClock(struct sim *s, int process, int64_t off_ms) {
    s->process[process].clock_off_ms = off_ms;
}
static void simBreaks(struct sim *s, double breaks) {
    s->o.breaks = breaks;
}
static void simLoading(struct sim *s, int server, int64_t ms) {
    s->process[server].loading_ms = ms;
}
static void simReplicaOf(struct sim *s, int server, int of) {
    follow(&s->process[server], of);
}
static void simPriority(struct sim *s, int server, int priority) {
    s->process[server].priority = priority;
}
static void simNeverSyncs(struct sim *s, int server, bool never) {
    s->process[server].never_syncs = never;
}
static void simFailoverCommand(struct sim *s, int server, enum simFailover how) {
    s->process[server].failover = how;
}

/* ---- Checks ---- */

static void epochRoom(struct sim *s, uint64_t epoch) {
    if (epoch < s->epochs) return;
    uint64_t room = 2 * epoch + 64;
    s->winner = zrealloc(s->winner, room * sizeof *s->winner);
    s->place = zrealloc(s->place, room * sizeof *s->place);
    for (uint64_t i = s->epochs; i < room; i++) s->winner[i] = s->place[i] = -1;
    s->epochs = room;
}

static void noteWinner(struct simProcess *p) {
    struct sim *s = p->sim;
    const struct instance *primary = supervisorFind(&p->supervisor, SIM_NAME);
    if (primary->flags & FLAG_FORCE_FAILOVER) return;
    uint64_t epoch = primary->p.failover_epoch;
    epochRoom(s, epoch);
    if (s->winner[epoch] >= 0)
        serverPanic("epoch %llu was won by %d and %d (seed %llu)", (unsigned long long)epoch,
                    s->winner[epoch], p->index, (unsigned long long)s->o.seed);
    s->winner[epoch] = p->index;
}

static void checkVote(struct simProcess *p, const struct instance *primary) {
    struct votes *v = &p->votes;
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

static void checkPlace(struct simProcess *p, const struct instance *primary) {
    struct sim *s = p->sim;
    uint64_t epoch = primary->config_epoch;
    int place = processAt(supervisorCurrentAddress(primary)->ip);
    serverAssert(epoch >= p->config_epoch);
    p->config_epoch = epoch;
    epochRoom(s, epoch);
    if (s->place[epoch] >= 0 && s->place[epoch] != place)
        serverPanic("epoch %llu has primaries %d and %d (seed %llu)", (unsigned long long)epoch,
                    s->place[epoch], place, (unsigned long long)s->o.seed);
    s->place[epoch] = place;
}

static void checkAfter(struct simProcess *p) {
    if (!p->alive || !isSentinel(p)) return;
    const struct instance *primary = supervisorFind(&p->supervisor, SIM_NAME);
    checkVote(p, primary);
    checkPlace(p, primary);
}

/* ---- The course of things ---- */

static void hold(struct simProcess *p, struct event ev) {
    p->held = zrealloc(p->held, (size_t)(p->held_count + 1) * sizeof *p->held);
    p->held[p->held_count++] = ev;
}

static void channelEvent(struct simProcess *p, struct simChannel *c, const struct event *ev) {
    switch (ev->kind) {
    case EVENT_CONNECTED: supervisorChannelUp(&p->supervisor, c->link, c->ch, wallClock(p)); return;
    case EVENT_REQUEST:
        if (c->to_life == p->life) requestArrives(p, c, ev->bytes);
        return;
    case EVENT_REPLY: replyArrives(p, c, ev->bytes); return;
    case EVENT_CLOSED: {
        struct peerLink *link = c->link;
        enum channel ch = c->ch;
        channelFree(p->sim, c);
        supervisorChannelDown(&p->supervisor, link, ch, "Connection reset by peer", wallClock(p));
        return;
    }
    case EVENT_TICK: serverUnreachable();
    }
}

static void happen(struct sim *s, struct event ev) {
    struct simProcess *p = &s->process[ev.process];
    struct simChannel *c = ev.kind == EVENT_TICK ? NULL : channelFind(s, ev.channel);
    if (!p->alive || p->life != ev.life) {
        sdsfree(ev.bytes);
        return;
    }
    if (p->hung) {
        hold(p, ev);
        return;
    }
    if (ev.kind == EVENT_TICK) {
        if (isSentinel(p))
            supervisorTick(&p->supervisor, wallClock(p));
        else
            serverTick(p);
        tickLater(p);
    } else if (c) {
        channelEvent(p, c, &ev);
    }
    sdsfree(ev.bytes);
    checkAfter(p);
}

static void simRun(struct sim *s, int64_t ms) {
    int64_t end = s->now_ms + ms;
    while (s->event_count && s->heap[0].at_ms <= end) {
        struct event ev = eventTake(s);
        s->now_ms = ev.at_ms > s->now_ms ? ev.at_ms : s->now_ms;
        happen(s, ev);
    }
    s->now_ms = end;
}

/* ---- Life of all ---- */

static sds firstDisk(struct sim *s, int sentinel, char ids[][RUN_ID_LEN + 1]) {
    const struct simOptions *o = &s->o;
    sds disk = sdscatprintf(sdsempty(), "myid %s\n", ids[sentinel]);
    sds ip = ipOf(simServer(s, 0));
    disk = sdscatprintf(disk, "monitor " SIM_NAME " %s %d %d\n", ip, SERVER_PORT, o->quorum);
    sdsfree(ip);
    disk = sdscatprintf(disk, "down-after-milliseconds " SIM_NAME " %lld\n", (long long)o->down_after_ms);
    disk = sdscatprintf(disk, "failover-timeout " SIM_NAME " %lld\n", (long long)o->failover_timeout_ms);
    disk = sdscatprintf(disk, "parallel-syncs " SIM_NAME " %d\n", o->parallel_syncs);
    if (o->reboot_down_after_ms)
        disk = sdscatprintf(disk, "primary-reboot-down-after-period " SIM_NAME " %lld\n",
                            (long long)o->reboot_down_after_ms);
    if (o->strangers) return disk;
    for (int i = 1; i <= o->replicas; i++)
        disk =
            sdscatprintf(disk, "known-replica " SIM_NAME " 10.0.0.%d %d\n", simServer(s, i) + 1, SERVER_PORT);
    for (int i = 0; i < o->sentinels; i++) {
        if (i != sentinel)
            disk = sdscatprintf(disk, "known-sentinel " SIM_NAME " 10.0.0.%d %d %s\n", i + 1, SENTINEL_PORT,
                                ids[i]);
    }
    return disk;
}

static struct sim *simCreate(const struct simOptions *o) {
    struct sim *s = zcalloc(1, sizeof *s);
    s->o = *o;
    s->random = o->seed;
    s->count = o->sentinels + 1 + o->replicas;
    serverAssert(s->count <= SIM_PROCESSES_MAX);
    char ids[SIM_PROCESSES_MAX][RUN_ID_LEN + 1];
    for (int i = 0; i < o->sentinels; i++) newRunId(s, ids[i]);
    for (int i = s->count - 1; i >= 0; i--) { /* the servers are there first */
        struct simProcess *p = &s->process[i];
        p->sim = s;
        p->index = i;
        p->events = sdsempty();
        p->priority = REPLICA_PRIORITY;
        p->disk_following = i <= simServer(s, 0) ? -1 : simServer(s, 0);
        if (isSentinel(p)) p->disk = firstDisk(s, i, ids);
        processStart(p);
    }
    return s;
}

static void simDestroy(struct sim *s) {
    for (int i = 0; i < s->count; i++) {
        struct simProcess *p = &s->process[i];
        simKill(s, i);
        sdsfree(p->disk);
        sdsfree(p->events);
        zfree(p->held);
        zfree(p->votes.leader);
    }
    serverAssert(s->channel_count == 0);
    while (s->event_count) sdsfree(eventTake(s).bytes);
    zfree(s->heap);
    zfree(s->channels);
    zfree(s->winner);
    zfree(s->place);
    zfree(s);
}

/* ---- Looking ---- */

static int64_t simNow(const struct sim *s) {
    return s->now_ms;
}
static int simCount(const struct sim *s) {
    return s->count;
}
static int simServer(const struct sim *s, int nth) {
    return s->o.sentinels + nth;
}
static struct supervisor *simSupervisor(struct sim *s, int sentinel) {
    return s->process[sentinel].alive ? &s->process[sentinel].supervisor : NULL;
}
static struct instance *simWatched(struct sim *s, int sentinel) {
    return supervisorFind(&s->process[sentinel].supervisor, SIM_NAME);
}
static enum manualFailover simFailover(struct sim *s, int sentinel, bool coordinated) {
    struct simProcess *p = &s->process[sentinel];
    return supervisorFailover(&p->supervisor, simWatched(s, sentinel), coordinated, wallClock(p));
}
static int simPrimaryOf(struct sim *s, int sentinel) {
    return processAt(supervisorCurrentAddress(simWatched(s, sentinel))->ip);
}
static bool simIsPrimary(const struct sim *s, int server) {
    return s->process[server].alive && s->process[server].following < 0;
}

static int simEvents(struct sim *s, int sentinel, const char *name, const char *with) {
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

static const char *simEventText(struct sim *s, int sentinel) {
    return s->process[sentinel].events;
}
static void simForgetEvents(struct sim *s) {
    for (int i = 0; i < s->count; i++) sdssetlen(s->process[i].events, 0);
}

static bool sentinelAgrees(struct sim *s, int i, const struct instance *with) {
    const struct instance *primary = simWatched(s, i);
    if (primary->flags || primary->config_epoch != with->config_epoch || s->process[i].supervisor.tilt)
        return false;
    return simPrimaryOf(s, i) == processAt(with->address.ip) &&
           primary->p.sentinels.count == s->o.sentinels - 1 && primary->p.replicas.count >= s->o.replicas;
}

static bool simAgrees(struct sim *s) {
    const struct instance *first = NULL;
    for (int i = 0; i < s->o.sentinels; i++) {
        if (!s->process[i].alive) continue;
        if (!first) first = simWatched(s, i);
        if (!sentinelAgrees(s, i, first)) return false;
    }
    int primary = processAt(first->address.ip);
    for (int i = s->o.sentinels; i < s->count; i++) {
        const struct simProcess *p = &s->process[i];
        if (p->alive && (i == primary ? p->following >= 0 : p->following != primary || !inStep(p)))
            return false;
    }
    return s->process[primary].alive;
}

static void simPrint(struct sim *s) {
    for (int i = 0; i < s->count; i++) {
        struct simProcess *p = &s->process[i];
        if (!p->alive) {
            printf("---- %d is dead\n", i);
        } else if (isSentinel(p)) {
            sds text = supervisorConfigLines(&p->supervisor, inFile, NULL);
            sds flags = instanceFlagsText(simWatched(s, i));
            printf("---- %d %s %s\n%s", i, flags, p->supervisor.tilt ? "in tilt" : "", text);
            sdsfree(flags);
            sdsfree(text);
        } else {
            printf("---- %d follows %d, offset %llu%s\n", i, p->following, (unsigned long long)p->offset,
                   inStep(p) ? ", in step" : "");
        }
    }
}
