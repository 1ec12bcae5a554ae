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
struct rioWriter;
struct migrationJob {
    struct listNode node;
    struct migration m;
    char name[JOB_NAME_LEN + 1];
    char source[NODE_ID_LEN + 1], target[NODE_ID_LEN + 1];
    struct slotSet slots;
    sds ranges; /* "0-9 17-17" */
    uint64_t cow_bytes;
    uint64_t client_id;           /* the link of an import; 0: none */
    uint64_t net_in_before;       /* bytes of the link that do not count as imported */
    uint64_t net_in_counted;      /* bytes of the link when it was last looked at */
    uint64_t imported_offset;     /* propagation offset of an import when its source has stopped writing */
    struct migrationExport *link; /* export only; NULL: none */
    bool reclaims;                /* an export takes unclaimed slots back; the epoch for that is reserved */
    bool keys_to_delete;
    bool hides_slots; /* its slots are hidden from clients */
    char reason[256]; /* m.message points here when it is made of parts */
};
extern struct list migration_jobs; /* newest first */

/* Iterates over the jobs. The body may free `job`; `break` does not end the loop. */
#define forEachJob(job)                                                                                      \
    listForEach(&migration_jobs,                                                                             \
                job##_it) for (struct migrationJob *job = listEntry(job##_it, struct migrationJob, node);    \
                               job; job = NULL)

void jobStep(struct migrationJob *job, enum migrationEvent event);
void jobFail(struct migrationJob *job, const char *message); /* message: a static string */
void jobFailWith(struct migrationJob *job, const char *what, struct str detail);
struct migrationJob *jobAdd(bool export, bool auth, const char *name, const struct slotSet *slots,
                            const char *source, const char *target);

/* jobsAnyGivesSlots: slots of this node are about to be claimed by others, so its epoch must not grow.
 * jobsAnyClaimsSlots: this node is about to claim slots, so its epoch will grow. The two exclude each other.
 */
bool jobsAnyGivesSlots(void);
bool jobsAnyClaimsSlots(void);
/* Returns whether a migration may begin at this node: all modules must permit that slots move, and no slot
 * may be moving key by key. Replies an error otherwise. */
bool jobMayBegin(struct client *c);
/* Parses pairs of slots from argv[i] on, up to a word that is no number, and adds them to `slots`. They
 * must belong to one node, *shard (NULL: not known yet). Returns the index after the pairs, or -1 after
 * an error has been replied. */
int jobParseRanges(struct client *c, int i, struct slotSet *slots, struct clusterNode **shard);

struct migrationJob *jobFind(const char *name); /* NULL: not found */
void jobFree(struct migrationJob *job);
void jobLogState(const struct migrationJob *job, enum migrationState before);
sds jobDescribe(const struct migrationJob *job); /* for the log; owned by the caller */

/* Tells modules that the job has come to this step of an import, or to the
 * corresponding step of an export. */
void jobNotifyModules(const struct migrationJob *job, enum eventSlotMigrationStep import_step);

/* ---- migration_export.c ---- */
void exportStart(struct migrationJob *job); /* connects */
void exportDo(struct migrationJob *job, unsigned actions);
void exportEndOfTurn(struct migrationJob *job);
size_t exportJobMemory(const struct migrationJob *job);
uint64_t exportQueued(const struct migrationJob *job); /* bytes not sent yet */

/* ---- migration_import.c ---- */
void importNoteInput(struct migrationJob *job); /* called before time-outs are checked */
void importDo(struct migrationJob *job, unsigned actions);
void importEndOfTurn(struct migrationJob *job);
struct client *importClient(const struct migrationJob *job); /* its link; NULL: none */
void importInit(void);

/* ---- migration_track.c ---- */

/* Writes CLUSTER SYNCSLOTS ESTABLISH SOURCE id NAME job SLOTSRANGE a b ... */
void jobWriteEstablish(struct rioWriter *w, const struct migrationJob *job);
void importHide(struct migrationJob *job);
void importUnhide(struct migrationJob *job);
void importPropagateEnd(const struct migrationJob *job);
void trackBegin(const char *name, const struct slotSet *slots);
void trackEnd(const char *name, bool success, struct str message);
void trackEndOfTurn(struct migrationJob *job);
bool trackIsDecider(void); /* whether this node decides about its keys */
void trackInit(void);

/* ---- migration_info.c ---- */
extern struct migrationDebug { /* DEBUG SLOTMIGRATION */
    bool prevent_pause, prevent_failover;
} migration_debug;
extern struct migrationTraffic { /* bytes of links that have ended, and of those to targets */
    uint64_t imported, exported;
} migration_traffic;
void migrationInfoInit(void);
