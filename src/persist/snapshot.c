/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.c - when the RDB file is written and read; see snapshot.h.
 *
 * dbstats.dirty only grows. The changes since the last save are its distance from a mark: its value when that
 * save was taken, which is the fork for a save in the background. So changes that come while the child writes
 * are counted without further work. */
#include "persist/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/loading.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_server.h"
#include "data/child.h"
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
#include "types/keys/generic.h"

#define RETRY_DELAY_S 5 /* after a failure */

struct savePoint {
    int64_t seconds, changes;
};

static sds filename;
static bool stop_writes_on_error;

/* Without forks nothing is saved yet: every save uses a fork, whatever the directives say. */
enum saveMethod { SAVE_FORK, SAVE_FORKLESS };
static int default_method;
static bool forkless_infrastructure;

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

static struct {
    uint64_t dirty;
    pid_t pid;
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

/* Saves in this process. False: the reason has been logged. */
static bool snapshotSave(void) {
    serverAssert(childRunning() != CHILD_RDB); /* the child would replace this image by its older one */
    struct rdbSaveOptions options = rdbFileOptions();
    if (!rdbSaveFile(filename, &options)) return false;
    snapshotNoteSaved(dbstats.dirty);
    return true;
}

static void snapshotRemoveOwnTemporary(void) {
    rdbRemoveTemporary(filename, getpid());
}

static int snapshotRunChild(void *priv) {
    struct rdbSaveOptions options = *(const struct rdbSaveOptions *)priv;
    options.progress = childProgress;
    childWhenOrphaned(snapshotRemoveOwnTemporary);
    return rdbSaveFile(filename, &options) ? 0 : 1;
}

/* A child that the server itself has ended has not failed. */
static void snapshotOnChildEnd(int exit_code, int sig, void *priv) {
    (void)priv;
    serverAssert(background.pid > 0);
    if (sig) {
        serverLog(LL_WARNING, "The background save was ended by signal %d", sig);
        rdbRemoveTemporary(filename, background.pid);
        if (sig != SIGUSR1) snapshotNoteOutcome(true);
    } else if (exit_code != 0) {
        serverLog(LL_WARNING, "The background save failed");
        snapshotNoteOutcome(true);
    } else {
        serverLog(LL_NOTICE, "Background save complete");
        snapshotNoteSaved(background.dirty);
    }
    persistenceSaved(!sig && exit_code == 0);
}

static bool snapshotStartBackground(const struct rdbSaveOptions *options, const char **err) {
    last.saves++;
    last.tried_s = time(NULL);
    background.dirty = dbstats.dirty;
    if (!childStart(CHILD_RDB, snapshotRunChild, snapshotOnChildEnd, (void *)options, err)) {
        serverLog(LL_WARNING, "The background save could not start its process: %s", *err);
        snapshotNoteOutcome(true);
        return false;
    }
    last.scheduled = false;
    background.pid = childPid();
    serverLog(LL_NOTICE, "Background save started in process %ld", (long)background.pid);
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

/* At FLUSHALL a running child's image is of no use any more, and an empty dataset is saved quickly. */
static void snapshotOnFlushall(void) {
    if (childRunning() == CHILD_RDB) childKill();
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

static bool snapshotApplyMethod(const char **err) {
    *err = "forkless requires forkless-infrastructure-enabled, which can only be set at the start";
    return default_method == SAVE_FORK || forkless_infrastructure;
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

static sds snapshotPersistenceInfo(sds s) {
    bool saving = childRunning() == CHILD_RDB;
    s = infoField(s, "rdb_changes_since_last_save:%llu", (unsigned long long)snapshotChanges());
    s = infoField(s, "rdb_bgsave_in_progress:%d", saving);
    s = infoField(s, "rdb_current_bgsave_type:%s", saving ? "fork" : "none");
    s = infoField(s, "rdb_last_bgsave_type:%s", childLastSeconds(CHILD_RDB) < 0 ? "none" : "fork");
    s = infoField(s, "rdb_last_save_time:%lld", (long long)last.at_s);
    s = infoField(s, "rdb_last_bgsave_status:%s", last.failed ? "err" : "ok");
    s = infoField(s, "rdb_last_bgsave_time_sec:%lld", (long long)childLastSeconds(CHILD_RDB));
    s = infoField(s, "rdb_current_bgsave_time_sec:%lld", saving ? (long long)childSeconds() : -1);
    s = infoField(s, "rdb_saves:%llu", (unsigned long long)last.saves);
    s = infoField(s, "rdb_saves_consecutive_failures:%llu", (unsigned long long)last.failures);
    s = infoField(s, "rdb_last_load_keys_expired:%llu", (unsigned long long)rdb_last_load.expired);
    s = infoField(s, "rdb_last_load_keys_loaded:%llu", (unsigned long long)rdb_last_load.keys);
    s = infoField(s, "rdb_last_load_keys_skipped:%llu", (unsigned long long)rdb_last_load.skipped);
    return infoField(s, "forkless_estimated_seconds_remaining:-1");
}

/* Shows that no forkless save runs, as none ever does. */
static sds snapshotDebugInfo(sds s) {
    s = infoField(s, "forkless_current_item_ms:-1");
    s = infoField(s, "forkless_current_queue_length:0");
    s = infoField(s, "forkless_queue_length_target:0");
    s = infoField(s, "forkless_dbentries_queued:0");
    return infoField(s, "forkless_dbentries_processed:0");
}

static void snapshotResetStats(void) {
    last.saves = last.failures = 0;
}

static bool snapshotHasSavePoints(void) {
    return point_count > 0;
}

static int snapshotSaveTo(const char *path) {
    struct rdbSaveOptions options = rdbFileOptions();
    return rdbSaveFile(path, &options) ? 0 : errno;
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
    static const struct configEnum method_names[] = {
        {"fork", SAVE_FORK}, {"forkless", SAVE_FORKLESS}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("save", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG | CONFIG_MAY_STAND_ALONE,
                       snapshotSetSave, snapshotGetSave, NULL),
        CONFIG_STRING("dbfilename", NULL, CONFIG_MODIFIABLE | CONFIG_PROTECTED, &filename, "dump.rdb",
                      snapshotValidFilename, NULL),
        CONFIG_ENUM("bgsave-default-method", NULL, CONFIG_MODIFIABLE, &default_method, SAVE_FORK,
                    method_names, snapshotApplyMethod),
        CONFIG_BOOL("forkless-infrastructure-enabled", NULL, 0, &forkless_infrastructure, false, NULL),
        CONFIG_BOOL("rdbchecksum", NULL, 0, &rdb_checksum, true, NULL),
        CONFIG_BOOL("rdb-save-incremental-fsync", NULL, CONFIG_MODIFIABLE, &rdb_incremental_fsync, true,
                    NULL),
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
    infoRegister("debug", snapshotDebugInfo);
    configOnResetStat(snapshotResetStats);
    cronRegister(snapshotCron, 0);
    admissionFill(RULE_SNAPSHOT_FAILS, snapshotCheckSaved);
    admissionIdle(RULE_SNAPSHOT_FAILS, true);
    debugRegister(&reload);
    onFlushall(snapshotOnFlushall);
}
