/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.c - when the RDB file is written and read; see snapshot.h.
 *
 * dbstats.dirty only grows. The changes since the last save are its distance from a mark: its value when that
 * save was taken, which is the start of a save in the background. So changes that come meanwhile are counted
 * without further work.
 *
 * A save in the background is made by a forked process, or by a thread (data/forkless/forkless.h). Both do
 * the same from copies of what was set when it started (struct background). */
#include "persist/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/loading.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_server.h"
#include "data/child.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/keyspace/hooks.h"
#include "data/lifetime/lazyfree.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "net/ae.h"
#include "persist/rdb_file.h"
#include "registry/at_exit.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/info.h"
#include "registry/product.h"
#include "registry/server_events.h"
#include "types/keys/generic.h"

#define RETRY_DELAY_S 5 /* after a failure */
#define SYNC_BYTES    (4 * 1024 * 1024)

struct savePoint {
    int64_t seconds, changes;
};

static sds filename;
static bool stop_writes_on_error, incremental_fsync;

static struct savePoint *points;
static int point_count;
static bool points_set; /* set by the configuration: the defaults no longer count */

static struct {
    uint64_t dirty_mark; /* dbstats.dirty when the last save was taken */
    int64_t at_s;        /* when the last save was taken, in Unix time */
    uint64_t saves;
    int64_t tried_s;   /* when the last save in the background was tried */
    bool failed;       /* the last save failed */
    uint64_t failures; /* since the last save that succeeded, or since CONFIG RESETSTAT */
    bool scheduled;
} last;

/* The save in the background that runs, or the last. */
static struct background {
    uint64_t dirty; /* dbstats.dirty when it was taken */
    pid_t pid;      /* 0: a thread */
    sds path;       /* absolute, as `dir` and `dbfilename` may change meanwhile */
    struct rdbSaveOptions options;
    struct rdbReplication replication; /* of the options */
    uint64_t sync_bytes;
} background;

static const char *snapshotFile(void) {
    return filename;
}

static uint64_t snapshotChanges(void) {
    serverAssert(dbstats.dirty >= last.dirty_mark);
    return dbstats.dirty - last.dirty_mark;
}

/* ---- Saving ---- */

/* Makes admission check commands only while the last save has failed. */
static void snapshotNoteOutcome(bool failed) {
    last.failed = failed;
    last.failures = failed ? last.failures + 1 : 0;
    admissionIdle(RULE_SNAPSHOT_FAILS, !failed);
}

static void snapshotNoteSaved(uint64_t dirty) {
    /* newer than the last, and not in the future */
    serverAssert(dirty >= last.dirty_mark && dirty <= dbstats.dirty);
    last.dirty_mark = dirty;
    last.at_s = time(NULL);
    snapshotNoteOutcome(false);
}

/* An append-only file may contain SAVE and BGSAVE, whose marks dbstats.dirty must not fall below. */
void snapshotResetChanges(uint64_t dirty) {
    uint64_t taken = last.dirty_mark > background.dirty ? last.dirty_mark : background.dirty;
    dbstats.dirty = dirty > taken ? dirty : taken;
}

static uint64_t snapshotSyncBytes(void) {
    return incremental_fsync ? SYNC_BYTES : 0;
}

/* Saves in this process. False: the reason has been logged. */
static bool snapshotSave(void) {
    serverAssert(childRunning() != CHILD_RDB); /* the child would replace this image by its older one */
    struct rdbSaveOptions options = rdbFileOptions();
    if (!rdbSaveFile(filename, &options, snapshotSyncBytes())) return false;
    snapshotNoteSaved(dbstats.dirty);
    return true;
}

static void snapshotRemoveOwnTemporary(void) {
    rdbRemoveTemporary(background.path, getpid());
}

/* Runs in the child, a process or a thread. */
static int snapshotRunChild(void *priv) {
    const struct background *b = priv;
    if (childIs()) childWhenOrphaned(snapshotRemoveOwnTemporary);
    return rdbSaveFile(b->path, &b->options, b->sync_bytes) ? 0 : 1;
}

/* A child that the server itself has ended has not failed. A thread removes its temporary file itself. */
static void snapshotNoteChildKilled(int sig) {
    if (background.pid) {
        serverLog(LL_WARNING, "The background save was ended by signal %d", sig);
        rdbRemoveTemporary(background.path, background.pid);
    } else {
        serverLog(LL_WARNING, "The background save was ended before it was complete");
    }
    if (sig != SIGUSR1) snapshotNoteOutcome(true);
}

static void snapshotOnChildEnd(int exit_code, int sig, void *priv) {
    bool saved = !sig && exit_code == 0;
    serverAssert(priv == &background);
    /* A process has reported it itself. */
    if (!background.pid) serverEvent(SERVER_PERSISTENCE, saved ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (sig) {
        snapshotNoteChildKilled(sig);
    } else if (saved) {
        serverLog(LL_NOTICE, "Background save complete");
        snapshotNoteSaved(background.dirty);
    } else {
        serverLog(LL_WARNING, "The background save failed");
        snapshotNoteOutcome(true);
    }
    persistenceSaved(saved);
}

/* Copies all that the child uses. */
static void snapshotPrepareBackground(const struct rdbSaveOptions *options) {
    serverAssert(childRunning() == CHILD_NONE); /* nobody uses the struct */
    background.dirty = dbstats.dirty;
    sdsfree(background.path);
    background.path = fileAbsolutePath(filename);
    background.options = *options;
    background.options.progress = childProgress;
    if (options->replication) {
        background.replication = *options->replication;
        background.options.replication = &background.replication;
    }
    background.sync_bytes = snapshotSyncBytes();
}

static bool snapshotStartThread(const char **err) {
    struct forklessPlan plan = {.kind = CHILD_RDB,
                                .rdb = &background.options,
                                .run = snapshotRunChild,
                                .done = snapshotOnChildEnd,
                                .priv = &background};
    if (!forklessStart(&plan, err)) return false;
    background.pid = 0;
    serverLog(LL_NOTICE, "Background save started in a thread of process %ld", (long)getpid());
    serverEvent(SERVER_PERSISTENCE, EVENT_RDB, NULL);
    return true;
}

static bool snapshotStartProcess(const char **err) {
    if (!childStart(CHILD_RDB, snapshotRunChild, snapshotOnChildEnd, &background, err)) return false;
    background.pid = childPid();
    serverLog(LL_NOTICE, "Background save started in process %ld", (long)background.pid);
    return true;
}

static bool snapshotStartBackground(const struct rdbSaveOptions *options, const char **err) {
    last.saves++;
    last.tried_s = time(NULL);
    snapshotPrepareBackground(options);
    if (!(forklessWanted(CHILD_RDB) ? snapshotStartThread : snapshotStartProcess)(err)) {
        serverLog(LL_WARNING, "The background save could not be started: %s", *err);
        snapshotNoteOutcome(true);
        return false;
    }
    last.scheduled = false;
    return true;
}

static bool snapshotStartPlain(void) {
    const char *err;
    struct rdbSaveOptions options = rdbFileOptions();
    return snapshotStartBackground(&options, &err);
}

/* ---- Automatic saves ---- */

static bool snapshotMayTry(int64_t now_s) {
    return !last.failed || now_s - last.tried_s > RETRY_DELAY_S;
}

static const struct savePoint *snapshotDuePoint(int64_t now_s) {
    for (int i = 0; i < point_count; i++) {
        if (snapshotChanges() >= (uint64_t)points[i].changes && now_s - last.at_s > points[i].seconds)
            return &points[i];
    }
    return NULL;
}

static void snapshotCron(void) {
    int64_t now_s = cmd_time_ms / 1000;
    if (childRunning() != CHILD_NONE || !snapshotMayTry(now_s)) return;
    const struct savePoint *due = snapshotDuePoint(now_s);
    if (due)
        serverLog(LL_NOTICE, "%lld changes within %lld seconds: a background save begins",
                  (long long)due->changes, (long long)due->seconds);
    if (due || last.scheduled) snapshotStartPlain();
}

/* A running child's image is of no use any more. */
static void snapshotBeforeFlushall(void) {
    if (childRunning() == CHILD_RDB) childKill();
}

/* An empty dataset is saved quickly. */
static void snapshotAfterFlushall(void) {
    if (point_count && !loadingActive()) snapshotSave();
}

bool snapshotOnExit(int flags) {
    serverAssert(!(flags & SHUTDOWN_SAVE && flags & SHUTDOWN_NOSAVE));
    if (childRunning() == CHILD_RDB) {
        serverLog(LL_WARNING, "The running background save is stopped because the server exits");
        childKill();
    }
    if (flags & SHUTDOWN_NOSAVE || (point_count == 0 && !(flags & SHUTDOWN_SAVE))) return true;
    serverLog(LL_NOTICE, "The server writes a last RDB file before it exits");
    if (snapshotSave()) return true;
    serverLog(LL_WARNING,
              flags & SHUTDOWN_FORCE
                  ? "The last RDB file could not be written, but FORCE was given, so the server exits"
                  : "Error trying to save the DB, can't exit.");
    return false;
}

/* ---- Loading ---- */

/* Expired keys that the loader has dropped: [database, length, bytes]. */
static sds dropped;

static void snapshotNoteDropped(void *priv, int dbid, struct str key) {
    (void)priv;
    int64_t head[] = {dbid, (int64_t)key.len};
    dropped = sdscatlen(dropped, head, sizeof head);
    dropped = sdscatstr(dropped, key);
}

/* Deletes the dropped keys on replicas that continue from here, which still have them. */
static void snapshotPropagateDropped(void) {
    const char *end = dropped + sdslen(dropped);
    int64_t head[2];
    for (const char *p = dropped; p < end; p += sizeof head + (size_t)head[1]) {
        memcpy(head, p, sizeof head);
        data_hooks.propagateDelete((int)head[0], strN(p + sizeof head, (size_t)head[1]),
                                   lazyfree_lazy_expire);
    }
}

/* A replica keeps expired keys until its primary deletes them. */
void snapshotLoadAtStart(void) {
    int64_t start_us = monotonicUs();
    sds error;
    dropped = sdsempty();
    struct rdbLoadOptions options = {.keep_expired = roleIsReplica(), .expired = snapshotNoteDropped};
    switch (rdbLoadFile(filename, &options, &error)) {
    case RDB_FILE_OK:
        persistenceLoaded(&rdb_last_load.replication, false);
        snapshotPropagateDropped();
        serverLog(LL_NOTICE, "Dataset loaded from the RDB file in %.3f seconds",
                  (double)(monotonicUs() - start_us) / 1e6);
        break;
    case RDB_FILE_MISSING: break;
    case RDB_FILE_BAD:
        serverLog(LL_WARNING, "Error reading the RDB file %s: %s", filename, error);
        serverLog(LL_WARNING, "The dataset could not be loaded, so the server exits");
        exit(1);
    }
    sdsfree(dropped);
}

enum { RELOAD_MERGE = 1, RELOAD_NO_FLUSH = 2, RELOAD_NO_SAVE = 4 };

static bool snapshotParseReloadOptions(struct client *c, int *options) {
    *options = 0;
    for (int i = 2; i < c->argc; i++) {
        if (strIs(c->argv[i], "merge"))
            *options |= RELOAD_MERGE;
        else if (strIs(c->argv[i], "noflush"))
            *options |= RELOAD_NO_FLUSH;
        else if (strIs(c->argv[i], "nosave"))
            *options |= RELOAD_NO_SAVE;
        else {
            return replyError(c, "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
        }
    }
    return true;
}

static void snapshotEmptyAll(void) {
    dbEmpty(NULL, false);
    rdbSectionsEmpty();
}

static void snapshotDebugReload(struct client *c) {
    int options;
    sds error;
    if (!snapshotParseReloadOptions(c, &options)) return;
    if (loadingActive()) { /* this client is served while another one reloads */
        loadingReply(c);
        return;
    }
    if (!(options & RELOAD_NO_SAVE) && childRunning() == CHILD_RDB) childKill();
    if (!(options & RELOAD_NO_SAVE) && !snapshotSave()) {
        replyError(c, "ERR");
        return;
    }
    if (!(options & RELOAD_NO_FLUSH)) snapshotEmptyAll();
    enum rdbFileResult result =
        rdbLoadFile(filename, &(struct rdbLoadOptions){.merge = options & RELOAD_MERGE}, &error);
    if (result != RDB_FILE_OK) {
        serverLog(LL_WARNING, "Error reading the RDB file %s: %s", filename,
                  error ? error : "it is not there");
        sdsfree(error);
        replyError(c, "ERR Error trying to load the RDB dump, check server logs.");
        return;
    }
    serverLog(LL_NOTICE, "DEBUG RELOAD has reloaded the dataset from the RDB file");
    replyOk(c);
}

/* ---- Commands ---- */

static const char err_in_progress[] = "ERR Background save already in progress";

void saveCommand(struct client *c) {
    if (childRunning() == CHILD_RDB) {
        replyError(c, err_in_progress);
        return;
    }
    last.saves++;
    if (snapshotSave())
        replyOk(c);
    else
        replyError(c, "ERR");
}

static void snapshotCancel(struct client *c) {
    if (childRunning() == CHILD_RDB) {
        serverLog(LL_NOTICE, "The running background save is stopped because BGSAVE CANCEL was called");
        childKill();
        replyStatus(c, "Background saving cancelled");
    } else if (last.scheduled) {
        serverLog(LL_NOTICE, "The scheduled background save is dropped because BGSAVE CANCEL was called");
        last.scheduled = false;
        replyStatus(c, "Scheduled background saving cancelled");
    } else {
        replyError(c, "ERR Background saving is currently not in progress or scheduled");
    }
}

/* A transaction does not fork, as not all of its commands would be in the file. */
static void snapshotSaveInBackground(struct client *c, bool schedule) {
    bool in_exec = c->flags & CLIENT_IN_EXEC;
    if (childRunning() == CHILD_RDB) {
        replyError(c, err_in_progress);
    } else if (childRunning() != CHILD_NONE || in_exec) {
        if (schedule || in_exec) {
            last.scheduled = true;
            replyStatus(c, "Background saving scheduled");
        } else {
            replyError(c, "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE "
                          "SCHEDULE in order to schedule a BGSAVE whenever possible.");
        }
    } else if (snapshotStartPlain()) {
        replyStatus(c, "Background saving started");
    } else {
        replyError(c, "ERR");
    }
}

void bgsaveCommand(struct client *c) {
    bool schedule = c->argc == 2 && strIs(c->argv[1], "schedule");
    if (c->argc == 2 && strIs(c->argv[1], "cancel"))
        snapshotCancel(c);
    else if (c->argc == 1 || schedule)
        snapshotSaveInBackground(c, schedule);
    else
        replySyntaxError(c);
}

void lastsaveCommand(struct client *c) {
    replyLongLong(c, last.at_s);
}

/* Refuses commands that write while snapshots cannot be saved. */
static enum admission snapshotCheckSaved(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!stop_writes_on_error || point_count == 0) return ADMITTED;
    if (!(commandFlags(c, r->cmd) & CMD_WRITE) && r->cmd->spec->proc != pingCommand) return ADMITTED;
    if (admission_replay_writes && admission_replay_writes(r)) return ADMITTED;
    replyErrorFmt(c,
                  "MISCONF %s is configured to save RDB snapshots, but it's currently unable to persist "
                  "to disk. Commands that may modify the data set are disabled, because this instance is "
                  "configured to report errors during writes if RDB snapshotting fails "
                  "(stop-writes-on-bgsave-error option). Please check the %s logs for details about the "
                  "RDB error.",
                  productTitle(), productTitle());
    return REFUSED;
}

/* ---- Directives ---- */

static bool snapshotValidFilename(const char *value, const char **err) {
    if (!strchr(value, '/')) return true;
    *err = "dbfilename can't be a path, just a filename";
    return false;
}

static bool snapshotParsePoints(int argc, const sds *argv, struct savePoint *dst) {
    for (int i = 0; i + 1 < argc; i += 2) {
        struct savePoint *p = &dst[i / 2];
        if (!string2ll(sdsview(argv[i]), &p->seconds) || !string2ll(sdsview(argv[i + 1]), &p->changes))
            return false;
        if (p->seconds < 1 || p->changes < 0) return false;
    }
    return argc % 2 == 0;
}

/* Each line of a configuration file adds points, and the first one replaces the defaults. */
static void snapshotAddPoints(const struct savePoint *from, int count) {
    for (int i = 0; i < count; i++) serverAssert(from[i].seconds > 0 && from[i].changes >= 0);
    bool running = server_el; /* otherwise the configuration is being read */
    if (running || !points_set || count == 0) point_count = 0;
    points_set = true;
    points = zrealloc(points, (size_t)(point_count + count) * sizeof *points);
    if (count) memcpy(points + point_count, from, (size_t)count * sizeof *points);
    point_count += count;
}

/* "3600 1 300 100" may be several words or one. */
static bool snapshotSetSave(const struct configDirective *d, int argc, const struct str *argv,
                            const char **err) {
    (void)d;
    sds text = sdsempty();
    for (int i = 0; i < argc; i++) text = sdscat(sdscatstr(text, argv[i]), " ");
    int count = 0;
    sds *words = sdssplitargs(text, sdslen(text), &count);
    struct savePoint *parsed = zmalloc((size_t)(count / 2 + 1) * sizeof *parsed);
    bool ok = words && snapshotParsePoints(count, words, parsed);
    if (ok)
        snapshotAddPoints(parsed, count / 2);
    else
        *err = "Invalid save parameters";
    zfree(parsed);
    sdsfreesplitres(words, count);
    sdsfree(text);
    return ok;
}

static sds snapshotGetSave(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < point_count; i++)
        s = sdscatprintf(s, "%s%lld %lld", i ? " " : "", (long long)points[i].seconds,
                         (long long)points[i].changes);
    return s;
}

/* ---- INFO ---- */

static const char *snapshotMethodName(bool any, bool thread) {
    return !any ? "none" : thread ? "forkless" : "fork";
}

static sds snapshotPersistenceInfo(sds s) {
    bool saving = childRunning() == CHILD_RDB;
    s = infoField(s, "rdb_changes_since_last_save:%llu", (unsigned long long)snapshotChanges());
    s = infoField(s, "rdb_bgsave_in_progress:%d", saving);
    s = infoField(s, "rdb_current_bgsave_type:%s", snapshotMethodName(saving, childIsThread()));
    s = infoField(s, "rdb_last_bgsave_type:%s",
                  snapshotMethodName(childLastSeconds(CHILD_RDB) >= 0, childLastWasThread(CHILD_RDB)));
    s = infoField(s, "rdb_last_save_time:%lld", (long long)last.at_s);
    s = infoField(s, "rdb_last_bgsave_status:%s", last.failed ? "err" : "ok");
    s = infoField(s, "rdb_last_bgsave_time_sec:%lld", (long long)childLastSeconds(CHILD_RDB));
    s = infoField(s, "rdb_current_bgsave_time_sec:%lld", saving ? (long long)childSeconds() : -1);
    s = infoField(s, "rdb_saves:%llu", (unsigned long long)last.saves);
    s = infoField(s, "rdb_saves_consecutive_failures:%llu", (unsigned long long)last.failures);
    s = infoField(s, "rdb_last_load_keys_expired:%llu", (unsigned long long)rdb_last_load.expired);
    s = infoField(s, "rdb_last_load_keys_loaded:%llu", (unsigned long long)rdb_last_load.keys);
    return infoField(s, "rdb_last_load_keys_skipped:%llu", (unsigned long long)rdb_last_load.skipped);
}

static void snapshotResetStats(void) {
    last.saves = last.failures = 0;
}

static bool snapshotHasSavePoints(void) {
    return point_count > 0;
}

static int snapshotSaveTo(const char *path) {
    struct rdbSaveOptions options = rdbFileOptions();
    return rdbSaveFile(path, &options, snapshotSyncBytes()) ? 0 : errno;
}

static int snapshotLoadFrom(const char *path) {
    sds error;
    enum rdbFileResult result = rdbLoadFile(path, &(struct rdbLoadOptions){0}, &error);
    if (result == RDB_FILE_BAD) serverLog(LL_WARNING, "Error reading the RDB file %s: %s", path, error);
    sdsfree(error);
    return result == RDB_FILE_OK ? 0 : result == RDB_FILE_MISSING ? ENOENT : EIO;
}

void snapshotInit(void) {
    persistence.rdbPath = snapshotFile;
    persistence.hasSavePoints = snapshotHasSavePoints;
    persistence.saveInBackground = snapshotStartBackground;
    persistence.saveTo = snapshotSaveTo;
    persistence.loadFrom = snapshotLoadFrom;
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("save", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG | CONFIG_MAY_STAND_ALONE,
                       snapshotSetSave, snapshotGetSave, NULL),
        CONFIG_STRING("dbfilename", NULL, CONFIG_MODIFIABLE | CONFIG_PROTECTED, &filename, "dump.rdb",
                      snapshotValidFilename, NULL),
        CONFIG_BOOL("rdbchecksum", NULL, 0, &rdb_checksum, true, NULL),
        CONFIG_BOOL("rdb-save-incremental-fsync", NULL, CONFIG_MODIFIABLE, &incremental_fsync, true, NULL),
        CONFIG_BOOL("rdb-del-sync-files", NULL, CONFIG_MODIFIABLE, &rdb_del_sync_files, false, NULL),
        CONFIG_BOOL("stop-writes-on-bgsave-error", NULL, CONFIG_MODIFIABLE, &stop_writes_on_error, true,
                    NULL),
        CONFIG_INT("rdb-key-save-delay", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &rdb_key_save_delay_us, 0,
                   INT32_MIN, INT32_MAX, NULL),
        CONFIG_INT("key-load-delay", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &rdb_key_load_delay_us, 0,
                   INT32_MIN, INT32_MAX, NULL),
    };
    static const char *const reload_help[] = {
        "RELOAD [MERGE] [NOFLUSH] [NOSAVE]",
        "    Save the data to the RDB file and load it again. NOSAVE: load the existing file.",
        "    NOFLUSH: keep the data that is there. MERGE: keys of the file replace those there.",
        NULL,
    };
    static const struct debugSubcommand reload = {"reload", 0, -1, snapshotDebugReload, reload_help};
    static const struct savePoint defaults[] = {{3600, 1}, {300, 100}, {60, 10000}};
    configRegister(directives, sizeof directives / sizeof *directives);
    snapshotAddPoints(defaults, sizeof defaults / sizeof *defaults);
    points_set = false;
    last.at_s = time(NULL);
    infoRegister("persistence", snapshotPersistenceInfo);
    configOnResetStat(snapshotResetStats);
    cronRegister(snapshotCron, 0);
    admissionFill(RULE_SNAPSHOT_FAILS, snapshotCheckSaved);
    admissionFillRead(RULE_SNAPSHOT_FAILS, admissionNoRead);
    admissionIdle(RULE_SNAPSHOT_FAILS, true);
    debugRegister(&reload);
    onFlushall(snapshotBeforeFlushall, snapshotAfterFlushall);
}
