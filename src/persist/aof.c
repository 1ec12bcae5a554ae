/* SPDX-License-Identifier: BSD-3-Clause */
/* aof.c - writes the append-only file: the sink, the write of each turn, fsync, and switching it on and off.
 *
 * Where an acknowledged change is, by `appendfsync`:
 *
 *     always    on the disk before the reply is sent: written at the end of the turn, and synced by a
 *               thread, for which the replies wait (client/reply_gate.h)
 *     everysec  in the kernel; a thread syncs once a second
 *     no        in the kernel
 *
 * This process never holds a write back because an fsync is under way: what has been acknowledged would be
 * lost if the process ended. On ext4 and XFS a write does not wait for an fsync of the file either (at most
 * 0.4 and 0.3 ms while one hung for 12 s). On Btrfs it does, and the main thread with it.
 *
 * With `always` there is one fsync at a time: the next one begins when it has ended, or a moment later
 * (persist/sync_group.h), and is for all that was written meanwhile. So the slower the disk is, the more
 * turns share an fsync.
 *
 *     turn 1: write    turn 2: write    turn 3: write
 *             fsync ─────────────────────────────────▶ replies of turn 1 leave
 *                                                      fsync for turns 2 and 3 ────▶ their replies leave
 *
 * A failed write is undone to the last whole command and tried again each second; until it succeeds,
 * commands that write are refused (MISCONF). With `always` there may be replies due for changes that cannot
 * be kept, so the server exits. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "client/reply_gate.h"
#include "command/admission.h"
#include "command/loading.h"
#include "command/propagate.h"
#include "data/child.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/rdb/rdb.h"
#include "data/server_state/persistence.h"
#include "net/ae.h"
#include "net/resp.h"
#include "persist/aof_private.h"
#include "persist/sync_group.h"
#include "registry/at_exit.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/info.h"
#include "registry/latency.h"
#include "registry/memory_report.h"
#include "registry/server_events.h"

#define SLOW_SYNC_MS   2000 /* an fsync that takes longer is logged and counted each time */
#define SYNC_PERIOD_MS 1000
#define RETRY_MS       1000
#define SYNC_AHEAD     (8 * 1024 * 1024) /* bytes whose fsync the main thread makes */
#define ERROR_LOG_MS   30000
#define BUFFER_KEEP    (1024 * 1024) /* a larger buffer is freed after it has been written */

struct aof aof = {.fd = -1};

sds aof_dir, aof_filename;
int64_t aof_load_corrupt_tail_max;
bool aof_use_rdb_preamble, aof_load_truncated, aof_rewrite_incremental_fsync;
static int aof_fsync;
bool aof_timestamps;
static bool enabled, no_fsync_on_rewrite;

static int64_t synced_ms;            /* when the last fsync was requested */
static uint64_t sync_requested_size; /* size of the increment at that time */
static int64_t thread_busy_ms;       /* since when the thread has had an fsync to do */
static int64_t slow_noted_ms;        /* when a slow fsync was last logged */
static int64_t timestamp_s;          /* the last timestamp written */
static size_t unit_at;               /* position in the buffer of the last unit */
static bool unit_empty;              /* only its MULTI has come */
static uint64_t delayed_fsyncs;
static int write_errno; /* errno of the last write; 0: it succeeded */
static int64_t write_failed_ms, error_logged_ms;
/* Results of the thread. */
static atomic_int sync_errno;
static atomic_uint syncs_pending;
/* Offsets of propagated bytes (propagateOffset) up to which the file, and the disk, have them. */
static atomic_ullong written_offset;
static atomic_ullong synced_offset;
/* Bytes that were written to files since the start, and those of them that the disk has. */
static atomic_ullong written_bytes;
static atomic_ullong synced_bytes;
static atomic_uint increment_number; /* changes with aof.fd, before the new file is written */
static atomic_llong sync_us;         /* how long the thread's last fsync took; 0: that has been noted */
static bool manifest_synced = true;  /* its name is on the disk */
static bool gate_used;               /* replies wait for the disk */
static struct syncGroup group;       /* with `always`: for whom the next fsync waits */
static pthread_mutex_t group_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t group_complete;
static bool group_is_complete;

bool aofEnabled(void) {
    return enabled;
}

void aofAssertState(void) {
    switch (aof.state) {
    case AOF_OFF: serverAssert(aof.fd < 0 && !sdslen(aof.buf)); return;
    case AOF_ON: serverAssert(aof.fd >= 0 && aofManifestLast(&aof.manifest)); return;
    case AOF_WAITING: serverAssert(aof.rewrite_scheduled || childRunning() == CHILD_AOF); return;
    }
    serverUnreachable();
}

/* ---- Names ---- */

sds aofFileName(int64_t seq, char type, bool rdb) {
    serverAssert(seq > 0 && (type == 'b' || (type == 'i' && !rdb)));
    return sdscatprintf(sdsempty(), "%s.%lld.%s", aof_filename, (long long)seq,
                        type == 'i' ? "incr.aof"
                        : rdb       ? "base.rdb"
                                    : "base.aof");
}

sds aofTempIncrement(void) {
    return sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "%s.incr", aof_dir, aof_filename);
}

static void aofExitUnsynced(int code) {
    serverLog(LL_WARNING,
              "fsync of the append-only file failed: %s. With appendfsync always no write may be "
              "acknowledged without it, so the server exits.",
              strerror(code));
    exit(1);
}

/* The folder's own name has to survive a loss of power, too. A process that was killed may have left a folder
 * whose name is not on the disk yet. */
bool aofMakeDir(void) {
    bool made = mkdir(aof_dir, 0755) == 0 || errno == EEXIST;
    if (made && fileSyncFolderOf(aof_dir)) return true;
    serverLog(LL_WARNING, "The append-only directory %s could not be created: %s", aof_dir, strerror(errno));
    return false;
}

bool aofWriteManifest(const struct aofManifest *m) {
    sds name = sdscatprintf(sdsempty(), "%s" AOF_MANIFEST_SUFFIX, aof_filename);
    bool synced, ok = aofManifestWrite(aof_dir, name, m, &synced);
    int reason = errno;
    if (ok) manifest_synced = synced;
    if (!ok) serverLog(LL_WARNING, "Failed to write the AOF manifest %s: %s", name, strerror(reason));
    sdsfree(name);
    if (ok && !synced && aof_fsync == AOF_FSYNC_ALWAYS) aofExitUnsynced(reason);
    if (ok && !synced)
        serverLog(LL_WARNING,
                  "The directory of the AOF manifest could not be synced: %s. A loss of power may bring back "
                  "the former manifest, whose files are kept.",
                  strerror(reason));
    return ok;
}

bool aofSyncManifest(void) {
    return manifest_synced || (manifest_synced = fileSyncFolder(aof_dir));
}

int aofOpenIncrement(struct aofManifest *m) {
    serverAssert(m != &aof.manifest); /* it is replaced when the new one has been written */
    int64_t seq = aofManifestNextSeq(m, 'i');
    sds name = aofFileName(seq, 'i', false), path = aofPath(aof_dir, name);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        serverLog(LL_WARNING, "Opening the append-only file %s for writing failed: %s", path,
                  strerror(errno));
        sdsfree(name);
    } else {
        serverLog(LL_NOTICE, "The AOF rewrite begins a new incremental file, %s", name);
        aofManifestAdd(m, name, seq, 'i');
    }
    sdsfree(path);
    return fd;
}

/* ---- fsync ---- */

struct syncJob {
    int fd;
    bool close;       /* close the file afterwards: this is its last job */
    int64_t until_us; /* to wait first, for the group to be complete, at most until then; 0: not at all */
    unsigned file;    /* increment_number of the fd */
    /* The disk has at least this afterwards: everything up to this offset, and so many bytes. */
    uint64_t offset, bytes;
};

/* The thread's, before an fsync. */
static void aofAwaitGroup(int64_t until_us) {
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    pthread_mutex_lock(&group_lock);
    while (!group_is_complete && pthread_cond_timedwait(&group_complete, &group_lock, &until) == 0) {
    }
    group_is_complete = false;
    pthread_mutex_unlock(&group_lock);
}

static void aofCheckGroup(void) {
    if (!group.waits || !syncGroupIsComplete(&group, clientsAwaitReply(), monotonicUs())) return;
    pthread_mutex_lock(&group_lock);
    group_is_complete = true;
    pthread_cond_signal(&group_complete);
    pthread_mutex_unlock(&group_lock);
}

static void aofSyncJob(void *arg) {
    struct syncJob *job = arg;
    if (job->until_us) aofAwaitGroup(job->until_us);
    uint64_t bytes = atomic_load(&written_bytes), offset = atomic_load(&written_offset);
    if (atomic_load(&increment_number) != job->file) { /* they may be bytes of the next file */
        bytes = job->bytes;
        offset = job->offset;
    }
    uint64_t began_us = monotonicUs();
    int code = fdatasync(job->fd) != 0 && errno != EBADF && errno != EINVAL ? errno : 0;
    atomic_store(&sync_us, (long long)(monotonicUs() - began_us) + 1);
    atomic_store(&sync_errno, code);
    if (!code) {
        atomic_store(&synced_offset, offset);
        atomic_store(&synced_bytes, bytes);
    }
    if (job->close) close(job->fd);
    zfree(job);
    atomic_fetch_sub(&syncs_pending, 1);
    aeWakeup(server_el); /* a client may be waiting for it */
}

static void aofSyncOnThread(int fd, bool close, int64_t until_us) {
    serverAssert(fd >= 0);
    struct syncJob *job = zmalloc(sizeof *job);
    *job = (struct syncJob){.fd = fd,
                            .close = close,
                            .until_us = until_us,
                            .file = increment_number,
                            .offset = written_offset,
                            .bytes = written_bytes};
    if (atomic_fetch_add(&syncs_pending, 1) == 0) thread_busy_ms = slow_noted_ms = mstime();
    bioSubmit(BIO_FSYNC, aofSyncJob, job);
}

static void aofNoteAllSynced(void) {
    atomic_store(&synced_offset, written_offset);
    atomic_store(&synced_bytes, written_bytes);
}

/* Takes what no client was told of off the file, and exits. A failed fsync may have dropped it from memory,
 * and then the next start would read it, sync the file with success, and tell clients of what the disk has
 * not got. */
static void aofCutUnsyncedAndExit(int failed) {
    uint64_t unsynced = written_bytes - atomic_load(&synced_bytes);
    bool cuts = gate_used && unsynced <= aof.incr_size;
    if (cuts && ftruncate(aof.fd, (off_t)(aof.incr_size - unsynced)) != 0)
        serverLog(LL_WARNING, "Cutting what is not synced off the append-only file failed: %s",
                  strerror(errno));
    aofExitUnsynced(failed);
}

/* Waits until the disk has all that was written, in earlier files too. Returns 0 or errno. While replies wait
 * for the disk, a failed fsync of the thread counts as well: this one may succeed without the pages that the
 * other one has dropped. */
static int aofSyncAll(void) {
    bioDrain(BIO_FSYNC);
    int failed = gate_used ? atomic_load(&sync_errno) : 0;
    if (!failed && fdatasync(aof.fd) != 0) failed = errno;
    if (gate_used) atomic_store(&sync_errno, failed);
    return failed;
}

/* aofSyncAll, or exits. */
static void aofSyncNow(void) {
    int64_t started_us = latencyTimerStart();
    int failed = aofSyncAll();
    if (failed) aofCutUnsyncedAndExit(failed);
    latencyTimerEnd("aof-fsync-always", started_us);
    atomic_store(&sync_errno, 0);
    sync_requested_size = aof.incr_size;
    synced_ms = mstime();
    aofNoteAllSynced();
}

bool aofSyncAhead(void) {
    static bool asked;
    if (aof.fd < 0 || aof_fsync == AOF_FSYNC_ALWAYS) return true;
    if (asked && atomic_load(&syncs_pending)) return false;
    if (asked || written_bytes - synced_bytes <= SYNC_AHEAD) {
        asked = false;
        return true;
    }
    asked = true;
    aofSyncOnThread(aof.fd, false, 0);
    return false;
}

bool aofSyncIncrement(void) {
    if (aof_fsync == AOF_FSYNC_ALWAYS) {
        aofSyncNow();
        return true;
    }
    bioDrain(BIO_FSYNC);
    if (fdatasync(aof.fd) == 0) return true;
    serverLog(LL_WARNING, "fsync of the append-only file failed: %s", strerror(errno));
    return false;
}

/* Whether fsync waits for the end of a child (no-appendfsync-on-rewrite). */
static bool aofSyncIsSuspended(void) {
    return no_fsync_on_rewrite && childRunning() != CHILD_NONE;
}

/* For the gate. What a unit that runs has in the buffer is no change that anybody could have seen. */
static void aofAskGate(uint64_t *made, uint64_t *covered) {
    uint64_t now = written_bytes + (propagation.depth ? 0 : sdslen(aof.buf));
    uint64_t synced = aofSyncIsSuspended() ? now : atomic_load(&synced_bytes);
    if (now > *made) *made = now;
    if (synced > *covered) *covered = synced;
}

static void aofReviewGate(void) {
    bool use = aof.state == AOF_ON && aof_fsync == AOF_FSYNC_ALWAYS;
    if (__builtin_expect(use == gate_used, 1)) return;
    gate_used = use;
    replyGateUse(GATE_DISK, use ? aofAskGate : NULL);
}

static bool aofHasSynced(uint64_t offset) {
    return aof.state == AOF_ON && atomic_load(&synced_offset) >= offset;
}

static uint64_t aofSyncedOffset(void) {
    return aof.state == AOF_ON ? atomic_load(&synced_offset) : 0;
}

/* ---- Writing ---- */

static void aofClearBuffer(void) {
    unit_at = 0;
    if (sdsAllocSize(aof.buf) > BUFFER_KEEP) {
        sdsfree(aof.buf);
        aof.buf = sdsempty();
    } else {
        sdssetlen(aof.buf, 0);
    }
}

/* Refuses commands that write, and PING, while the last write or fsync has failed. */
static enum admission aofCheckWritten(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    int code = write_errno ? write_errno : atomic_load(&sync_errno);
    if (!code || aof.state == AOF_OFF) return ADMITTED;
    if (!(commandFlags(c, r->cmd) & CMD_WRITE) && strcmp(r->cmd->fullname, "ping")) return ADMITTED;
    if (admission_replay_writes && admission_replay_writes(r)) return ADMITTED;
    replyErrorFmt(c, "MISCONF Errors writing to the AOF file: %s", strerror(code));
    return REFUSED;
}

/* Makes admission check commands from the first failure on. */
static void aofStartChecking(void) {
    admissionIdle(RULE_AOF_FAILS, false);
}

/* Returns whether the thread has ended an fsync; the replies that waited for it have not left yet. */
static bool aofNoteSyncTime(void) {
    int64_t us = atomic_exchange(&sync_us, 0);
    if (!us) return false;
    latencyAddSampleIfNeeded("aof-fsync-always", us / 1000);
    syncGroupNoteSynced(&group, clientsAwaitReply(), us, monotonicUs());
    return true;
}

static void aofNoteWrite(void) {
    static uint64_t noted_bytes;
    if (written_bytes == noted_bytes) return;
    noted_bytes = written_bytes;
    syncGroupNoteWrite(&group, monotonicUs());
}

/* For a client that is alone. Nobody notices if it hangs: with `always` no reply would leave meanwhile. */
static void aofSyncInline(void) {
    int64_t began_us = monotonicUs();
    aofSyncNow();
    int64_t now_us = monotonicUs();
    syncGroupNoteSynced(&group, clientsAwaitReply(), now_us - began_us + 1, now_us);
}

static void aofSyncAlways(bool has_ended) {
    /* those that waited for the one that has ended are among them */
    size_t clients = has_ended ? group.behind : clientsAwaitReply();
    if (syncGroupIsInline(&group, clients))
        aofSyncInline();
    else
        aofSyncOnThread(aof.fd, false, syncGroupUntil(&group, clients, monotonicUs()));
}

static void aofSyncIfDue(void) {
    bool idle = !atomic_load(&syncs_pending);
    int failed = atomic_load(&sync_errno); /* after `idle`: a job that has ended has set it */
    if (failed) aofStartChecking();
    if (aof.fd < 0) return;
    bool always = aof_fsync == AOF_FSYNC_ALWAYS;
    bool has_ended = always && aofNoteSyncTime();
    if (failed && always) aofCutUnsyncedAndExit(failed);
    if (always) aofNoteWrite();
    if (always && !idle) aofCheckGroup();
    if (sync_requested_size == aof.incr_size && !failed) {
        if (idle) aofNoteAllSynced();
        return;
    }
    if (always && idle && atomic_load(&synced_bytes) == written_bytes) {
        sync_requested_size = aof.incr_size; /* the last one has had it */
        syncGroupNoteAllSynced(&group);
        return;
    }
    if (!idle || aof_fsync == AOF_FSYNC_NO || aofSyncIsSuspended()) return;
    if (!always && mstime() - synced_ms < SYNC_PERIOD_MS) return;
    if (always)
        aofSyncAlways(has_ended);
    else
        aofSyncOnThread(aof.fd, false, 0);
    sync_requested_size = aof.incr_size;
    synced_ms = mstime();
}

/* Handles a write of `wanted` bytes of which only `done` were written (-1: none, see errno). */
static void aofHandleWriteError(ssize_t done, size_t wanted) {
    int code = done < 0 ? errno : ENOSPC; /* a short write is the first sign of a full disk */
    serverAssert(done < (ssize_t)wanted && sdslen(aof.buf) == wanted);
    int64_t now = mstime();
    bool log = now - error_logged_ms > ERROR_LOG_MS;
    if (log) error_logged_ms = now;
    if (log && done < 0) serverLog(LL_WARNING, "Writing to the append-only file failed: %s", strerror(code));
    if (log && done >= 0) {
        serverLog(LL_WARNING, "The append-only file took only %lld of %lld bytes", (long long)done,
                  (long long)wanted);
    }
    if (done > 0 && ftruncate(aof.fd, (off_t)aof.incr_size) != 0) {
        /* The written bytes stay in the file and the rest follows them. */
        if (log) {
            serverLog(LL_WARNING, "Cutting the incomplete command off the append-only file failed: %s",
                      strerror(errno));
        }
        aof.incr_size += (uint64_t)done;
        aof.size += (uint64_t)done;
        written_bytes += (uint64_t)done;
        memmove(aof.buf, aof.buf + done, sdslen(aof.buf) - (size_t)done);
        sdssetlen(aof.buf, sdslen(aof.buf) - (size_t)done);
    } else if (done > 0 && lseek(aof.fd, (off_t)aof.incr_size, SEEK_SET) < 0) {
        serverLog(LL_WARNING, "Cannot go back in the append-only file: %s", strerror(errno));
    }
    if (aof_fsync == AOF_FSYNC_ALWAYS) {
        serverLog(
            LL_WARNING,
            "With appendfsync always a failed write to the append-only file cannot be repeated later, so "
            "the server exits.");
        exit(1);
    }
    write_errno = code;
    write_failed_ms = now;
    aofStartChecking();
}

static ssize_t aofWriteOnce(const char *p, size_t n) {
    size_t done = 0;
    while (done < n) {
        ssize_t now = write(aof.fd, p + done, n - done);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return done || now == 0 ? (ssize_t)done : -1;
        done += (size_t)now;
    }
    return (ssize_t)done;
}

/* Logs that the disk is too slow: something is written while an fsync on the thread takes long. */
static void aofNoteSlowSync(void) {
    if (!atomic_load(&syncs_pending)) return;
    int64_t now = mstime();
    if (now - slow_noted_ms < SLOW_SYNC_MS) return;
    slow_noted_ms = now;
    delayed_fsyncs++;
    serverLog(LL_NOTICE,
              "An fsync of the append-only file has been under way for %lld ms. What is written meanwhile is "
              "on the disk only after the next one.",
              (long long)(now - thread_busy_ms));
}

/* Records the latency of a write by what may have slowed it down; "aof-write" counts all of them. */
static void aofNoteWriteTime(int64_t started_us) {
    const char *event = atomic_load(&syncs_pending)    ? "aof-write-pending-fsync"
                        : childRunning() != CHILD_NONE ? "aof-write-active-child"
                                                       : "aof-write-alone";
    latencyTimerEnd(event, started_us);
    latencyTimerEnd("aof-write", started_us);
}

void aofFlush(bool force) {
    if (aof.fd < 0) return;
    serverAssert(aof.state != AOF_OFF);
    size_t n = sdslen(aof.buf);
    if (n && write_errno && !force && mstime() - write_failed_ms < RETRY_MS) return;
    if (n) {
        aofNoteSlowSync();
        int64_t started_us = latencyTimerStart();
        if (debug_switches.aof_flush_sleep_us > 0) usleep((useconds_t)debug_switches.aof_flush_sleep_us);
        ssize_t done = aofWriteOnce(aof.buf, n);
        aofNoteWriteTime(started_us);
        if (done != (ssize_t)n) {
            aofHandleWriteError(done, n);
            return;
        }
        if (write_errno) {
            serverLog(LL_NOTICE,
                      "Writes to the append-only file succeed again, so write commands are accepted again.");
            write_errno = 0;
        }
        aof.incr_size += n;
        aof.size += n;
        written_bytes += n;
        aofClearBuffer();
    }
    /* While a command runs, parts of its unit may not have been propagated yet. */
    if (!sdslen(aof.buf) && propagation.depth == 0) written_offset = propagateOffset();
    aofSyncIfDue();
}

/* Writes the buffer within a unit. The file must not end within a unit, so what the buffer has of the
 * last one waits for the rest. */
static void aofWriteUnits(void) {
    aofReviewGate();
    if (aof.fd < 0) return;
    if (!propagation.in_multi) {
        aofFlush(true);
    } else if (unit_at) {
        sds unit = sdsnewlen(aof.buf + unit_at, sdslen(aof.buf) - unit_at);
        sdssetlen(aof.buf, unit_at);
        aofFlush(true);
        unit_at = sdslen(aof.buf); /* 0, unless the disk is full */
        aof.buf = sdscatstr(aof.buf, sdsview(unit));
        sdsfree(unit);
    }
}

static void aofWriteAndSync(void) {
    aofWriteUnits();
    if (gate_used) aofSyncNow();
}

static uint64_t flush_ticks; /* spent in aofFlushBeforeSleep since the start */

static void aofFlushBeforeSleep(void) {
    aofReviewGate();
    if (aof.state == AOF_OFF) return;
    uint64_t start = ticksNow();
    aofFlush(false);
    flush_ticks += ticksNow() - start;
}

static sds aofDebugInfo(sds s) {
    return infoField(s, "eventloop_duration_aof_sum:%llu", (unsigned long long)(flush_ticks / ticks_per_us));
}

/* ---- The sink ---- */

static void aofSink(const struct propagated *p) {
    if (p->for_replicas || p->exclude & PROPAGATED_NOT_TO_FILES) return;
    serverAssert(aof.fd >= 0); /* the sink is only there with a file */
    if (aof_timestamps && p->first && cmd_time_ms / 1000 != timestamp_s) {
        timestamp_s = cmd_time_ms / 1000;
        aof.buf = sdscatprintf(aof.buf, AOF_TIMESTAMP, (long long)timestamp_s);
    }
    if (p->first) unit_at = sdslen(aof.buf);
    /* All commands of the transaction were for replicas only, and its MULTI is still in the buffer. */
    if (p->bracket && p->last && unit_empty && sdslen(aof.buf) > unit_at) {
        sdssetlen(aof.buf, unit_at);
        return;
    }
    unit_empty = p->bracket && p->first;
    aof.buf = sdsMakeRoomFor(aof.buf, p->len);
    size_t used = sdslen(aof.buf);
    for (int i = 0; i < p->count; i++) {
        memcpy(aof.buf + used, p->pieces[i].ptr, p->pieces[i].len);
        used += p->pieces[i].len;
    }
    serverAssert(used == sdslen(aof.buf) + p->len);
    sdssetlen(aof.buf, used);
}

void aofSetSink(bool on) {
    if (on)
        propagateAddSink(aofSink, 0);
    else
        propagateRemoveSink(aofSink);
}

void aofUseIncrement(int fd, uint64_t size) {
    serverAssert(fd >= 0 && fd != aof.fd);
    serverAssert(!sdslen(aof.buf)); /* the buffer belongs to the former file */
    if (aof.fd >= 0) aofSyncOnThread(aof.fd, true, 0);
    atomic_fetch_add(&increment_number, 1);
    aof.fd = fd;
    aof.incr_size = sync_requested_size = size;
    propagateSelectAnew();
}

/* ---- On and off ---- */

bool aofSwitchOn(const char **err) {
    serverAssert(aof.state == AOF_OFF && aof.fd < 0);
    /* A rewrite without increments may have just ended, and then completes as what it began as. */
    if (childRunning() == CHILD_AOF) childKill();
    aof.state = AOF_WAITING;
    synced_ms = mstime();
    write_errno = 0;
    atomic_store(&sync_errno, 0);
    if (childRunning() == CHILD_RDB) {
        aof.rewrite_scheduled = true;
        serverLog(LL_NOTICE, "AOF was enabled but there is already another background operation. An AOF "
                             "background was scheduled to start when possible.");
        return true;
    }
    const char *why;
    if (aofRewriteStart(&why)) return true;
    serverLog(LL_WARNING,
              "AOF was enabled but the server could not start the background rewrite: %s. Check the logs.",
              why);
    aofSwitchOff();
    *err = "Unable to turn on AOF. Check server logs.";
    return false;
}

void aofSwitchOff(void) {
    bool has_sink = aof.fd >= 0;
    aofRewriteCancel();
    if (has_sink) {
        aofSetSink(false);
        aofFlush(true);
        bioDrain(BIO_FSYNC); /* it must not close the file of a running fsync */
        if (fdatasync(aof.fd) != 0) {
            serverLog(LL_WARNING, "fsync of the append-only file failed: %s", strerror(errno));
        } else {
            aofNoteAllSynced();
        }
        close(aof.fd);
    }
    aof.fd = -1;
    aof.state = AOF_OFF;
    aof.rewrite_scheduled = false;
    aofClearBuffer();
    write_errno = 0;
}

static bool aofApplyEnabled(const char **err) {
    bool ok = true;
    aofAssertState();
    if (enabled && aof.state == AOF_OFF)
        ok = aofSwitchOn(err);
    else if (!enabled && aof.state != AOF_OFF)
        aofSwitchOff();
    aofAssertState();
    return ok;
}

/* ---- Start and end ---- */

/* Moves the single file of an older version into the folder, where it becomes the base. */
static void aofUpgrade(void) {
    if (access(aof_filename, F_OK) != 0) return;
    struct stat st;
    if (stat(aof_filename, &st) != 0 || !S_ISREG(st.st_mode)) return;
    sds target = aofPath(aof_dir, aof_filename);
    struct aofManifest m = {0};
    aofManifestAdd(&m, sdsdup(aof_filename), 1, 'b');
    /* The manifest is written first: without the move, the next start still finds the file. */
    if (!aofMakeDir() || !aofWriteManifest(&m)) exit(1);
    if (rename(aof_filename, target) != 0) {
        serverLog(LL_WARNING, "Moving the old append-only file %s into the directory %s failed: %s",
                  aof_filename, aof_dir, strerror(errno));
        exit(1);
    }
    aof.manifest = m;
    serverLog(LL_NOTICE, "The append-only file %s of an older version now lies in the directory %s",
              aof_filename, aof_dir);
    sdsfree(target);
}

static void aofReadManifest(void) {
    sds name = sdscatprintf(sdsempty(), "%s" AOF_MANIFEST_SUFFIX, aof_filename);
    sds path = aofPath(aof_dir, name), error;
    if (!aofManifestRead(path, &aof.manifest, &error)) {
        if (errno != ENOENT) {
            serverLog(LL_WARNING, "Fatal: %s", error);
            exit(1);
        }
        sdsfree(error);
        if (aofEnabled()) aofUpgrade();
    } else if (aofEnabled()) {
        /* An upgrade may have been interrupted between its two steps. */
        struct aofFile *base = aofManifestBase(&aof.manifest);
        sds old = base && !strcmp(base->name, aof_filename) ? aofPath(aof_dir, base->name) : NULL;
        if (old && access(old, F_OK) != 0) aofUpgrade();
        sdsfree(old);
    }
    sdsfree(name);
    sdsfree(path);
}

/* Writes the base of an empty dataset, which the first increment needs. */
static void aofCreateBase(void) {
    sds name = aofFileName(aofManifestNextSeq(&aof.manifest, 'b'), 'b', aof_use_rdb_preamble);
    sds path = aofPath(aof_dir, name);
    serverLog(LL_NOTICE, "No AOF base file exists yet; the server writes %s", name);
    serverEvent(SERVER_PERSISTENCE, EVENT_AOF_AT_ONCE, NULL);
    bool ok = aofRewriteFile(path);
    serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    if (!ok) exit(1);
    struct stat st;
    if (stat(path, &st) == 0) aof.size += (uint64_t)st.st_size;
    aofManifestAdd(&aof.manifest, name, aofManifestNextSeq(&aof.manifest, 'b'), 'b');
    sdsfree(path);
}

static void aofOpenForWriting(void) {
    if (!aofMakeDir()) exit(1);
    if (!aof.manifest.count) aofCreateBase();
    struct aofFile *last = aofManifestLast(&aof.manifest);
    int64_t seq = last ? last->seq : aofManifestNextSeq(&aof.manifest, 'i');
    sds name = last ? sdsdup(last->name) : aofFileName(seq, 'i', false);
    sds path = aofPath(aof_dir, name);
    if (!last) serverLog(LL_NOTICE, "The server begins a new incremental AOF file, %s", name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        serverLog(LL_WARNING, "Opening the append-only file %s for writing failed: %s", path,
                  strerror(errno));
        exit(1);
    }
    /* Clients are about to read what a killed process has written, but may not have synced. */
    if (last && aof_fsync != AOF_FSYNC_NO && fdatasync(fd) != 0) {
        serverLog(LL_WARNING, "fsync of the append-only file failed: %s", strerror(errno));
        exit(1);
    }
    if (last) {
        serverLog(LL_NOTICE, "The server continues the incremental AOF file %s", name);
        sdsfree(name);
    } else {
        aofManifestAdd(&aof.manifest, name, seq, 'i');
    }
    if (!aofWriteManifest(&aof.manifest)) exit(1);
    aofUseIncrement(fd, (uint64_t)st.st_size);
    sdsfree(path);
}

void aofStartup(void) {
    aofAssertState();
    aofDeleteTemporaryFiles();
    aofReadManifest();
    if (aofLoad() == AOF_FAILED) exit(1);
    aofDeleteHistory();
    aofOpenForWriting();
    aof.base_size = aof.size;
    synced_ms = mstime();
    aof.state = AOF_ON;
    aofSetSink(true);
    aofAssertState();
}

void aofStartupOff(void) {
    aofAssertState();
    aofReadManifest();
}

/* Replaces all data by what the files contain. */
static bool aofReload(void) {
    bool had_sink = aof.state == AOF_ON;
    serverAssert(aof.state != AOF_WAITING && !loadingActive());
    aofSetSink(false); /* for the file, the transaction that calls this ends here */
    aofFlush(true);
    if (sdslen(aof.buf)) {
        aofSetSink(true);
        return false;
    }
    uint64_t base_size = aof.base_size;
    dbEmpty(NULL, false);
    rdbSectionsEmpty();
    enum aofLoaded result = aofLoad();
    aof.base_size = base_size;
    propagateSelectAnew();
    if (had_sink) aofSetSink(true);
    return result == AOF_LOADED || result == AOF_EMPTY;
}

bool aofOnShutdown(int flags) {
    if (aof.state == AOF_OFF) return true;
    if (childRunning() == CHILD_AOF) {
        if (aof.state == AOF_WAITING && !(flags & (SHUTDOWN_FORCE | SHUTDOWN_NOSAVE))) {
            serverLog(LL_WARNING, "Writing initial AOF, can't exit.");
            return false;
        }
        serverLog(LL_WARNING, "The running AOF rewrite is stopped because the server exits");
        childKill();
    }
    if (aof.fd < 0) return true;
    serverLog(LL_NOTICE, "The append-only file is synced to disk before the server exits");
    aofFlush(true);
    if (sdslen(aof.buf)) {
        serverLog(LL_WARNING, "The append-only file could not be written: %s", strerror(write_errno));
        return false;
    }
    int failed = aofSyncAll();
    if (failed) {
        serverLog(LL_WARNING, "fsync of the append-only file failed: %s", strerror(failed));
        return false;
    }
    aofNoteAllSynced();
    return true;
}

/* ---- Directives, INFO ---- */

static sds aofInfo(sds s) {
    s = infoField(s, "aof_enabled:%d", aof.state != AOF_OFF);
    s = aofRewriteInfo(s);
    bool bad = aof.state != AOF_OFF && (write_errno || atomic_load(&sync_errno));
    s = infoField(s, "aof_last_write_status:%s", bad ? "err" : "ok");
    if (aof.state == AOF_OFF) return s;
    s = infoField(s, "aof_current_size:%llu", (unsigned long long)aof.size);
    s = infoField(s, "aof_base_size:%llu", (unsigned long long)aof.base_size);
    s = infoField(s, "aof_pending_rewrite:%d", aof.rewrite_scheduled && aof.state == AOF_WAITING);
    s = infoField(s, "aof_buffer_length:%zu", sdslen(aof.buf));
    s = infoField(s, "aof_pending_bio_fsync:%u", atomic_load(&syncs_pending));
    return infoField(s, "aof_delayed_fsync:%llu", (unsigned long long)delayed_fsyncs);
}

static size_t aofBufferMemory(void) {
    return aof.state == AOF_OFF ? 0 : sdsAllocSize(aof.buf);
}

static void aofResetStat(void) {
    delayed_fsyncs = 0;
}

static bool aofIsPlain(const char *value) {
    return *value && !strchr(value, '/') && !strchr(value, '\\');
}

static bool aofValidFileName(const char *value, const char **err) {
    *err = "appendfilename can't be a path, just a filename";
    return aofIsPlain(value);
}

static bool aofValidFolderName(const char *value, const char **err) {
    *err = "appenddirname can't be a path, just a dirname";
    return aofIsPlain(value);
}

static void aofDebugLoadaof(struct client *c) {
    /* If it has just been switched on, no files have the data before the first rewrite has ended. */
    if (aof.state == AOF_WAITING && childRunning() == CHILD_AOF) childWait();
    if (aof.state == AOF_WAITING || loadingActive()) {
        replyError(c, "ERR The append-only file has not been written yet, or it is being loaded");
        return;
    }
    bool any = aof.manifest.count;
    if (!any) serverLog(LL_WARNING, "DEBUG LOADAOF: there is no append-only file, the data stays as it is");
    if (!any || !aofReload()) {
        replyError(c, "ERR Error trying to load the AOF files, check server logs.");
        return;
    }
    serverLog(LL_WARNING, "DEBUG LOADAOF has reloaded the dataset from the append-only file");
    replyOk(c);
}

static const struct configEnum fsync_names[] = {
    {"everysec", AOF_FSYNC_EVERYSEC}, {"always", AOF_FSYNC_ALWAYS}, {"no", AOF_FSYNC_NO}, {NULL, 0}};

/* When the policy becomes `always`, what was written under a laxer one is synced. When it was `always`, so is
 * what replies wait for. */
static bool aofApplyFsync(const char **err) {
    (void)err;
    if (aof.fd < 0 || (aof_fsync != AOF_FSYNC_ALWAYS && !gate_used)) return true;
    if (!gate_used) atomic_store(&sync_errno, 0); /* it is tried again at once */
    aofFlush(true);
    aofSyncNow();
    return true;
}

static struct configDirective directives[] = {
    CONFIG_BOOL("appendonly", NULL, CONFIG_MODIFIABLE | CONFIG_NOT_LOADING, &enabled, false, aofApplyEnabled),
    CONFIG_STRING("appendfilename", NULL, 0, &aof_filename, "appendonly.aof", aofValidFileName, NULL),
    CONFIG_STRING("appenddirname", NULL, 0, &aof_dir, "appendonlydir", aofValidFolderName, NULL),
    CONFIG_ENUM("appendfsync", NULL, CONFIG_MODIFIABLE, &aof_fsync, AOF_FSYNC_EVERYSEC, fsync_names,
                aofApplyFsync),
    CONFIG_BOOL("no-appendfsync-on-rewrite", NULL, CONFIG_MODIFIABLE, &no_fsync_on_rewrite, false, NULL),
    CONFIG_INT("aof-load-corrupt-tail-max-size", NULL, CONFIG_MODIFIABLE, &aof_load_corrupt_tail_max, 0, 0,
               INT64_MAX, NULL),
    CONFIG_BOOL("aof-load-truncated", NULL, CONFIG_MODIFIABLE, &aof_load_truncated, true, NULL),
    CONFIG_BOOL("aof-use-rdb-preamble", NULL, CONFIG_MODIFIABLE, &aof_use_rdb_preamble, true, NULL),
    CONFIG_BOOL("aof-timestamp-enabled", NULL, CONFIG_MODIFIABLE, &aof_timestamps, false, NULL),
    CONFIG_BOOL("aof-rewrite-incremental-fsync", NULL, CONFIG_MODIFIABLE, &aof_rewrite_incremental_fsync,
                true, NULL),
};

static void aofGroupInit(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&group_complete, &attributes);
    pthread_condattr_destroy(&attributes);
}

void aofInit(void) {
    static const char *const loadaof_help[] = {
        "LOADAOF", "    Flush and load the append-only file: its data replaces the present data.", NULL};
    static const struct debugSubcommand loadaof = {"loadaof", 0, 0, aofDebugLoadaof, loadaof_help};
    debugRegister(&loadaof);
    aof.buf = sdsempty();
    aofGroupInit();
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(aofResetStat);
    infoRegister("persistence", aofInfo);
    infoRegister("debug", aofDebugInfo);
    memoryAddPart(MEMORY_AOF_BUFFER, aofBufferMemory);
    evictExempt(aofBufferMemory);
    admissionFill(RULE_AOF_FAILS, aofCheckWritten);
    admissionFillRead(RULE_AOF_FAILS, admissionNoRead);
    admissionIdle(RULE_AOF_FAILS, true);
    beforeSleepRegister(aofFlushBeforeSleep);
    cronRegister(aofFlushBeforeSleep, 0); /* for what an fsync or an error has delayed */
    aofRewriteInit();
    aofReplaceInit();
    persistence.aofWrite = aofWriteUnits;
    persistence.aofSync = aofWriteAndSync;
    persistence.aofHasSynced = aofHasSynced;
    persistence.aofSyncedOffset = aofSyncedOffset;
}
