/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_load.c - reads the append-only file back. Part of aof_private.h.
 *
 * A file is an RDB image, or commands, or an image with commands behind it. Commands run one by one on a
 * client without connection. Those between MULTI and EXEC wait for EXEC, so that half a transaction at the
 * end of the last file has no effect.
 *
 * A file that ends within a command (or a transaction) was being written when the server died: with
 * aof-load-truncated the last file is cut back to its whole commands. So is one whose end is no command at
 * all, as after a power failure, if that end is shorter than aof-load-corrupt-tail-max-size. Any other error
 * stops the start, with the offset, and leaves the files unchanged. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/loading.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb_dataset.h"
#include "data/server_state/role.h"
#include "net/resp.h"
#include "persist/aof_private.h"
#include "persist/snapshot.h"
#include "registry/cron.h"

#define COMMANDS_PER_CLOCK 1024

struct aofLoader {
    const char *name;
    struct rdbReader r; /* the stream, through whose buffer commands are read */
    struct client *client;
    sds buf; /* bytes of commands; not used yet from `pos` on */
    size_t pos;
    uint64_t buf_offset; /* offset of buf[0] in the file */
    uint64_t whole;      /* offset after the last complete command or transaction */
    struct respParser parser;
    struct str *argv;
    size_t argv_cap;
    bool in_multi;
    bool refused; /* the command does not exist or has the wrong arity; the error has been logged */
    struct requestQueue waiting; /* commands of the transaction until its EXEC */
    uint64_t commands;
    uint64_t delays; /* how often key-load-delay was applied */
};

static struct aofLoader *loading; /* the file that is being read */
static uint64_t bytes_before;     /* bytes of the files that have been read */
static uint64_t bytes_valid;      /* bytes of the file just read, after cutting */
static bool was_cut;              /* a file ended early and its incomplete end was cut off */

static void aofLoadProgress(struct rioReader *r) {
    loadingProgressDecoded(bytes_before + rioPhysicalOffset(r), bytes_before + rioOffset(r));
}

/* ---- One command ---- */

/* Logs an error that a command of the file got in reply: data may be missing from now on. */
static void aofLoadNoteError(const struct client *c, struct str msg) {
    if (c != loading->client) return;
    if (loading->refused) {
        if (msg.len > 4 && !memcmp(msg.ptr, "ERR ", 4)) msg = strN(msg.ptr + 4, msg.len - 4);
        serverLog(LL_WARNING, "A command in the append-only file %s was refused: %.*s", loading->name,
                  (int)msg.len, msg.ptr);
    } else {
        callstats.unexpected_errors++;
        serverLog(LL_WARNING,
                  "== CRITICAL == This server is sending an error to its AOF-loading-client: '-%.*s' after "
                  "processing the command '%s'",
                  (int)msg.len, msg.ptr, c->cmd->fullname);
        if (role_propagation_errors == PROPAGATION_ERRORS_PANIC)
            serverPanic("This server is configured to panic on errors of the append-only file");
    }
}

/* Runs a command. l->refused is set before the error is replied, so that aofLoadNoteError logs it in another
 * way; INFO does not count it. */
static bool aofLoadRun(struct aofLoader *l, struct request *r) {
    l->refused = !r->cmd || !commandArityOk(r->cmd, r->argc);
    l->client->errors_held = l->refused ? ERRORS_HELD : ERRORS_COUNT;
    bool ran = commandRun(l->client, r, ORIGIN_AOF);
    serverAssert(ran == !l->refused);
    if (ran && ++l->commands % COMMANDS_PER_CLOCK == 0) clockRefresh();
    return ran;
}

/* Runs the waiting commands, or only drops them. */
static bool aofLoadEndMulti(struct aofLoader *l, bool execute) {
    serverAssert(l->in_multi || !l->waiting.count);
    bool ok = true;
    for (int i = 0; i < l->waiting.count && execute && ok; i++) {
        ok = aofLoadRun(l, l->waiting.at[i]);
        if (ok) callCountReplayed(l->client, l->waiting.at[i]);
    }
    requestQueueClear(&l->waiting);
    l->in_multi = false;
    return ok;
}

static bool aofLoadRunOrQueue(struct aofLoader *l, struct request *r) {
    r->cmd = commandLookup(r->argv, r->argc);
    /* A command that cannot run is refused before any of its transaction has run. */
    if (!l->in_multi || !r->cmd || !commandArityOk(r->cmd, r->argc)) return aofLoadRun(l, r);
    requestQueueAdd(&l->waiting, r);
    return true;
}

/* MULTI and EXEC are known even if rename-command has removed their names. */
static bool aofLoadHandleRequest(struct aofLoader *l, struct request *r) {
    serverAssert(r->argc > 0);
    bool ok = true;
    if (r->argc == 1 && strIs(r->argv[0], "multi"))
        l->in_multi = true;
    else if (r->argc == 1 && l->in_multi && strIs(r->argv[0], "exec"))
        ok = aofLoadEndMulti(l, true);
    else
        ok = aofLoadRunOrQueue(l, r);
    respBigArgsFree(r->big);
    return ok;
}

/* ---- The stream of commands ---- */

enum loadStep { STEP_DONE, STEP_MORE, STEP_END, STEP_BAD };

/* Appends more bytes to the buffer. False: there are none. */
static bool aofLoadFill(struct aofLoader *l) {
    char *big;
    size_t room = respBigSpace(&l->parser, &big);
    if (rioAtEnd(&l->r.io)) return false;
    size_t n = (size_t)(l->r.io.end - l->r.io.at);
    if (room) {
        if (n > room) n = room;
        memcpy(big, rioView(&l->r.io, n), n);
        respBigFilled(&l->parser, n);
        return true;
    }
    serverAssert(l->pos <= sdslen(l->buf));
    if (l->pos) {
        size_t left = sdslen(l->buf) - l->pos;
        memmove(l->buf, l->buf + l->pos, left);
        sdssetlen(l->buf, left);
        l->buf_offset += l->pos;
        l->pos = 0;
    }
    l->buf = sdscatlen(l->buf, rioView(&l->r.io, n), n);
    return true;
}

/* Skips a line that begins with #: a time or a comment. */
static enum loadStep aofLoadSkipLine(struct aofLoader *l) {
    char *end = memchr(l->buf + l->pos, '\n', sdslen(l->buf) - l->pos);
    if (!end) return STEP_MORE;
    l->pos = (size_t)(end + 1 - l->buf);
    return STEP_DONE;
}

/* For tests (key-load-delay). Serves clients, so that they do not wait for the delays of a whole buffer. */
static void aofLoadSlowDown(struct aofLoader *l) {
    rdbDelay(rdb_key_load_delay_us, ++l->delays);
    loadingWait(0);
}

static enum loadStep aofLoadOneCommand(struct aofLoader *l) {
    static const struct respLimits limits = {
        .max_bulk = INT64_MAX / 2, .max_args = RESP_MAX_MULTIBULK, .authenticated = true};
    size_t len = sdslen(l->buf) - l->pos, before = len, consumed;
    if (len == 0 && respParserIdle(&l->parser)) return STEP_MORE;
    if (respParserIdle(&l->parser)) {
        if (l->buf[l->pos] == '#') return aofLoadSkipLine(l);
        if (l->buf[l->pos] != '*') return STEP_BAD;
    }
    struct request r = {0};
    const char *err;
    switch (respParseRequest(&l->parser, l->buf + l->pos, &len, &limits, &l->argv, &l->argv_cap, 0, &r.argc,
                             &consumed, &r.big, &err)) {
    case RESP_MORE:
        /* The beginning of a big argument has been moved out of the buffer. */
        if (len != before) sdssetlen(l->buf, l->pos + len);
        return STEP_MORE;
    case RESP_OK: break;
    default: return STEP_BAD;
    }
    if (!r.big) r.raw = strN(l->buf + l->pos, consumed);
    r.argv = l->argv;
    l->pos += consumed;
    if (__builtin_expect(rdb_key_load_delay_us != 0, 0)) aofLoadSlowDown(l);
    return aofLoadHandleRequest(l, &r) ? STEP_DONE : STEP_BAD;
}

/* At the end of the file within a command: returns whether the command was only cut off. An incomplete length
 * with anything but digits in it was not written by a server. */
static bool aofLoadIsCutOff(const struct aofLoader *l) {
    const struct respParser *p = &l->parser;
    if (respParserIdle(p) || (p->multibulk && p->bulklen >= 0)) return true;
    const char *line = l->buf + l->pos + p->pos, *end = l->buf + sdslen(l->buf);
    if (line < end && *line == (p->multibulk ? '$' : '*')) line++;
    while (line < end && *line >= '0' && *line <= '9') line++;
    if (line < end && *line == '\r') line++;
    return line == end;
}

/* Reads to the end of the file, which may be within a command (see l->whole). False: there is an error. */
static bool aofLoadReadCommands(struct aofLoader *l) {
    for (;;) {
        switch (aofLoadOneCommand(l)) {
        case STEP_DONE:
            if (!l->in_multi) l->whole = rioOffset(&l->r.io) - (sdslen(l->buf) - l->pos);
            break;
        case STEP_MORE:
            if (aofLoadFill(l)) break;
            return !rioFailed(&l->r.io) && aofLoadIsCutOff(l);
        default: return false;
        }
    }
}

/* ---- One file ---- */

static bool aofLoadStartsWithImage(struct rioReader *r) {
    if (rdbIsCompressed(r)) return true;
    if (rioAtEnd(r)) return false;
    const char *p = r->at;
    size_t n = (size_t)(r->end - p);
    return (n >= 5 && !memcmp(p, "REDIS", 5)) || (n >= 6 && !memcmp(p, "VALKEY", 6));
}

static void aofLoadInitLoader(struct aofLoader *l, const char *name, int *fd, uint64_t size) {
    *l = (struct aofLoader){.name = name, .client = clientCreate(NULL), .buf = sdsempty()};
    l->client->flags |= CLIENT_FAKE | CLIENT_DENY_BLOCKING;
    l->client->db = dbGet(0);
    rioReaderInit(&l->r.io, rioSourceFd, fd, size);
    l->r.io.progress = aofLoadProgress;
}

static void aofLoadFreeLoader(struct aofLoader *l) {
    aofLoadEndMulti(l, false);
    respParserReset(&l->parser);
    clientFreeNow(l->client);
    rdbReaderFree(&l->r);
    sdsfree(l->buf);
    zfree(l->argv);
}

static bool aofLoadCut(const char *path, uint64_t size) {
    if (truncate(path, (off_t)size) == 0) return true;
    serverLog(LL_WARNING, "Shortening the append-only file %s failed: %s", path, strerror(errno));
    return false;
}

/* Handles a file that ends before its last command does. */
static bool aofLoadCutIncomplete(struct aofLoader *l, const char *path, bool is_last) {
    serverAssert(l->whole < bytes_valid); /* cutting never makes a file longer */
    if (!is_last || !aof_load_truncated) {
        serverLog(
            LL_WARNING,
            "Unexpected end of file reading the append only file %s after offset %llu. Make a backup of "
            "the file, then either repair it with valkey-check-aof --fix, or, if it is the last one, set "
            "aof-load-truncated to yes.",
            l->name, (unsigned long long)l->whole);
        return false;
    }
    if (l->in_multi) {
        serverLog(LL_WARNING, "The append-only file %s ends within a MULTI/EXEC transaction, which is undone",
                  l->name);
    }
    serverLog(LL_WARNING, "The append-only file %s ends in the middle of a command", l->name);
    serverLog(LL_WARNING, "The incomplete end of the append-only file %s is cut off at offset %llu", l->name,
              (unsigned long long)l->whole);
    if (!aofLoadCut(path, l->whole)) return false;
    serverLog(LL_WARNING,
              "The append-only file %s was loaded up to that offset, as aof-load-truncated allows", l->name);
    return true;
}

/* Cuts off what cannot be read at the end of the last file, if it is short enough. False: nothing has
 * changed. */
static bool aofLoadCutCorrupt(const struct aofLoader *l, const char *path, uint64_t size, bool is_last) {
    uint64_t corrupt = size - l->whole;
    if (!is_last || rioFailed(&l->r.io) || corrupt >= (uint64_t)aof_load_corrupt_tail_max) return false;
    serverLog(LL_WARNING,
              "The append-only file %s is corrupt from offset %llu on; these last %llu bytes are cut off",
              l->name, (unsigned long long)l->whole, (unsigned long long)corrupt);
    if (!aofLoadCut(path, l->whole)) return false;
    serverLog(
        LL_WARNING,
        "The append-only file %s was loaded up to that offset, as aof-load-corrupt-tail-max-size allows",
        l->name);
    bytes_valid = l->whole;
    was_cut = true;
    return true;
}

static void aofLoadLogBadFormat(const struct aofLoader *l) {
    serverLog(LL_WARNING, "The append only file %s is good up to offset %llu%s%s", l->name,
              (unsigned long long)l->whole, l->r.io.error ? ": " : "", l->r.io.error ? l->r.io.error : "");
    serverLog(LL_WARNING,
              "Bad file format reading the append only file %s: make a backup of your AOF file, then use "
              "./valkey-check-aof --fix <filename.manifest>",
              l->name);
}

static bool aofLoadOpenFile(struct aofLoader *l, const char *path, uint64_t size, bool is_last) {
    if (aofLoadStartsWithImage(&l->r.io)) {
        serverLog(LL_NOTICE, "The append-only file begins with an RDB image, which is loaded first");
        if (!rdbLoadStream(&l->r, &(struct rdbLoadOptions){.keep_expired = true, .prefix = true}, NULL)) {
            serverLog(LL_WARNING, "Loading the AOF base file %s failed: %s at offset %llu", l->name,
                      l->r.io.error ? l->r.io.error : "it is not complete",
                      (unsigned long long)l->r.io.error_offset);
            return false;
        }
        l->whole = rioOffset(&l->r.io);
    }
    if (l->whole || !rioAtEnd(&l->r.io)) loadingStartCommands(bytes_before + l->whole);
    if (!aofLoadReadCommands(l)) {
        if (l->refused) return false;
        if (aofLoadCutCorrupt(l, path, size, is_last)) return true;
        aofLoadLogBadFormat(l);
        return false;
    }
    bytes_valid = rioOffset(&l->r.io);
    if (l->whole == bytes_valid) return true;
    if (!aofLoadCutIncomplete(l, path, is_last)) return false;
    bytes_valid = l->whole;
    was_cut = true;
    return true;
}

static bool aofLoadFile(const char *name, uint64_t size, bool is_last) {
    serverAssert(!loading); /* one file at a time */
    sds path = aofPath(aof_dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0;
    bytes_valid = 0;
    if (!ok) {
        serverLog(LL_WARNING, "The append-only file %s could not be opened for reading: %s", name,
                  strerror(errno));
    } else {
        struct aofLoader l;
        aofLoadInitLoader(&l, name, &fd, size);
        loading = &l;
        void (*error_hook_before)(const struct client *c, struct str msg) = reply_error_unread;
        reply_error_unread = aofLoadNoteError;
        call_file_replayed = true;
        ok = aofLoadOpenFile(&l, path, size, is_last);
        call_file_replayed = false;
        reply_error_unread = error_hook_before;
        loading = NULL;
        aofLoadFreeLoader(&l);
        close(fd);
    }
    sdsfree(path);
    return ok;
}

/* ---- All files ---- */

/* Gets the sizes of the files that are to be read. False: one is missing. */
static bool aofLoadMeasure(uint64_t *sizes, uint64_t *total) {
    *total = 0;
    for (size_t i = 0; i < aof.manifest.count; i++) {
        const struct aofFile *f = &aof.manifest.files[i];
        if (f->type == 'h') break;
        sds path = aofPath(aof_dir, f->name);
        struct stat st;
        bool ok = stat(path, &st) == 0;
        if (!ok) {
            serverLog(LL_WARNING, "The AOF file %s that the manifest names cannot be read: %s", f->name,
                      strerror(errno));
        }
        sdsfree(path);
        if (!ok) return false;
        sizes[i] = (uint64_t)st.st_size;
        *total += sizes[i];
    }
    return true;
}

enum aofLoaded aofLoad(void) {
    serverAssert(!loadingActive());
    struct aofManifest *m = &aof.manifest;
    uint64_t *sizes = zcalloc(m->count + 1, sizeof *sizes), total;
    int64_t begin = monotonicUs();
    bool ok = aofLoadMeasure(sizes, &total);
    size_t files = 0;
    while (files < m->count && m->files[files].type != 'h') files++;
    uint64_t dirty = dbstats.dirty;
    bytes_before = 0;
    was_cut = false;
    aof.size = 0;
    if (ok && total) loadingStart(EVENT_LOADS_AOF, total);
    for (size_t i = 0; ok && total && i < files; i++) {
        int64_t file_begin = monotonicUs();
        ok = aofLoadFile(m->files[i].name, sizes[i], i + 1 == files);
        bytes_before += sizes[i];
        serverAssert(bytes_valid <= sizes[i]);
        aof.size += bytes_valid;
        if (ok) {
            serverLog(LL_NOTICE, "DB loaded from %s file %s: %.3f seconds",
                      m->files[i].type == 'b' ? "base" : "incr", m->files[i].name,
                      (double)(monotonicUs() - file_begin) / 1e6);
        }
    }
    if (total) loadingStop(ok);
    snapshotResetChanges(dirty);
    zfree(sizes);
    if (ok && total) {
        serverLog(LL_NOTICE, "Dataset loaded from the append-only file in %.3f seconds",
                  (double)(monotonicUs() - begin) / 1e6);
    }
    return !ok ? AOF_FAILED : was_cut ? AOF_CUT : total ? AOF_LOADED : AOF_EMPTY;
}
