/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_private.h - what the files of atomic migration share. */
#pragma once

#include "base/linked_list.h"
#include "base/sds.h"
#include "client/client.h"
#include "cluster/migration.h"
#include "cluster/state.h"
#include "registry/server_events.h"

#define JOB_NAME_LEN 40

struct migrationExport;
struct migrationJob {
    struct listNode node;
    struct migration m;
    char name[JOB_NAME_LEN + 1];
    char source[NODE_ID_LEN + 1], target[NODE_ID_LEN + 1];
    struct slotSet slots;
    sds ranges; /* "0-9 17-17" */
    uint64_t cow_bytes;
    uint64_t client_id;      /* of an import's link; 0: none */
    uint64_t net_in_before;  /* of the link: bytes that do not count as imported */
    uint64_t net_in_counted; /* of the link, when it was last looked at */
    uint64_t brought;        /* by an import's source, when it has stopped writing: propagated up to there */
    struct migrationExport *link; /* of an export; NULL: none */
    bool reclaims; /* an export: what was granted, and nobody has claimed yet; the epoch for that is reserved
                    */
    bool keys_to_delete;
    bool hides;       /* its slots */
    char reason[256]; /* what m.message points to, when it is made up of parts */
};
extern struct list migration_jobs; /* newest first */

void jobStep(struct migrationJob *job, enum migrationEvent event);
void jobFail(struct migrationJob *job, const char *message); /* of static life */
void jobFailWith(struct migrationJob *job, const char *what, struct str detail);
struct migrationJob *jobAdd(bool export, bool auth, const char *name, const struct slotSet *slots,
                            const char *source, const char *target);

/* Are slots of ours about to be claimed, so that our epoch must not grow? Are we about to claim some, so that
 * it will? Both at once there must not be. */
bool jobsLeave(void);
bool jobsClaim(void);
/* May a migration begin at this node? All modules have to let slots move, and nobody else may move any: who
 * moves them key by key does not see that others go at once. False: an error has been replied. */
bool jobMayBegin(struct client *c);
/* Pairs of slots from argv[i] on, up to a word that is no number, added to `slots`: all of one node, *shard
 * (NULL: not known yet). What follows them; -1: an error has been replied. */
int jobRangesParse(struct client *c, int i, struct slotSet *slots, struct clusterNode **shard);

struct migrationJob *jobNamed(const char *name); /* NULL: there is none */
void jobFree(struct migrationJob *job);
void jobLogState(const struct migrationJob *job, enum migrationState before);
sds jobText(const struct migrationJob *job); /* for the log; the caller's */

/* Tells modules that it has come to this step: that of an import; of an export the one behind it is meant. */
void jobSend(const struct migrationJob *job, enum eventSlotMigrationStep import_step);

/* ---- migration_export.c ---- */
void exportStart(struct migrationJob *job); /* connects */
void exportDo(struct migrationJob *job, unsigned actions);
void exportEndOfTurn(struct migrationJob *job);
size_t exportJobMemory(const struct migrationJob *job);
uint64_t exportQueued(const struct migrationJob *job); /* bytes not sent yet */

/* ---- migration_import.c ---- */
void importHeard(
    struct migrationJob *job); /* before the time-outs: bytes have come, perhaps of no whole command */
void importDo(struct migrationJob *job, unsigned actions);
void importEndOfTurn(struct migrationJob *job);
struct client *importClient(const struct migrationJob *job); /* its link; NULL: none */
void importInit(void);

/* ---- migration_track.c ---- */
void importHide(struct migrationJob *job);
void importShow(struct migrationJob *job);
void importReportEnd(const struct migrationJob *job);
void trackBegin(const char *name, const struct slotSet *slots);
void trackEnd(const char *name, bool success, struct str message);
void trackEndOfTurn(struct migrationJob *job);
bool trackMayChange(void); /* is this node the one who decides about its keys? */
void trackInit(void);

/* ---- migration_info.c ---- */
extern struct migrationDebug { /* DEBUG SLOTMIGRATION */
    bool prevent_pause, prevent_failover;
} migration_debug;
extern struct migrationTraffic { /* bytes, by links that have ended, and ours to targets */
    uint64_t imported, exported;
} migration_traffic;
void migrationInfoInit(void);
