/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h - the decisions of a Sentinel: which servers are down, which Sentinel leads a failover, which
 * replica is promoted, what is announced. It is a state machine that knows neither sockets nor clocks. Time,
 * random numbers and replies come in as arguments; effects go out through a table of functions (struct
 * supervisorEnv). A simulation runs many of them in virtual time (tests/sim/sentinel_simulation.h);
 * sentinel_env.c runs one.
 *
 *                   ticks, replies, messages           connect, send, close, save,
 *     the environment ────────────────────────▶ supervisor ─────────────────────▶ the environment
 *                   requests of users                  events, scripts, log
 *
 * The parts: supervisor.c creation, ticks, TILT; supervisor_links.c channels, periodic requests, replies;
 * supervisor_info.c INFO, and repairs of misconfigured replicas; supervisor_hello.c hello messages;
 * supervisor_down.c s_down, o_down, questions to other Sentinels; supervisor_vote.c votes;
 * supervisor_failover.c the failover; supervisor_config.c lines of sentinel.conf; supervisor_instances.c
 * instances.
 *
 * Invariants
 *
 *  - In one epoch and for one primary a Sentinel votes once; the vote is on disk before the answer leaves.
 *  - current_epoch and the config_epoch of a primary only grow, except when a user resets or removes.
 *  - The address of a primary changes only together with its config_epoch, to a greater one.
 *  - Functions of the environment never call the supervisor: it is not reentered. */
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
    /* Begins to connect; returns false with the reason in err if no attempt is possible. Requests may be sent
     * at once. The environment sets link->channel[ch]; a later failure is reported by
     * supervisorOnChannelDown. */
    bool (*connect)(void *ctx, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                    char *err, size_t errlen);
    void (*close)(void *ctx, struct peerLink *link, enum channel ch); /* sets link->channel[ch] to NULL */
    void (*send)(void *ctx, struct peerLink *link, enum channel ch, int argc, const struct str *argv);
    /* Gets this Sentinel's address on that channel. Returns false if it is not connected. */
    bool (*ownIp)(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]);
    bool (*resolve)(void *ctx, const char *name, char ip[HOST_IP_LEN]); /* name: not an IP */
    uint64_t (*random)(void *ctx);
    /* Logs "<name> <payload>" and publishes it; EVENT_DEBUG is not published. */
    void (*event)(void *ctx, enum eventLevel level, const char *name, const char *payload);
    void (*log)(void *ctx, int level, const char *line); /* level: LL_... */
    /* argv: without the path. */
    void (*script)(void *ctx, const char *path, int argc, const char *const *argv);
    bool (*save)(void *ctx);  /* sentinel.conf is on disk when it returns; false: failed, and logged */
    void (*crash)(void *ctx); /* SENTINEL SIMULATE-FAILURE; does not return */
};

/* Milliseconds, in the order of SENTINEL DEBUG. */
struct supervisorTimers {
    int64_t info_period, ping_period, ask_period, publish_period;
    int64_t default_down_after, default_failover_timeout;
    int64_t tilt_trigger, tilt_period;
    int64_t replica_reconf_timeout, min_link_reconnect_period;
    int64_t election_timeout;
    int64_t script_max_runtime, script_retry_delay; /* used by the environment */
};

/* Settings of the Sentinel itself: sentinel.conf and SENTINEL CONFIG SET. */
struct supervisorSettings {
    sds announce_ip;                  /* NULL: that of the command channel */
    int announce_port;                /* 0: own_port */
    int own_port;                     /* the port for peers: TLS or not */
    sds sentinel_user, sentinel_pass; /* NULL: none */
    sds own_password; /* requirepass, sent to other Sentinels if sentinel_pass is not set; NULL: none */
    bool resolve_hostnames, announce_hostnames, deny_scripts_reconfig;
};

enum { FAIL_AFTER_ELECTION = 1, FAIL_AFTER_PROMOTION = 2 };

struct supervisor {
    const struct supervisorEnv *env;
    void *ctx;
    char my_id[RUN_ID_LEN + 1]; /* "": none yet */
    uint64_t current_epoch, next_instance;
    struct instances primaries;
    struct supervisorTimers timers;
    struct supervisorSettings settings;
    int64_t now_ms, previous_tick_ms; /* 0: no tick yet */
    bool tilt;
    int64_t tilt_ms;           /* last reason for TILT */
    uint64_t total_tilt;       /* how often TILT began */
    unsigned simulate_failure; /* FAIL_... */
};

/* ---- Creation and ticks (supervisor.c) ---- */
void supervisorInit(struct supervisor *s, const struct supervisorEnv *env, void *ctx, int64_t now_ms);
void supervisorStart(struct supervisor *s, int64_t now_ms); /* makes an id, sends +monitor */
void supervisorDestroy(struct supervisor *s);
void supervisorTick(struct supervisor *s, int64_t now_ms); /* about ten times a second, not too regularly */

/* ---- Events (supervisor_links.c, supervisor_hello.c) ---- */
void supervisorOnChannelUp(struct supervisor *s, struct peerLink *link, enum channel ch, int64_t now_ms);
void supervisorOnChannelDown(struct supervisor *s, struct peerLink *link, enum channel ch, const char *why,
                             int64_t now_ms);
/* Processes the next reply on a command channel; replies come in the order of the requests. */
void supervisorProcessReply(struct supervisor *s, struct peerLink *link, const struct respReply *reply,
                            int64_t now_ms);
/* Processes any message on a pub/sub channel. */
void supervisorProcessMessage(struct supervisor *s, struct peerLink *link, const struct respReply *message,
                              int64_t now_ms);
/* Processes a hello that another Sentinel has sent by PUBLISH; an invalid one is ignored. */
void supervisorProcessHello(struct supervisor *s, struct str hello, int64_t now_ms);

/* ---- Requests of users and other Sentinels ---- */
struct instance *supervisorFindPrimary(struct supervisor *s, const char *name); /* NULL: not found */
/* Adds a primary. Returns NULL with the reason in *err, and changes nothing, if that is not possible. The
 * caller saves, and then calls supervisorMonitorEvent. */
struct instance *supervisorMonitor(struct supervisor *s, const char *name, const char *host, int port,
                                   int quorum, const char **err);
void supervisorMonitorEvent(struct supervisor *s, const struct instance *primary); /* sends +monitor */
void supervisorRemove(struct supervisor *s, struct instance *primary); /* sends -monitor; the caller saves */
/* Removes replicas, Sentinels, links and failovers of all primaries whose names
 * match. Returns how many match. */
int supervisorResetMatching(struct supervisor *s, struct str pattern, int64_t now_ms);
enum manualFailover { MANUAL_OK, MANUAL_NO_PRIMARY, MANUAL_IN_PROGRESS, MANUAL_NO_REPLICA };
enum manualFailover supervisorFailover(struct supervisor *s, struct instance *primary, bool coordinated,
                                       int64_t now_ms);
/* The answer to SENTINEL IS-PRIMARY-DOWN-BY-ADDR; run_id NULL ("*"): no vote is requested. */
struct downAnswer {
    bool down;
    char leader[RUN_ID_LEN + 1]; /* "": none, shown as "*" */
    uint64_t leader_epoch;
};
struct downAnswer supervisorAnswerDown(struct supervisor *s, const char *ip, int port, uint64_t epoch,
                                       const char *run_id, int64_t now_ms);
/* The answer to SENTINEL CKQUORUM. */
struct quorumCheck {
    int usable;
    bool quorum, majority; /* whether they can be reached */
};
struct quorumCheck supervisorCheckQuorum(const struct instance *primary);
/* Returns the address that clients get: from reconf_slaves on, that of the promoted replica. */
const struct hostAddress *supervisorCurrentAddress(const struct instance *primary);
/* Copies a new down_after_ms to replicas and Sentinels. */
void supervisorSpreadDownAfter(struct instance *primary);
/* Close links after a change of credentials: to the primary and its replicas, or to all Sentinels. */
void supervisorDropLinks(struct supervisor *s, struct instance *primary);
void supervisorDropSentinelLinks(struct supervisor *s);
bool supervisorSave(struct supervisor *s);

/* ---- sentinel.conf (supervisor_config.c) ---- */
/* Lines are applied in three passes: settings of the Sentinel itself, then `monitor`, then the rest. */
enum configPass { PASS_SELF, PASS_MONITOR, PASS_REST };
enum configPass supervisorConfigPass(struct str word); /* an unknown word: PASS_REST */
/* Applies one line without its first word (`sentinel`). Returns NULL, or why the line is not valid. */
const char *supervisorConfigLine(struct supervisor *s, int argc, const struct str *argv);
/* Returns the lines for the file without their first word, in the order of the file. A line is identified by
 * its first two words (a setting of the Sentinel itself by the first). A setting with its default is included
 * only if `present` says that the file has such a line already. */
sds supervisorConfigLines(const struct supervisor *s, bool (*present)(void *priv, struct str word),
                          void *priv);
