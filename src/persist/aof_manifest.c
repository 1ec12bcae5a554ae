/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_manifest.c - reads, changes and writes the list of files; see aof_manifest.h. */
#include "persist/aof_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "base/zmalloc.h"

#define NAME_MAX_LENGTH 255 /* the limit of file systems */
/* longer than any line that is written, even with each byte of the name as \xHH */
#define LINE_MAX_LENGTH 2048
#define SEQ_MAX         (INT64_MAX / 2) /* so that there is always a next number */
_Static_assert(4 * NAME_MAX_LENGTH + 64 < LINE_MAX_LENGTH, "what is written can be read");

sds aofPath(const char *dir, const char *name) {
    serverAssert(*dir && *name);
    return sdscatprintf(sdsempty(), "%s/%s", dir, name);
}

/* ---- The list ---- */

static int aofManifestRankOf(char type) {
    return type == 'b' ? 0 : type == 'i' ? 1 : 2;
}

void aofManifestAdd(struct aofManifest *m, sds name, int64_t seq, char type) {
    size_t at = m->count;
    while (at > 0 && aofManifestRankOf(m->files[at - 1].type) > aofManifestRankOf(type)) at--;
    serverAssert(seq > 0 && (type == 'b' || type == 'i' || type == 'h'));
    serverAssert(type != 'b' || at == 0); /* there is only one base */
    serverAssert(type != 'i' || at == 0 || m->files[at - 1].type == 'b' || m->files[at - 1].seq < seq);
    m->files = zrealloc(m->files, (m->count + 1) * sizeof *m->files);
    memmove(m->files + at + 1, m->files + at, (m->count - at) * sizeof *m->files);
    m->files[at] = (struct aofFile){.name = name, .seq = seq, .type = type};
    m->count++;
}

void aofManifestFree(struct aofManifest *m) {
    for (size_t i = 0; i < m->count; i++) sdsfree(m->files[i].name);
    zfree(m->files);
    *m = (struct aofManifest){0};
}

struct aofManifest aofManifestCopy(const struct aofManifest *m) {
    struct aofManifest copy = {0};
    for (size_t i = 0; i < m->count; i++) {
        aofManifestAdd(&copy, sdsdup(m->files[i].name), m->files[i].seq, m->files[i].type);
    }
    serverAssert(copy.count == m->count);
    return copy;
}

struct aofFile *aofManifestBase(const struct aofManifest *m) {
    return m->count && m->files[0].type == 'b' ? &m->files[0] : NULL;
}

struct aofFile *aofManifestLast(const struct aofManifest *m) {
    for (size_t i = m->count; i-- > 0;) {
        if (m->files[i].type == 'i') return &m->files[i];
    }
    return NULL;
}

int64_t aofManifestNextSeq(const struct aofManifest *m, char type) {
    serverAssert(type == 'b' || type == 'i');
    int64_t highest = 0;
    for (size_t i = 0; i < m->count; i++) {
        /* History counts, as its files may still be on the disk. */
        if ((m->files[i].type == type || m->files[i].type == 'h') && m->files[i].seq > highest) {
            highest = m->files[i].seq;
        }
    }
    return highest + 1;
}

void aofManifestRetire(struct aofManifest *m, int64_t seq) {
    serverAssert(seq > 0);
    struct aofManifest now = {0};
    for (size_t i = 0; i < m->count; i++) {
        struct aofFile *f = &m->files[i];
        bool replaced = f->type == 'b' || (f->type == 'i' && f->seq < seq);
        aofManifestAdd(&now, f->name, f->seq, replaced ? 'h' : f->type);
    }
    serverAssert(now.count == m->count && !aofManifestBase(&now));
    zfree(m->files);
    *m = now;
}

void aofManifestDropHistory(struct aofManifest *m) {
    while (m->count && m->files[m->count - 1].type == 'h') sdsfree(m->files[--m->count].name);
}

/* ---- Text ---- */

sds aofManifestText(const struct aofManifest *m) {
    sds s = sdsempty();
    for (size_t i = 0; i < m->count; i++) {
        const struct aofFile *f = &m->files[i];
        size_t start = sdslen(s);
        s = sdscatword(sdscat(s, "file "), sdsview(f->name));
        s = sdscatprintf(s, " seq %lld type %c\n", (long long)f->seq, f->type);
        serverAssert(sdslen(s) - start <= LINE_MAX_LENGTH);
    }
    return s;
}

/* The name must be one of a file in this folder, not a path. */
static bool aofManifestIsPlainName(char *name) {
    size_t len = strlen(name);
    return len && len == sdslen(name) && !strchr(name, '/') && !strchr(name, '\\');
}

/* Returns NULL, or what is wrong with the line. */
static const char *aofManifestParseLine(const char *line, struct aofManifest *m) {
    int argc;
    sds *argv = sdssplitargs(line, strlen(line), &argc);
    if (!argv) return "unbalanced quotes";
    const char *error = argc < 6 || argc % 2 ? "a line has pairs of key and value" : NULL;
    sds name = NULL;
    int64_t seq = 0;
    char type = 0;
    for (int i = 0; !error && i < argc; i += 2) {
        if (!strcasecmp(argv[i], "file")) {
            name = argv[i + 1];
            if (!aofManifestIsPlainName(name)) error = "a file's name cannot be a path";
            if (sdslen(name) > NAME_MAX_LENGTH) error = "a file's name is too long";
        } else if (!strcasecmp(argv[i], "seq")) {
            if (!string2ll(sdsview(argv[i + 1]), &seq) || seq < 1 || seq > SEQ_MAX)
                error = "seq is a positive number";
        } else if (!strcasecmp(argv[i], "type")) {
            type = argv[i + 1][0];
            if (!type || !strchr("bih", type) || argv[i + 1][1]) error = "type is b, i or h";
        } /* other keys are ignored */
    }
    if (!error && (!name || !seq || !type)) error = "file, seq and type are needed";
    if (!error && type == 'b' && aofManifestBase(m)) error = "there can be one base file only";
    const struct aofFile *last = aofManifestLast(m);
    if (!error && type == 'i' && last && last->seq >= seq) error = "the sequence of files does not rise";
    if (!error) aofManifestAdd(m, sdsdup(name), seq, type);
    sdsfreesplitres(argv, argc);
    return error;
}

bool aofManifestRead(const char *path, struct aofManifest *m, sds *error) {
    *m = (struct aofManifest){0};
    *error = NULL;
    FILE *f = fopen(path, "re");
    if (!f) {
        int saved = errno;
        *error = sdscatprintf(sdsempty(), "cannot open the AOF manifest file %s: %s", path, strerror(saved));
        errno = saved;
        return false;
    }
    char line[LINE_MAX_LENGTH + 2];
    const char *why = NULL;
    int number = 0;
    while (!why && fgets(line, sizeof line, f)) {
        number++;
        size_t len = strlen(line);
        if (len > 0 && line[len - 1] == '\n')
            line[--len] = '\0';
        else if (len > LINE_MAX_LENGTH)
            why = "the line is too long";
        if (len > 0 && line[len - 1] == '\r') line[--len] = '\0';
        if (!why && line[0] == '#') continue;
        if (!why) why = len ? aofManifestParseLine(line, m) : "the line is empty";
    }
    if (!why && ferror(f)) why = "it cannot be read";
    if (!why && number == 0) why = "the file is empty";
    fclose(f);
    if (!why) return true;
    *error =
        sdscatprintf(sdsempty(), "the AOF manifest file %s is not valid at line %d: %s", path, number, why);
    aofManifestFree(m);
    errno = EINVAL;
    return false;
}

/* ---- Files ---- */

bool aofManifestWrite(const char *dir, const char *name, const struct aofManifest *m, bool *synced) {
    serverAssert(!strchr(name, '/'));
    sds text = aofManifestText(m);
    sds path = aofPath(dir, name);
    sds temp = sdscatprintf(sdsempty(), "%s/" AOF_TEMP_PREFIX "%s", dir, name);
    int fd = open(temp, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && fdWriteAll(fd, sdsview(text)) && fsync(fd) == 0;
    int saved = errno;
    if (fd >= 0 && close(fd) != 0 && ok) ok = false, saved = errno;
    if (ok && rename(temp, path) != 0) ok = false, saved = errno;
    *synced = ok && fileSyncFolder(dir);
    if (ok && !*synced) saved = errno;
    if (!ok) unlink(temp);
    sdsfree(text);
    sdsfree(path);
    sdsfree(temp);
    errno = saved;
    return ok;
}
