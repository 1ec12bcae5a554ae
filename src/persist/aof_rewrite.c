/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_rewrite.c - replaces the append-only file by a shorter one with the same effect. Part of aof_private.h.
 *
 *     before          base.1  incr.1
 *     at the start    base.1  incr.1  incr.2    incr.2 is new and written to from now on; the child
 *                                               or the thread writes temp-rewriteaof-bg-*.aof
 *     at the end      base.2          incr.2    one manifest puts base.2 into use; base.1 and incr.1 become
 *                                               history and are deleted
 *
 * A rewrite that fails changes nothing except that there is one more increment. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/propagate.h"
#include "data/child.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb_dataset.h"
#include "data/rdb/rewrite.h"
#include "data/type.h"
#include "persist/aof_private.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/latency.h"
#include "registry/server_events.h"

#define SYNC_BYTES        (4 * 1024 * 1024)
#define CRON_MS           100
#define FAILURES_FREE     3 /* consecutive failures before automatic rewrites are delayed */
#define DELAY_MAX_MINUTES 60
#define PROGRESS_KEYS     1024

static int64_t auto_percentage, auto_min_size;

static int64_t started_s, last_s = -1;
static bool last_failed;
static uint64_t rewrites, consecutive_failures;
static int64_t wait_minutes, wait_until_s;

/* How a base is written. The child reads it, so it holds copies of what CONFIG SET may change. */
struct aofBasePlan {
    sds folder;                    /* absolute */
    bool rdb;                      /* the form: RDB, or commands */
    struct rdbSaveOptions options; /* of RDB; progress: of both forms */
    uint64_t sync_bytes;
};

/* The running rewrite, or the last. */
static struct aofRewrite {
    struct aofBasePlan plan;
    bool thread;            /* the child is a thread */
    pid_t pid;              /* in the names of its files: the child's, or for a thread the server's */
    int64_t first_kept_seq; /* the increment with which it began */
} rewrite;

/* ---- The base, in a child ---- */

static void aofRewriteWriteTimestamp(struct rioWriter *w) {
    if (!aof_timestamps) return;
    sds line = sdscatprintf(sdsempty(), AOF_TIMESTAMP, (long long)time(NULL));
    rioWriteStr(w, sdsview(line));
    sdsfree(line);
}

/* Writes what comes before the keys. */
static void aofRewriteWriteHead(struct rioWriter *w) {
    int count;
    aofRewriteWriteTimestamp(w);
    const struct rdbSection *const *sections = rdbSections(&count);
    for (int i = 0; i < count; i++) {
        if (sections[i]->rewrite) sections[i]->rewrite(w);
    }
}

static void aofRewriteWriteKeys(struct rioWriter *w, void (*progress)(uint64_t keys)) {
    uint64_t keys = 0;
    for (int i = 0; i < dbCount() && !w->error; i++) {
        struct db *db = dbGet(i);
        if (!keyspaceSize(&db->keyspace)) continue;
        rewriteSelectDb(w, i);
        struct keyspaceIterator it;
        keyspaceIteratorInit(&it, &db->keyspace, SLOTS_ALL);
        for (struct object *o; !w->error && (o = keyspaceIteratorNext(&it));) {
            rewriteKey(w, o);
            if (++keys % PROGRESS_KEYS == 0 && progress) progress(keys);
        }
        keyspaceIteratorStop(&it);
    }
    if (progress) progress(keys);
}

static bool aofRewriteWriteCommands(struct rioWriter *w, void (*progress)(uint64_t keys)) {
    if (childInThread()) {
        if (!forklessWriteAll(w, progress)) return false;
    } else {
        aofRewriteWriteHead(w);
        aofRewriteWriteKeys(w, progress);
    }
    return rioFlush(w);
}

static const char *aofRewriteFileName(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct aofBasePlan aofRewriteMakePlan(void (*progress)(uint64_t keys)) {
    struct aofBasePlan plan = {.folder = fileAbsolutePath(aof_dir),
                               .rdb = aof_use_rdb_preamble,
                               .options = rdbFileOptions(),
                               .sync_bytes = aof_rewrite_incremental_fsync ? SYNC_BYTES : 0};
    plan.options.aof_base = true;
    plan.options.progress = progress;
    return plan;
}

/* Writes a base to this open file and closes it. Returns 0 or an errno. */
static int aofRewriteWriteFile(int fd, const struct aofBasePlan *plan) {
    struct rioFile file = {.fd = fd, .sync_bytes = plan->sync_bytes};
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    bool ok =
        plan->rdb ? rdbSaveStream(&w, &plan->options) : aofRewriteWriteCommands(&w, plan->options.progress);
    int code = w.error;
    serverAssert(ok == !code); /* a failure has a reason */
    rioWriterFree(&w);
    if (ok && fsync(fd) != 0) code = errno;
    if (close(fd) != 0 && !code) code = errno;
    return code;
}

/* Writes a base under another name, which it gets when it is complete. False: logged. */
static bool aofRewriteWriteBase(const char *path, const struct aofBasePlan *plan) {
    sds temp =
        sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "rewriteaof-%d.aof", plan->folder, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        serverLog(LL_WARNING, "Opening the temporary file of the AOF rewrite failed: %s", strerror(errno));
        sdsfree(temp);
        return false;
    }
    int code = aofRewriteWriteFile(fd, plan);
    if (!code && rename(temp, path) != 0) code = errno;
    if (code) {
        if (!childIsCancelled())
            serverLog(LL_WARNING, "Writing the new AOF base file failed: %s", rdbSaveErrorText(code));
        unlink(temp);
    } else if (!fileSyncFolder(plan->folder)) {
        code = errno;
        serverLog(LL_WARNING, "fsync of the append-only directory %s failed: %s", plan->folder,
                  strerror(code));
    }
    sdsfree(temp);
    return !code;
}

bool aofRewriteFile(const char *path) {
    serverAssert(*path);
    struct aofBasePlan plan = aofRewriteMakePlan(NULL);
    bool ok = aofRewriteWriteBase(path, &plan);
    sdsfree(plan.folder);
    return ok;
}

static sds aofRewriteChildFile(const struct aofRewrite *r, pid_t pid) {
    return sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "rewriteaof-bg-%d.aof", r->plan.folder, (int)pid);
}

/* Returns whether this is temp-rewriteaof-[bg-]<pid>.aof, or a file that would have replaced the
 * manifest or become an increment. */
static bool aofRewriteIsTemporary(const char *name) {
    size_t prefix = strlen(AOF_TEMP_PREFIX), own = strlen(aof_filename);
    if (strncmp(name, AOF_TEMP_PREFIX, prefix)) return false;
    name += prefix;
    if (!strncmp(name, aof_filename, own)) {
        return !strcmp(name + own, AOF_MANIFEST_SUFFIX) || !strcmp(name + own, ".incr");
    }
    if (strncmp(name, "rewriteaof-", 11)) return false;
    name += 11;
    if (!strncmp(name, "bg-", 3)) name += 3;
    size_t digits = strspn(name, "0123456789");
    return digits && !strcmp(name + digits, ".aof");
}

void aofDeleteTemporaryFiles(void) {
    DIR *dir = opendir(aof_dir);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!aofRewriteIsTemporary(entry->d_name)) continue;
        sds path = aofPath(aof_dir, entry->d_name);
        if (unlink(path) == 0)
            serverLog(LL_NOTICE, "Removing the unfinished file %s that was left behind", path);
        sdsfree(path);
    }
    closedir(dir);
}

/* Modules are told on the main thread, if the child is a thread. */
static int aofRewriteChildRun(void *priv) {
    const struct aofRewrite *r = priv;
    sds path = aofRewriteChildFile(r, getpid());
    bool report = !childInThread();
    if (report) serverEvent(SERVER_PERSISTENCE, EVENT_AOF, NULL);
    bool ok = aofRewriteWriteBase(path, &r->plan);
    if (report) serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (ok)
        serverLog(LL_NOTICE, "The AOF rewrite has written its temporary base file %s",
                  aofRewriteFileName(path));
    sdsfree(path);
    return ok ? 0 : 1;
}

/* ---- The end of a rewrite, in the parent ---- */

static void aofRewriteDeletePath(void *arg) {
    sds path = arg;
    if (unlink(path) != 0 && errno != ENOENT) {
        serverLog(LL_WARNING, "Removing the history file %s failed: %s", path, strerror(errno));
    }
    sdsfree(path);
}

/* Not while a loss of power could bring back a manifest that names these files. */
void aofDeleteHistory(void) {
    bool any = false;
    if (!aofSyncManifest()) return;
    for (size_t i = 0; i < aof.manifest.count; i++) {
        if (aof.manifest.files[i].type != 'h') continue;
        any = true;
        serverLog(LL_NOTICE, "The replaced AOF file %s is deleted in the background",
                  aof.manifest.files[i].name);
        bioSubmit(BIO_CLOSE_FILE, aofRewriteDeletePath, aofPath(aof_dir, aof.manifest.files[i].name));
    }
    if (!any) return;
    aofManifestDropHistory(&aof.manifest);
    aofWriteManifest(&aof.manifest);
}

static void aofRewriteNoteOutcome(bool failed) {
    last_failed = failed;
    consecutive_failures = failed ? consecutive_failures + 1 : 0;
    if (consecutive_failures < FAILURES_FREE) {
        wait_minutes = 0;
        wait_until_s = 0;
        return;
    }
    wait_minutes = wait_minutes ? wait_minutes * 2 : 1;
    if (wait_minutes > DELAY_MAX_MINUTES) wait_minutes = DELAY_MAX_MINUTES;
    serverAssert(wait_minutes > 0);
    wait_until_s = time(NULL) + wait_minutes * 60;
    serverLog(LL_WARNING,
              "Background AOF rewrite has repeatedly failed and triggered the limit, will retry in "
              "%lld minutes",
              (long long)wait_minutes);
}

static uint64_t aofRewriteFileSize(const char *name) {
    sds path = aofPath(aof_dir, name);
    struct stat st;
    int64_t started_us = latencyTimerStart();
    uint64_t size = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    latencyTimerEnd("aof-fstat", started_us);
    sdsfree(path);
    return size;
}

/* Makes the child's file the base, and what it replaces history. */
static bool aofRewriteInstall(void) {
    serverAssert(aof.state == AOF_OFF || aof.fd >= 0);
    /* Switching on or off meanwhile would have started another child, or killed this one. */
    serverAssert((aof.state == AOF_ON) == (rewrite.first_kept_seq < INT64_MAX));
    struct aofManifest now = aofManifestCopy(&aof.manifest);
    int64_t seq = aofManifestNextSeq(&now, 'b');
    sds base = aofFileName(seq, 'b', rewrite.plan.rdb);
    sds from = aofRewriteChildFile(&rewrite, rewrite.pid), to = aofPath(aof_dir, base);
    sds incr_from = NULL, incr_to = NULL;
    aofManifestRetire(&now, aof.state == AOF_WAITING ? INT64_MAX : rewrite.first_kept_seq);
    if (aof.state == AOF_WAITING) {
        int64_t incr_seq = aofManifestNextSeq(&now, 'i');
        sds incr = aofFileName(incr_seq, 'i', false);
        incr_from = aofTempIncrement();
        incr_to = aofPath(aof_dir, incr);
        aofManifestAdd(&now, incr, incr_seq, 'i');
    }
    int64_t started_us = latencyTimerStart();
    bool ok = rename(from, to) == 0;
    if (!ok) {
        serverLog(LL_WARNING, "Renaming the temporary AOF base file %s to %s failed: %s", from, to,
                  strerror(errno));
    } else if (incr_from && rename(incr_from, incr_to) != 0) {
        serverLog(LL_WARNING, "Renaming the temporary incremental AOF file %s to %s failed: %s", incr_from,
                  incr_to, strerror(errno));
        ok = false;
    }
    latencyTimerEnd("aof-rename", started_us);
    uint64_t base_size = aofRewriteFileSize(base);
    aofManifestAdd(&now, base, seq, 'b');
    if (ok && !aofWriteManifest(&now)) {
        ok = false;
        if (incr_from) rename(incr_to, incr_from); /* the next rewrite expects it there */
    }
    if (ok) {
        serverLog(LL_NOTICE, "The temporary AOF base file %s is now %s", aofRewriteFileName(from), base);
        if (incr_from)
            serverLog(LL_NOTICE, "The temporary incremental AOF file %s is now %s",
                      aofRewriteFileName(incr_from), aofRewriteFileName(incr_to));
        serverAssert(aofManifestBase(&now) && (aof.state == AOF_OFF || aofManifestLast(&now)));
        aofManifestFree(&aof.manifest);
        aof.manifest = now;
        aof.size = base_size;
        for (size_t i = 0; i < now.count; i++) {
            if (now.files[i].type == 'i') aof.size += aofRewriteFileSize(now.files[i].name);
        }
        aof.base_size = aof.size;
    } else {
        unlink(to);
        aofManifestFree(&now);
    }
    sdsfree(from);
    sdsfree(to);
    sdsfree(incr_from);
    sdsfree(incr_to);
    return ok;
}

/* The child has written a base. Returns whether it is in use. */
static bool aofRewriteComplete(void) {
    int64_t begin = monotonicUs();
    serverLog(LL_NOTICE, "The AOF rewrite has been written without an error");
    bool ok = aofRewriteInstall();
    if (ok) {
        serverLog(LL_NOTICE, "AOF rewrite complete: the new files are in use");
        if (aof.state == AOF_WAITING) aof.state = AOF_ON;
        aofDeleteHistory();
    }
    serverLog(LL_VERBOSE, "Taking over the rewritten AOF took %lld us", (long long)(monotonicUs() - begin));
    aofRewriteNoteOutcome(!ok);
    return ok;
}

/* The server itself ends its children with SIGUSR1, which is no error. */
static void aofRewriteNoteChildKilled(int signal) {
    if (rewrite.thread)
        serverLog(LL_WARNING, "The AOF rewrite was ended before it was complete");
    else
        serverLog(LL_WARNING, "The AOF rewrite was ended by signal %d", signal);
    if (signal != SIGUSR1) aofRewriteNoteOutcome(true);
}

static void aofRewriteOnChildEnd(int exit_code, int signal, void *priv) {
    serverAssert(priv == &rewrite && started_s);
    bool written = !signal && exit_code == 0, ok = false;
    last_s = time(NULL) - started_s;
    started_s = 0;
    if (rewrite.thread) serverEvent(SERVER_PERSISTENCE, written ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (written) {
        ok = aofRewriteComplete();
    } else if (signal) {
        aofRewriteNoteChildKilled(signal);
    } else {
        serverLog(LL_WARNING, "The AOF rewrite failed");
        aofRewriteNoteOutcome(true);
    }
    if (!ok) {
        sds path = aofRewriteChildFile(&rewrite, rewrite.pid);
        unlink(path);
        sdsfree(path);
        /* It is still not on: the temporary increment has no base. */
        if (aof.state == AOF_WAITING) aof.rewrite_scheduled = true;
    }
    aofAssertState();
}

/* ---- The start of a rewrite ---- */

static bool aofRewriteOpenIncrement(void) {
    if (aof.state == AOF_OFF) return true; /* BGREWRITEAOF with appendonly no only writes a base */
    int fd;
    if (aof.state == AOF_WAITING) {
        sds path = aofTempIncrement();
        fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            serverLog(LL_WARNING, "Opening the append-only file %s for writing failed: %s", path,
                      strerror(errno));
        sdsfree(path);
        if (fd < 0) return false;
        if (aof.fd < 0) aofSetSink(true);
        sdssetlen(aof.buf, 0);
    } else {
        aofFlush(true);
        if (sdslen(aof.buf)) return false; /* the disk is full, so there is no rewrite now */
        /* Only the last increment may be incomplete after a loss of power. */
        if (!aofSyncIncrement()) return false;
        struct aofManifest now = aofManifestCopy(&aof.manifest);
        fd = aofOpenIncrement(&now);
        if (fd < 0 || !aofWriteManifest(&now)) {
            if (fd >= 0) close(fd);
            aofManifestFree(&now);
            return false;
        }
        aofManifestFree(&aof.manifest);
        aof.manifest = now;
        rewrite.first_kept_seq = aofManifestLast(&aof.manifest)->seq;
    }
    aofUseIncrement(fd, 0);
    serverAssert(aof.incr_size == 0);
    return true;
}

static bool aofRewriteStartThread(const char **err) {
    struct forklessPlan plan = {.kind = CHILD_AOF,
                                .rdb = rewrite.plan.rdb ? &rewrite.plan.options : NULL,
                                .head = aofRewriteWriteHead,
                                .run = aofRewriteChildRun,
                                .done = aofRewriteOnChildEnd,
                                .priv = &rewrite};
    rewrite.pid = getpid();
    rewrite.thread = true;
    if (!forklessStart(&plan, err)) return false;
    serverLog(LL_NOTICE, "AOF rewrite started in a thread of process %ld", (long)getpid());
    serverEvent(SERVER_PERSISTENCE, EVENT_AOF, NULL);
    return true;
}

static bool aofRewriteStartProcess(const char **err) {
    if (!childStart(CHILD_AOF, aofRewriteChildRun, aofRewriteOnChildEnd, &rewrite, err)) return false;
    rewrite.pid = childPid();
    rewrite.thread = false;
    serverLog(LL_NOTICE, "AOF rewrite started in process %ld", (long)childPid());
    return true;
}

bool aofRewriteStart(const char **err) {
    serverAssert(aof.state != AOF_ON || aof.fd >= 0);
    if (childRunning() != CHILD_NONE) {
        *err = "another child process is active";
        return false;
    }
    /* until a rewrite has started, as there is no file without one */
    aof.rewrite_scheduled = aof.state == AOF_WAITING;
    rewrites++;
    rewrite.first_kept_seq = INT64_MAX;
    if (!aofMakeDir() || !aofRewriteOpenIncrement()) {
        *err = "Can't open the append-only file";
        aofRewriteNoteOutcome(true);
        return false;
    }
    sdsfree(rewrite.plan.folder);
    rewrite.plan = aofRewriteMakePlan(childProgress);
    if (!(forklessWanted(CHILD_AOF) ? aofRewriteStartThread : aofRewriteStartProcess)(err)) {
        serverLog(LL_WARNING, "The AOF rewrite could not be started: %s", *err);
        aofRewriteNoteOutcome(true);
        return false;
    }
    aof.rewrite_scheduled = false;
    started_s = time(NULL);
    return true;
}

void aofRewriteCancel(void) {
    if (childRunning() == CHILD_AOF) {
        serverLog(LL_NOTICE, "The running AOF rewrite is stopped");
        childKill();
    }
    sds path = aofTempIncrement();
    unlink(path);
    sdsfree(path);
}

static bool aofRewriteIsDue(void) {
    if (aof.state != AOF_ON || !auto_percentage || aof.size <= (uint64_t)auto_min_size) return false;
    uint64_t base = aof.base_size ? aof.base_size : 1;
    int64_t percent = (int64_t)(aof.size * 100 / base) - 100;
    if (percent < auto_percentage) return false;
    serverLog(LL_NOTICE, "The append-only file has grown by %lld%%, so it is rewritten", (long long)percent);
    return true;
}

static void aofRewriteCron(void) {
    if (childRunning() != CHILD_NONE || (wait_until_s && time(NULL) < wait_until_s)) return;
    const char *err;
    if (!aof.rewrite_scheduled) aof.rewrite_scheduled = aofRewriteIsDue();
    if (aof.rewrite_scheduled && aofSyncAhead()) aofRewriteStart(&err);
}

void bgrewriteaofCommand(struct client *c) {
    const char *err;
    if (childRunning() == CHILD_AOF) {
        replyError(c, "ERR Background append only file rewriting already in progress");
    } else if (childRunning() != CHILD_NONE || c->flags & CLIENT_IN_EXEC || !aofSyncAhead()) {
        aof.rewrite_scheduled = true;
        aofRewriteNoteOutcome(false); /* an explicit request does not wait because of earlier failures */
        replyStatus(c, "Background append only file rewriting scheduled");
    } else if (aofRewriteStart(&err)) {
        replyStatus(c, "Background append only file rewriting started");
    } else {
        replyError(c, "ERR Can't execute an AOF background rewriting. Please check the server logs for more "
                      "information.");
    }
}

sds aofRewriteInfo(sds s) {
    bool running = childRunning() == CHILD_AOF;
    s = infoField(s, "aof_rewrite_in_progress:%d", running);
    s = infoField(s, "aof_rewrite_scheduled:%d", aof.rewrite_scheduled);
    s = infoField(s, "aof_last_rewrite_time_sec:%lld", (long long)last_s);
    s = infoField(s, "aof_current_rewrite_time_sec:%lld", (long long)(running ? time(NULL) - started_s : -1));
    s = infoField(s, "aof_last_bgrewrite_status:%s", last_failed ? "err" : "ok");
    s = infoField(s, "aof_rewrites:%llu", (unsigned long long)rewrites);
    return infoField(s, "aof_rewrites_consecutive_failures:%llu", (unsigned long long)consecutive_failures);
}

static struct configDirective directives[] = {
    CONFIG_INT("auto-aof-rewrite-percentage", NULL, CONFIG_MODIFIABLE, &auto_percentage, 100, 0, INT32_MAX,
               NULL),
    CONFIG_INT("auto-aof-rewrite-min-size", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &auto_min_size,
               64 * 1024 * 1024, 0, INT64_MAX, NULL),
};

void aofRewriteInit(void) {
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(aofRewriteCron, CRON_MS);
}
