/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/zmalloc.h"

sds fileRead(const char *path, mode_t *mode) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct stat st;
    if (mode && fstat(fd, &st) == 0) *mode = st.st_mode & 07777;
    sds text = sdsempty();
    char buf[16 * 1024];
    ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) text = sdscatlen(text, buf, (size_t)n);
    }
    int reason = errno;
    close(fd);
    if (n == 0) return text;
    sdsfree(text);
    errno = reason;
    return NULL;
}

sds fileAbsolutePath(const char *path) {
    char cwd[PATH_MAX];
    if (path[0] == '/' || !getcwd(cwd, sizeof cwd)) return sdsnew(path);
    return sdscatprintf(sdsempty(), "%s/%s", cwd, path);
}

bool fileSyncFolder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = fsync(fd) == 0 || errno == EINVAL;
    int reason = errno;
    close(fd);
    errno = reason;
    return ok;
}

bool fileSyncFolderOf(const char *path) {
    char *copy = zstrdup(path);
    bool ok = fileSyncFolder(dirname(copy));
    int reason = errno;
    zfree(copy);
    errno = reason;
    return ok;
}

bool fileReplace(const char *path, struct str text, mode_t mode) {
    sds temp = sdscatprintf(sdsempty(), "%s.%d.tmp", path, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool ok = fd >= 0 && fdWriteAll(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    ok = ok && rename(temp, path) == 0;
    int reason = errno;
    if (fd >= 0) close(fd);
    if (ok)
        fileSyncFolderOf(path); /* the rename itself must survive a crash, too */
    else if (fd >= 0)
        unlink(temp);
    sdsfree(temp);
    errno = reason;
    return ok;
}

bool fileSetGroup(const char *path, const char *group) {
    errno = 0;
    struct group *g = getgrnam(group);
    if (!g && !errno) errno = EINVAL;
    return g && chown(path, (uid_t)-1, g->gr_gid) == 0;
}
