/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_simulation.h - Sentinels, a primary and its replicas in virtual time, for tests: many supervisors,
 * one queue of events, one seed. One seed always gives the same run. The simulation has connections (latency,
 * breaks, refusals, partitions), processes (death, restart, standstill), clocks that are set, and servers as
 * small models: PING, INFO, SLAVEOF, FAILOVER, PUBLISH and SUBSCRIBE, and replication as one number.
 *
 * Messages on one connection keep their order, as in TCP, and are lost only together with the connection. A
 * Sentinel that restarts knows only what it saved last.
 *
 * Invariants are checked after every event:
 *  - an epoch is won by one Sentinel only (except for failovers that a user forced);
 *  - a Sentinel votes for one candidate in an epoch, also across restarts;
 *  - the epochs of votes and of configurations never decrease, also across restarts;
 *  - all Sentinels that know the configuration of an epoch know the same address. */
#pragma once

#include "sentinel/supervisor_private.h"

#define SIM_ACK_PAUSE_MS 600000 /* after which a server ends a pause of acknowledgements */
#define SIM_NAME         "it"   /* the name under which all Sentinels monitor the primary */

struct sentinelSim;
struct sentinelSimOptions {
    int sentinels, replicas, quorum, parallel_syncs;
    int64_t down_after_ms, failover_timeout_ms, reboot_down_after_ms;
    int64_t latency_ms;      /* mean, one way; each message has its own */
    int sync_replicas;       /* min-replicas-sync of all servers */
    bool without_pauses;     /* servers do not know REPLICAOF ACK PAUSE */
    double breaks;           /* share of the messages that break their connection */
    bool only_primary_known; /* Sentinels know only the primary at first; else all know each other */
    uint64_t seed;
    bool verbose; /* print events and logs to stdout */
};

/* How FAILOVER behaves at a server. UNKNOWN: INFO does not show the state of a failover either. */
enum sentinelSimFailoverMode {
    SIM_FAILOVER_WORKS,
    SIM_FAILOVER_STUCK,
    SIM_FAILOVER_REFUSED,
    SIM_FAILOVER_UNKNOWN
};

/* Processes are numbered: first the Sentinels, then the servers. The first server starts as the primary. The
 * caller destroys the simulation. */
struct sentinelSim *sentinelSimCreate(const struct sentinelSimOptions *o);
void sentinelSimDestroy(struct sentinelSim *s);
void sentinelSimRun(struct sentinelSim *s, int64_t ms); /* advances the virtual time */
int64_t sentinelSimNow(const struct sentinelSim *s);
int sentinelSimCount(const struct sentinelSim *s);           /* number of processes */
int sentinelSimServer(const struct sentinelSim *s, int nth); /* process number of the nth server */

void sentinelSimKill(struct sentinelSim *s, int process);
void sentinelSimRestart(struct sentinelSim *s, int process);
/* A process that hangs does nothing while its connections stay open, as after SIGSTOP. */
void sentinelSimHang(struct sentinelSim *s, int process, bool hang);
/* Puts a process on a side. Processes reach only those of their own side; all are on side 0 at first. */
void sentinelSimSide(struct sentinelSim *s, int process, int side);
/* Sets the difference of a process's clock from the virtual time. */
void sentinelSimSetClock(struct sentinelSim *s, int process, int64_t off_ms);
void sentinelSimSetBreaks(struct sentinelSim *s, double breaks);
/* After its next restart the server loads its data for that long. */
void sentinelSimSetLoading(struct sentinelSim *s, int server, int64_t ms);
/* SLAVEOF by a user; -1: NO ONE. */
void sentinelSimReplicaOf(struct sentinelSim *s, int server, int of);
void sentinelSimSetPriority(struct sentinelSim *s, int server, int priority);
/* From now on the server never gets in sync with a new primary. */
void sentinelSimSetNeverSyncs(struct sentinelSim *s, int server, bool never);
/* From now on the server has so many bytes less than its primary. */
void sentinelSimSetBehind(struct sentinelSim *s, int server, uint64_t bytes);
void sentinelSimSetFailoverCommand(struct sentinelSim *s, int server, enum sentinelSimFailoverMode how);

struct supervisor *sentinelSimSupervisor(struct sentinelSim *s, int sentinel); /* NULL: dead */
struct instance *sentinelSimWatched(struct sentinelSim *s, int sentinel);      /* the monitored primary */
enum manualFailover sentinelSimFailover(struct sentinelSim *s, int sentinel, bool coordinated);
/* The server that this Sentinel takes for the primary. */
int sentinelSimPrimaryOf(struct sentinelSim *s, int sentinel);
bool sentinelSimIsPrimary(const struct sentinelSim *s, int server); /* by its own role */
bool sentinelSimIsPaused(const struct sentinelSim *s, int server);  /* it acknowledges nothing */
/* Counts what clients know to be kept (sync_replicas) and that server does not have. */
uint64_t sentinelSimCountLost(const struct sentinelSim *s, int server);
/* Counts the events with that name (and, unless `with` is NULL, with `with` in the payload) that the Sentinel
 * has had. */
int sentinelSimCountEvents(struct sentinelSim *s, int sentinel, const char *name, const char *with);
/* All events of a Sentinel since the last sentinelSimForgetEvents: "<name> <payload>\n"... */
const char *sentinelSimEventText(struct sentinelSim *s, int sentinel);
void sentinelSimForgetEvents(struct sentinelSim *s);
/* Do all living processes agree: one primary that is up and has that role, one epoch, no failover in
 * progress, and every living server follows the primary? */
bool sentinelSimAgrees(struct sentinelSim *s);
void sentinelSimPrint(struct sentinelSim *s); /* prints the view of each process */
