/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_target.c - see cli_target.h. */
#include "tools/cli/cli_target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define NEW_FILE_MODE 0644

static char *volatile temporary_path; /* the file to remove when the program ends early; NULL: none */

static void cliTargetRemove(void) {
    if (temporary_path) unlink(temporary_path);
    temporary_path = NULL;
}

static void cliTargetOnSignal(int number) {
    cliTargetRemove();
    signal(number, SIG_DFL);
    raise(number);
}

static void cliTargetCatchSignals(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    static bool is_watched;
    if (is_watched) return;
    is_watched = true;
    atexit(cliTargetRemove);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], cliTargetOnSignal);
}

static _Noreturn void cliTargetFail(const struct cliTarget *t, const char *why) {
    fprintf(stderr, "'%s' cannot be written: %s\n", t->path, why);
    exit(1);
}

void cliTargetOpen(struct cliTarget *t, const char *path) {
    struct stat st;
    *t = (struct cliTarget){.path = sdsnew(path)};
    if (strcmp(path, "-") == 0) {
        t->fd = STDOUT_FILENO;
        return;
    }
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode)) {
        t->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (t->fd == -1) cliTargetFail(t, strerror(errno));
        return;
    }
    /* An existing file keeps its permissions, and its place if the path is a symbolic link. */
    char *followed = realpath(path, NULL);
    t->final = sdsnew(followed ? followed : path);
    free(followed);
    t->temporary = sdscatprintf(sdsempty(), "%s.%d.tmp", t->final, (int)getpid());
    t->fd = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
    if (t->fd == -1) cliTargetFail(t, strerror(errno));
    cliTargetCatchSignals();
    temporary_path = t->temporary;
    if (exists && fchmod(t->fd, st.st_mode & 07777) != 0) cliTargetFail(t, strerror(errno));
}

void cliTargetPut(struct cliTarget *t, struct str bytes) {
    if (!fdWriteAll(t->fd, bytes)) cliTargetFail(t, strerror(errno));
}

void cliTargetFinish(struct cliTarget *t) {
    if (t->temporary) {
        if (fsync(t->fd) != 0 || close(t->fd) != 0 || rename(t->temporary, t->final) != 0)
            cliTargetFail(t, strerror(errno));
        temporary_path = NULL;
        if (!fileSyncFolderOf(t->final)) cliTargetFail(t, strerror(errno));
    } else if (t->fd != STDOUT_FILENO && close(t->fd) != 0) {
        cliTargetFail(t, strerror(errno));
    }
    sdsfree(t->path);
    sdsfree(t->final);
    sdsfree(t->temporary);
}
