/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h - the decisions of a Sentinel: who is down, who leads, who is promoted, what everybody is
 * told. A state machine that knows neither sockets nor clocks: time, random numbers and answers come in as
 * arguments, and what it wants done goes out through a table of functions (struct supervisorEnv). A
 * simulation runs many of them in virtual time (tests/sim/sentinel_simulation.h); sentinel_env.c runs one.
 *
 *                   ticks, channels, answers, messages             connect, send, close, save,
 *     the environment  ────────────────────────────────────▶ supervisor ─────────────────────────────▶  the environment
 *                   what users ask for                             events, scripts, log
 *
 * What is where: supervisor.c life, ticks, tilt; supervisor_links.c channels, what is sent when, answers;
 * supervisor_info.c what INFO tells, and repairs of servers that do other than they should;
 * supervisor_hello.c hello messages; supervisor_down.c down, down for all, the questions about it;
 * supervisor_vote.c votes; supervisor_failover.c the failover; supervisor_config.c lines of sentinel.conf.
 *
 * Invariants
 *  - In one epoch and for one primary a Sentinel votes once; the vote is on disk before the answer leaves.
 *  - current_epoch and the config_epoch of a primary only grow (but for what a user resets or removes).
 *  - The address of a primary changes only together with its config_epoch, to a greater one.
 *  - Nothing is called from within a function of the environment: the supervisor is not reentered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "net/resp.h"
#include "sentinel/instance.h"

#define HELLO_CHANNEL "__sentinel__:hello"

enum eventLevel { EVENT_DEBUG, EVENT_VERBOSE, EVENT_NOTICE, EVENT_WARNING };

struct supervisorEnv {
    /* Begins to connect; false: that cannot be tried, and err says why. Sending is possible at once. The
     * environment sets link->channel[ch]; when it fails later, or breaks, supervisorChannelDown tells. */
    bool (*connect)(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                    char *err, size_t errlen);
    void (*close)(void *w, struct peerLink *link, enum channel ch); /* sets link->channel[ch] to NULL */
    void (*send)(void *w, struct peerLink *link, enum channel ch, int argc, const struct str *argv);
    /* Our address as that channel has it. False: it is not connected. */
    bool (*ownIp)(void *w, struct peerLink *link, char ip[HOST_IP_LEN]);
    bool (*resolve)(void *w, const char *name, char ip[HOST_IP_LEN]); /* a name, not an IP */
    uint64_t (*random)(void *w);
    /* To the log as "<name> <payload>"; to who has subscribed, but for EVENT_DEBUG. */
    void (*event)(void *w, enum eventLevel level, const char *name, const char *payload);
    void (*log)(void *w, int level, const char *line);                            /* LL_... of base/log.h */
    void (*script)(void *w, const char *path, int argc, const char *const *argv); /* argv without the path */
    bool (*save)(void *w);  /* sentinel.conf, to disk when this returns; false: it failed, and was logged */
    void (*crash)(void *w); /* SENTINEL SIMULATE-FAILURE; does not return */
};

/* SENTINEL DEBUG, in its order; milliseconds. */
struct supervisorTimers {
    int64_t info_period, ping_period, ask_period, publish_period;
    int64_t default_down_after, default_failover_timeout;
    int64_t tilt_trigger, tilt_period;
    int64_t replica_reconf_timeout, min_link_reconnect_period;
    int64_t election_timeout;
    int64_t script_max_runtime, script_retry_delay; /* the environment's */
};

/* What sentinel.conf and SENTINEL CONFIG SET say of the Sentinel itself. */
struct supervisorSettings {
    sds announce_ip;                  /* NULL: that of the command channel */
    int announce_port;                /* 0: own_port */
    int own_port;                     /* the one that peers reach: TLS or not */
    sds sentinel_user, sentinel_pass; /* NULL: none */
    sds own_password; /* requirepass, for other Sentinels where sentinel_pass is not set; NULL: none */
    bool resolve_hostnames, announce_hostnames, deny_scripts_reconfig;
};

enum { FAIL_AFTER_ELECTION = 1, FAIL_AFTER_PROMOTION = 2 };

struct supervisor {
    const struct supervisorEnv *env;
    void *w;
    char my_id[RUN_ID_LEN + 1]; /* "": none yet */
    uint64_t current_epoch, next_instance;
    struct instances primaries;
    struct supervisorTimers timers;
    struct supervisorSettings settings;
    int64_t now_ms, previous_tick_ms; /* 0: there was none */
    bool tilt;
    int64_t tilt_ms;           /* since the newest reason for it */
    uint64_t total_tilt;       /* how often */
    unsigned simulate_failure; /* FAIL_... */
};

/* ---- Life (supervisor.c) ---- */
void supervisorInit(struct supervisor *s, const struct supervisorEnv *env, void *w, int64_t now_ms);
void supervisorBegin(struct supervisor *s,
                     int64_t now_ms); /* the configuration is read: an id, +monitor ... */
void supervisorDestroy(struct supervisor *s);
void supervisorTick(struct supervisor *s, int64_t now_ms); /* some ten times a second, not too regularly */

/* ---- What happens in the environment (supervisor_links.c, supervisor_hello.c) ---- */
void supervisorChannelUp(struct supervisor *s, struct peerLink *link, enum channel ch, int64_t now_ms);
void supervisorChannelDown(struct supervisor *s, struct peerLink *link, enum channel ch, const char *why,
                           int64_t now_ms);
/* The next answer on a command channel, in order of what has been sent there. */
void supervisorReply(struct supervisor *s, struct peerLink *link, const struct respReply *reply,
                     int64_t now_ms);
/* Anything on a pub/sub channel. */
void supervisorMessage(struct supervisor *s, struct peerLink *link, const struct respReply *message,
                       int64_t now_ms);
/* A hello that another Sentinel has sent us by PUBLISH; what makes no sense is ignored. */
void supervisorHello(struct supervisor *s, struct str hello, int64_t now_ms);

/* ---- What users and other Sentinels ask for ---- */
struct instance *supervisorFind(struct supervisor *s, const char *name); /* a primary; NULL */
/* NULL: *err says why, and nothing has changed. The caller saves, and tells then. */
struct instance *supervisorMonitor(struct supervisor *s, const char *name, const char *host, int port,
                                   int quorum, const char **err);
void supervisorMonitorEvent(struct supervisor *s, const struct instance *primary); /* +monitor */
void supervisorRemove(struct supervisor *s, struct instance *primary); /* -monitor; the caller saves */
/* Each primary whose name matches loses its replicas, Sentinels, links and failover. Returns how many. */
int supervisorResetMatching(struct supervisor *s, struct str pattern, int64_t now_ms);
enum manualFailover { MANUAL_OK, MANUAL_NO_PRIMARY, MANUAL_IN_PROGRESS, MANUAL_NO_REPLICA };
enum manualFailover supervisorFailover(struct supervisor *s, struct instance *primary, bool coordinated,
                                       int64_t now_ms);
/* SENTINEL IS-PRIMARY-DOWN-BY-ADDR; run_id NULL: no vote is asked for ("*"). */
struct downAnswer {
    bool down;
    char leader[RUN_ID_LEN + 1]; /* "": none, shown as "*" */
    uint64_t leader_epoch;
};
struct downAnswer supervisorAnswerDown(struct supervisor *s, const char *ip, int port, uint64_t epoch,
                                       const char *run_id, int64_t now_ms);
/* SENTINEL CKQUORUM. */
struct quorumCheck {
    int usable;
    bool quorum, majority; /* can they be reached? */
};
struct quorumCheck supervisorCheckQuorum(const struct instance *primary);
/* Where clients find it: during a failover from reconf_slaves on, the promoted replica. */
const struct hostAddress *supervisorCurrentAddress(const struct instance *primary);
/* After a change of down_after_ms or of credentials. */
void supervisorSpreadDownAfter(struct instance *primary);
void supervisorDropLinks(struct supervisor *s, struct instance *primary); /* to it and its replicas */
void supervisorDropSentinelLinks(struct supervisor *s);
bool supervisorSave(struct supervisor *s);

/* ---- sentinel.conf (supervisor_config.c) ---- */
/* Lines are applied in three passes: first what concerns the Sentinel itself, then `monitor`, then the rest.
 */
enum configPass { PASS_SELF, PASS_MONITOR, PASS_REST };
enum configPass supervisorConfigPass(struct str word); /* of an unknown one: PASS_REST */
/* One line without its first word (`sentinel`). NULL: it is applied; else why not. */
const char *supervisorConfigLine(struct supervisor *s, int argc, const struct str *argv);
/* What is to stand in the file, one line each without its first word, in the order of the file. A line is
 * known by its first two words (one of the Sentinel itself by its first): where `present` says that such a
 * line is in the file already, those at their default are told, too. */
sds supervisorConfigLines(const struct supervisor *s, bool (*present)(void *priv, struct str word),
                          void *priv);
