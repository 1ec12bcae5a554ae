/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_rewrite.c - replaces the append-only file by a shorter one with the same effect. Part of aof_private.h.
 *
 *     before          base.1  incr.1
 *     at the start    base.1  incr.1  incr.2    incr.2 is new and written to from now on; the child writes
 *                                               temp-rewriteaof-bg-*.aof
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
static pid_t child_pid;
static int64_t first_kept_seq; /* the increment with which the running rewrite began */

/* ---- The base, in a child ---- */

static void aofRewriteWriteTimestamp(struct rioWriter *w) {
    if (!aof_timestamps) return;
    sds line = sdscatprintf(sdsempty(), AOF_TIMESTAMP, (long long)time(NULL));
    rioWriteStr(w, sdsview(line));
    sdsfree(line);
}

static bool aofRewriteWriteCommands(struct rioWriter *w, void (*progress)(uint64_t keys)) {
    uint64_t keys = 0;
    int count;
    aofRewriteWriteTimestamp(w);
    const struct rdbSection *const *sections = rdbSections(&count);
    for (int i = 0; i < count; i++) {
        if (sections[i]->rewrite) sections[i]->rewrite(w);
    }
    for (int i = 0; i < dbCount() && !w->error; i++) {
        struct db *db = dbGet(i);
        if (!keyspaceSize(&db->keyspace)) continue;
        rewriteCommand(w, 2);
        rewriteWord(w, "SELECT");
        rewriteArgInt(w, i);
        struct keyspaceIterator it;
        keyspaceIteratorInit(&it, &db->keyspace, SLOTS_ALL);
        for (struct object *o; !w->error && (o = keyspaceIteratorNext(&it));) {
            struct str key = objectKey(o);
            objectTypeOf(o)->rewrite(w, key, o);
            if (objectHasExpire(o)) {
                rewriteCommand(w, 3);
                rewriteWord(w, "PEXPIREAT");
                rewriteArg(w, key);
                rewriteArgInt(w, objectExpire(o));
            }
            if (++keys % PROGRESS_KEYS == 0 && progress) progress(keys);
        }
        keyspaceIteratorStop(&it);
    }
    if (progress) progress(keys);
    return rioFlush(w);
}

static const char *aofRewriteFileName(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool aofRewriteFile(const char *path, void (*progress)(uint64_t keys)) {
    serverAssert(*path);
    sds temp = sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "rewriteaof-%d.aof", aof_dir, (int)getpid());
    struct rioFile file = {.sync_bytes = aof_rewrite_incremental_fsync ? SYNC_BYTES : 0};
    file.fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file.fd < 0) {
        serverLog(LL_WARNING, "Opening the temporary file of the AOF rewrite failed: %s", strerror(errno));
        sdsfree(temp);
        return false;
    }
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    struct rdbSaveOptions options = rdbFileOptions();
    options.aof_base = true;
    options.progress = progress;
    bool ok = aof_use_rdb_preamble ? rdbSaveStream(&w, &options) : aofRewriteWriteCommands(&w, progress);
    int code = w.error;
    rioWriterFree(&w);
    if (ok && fsync(file.fd) != 0) ok = false, code = errno;
    if (close(file.fd) != 0 && ok) ok = false, code = errno;
    if (ok && rename(temp, path) != 0) ok = false, code = errno;
    if (!ok) {
        serverLog(LL_WARNING, "Writing the new AOF base file failed: %s", rdbSaveErrorText(code));
        unlink(temp);
    } else if (!fileSyncFolder(aof_dir)) {
        serverLog(LL_WARNING, "fsync of the append-only directory %s failed: %s", aof_dir, strerror(errno));
        ok = false;
    }
    sdsfree(temp);
    return ok;
}

static sds aofRewriteChildFile(pid_t pid) {
    return sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "rewriteaof-bg-%d.aof", aof_dir, (int)pid);
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

static int aofRewriteChildRun(void *priv) {
    (void)priv;
    sds path = aofRewriteChildFile(getpid());
    serverEvent(SERVER_PERSISTENCE, EVENT_AOF, NULL);
    bool ok = aofRewriteFile(path, childProgress);
    serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
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

void aofDeleteHistory(void) {
    bool any = false;
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
static bool aofRewriteInstall(pid_t pid) {
    serverAssert(aof.state == AOF_OFF || aof.fd >= 0);
    /* Switching on or off meanwhile would have started another child, or killed this one. */
    serverAssert((aof.state == AOF_ON) == (first_kept_seq < INT64_MAX));
    struct aofManifest now = aofManifestCopy(&aof.manifest);
    int64_t seq = aofManifestNextSeq(&now, 'b');
    sds base = aofFileName(seq, 'b', aof_use_rdb_preamble);
    sds from = aofRewriteChildFile(pid), to = aofPath(aof_dir, base);
    sds incr_from = NULL, incr_to = NULL;
    aofManifestRetire(&now, aof.state == AOF_WAITING ? INT64_MAX : first_kept_seq);
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

static void aofRewriteOnChildEnd(int exit_code, int signal, void *priv) {
    (void)priv;
    serverAssert(child_pid > 0 && started_s);
    pid_t pid = child_pid;
    last_s = time(NULL) - started_s;
    started_s = 0;
    bool ok = false;
    if (!signal && exit_code == 0) {
        int64_t begin = monotonicUs();
        serverLog(LL_NOTICE, "The AOF rewrite process has ended without an error");
        ok = aofRewriteInstall(pid);
        if (ok) {
            serverLog(LL_NOTICE, "AOF rewrite complete: the new files are in use");
            if (aof.state == AOF_WAITING) aof.state = AOF_ON;
            aofDeleteHistory();
        }
        serverLog(LL_VERBOSE, "Taking over the rewritten AOF took %lld us",
                  (long long)(monotonicUs() - begin));
        aofRewriteNoteOutcome(!ok);
    } else if (signal) {
        /* The server itself ends its children with SIGUSR1, which is no error. */
        if (signal != SIGUSR1) aofRewriteNoteOutcome(true);
        serverLog(LL_WARNING, "The AOF rewrite process was ended by signal %d", signal);
    } else {
        serverLog(LL_WARNING, "The AOF rewrite process failed");
        aofRewriteNoteOutcome(true);
    }
    if (!ok) {
        sds path = aofRewriteChildFile(pid);
        unlink(path);
        sdsfree(path);
        /* It is still not on: the temporary increment has no base. */
        if (aof.state == AOF_WAITING) aof.rewrite_scheduled = true;
    }
    child_pid = 0;
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
        struct aofManifest now = aofManifestCopy(&aof.manifest);
        fd = aofOpenIncrement(&now);
        if (fd < 0 || !aofWriteManifest(&now)) {
            if (fd >= 0) close(fd);
            aofManifestFree(&now);
            return false;
        }
        aofManifestFree(&aof.manifest);
        aof.manifest = now;
        first_kept_seq = aofManifestLast(&aof.manifest)->seq;
    }
    aofUseIncrement(fd, 0);
    serverAssert(aof.incr_size == 0);
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
    first_kept_seq = INT64_MAX;
    if (!aofMakeDir() || !aofRewriteOpenIncrement()) {
        *err = "Can't open the append-only file";
        aofRewriteNoteOutcome(true);
        return false;
    }
    if (!childStart(CHILD_AOF, aofRewriteChildRun, aofRewriteOnChildEnd, NULL, err)) {
        serverLog(LL_WARNING, "The AOF rewrite could not be started: %s", *err);
        aofRewriteNoteOutcome(true);
        return false;
    }
    aof.rewrite_scheduled = false;
    started_s = time(NULL);
    child_pid = childPid();
    serverLog(LL_NOTICE, "AOF rewrite started in process %ld", (long)childPid());
    return true;
}

void aofRewriteCancel(void) {
    if (childRunning() == CHILD_AOF) {
        serverLog(LL_NOTICE, "The running AOF rewrite, process %ld, is stopped", (long)childPid());
        childKill();
    }
    sds path = aofTempIncrement();
    unlink(path);
    sdsfree(path);
}

static bool aofRewriteIsDue(void) {
    if (aof.state != AOF_ON || !auto_percentage || aof.size <= (uint64_t)auto_min_size) return false;
    if (wait_until_s && time(NULL) < wait_until_s) return false;
    uint64_t base = aof.base_size ? aof.base_size : 1;
    int64_t percent = (int64_t)(aof.size * 100 / base) - 100;
    if (percent < auto_percentage) return false;
    serverLog(LL_NOTICE, "The append-only file has grown by %lld%%, so it is rewritten", (long long)percent);
    return true;
}

static void aofRewriteCron(void) {
    if (childRunning() != CHILD_NONE) return;
    const char *err;
    if (aof.rewrite_scheduled) {
        if (wait_until_s && time(NULL) < wait_until_s) return;
        aofRewriteStart(&err);
    } else if (aofRewriteIsDue()) {
        aofRewriteStart(&err);
    }
}

void bgrewriteaofCommand(struct client *c) {
    const char *err;
    if (childRunning() == CHILD_AOF) {
        replyError(c, "ERR Background append only file rewriting already in progress");
    } else if (childRunning() != CHILD_NONE || c->flags & CLIENT_IN_EXEC) {
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
