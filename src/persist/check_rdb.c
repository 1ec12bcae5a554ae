/* SPDX-License-Identifier: BSD-3-Clause */
/* check_rdb.c - valkey-check-rdb: reads a file to its end as the server would, without putting anything into
 * a database, and says where and why it could not go on. Part of check.h.
 *
 * Values are created, checked in every detail and freed again by the code that loads them: what
 * passes here can be loaded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb_dataset.h"
#include "data/type.h"
#include "persist/check.h"
#include "persist/check_rdb_stats.h"

#define CHECKSUM_SINCE    5                   /* the first version with a checksum */
#define PROGRESS_INTERVAL (256 * 1024 * 1024) /* bytes between two lines about progress */
#define DATABASES_MAX     INT32_MAX

/* The text after "While doing" when an error is found. */
enum checkRdbStep {
    AT_START,
    AT_TYPE,
    AT_EXPIRE,
    AT_KEY,
    AT_VALUE,
    AT_CHECKSUM,
    AT_LENGTH,
    AT_AUX,
    AT_MODULE_AUX,
    AT_FUNCTIONS,
};
static const char *const step_names[] = {
    "start",     "read-type", "read-expire", "read-key",        "read-object-value",
    "check-sum", "read-len",  "read-aux",    "read-module-aux", "read-functions",
};
struct checker {
    struct rdbReader r;
    enum checkRdbStep checkRdbStep;
    sds key;  /* the key being read; NULL: none */
    int type; /* the type of the value being read; -1: none yet */
    bool has_expire;
    int64_t expire_ms, now_ms;
    uint64_t keys, expires, expired, functions;
    struct rdbSkipped skipped; /* values of modules, which a server needs to load them */
    uint64_t file_size;        /* RIO_SIZE_UNKNOWN: unknown */
    uint64_t next_progress_at; /* offset of the next line about progress */
    bool compressed;
    uint64_t logical_end; /* bytes in the compressed frame, once it has been read to its end */
    uint64_t db;
    struct rdbStats *stats; /* NULL: not requested */
};

/* Prints where in the file something is; in a compressed one also where in its contents. */
static void checkRdbPrintOffset(const struct checker *c, uint64_t offset) {
    if (c->compressed)
        printf("[logical offset %llu, physical offset %llu] ", (unsigned long long)offset,
               (unsigned long long)rioPhysicalOffset(&c->r.io));
    else
        printf("[offset %llu] ", (unsigned long long)offset);
}

static void checkRdbPrint(const struct checker *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void checkRdbPrint(const struct checker *c, const char *fmt, ...) {
    va_list ap;
    checkRdbPrintOffset(c, c->logical_end ? c->logical_end : rioOffset(&c->r.io));
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

static bool checkRdbFail(struct checker *c, const char *why) {
    return rioFail(&c->r.io, "%s", why);
}

/* ---- Reading ---- */

/* Versions that are not ours are read as far as possible, even those that a server would refuse: the user
 * wants to know what is in the file. */
static bool checkRdbMagic(struct checker *c) {
    char magic[RDB_MAGIC_LEN];
    if (!rioRead(&c->r.io, magic, sizeof magic)) return false;
    int version = c->r.version = rdbMagicVersion(magic);
    if (version < 0) return checkRdbFail(c, "The file does not begin with the signature of an RDB file");
    bool old_name = magic[0] == 'R';
    if (version < RDB_VERSION_OLDEST || (old_name ? version >= RDB_VERSION_EXPIRING : version <= RDB_VERSION))
        return rioFail(&c->r.io, "Can't handle RDB format version %d", version);
    if (!rdbVersionReadable(version))
        checkRdbPrint(c, "RDB version %d is %s: what this version can read of it is checked", version,
                      rdbVersionIsRedis(version) ? "another product's" : "newer than this server");
    return true;
}

/* Names and values may contain any bytes; they are printed as far as possible. */
static bool checkRdbAux(struct checker *c) {
    c->checkRdbStep = AT_AUX;
    sds name = rdbReadSds(&c->r);
    struct str value;
    bool ok = name && rdbReadString(&c->r, &value);
    if (ok) {
        sds shown = sdscatrepr(sdsempty(), value.ptr, value.len < 256 ? value.len : 256);
        checkRdbPrint(c, "AUX FIELD %s = '%.*s'", name, (int)sdslen(shown) - 2, shown + 1);
        sdsfree(shown);
    }
    sdsfree(name);
    return ok;
}

static bool checkRdbModuleAux(struct checker *c) {
    uint64_t id;
    c->checkRdbStep = AT_MODULE_AUX;
    if (!rdbReadLen(&c->r, &id) || !rdbSkipAside(&c->r, id)) return false;
    checkRdbPrint(c, "MODULE AUX for: %s", c->r.unknown_type);
    return true;
}

static bool checkRdbMetadata(struct checker *c) {
    struct rdbMetadata m = {0};
    c->checkRdbStep = AT_MODULE_AUX;
    bool ok = rdbReadMetadata(&c->r, &m);
    if (ok && m.classes) checkRdbPrint(c, "KEY METADATA for: %s", m.classes);
    c->skipped.metadata += m.classes != NULL;
    sdsfree(m.classes);
    return ok;
}

static bool checkRdbFunction(struct checker *c) {
    c->checkRdbStep = AT_FUNCTIONS;
    c->functions++;
    return rdbSkipString(&c->r);
}

static bool checkRdbSelect(struct checker *c) {
    uint64_t id;
    c->checkRdbStep = AT_LENGTH;
    if (!rdbReadLen(&c->r, &id)) return false;
    if (id > DATABASES_MAX) return checkRdbFail(c, "The number of a database is out of range");
    c->db = id;
    checkRdbPrint(c, "Selecting DB ID %llu", (unsigned long long)id);
    return true;
}

static bool checkRdbNumbers(struct checker *c, int count) {
    uint64_t n;
    c->checkRdbStep = AT_LENGTH;
    for (int i = 0; i < count; i++) {
        if (!rdbReadLen(&c->r, &n)) return false;
    }
    return true;
}

static bool checkRdbSlotImport(struct checker *c) {
    uint64_t ranges, slot;
    c->checkRdbStep = AT_LENGTH;
    if (!rdbSkipString(&c->r) || !rdbReadLen(&c->r, &ranges)) return false;
    for (; ranges; ranges--) {
        if (!rdbReadLen(&c->r, &slot) || !rdbReadLen(&c->r, &slot)) return false;
    }
    return true;
}

static bool checkRdbExpire(struct checker *c, uint8_t opcode) {
    int32_t s = 0;
    c->checkRdbStep = AT_EXPIRE;
    c->has_expire = true;
    if (opcode == RDB_OP_EXPIRETIME_MS) return rdbReadInt64(&c->r, &c->expire_ms);
    if (!rdbReadInt32(&c->r, &s)) return false;
    c->expire_ms = (int64_t)s * 1000;
    return true;
}

static bool checkRdbOpcode(struct checker *c, uint8_t opcode) {
    uint8_t uses;
    switch (opcode) {
    case RDB_OP_EXPIRETIME:
    case RDB_OP_EXPIRETIME_MS: return checkRdbExpire(c, opcode);
    case RDB_OP_FREQ: return rioReadByte(&c->r.io, &uses);
    case RDB_OP_IDLE: return checkRdbNumbers(c, 1);
    case RDB_OP_RESIZEDB: return checkRdbNumbers(c, 2);
    case RDB_OP_SLOT_INFO: return checkRdbNumbers(c, 3);
    case RDB_OP_SLOT_IMPORT:
        return rdbVersionIsRedis(c->r.version) ? checkRdbMetadata(c) : checkRdbSlotImport(c);
    case RDB_OP_SELECTDB: return checkRdbSelect(c);
    case RDB_OP_AUX: return checkRdbAux(c);
    case RDB_OP_MODULE_AUX: return checkRdbModuleAux(c);
    case RDB_OP_FUNCTION: return checkRdbFunction(c);
    case RDB_OP_FUNCTION_PRE_GA:
        return checkRdbFail(c, "Functions in the format of a pre-release version cannot be read");
    default: return rioFail(&c->r.io, "There is no opcode %d", opcode);
    }
}

/* ---- Keys ---- */

static bool checkRdbIsExpired(const struct checker *c) {
    return c->has_expire && c->expire_ms < c->now_ms;
}

static bool checkRdbValue(struct checker *c) {
    struct value v;
    c->checkRdbStep = AT_VALUE;
    enum rdbLoaded got = rdbReadValue(&c->r, (uint8_t)c->type, &v);
    if (got == RDB_SKIPPED) {
        rdbSkippedCount(&c->skipped, c->r.unknown_type);
        if (c->stats)
            rdbStatsCount(c->stats, c->db, sdsview(c->key), NULL, c->has_expire, checkRdbIsExpired(c));
        return true;
    }
    if (got == RDB_LOADED && c->stats)
        rdbStatsCount(c->stats, c->db, sdsview(c->key), &v, c->has_expire, checkRdbIsExpired(c));
    else if (got == RDB_LOADED && !v.embedded)
        objectTypes[v.type]->free(v);
    return got != RDB_FAILED;
}

static void checkRdbCountKey(struct checker *c) {
    c->keys++;
    c->expires += c->has_expire;
    c->expired += checkRdbIsExpired(c);
}

static void checkRdbPrintProgress(struct checker *c) {
    uint64_t at = rioPhysicalOffset(&c->r.io);
    if (at < c->next_progress_at) return;
    c->next_progress_at = at + PROGRESS_INTERVAL;
    if (c->file_size != RIO_SIZE_UNKNOWN)
        checkRdbPrint(c, "%llu%% of the file", (unsigned long long)(at * 100 / c->file_size));
}

static bool checkRdbKey(struct checker *c, uint8_t type) {
    c->type = type;
    c->checkRdbStep = AT_KEY;
    c->key = rdbReadSds(&c->r);
    if (!c->key || !checkRdbValue(c)) return false;
    checkRdbCountKey(c);
    sdsfree(c->key);
    c->key = NULL;
    c->has_expire = false;
    c->type = -1;
    checkRdbPrintProgress(c);
    return true;
}

static bool checkRdbChecksum(struct checker *c) {
    int64_t stored;
    c->checkRdbStep = AT_CHECKSUM;
    if (c->r.version < CHECKSUM_SINCE) return true;
    uint64_t computed = rioReaderCrc(&c->r.io);
    c->r.io.checksum = false;
    if (!rdbReadInt64(&c->r, &stored)) return false;
    if (c->compressed) return true;
    if (stored == 0) {
        checkRdbPrint(c, "The RDB file has no checksum, so its contents were not verified");
        return true;
    }
    if ((uint64_t)stored != computed)
        return checkRdbFail(c, "The checksum does not match the contents of the RDB file");
    checkRdbPrint(c, "Checksum OK");
    return true;
}

static void checkRdbStartFrame(struct checker *c) {
    c->compressed = rdbStartFrame(&c->r.io);
    if (c->compressed) checkRdbPrint(c, "Logical RDB CRC64 skipped for streaming-compressed input");
}

static bool checkRdbEndFrame(struct checker *c) {
    if (!c->compressed) return true;
    uint64_t end = rioOffset(&c->r.io);
    if (!rioReaderEndFrame(&c->r.io)) return false;
    c->logical_end = end;
    return true;
}

static bool checkRdbAll(struct checker *c) {
    uint8_t opcode;
    checkRdbStartFrame(c);
    if (!checkRdbMagic(c)) return false;
    for (;;) {
        c->checkRdbStep = AT_TYPE;
        if (!rioReadByte(&c->r.io, &opcode)) return false;
        if (opcode == RDB_OP_EOF) return checkRdbChecksum(c) && checkRdbEndFrame(c);
        bool ok = opcode < RDB_OP_LOWEST ? checkRdbKey(c, opcode) : checkRdbOpcode(c, opcode);
        if (!ok) return false;
    }
}

/* ---- The report ---- */

static void checkRdbPrintError(const struct checker *c) {
    const struct rioReader *io = &c->r.io;
    printf("--- RDB ERROR DETECTED ---\n");
    checkRdbPrintOffset(c, io->error_offset);
    printf("%s\n", io->ended ? "Unexpected EOF reading RDB file" : io->error);
    printf("[additional info] While doing: %s\n", step_names[c->checkRdbStep]);
    if (c->key) {
        sds shown = sdscatrepr(sdsempty(), c->key, sdslen(c->key) < 256 ? sdslen(c->key) : 256);
        printf("[additional info] Reading key '%.*s'\n", (int)sdslen(shown) - 2, shown + 1);
        sdsfree(shown);
    }
    if (c->type >= 0)
        printf("[additional info] Reading type %d (%s)\n", c->type, rdbTypeName(c->r.version, c->type));
}

static void checkRdbPrintSummary(const struct checker *c) {
    printf("[info] %llu keys read\n", (unsigned long long)c->keys);
    printf("[info] %llu expires\n", (unsigned long long)c->expires);
    printf("[info] %llu already expired\n", (unsigned long long)c->expired);
    printf("[info] %llu functions\n", (unsigned long long)c->functions);
    if (c->skipped.metadata)
        printf("[info] %llu keys with metadata of modules\n", (unsigned long long)c->skipped.metadata);
    if (!c->skipped.keys) return;
    sds types = rdbSkippedText(&c->skipped, sdsempty());
    printf(
        "[info] %llu keys of module types (%s): only a server that has the modules loads them, others need "
        "rdb-skip-unknown-types\n",
        (unsigned long long)c->skipped.keys, types);
    sdsfree(types);
}

/* Returns the offset after the image, or -1. `stats` may be NULL. */
static int64_t checkRdbFd(const char *name, int fd, struct rdbStats *stats) {
    struct stat st;
    struct checker c = {
        .type = -1, .now_ms = mstime(), .next_progress_at = PROGRESS_INTERVAL, .stats = stats};
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    c.file_size = regular ? (uint64_t)st.st_size : RIO_SIZE_UNKNOWN;
    rioReaderInit(&c.r.io, rioSourceFd, &fd, c.file_size);
    c.r.io.checksum = c.r.deep = c.r.keep_expired = c.r.skip_unknown = true;
    checkRdbPrint(&c, "Checking RDB file %s", name);
    bool ok = checkRdbAll(&c);
    int64_t end = ok ? (int64_t)rioOffset(&c.r.io) : -1;
    if (ok)
        checkRdbPrint(&c, "\\o/ RDB looks OK! \\o/");
    else
        checkRdbPrintError(&c);
    checkRdbPrintSummary(&c);
    sdsfree(c.key);
    rdbReaderFree(&c.r);
    fflush(stdout);
    return end;
}

int64_t checkRdbImage(const char *name, int fd) {
    serverAssert(fd >= 0);
    return checkRdbFd(name, fd, NULL);
}

/* ---- The command line ---- */

struct checkRdbRequest {
    const char *file, *output; /* NULL: not given */
    bool stats;
    enum rdbStatsFormat format;
};

static bool checkRdbParseFormat(const char *word, enum rdbStatsFormat *format) {
    static const char *const names[] = {"table", "info", "csv"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, names[i]) != 0) continue;
        *format = (enum rdbStatsFormat)i;
        return true;
    }
    return false;
}

static bool checkRdbParseWords(struct checkRdbRequest *q, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--stats") == 0) {
            q->stats = true;
        } else if (strcmp(argv[i], "--format") == 0 && value && checkRdbParseFormat(value, &q->format)) {
            i++;
        } else if (strcmp(argv[i], "--output") == 0 && value) {
            q->output = argv[++i];
        } else if (argv[i][0] != '-' && !q->file) {
            q->file = argv[i];
        } else {
            return false;
        }
    }
    return q->file != NULL;
}

static bool checkRdbPrintStats(const struct checkRdbRequest *q, const struct rdbStats *stats) {
    FILE *out = q->output ? fopen(q->output, "we") : stdout;
    if (out) rdbStatsPrint(stats, out, q->format);
    if (out && (out == stdout ? fflush(out) : fclose(out)) == 0) return true;
    fprintf(stderr, "Cannot write %s: %s\n", q->output ? q->output : "the statistics", strerror(errno));
    return false;
}

static int checkRdbFile(const struct checkRdbRequest *q) {
    int fd = open(q->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "The file %s cannot be opened: %s\n", q->file, strerror(errno));
        return 1;
    }
    struct rdbStats *stats = q->stats ? rdbStatsCreate() : NULL;
    bool ok = checkRdbFd(q->file, fd, stats) >= 0;
    if (ok && stats) ok = checkRdbPrintStats(q, stats);
    rdbStatsFree(stats);
    close(fd);
    return ok ? 0 : 1;
}

int checkRdbMain(int argc, char **argv) {
    struct checkRdbRequest checkRdbRequest = {.format = RDB_STATS_TABLE};
    if (argc == 2 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version"))) {
        printf("valkey-check-rdb %s\n", VALKEY_VERSION);
        return 0;
    }
    if (checkRdbParseWords(&checkRdbRequest, argc, argv)) return checkRdbFile(&checkRdbRequest);
    fprintf(stderr, "Usage: %s <rdb-file-name> [--stats] [--format table|info|csv] [--output <file>]\n",
            argv[0]);
    return 1;
}
