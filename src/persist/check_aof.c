/* SPDX-License-Identifier: BSD-3-Clause */
/* check_aof.c - valkey-check-aof: says whether an append-only file is whole and, if not, where the damage
 * begins. Part of check.h.
 *
 * Given a manifest, all its files are checked in order, and only the last may be repaired, by
 * cutting it where it stops being valid. Given a file, that file is checked. The reader is
 * deliberately not the server's: it goes line by line, knows no commands except MULTI and EXEC, and
 * can say on which line an error is. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compressed_stream.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "persist/aof_manifest.h"
#include "persist/check.h"

#define ERROR_SIZE     1024
#define TIMESTAMP_MARK "#TS:"

struct aofCheck {
    FILE *f;
    const char *name;
    int64_t line;        /* line being read, from 1 on */
    int64_t size, whole; /* bytes; whole: up to the end of the last complete unit */
    int64_t cut_time;    /* --truncate-to-timestamp, or 0 */
    int64_t cut_at;      /* offset of the first later time; -1: there is none */
    bool in_multi;
    char error[ERROR_SIZE];
};

enum checkAofOutcome { AOF_IS_FINE, AOF_WAS_CUT, AOF_IS_BAD };

/* Records the first problem; returns false. */
static bool __attribute__((format(printf, 2, 3))) checkAofProblem(struct aofCheck *c, const char *fmt, ...) {
    if (c->error[0]) return false;
    int n = snprintf(c->error, sizeof c->error, "0x%16llx: ", (unsigned long long)ftello(c->f));
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->error + n, sizeof c->error - (size_t)n, fmt, ap);
    va_end(ap);
    return false;
}

static bool checkAofReadBytes(struct aofCheck *c, char *dst, size_t n) {
    size_t got = fread(dst, 1, n, c->f);
    return got == n || checkAofProblem(c, "%zu bytes should follow, but there are only %zu", n, got);
}

static bool checkAofLineEnd(struct aofCheck *c) {
    char b[2];
    if (!checkAofReadBytes(c, b, 2)) return false;
    c->line++;
    return (b[0] == '\r' && b[1] == '\n') ||
           checkAofProblem(c, "\\r\\n should follow, but the bytes are %02x%02x", b[0], b[1]);
}

/* Reads "<mark><number>\r\n". */
static bool checkAofReadNumber(struct aofCheck *c, char mark, int64_t *n) {
    char line[64];
    if (!fgets(line, sizeof line, c->f))
        return checkAofProblem(c, "The line should begin with '%c', but the file ends", mark);
    c->line++;
    size_t len = strlen(line);
    if (line[0] != mark)
        return checkAofProblem(c, "The line should begin with '%c', but begins with '%c'", mark, line[0]);
    if (len < 3 || line[len - 1] != '\n' || line[len - 2] != '\r')
        return checkAofProblem(c, "The line should end with \\r\\n");
    return (string2ll(strN(line + 1, len - 3), n) && *n >= 0) ||
           checkAofProblem(c, "The count or length in the line is not a valid number");
}

/* Reads a string and stores its first bytes in `text`. */
static bool checkAofReadString(struct aofCheck *c, char *text, size_t size) {
    int64_t len;
    if (!checkAofReadNumber(c, '$', &len)) return false;
    if (len > c->size - ftello(c->f)) {
        return checkAofProblem(c, "%lld bytes should follow, but there are only %lld", (long long)len,
                               (long long)(c->size - ftello(c->f)));
    }
    size_t n = (size_t)len < size - 1 ? (size_t)len : size - 1;
    if (!checkAofReadBytes(c, text, n)) return false;
    text[n] = '\0';
    if (fseeko(c->f, len - (int64_t)n, SEEK_CUR) != 0) return checkAofProblem(c, "%s", strerror(errno));
    return checkAofLineEnd(c);
}

/* Reads a comment line or a time. False: the time is later than --truncate-to-timestamp, so the
 * file is to be cut there. */
static bool checkAofReadComment(struct aofCheck *c) {
    char line[256];
    int64_t start = ftello(c->f), time;
    bool whole = false;
    for (bool first = true; !whole && fgets(line, sizeof line, c->f); first = false) {
        whole = strchr(line, '\n');
        if (first && c->cut_time && whole && !strncmp(line, TIMESTAMP_MARK, 4)) {
            struct str digits = strN(line + 4, strcspn(line + 4, "\r\n"));
            if (string2ll(digits, &time) && time > c->cut_time) {
                c->cut_at = start;
                return false;
            }
        }
    }
    c->line++;
    return whole || checkAofProblem(c, "a remark without end");
}

static bool checkAofReadCommand(struct aofCheck *c) {
    int64_t argc;
    char name[8], rest[8];
    if (!checkAofReadNumber(c, '*', &argc)) return false;
    if (argc < 1) return checkAofProblem(c, "a command without a name");
    for (int64_t i = 0; i < argc; i++) {
        if (!checkAofReadString(c, i ? rest : name, sizeof name)) return false;
    }
    if (!strcasecmp(name, "multi")) {
        if (c->in_multi) return checkAofProblem(c, "a MULTI within a MULTI");
        c->in_multi = true;
    } else if (!strcasecmp(name, "exec")) {
        if (!c->in_multi) return checkAofProblem(c, "an EXEC without a MULTI");
        c->in_multi = false;
    }
    return true;
}

static void checkAofReadCommands(struct aofCheck *c) {
    for (;;) {
        if (!c->in_multi) c->whole = ftello(c->f);
        int first = getc(c->f);
        if (first == EOF) break;
        ungetc(first, c->f);
        if (first == '#') {
            if (!checkAofReadComment(c)) return;
        } else if (first != '*') {
            printf("The append-only file %s has something at this place that is neither a command nor a "
                   "remark\n",
                   c->name);
            return;
        } else if (!checkAofReadCommand(c)) {
            return;
        }
    }
    if (c->in_multi) checkAofProblem(c, "The file ends before the EXEC of its last MULTI");
}

static bool checkAofAskUser(void) {
    char answer[8];
    printf("Continue? [y/N]: ");
    fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) && !strncasecmp(answer, "y", 1)) return true;
    printf("Aborting...\n");
    return false;
}

static bool checkAofCutTo(struct aofCheck *c, int64_t size) {
    if (ftruncate(fileno(c->f), size) == 0) return true;
    printf("Shortening the append-only file %s failed: %s\n", c->name, strerror(errno));
    return false;
}

static enum checkAofOutcome checkAofCutToTime(struct aofCheck *c, bool last) {
    if (c->cut_at < 0) {
        printf("Nothing in the append-only file %s was written after timestamp %lld, so it stays as it is\n",
               c->name, (long long)c->cut_time);
        return AOF_IS_FINE;
    }
    if (c->cut_at == 0) {
        printf("The append-only file %s is not shortened to timestamp %lld: all of it was written later, so "
               "nothing would be left of it.\n",
               c->name, (long long)c->cut_time);
        return AOF_IS_BAD;
    }
    if (!last) {
        printf("The append-only file %s is not shortened to timestamp %lld at offset %lld, because it is not "
               "the last file.\nWhat was written later stands in other files: take them and their lines out "
               "of the manifest, if they may be lost, and run this again.\n",
               c->name, (long long)c->cut_time, (long long)c->cut_at);
        return AOF_IS_BAD;
    }
    if (!checkAofCutTo(c, c->cut_at)) return AOF_IS_BAD;
    printf("Successfully truncated AOF %s to timestamp %lld\n", c->name, (long long)c->cut_time);
    return AOF_WAS_CUT;
}

static enum checkAofOutcome checkAofRepair(struct aofCheck *c, bool fix, bool last) {
    int64_t extra = c->size - c->whole;
    if (!fix) {
        printf("The append-only file %s is not valid. With --fix its end is cut off where it ceases to be.\n",
               c->name);
        return AOF_IS_BAD;
    }
    if (!last) {
        printf("The append-only file %s is not shortened, because it is not the last file\n", c->name);
        return AOF_IS_BAD;
    }
    printf("The append-only file %s has %lld bytes; cutting off %lld of them leaves %lld\n", c->name,
           (long long)c->size, (long long)extra, (long long)c->whole);
    if (!checkAofAskUser() || !checkAofCutTo(c, c->whole)) return AOF_IS_BAD;
    printf("Successfully truncated AOF %s\n", c->name);
    return AOF_WAS_CUT;
}

static bool checkAofBeginsWithImage(FILE *f) {
    char head[6] = {0};
    size_t n = fread(head, 1, sizeof head, f);
    rewind(f);
    return n == sizeof head && (!memcmp(head, "REDIS", 5) || !memcmp(head, "VALKEY", 6) ||
                                streamDetect(head, n) == STREAM_IS_COMPRESSED);
}

static enum checkAofOutcome checkAofOpenFile(struct aofCheck *c, bool fix, bool last) {
    if (c->size == 0) {
        printf("AOF %s is empty\n", c->name);
        return AOF_IS_FINE;
    }
    if (checkAofBeginsWithImage(c->f)) {
        int64_t end = checkRdbImage(c->name, fileno(c->f));
        if (end < 0) {
            printf("The RDB image at the beginning of the file is corrupt, so the commands behind it are not "
                   "checked\n");
            return AOF_IS_BAD;
        }
        printf("The RDB image at the beginning of the file is sound; the commands behind it follow\n");
        fseeko(c->f, end, SEEK_SET);
    }
    checkAofReadCommands(c);
    if (c->cut_time && !c->error[0]) return checkAofCutToTime(c, last);
    if (c->error[0]) printf("%s\n", c->error);
    printf("AOF analyzed: filename=%s, size=%lld, ok_up_to=%lld, ok_up_to_line=%lld, diff=%lld\n", c->name,
           (long long)c->size, (long long)c->whole, (long long)c->line, (long long)(c->size - c->whole));
    return c->size == c->whole ? AOF_IS_FINE : checkAofRepair(c, fix, last);
}

/* Checks one file; `name` is printed. */
static enum checkAofOutcome checkAofFile(const char *path, const char *name, bool fix, int64_t cut_time,
                                         bool last) {
    struct aofCheck c = {.name = name, .line = 1, .cut_time = cut_time, .cut_at = -1};
    struct stat st;
    c.f = fopen(path, fix || cut_time ? "r+" : "r");
    if (!c.f || fstat(fileno(c.f), &st) != 0) {
        printf("The file %s cannot be opened: %s\n", path, strerror(errno));
        exit(1);
    }
    c.size = st.st_size;
    enum checkAofOutcome checkAofOutcome = checkAofOpenFile(&c, fix, last);
    if (fclose(c.f) != 0) {
        printf("Cannot write file %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return checkAofOutcome;
}

static int checkAofManifest(const char *path, bool fix, int64_t cut_time) {
    struct aofManifest m;
    sds error;
    printf("Start checking Multi Part AOF\n");
    if (!aofManifestRead(path, &m, &error)) {
        printf("Invalid AOF manifest: %s\n", error);
        sdsfree(error);
        return 1;
    }
    char *copy = strdup(path);
    const char *dir = dirname(copy);
    size_t used = 0;
    while (used < m.count && m.files[used].type != 'h') used++;
    enum checkAofOutcome checkAofOutcome = AOF_IS_FINE;
    for (size_t i = 0; i < used && checkAofOutcome != AOF_IS_BAD; i++) {
        const struct aofFile *file = &m.files[i];
        bool base = file->type == 'b';
        sds full = aofPath(dir, file->name);
        FILE *f = fopen(full, "r");
        bool image = f && checkAofBeginsWithImage(f);
        if (f) fclose(f);
        if (base) printf("Start to check BASE AOF (%s format).\n", image ? "RDB" : "RESP");
        if (!base && (i == 0 || m.files[i - 1].type == 'b')) printf("Start to check INCR files.\n");
        checkAofOutcome = checkAofFile(full, file->name, fix, cut_time, i + 1 == used);
        if (checkAofOutcome == AOF_IS_FINE)
            printf("%s AOF %s is valid\n", base ? "BASE" : "INCR", file->name);
        sdsfree(full);
    }
    if (checkAofOutcome != AOF_IS_BAD) printf("All AOF files and manifest are valid\n");
    free(copy);
    aofManifestFree(&m);
    return checkAofOutcome == AOF_IS_BAD;
}

/* Recognizes a manifest by its name or its first bytes. */
static bool checkAofIsManifest(const char *path) {
    size_t len = strlen(path), suffix = strlen(AOF_MANIFEST_SUFFIX);
    if (len >= suffix && !strcmp(path + len - suffix, AOF_MANIFEST_SUFFIX)) return true;
    FILE *f = fopen(path, "r");
    if (!f) {
        printf("The file %s cannot be opened: %s\n", path, strerror(errno));
        exit(1);
    }
    char line[8] = {0};
    bool is = fgets(line, sizeof line, f) && !strncmp(line, "file ", 5);
    fclose(f);
    return is;
}

static int checkAofUsage(const char *name) {
    printf("Usage: %s [--fix|--truncate-to-timestamp $timestamp] <file.manifest|file.aof>\n", name);
    return 1;
}

int checkAofMain(int argc, char **argv) {
    bool fix = false;
    int64_t cut_time = 0;
    int i = 1;
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        checkAofUsage(argv[0]);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[1], "--fix")) {
        fix = true;
        i = 2;
    } else if (argc > 3 && !strcmp(argv[1], "--truncate-to-timestamp")) {
        if (!string2ll(strOf(argv[2]), &cut_time) || cut_time <= 0) {
            printf("The timestamp is not valid\n");
            return 1;
        }
        i = 3;
    }
    if (i != argc - 1) return checkAofUsage(argv[0]);
    if (checkAofIsManifest(argv[i])) return checkAofManifest(argv[i], fix, cut_time);
    printf("Start checking Old-Style AOF\n");
    enum checkAofOutcome checkAofOutcome = checkAofFile(argv[i], argv[i], fix, cut_time, true);
    if (checkAofOutcome == AOF_IS_FINE) printf("AOF %s is valid\n", argv[i]);
    return checkAofOutcome == AOF_IS_BAD;
}
