/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.c - see cgroup.h. */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

#define PATH_MAX_LEN 1024

bool cgroupReadText(const char *path, char *text, size_t size) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return true;
}

static void cgroupGoUpwards(const char *mount, const char *group, int group_len, bool version_2,
                            cgroupFolderFn *fn, void *priv) {
    char folder[PATH_MAX_LEN];
    if (snprintf(folder, sizeof folder, "%s%.*s", mount, group_len, group) >= (int)sizeof folder) return;
    for (size_t top = strlen(mount);;) {
        fn(priv, folder, version_2);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) return;
        *slash = '\0';
    }
}

static bool cgroupNamesController(const char *names, const char *end, const char *controller) {
    size_t len = strlen(controller);
    for (const char *at = names; at < end;) {
        size_t n = strcspn(at, ",:");
        if (n == len && !memcmp(at, controller, n)) return true;
        at += n + 1;
    }
    return false;
}

/* Each line is number:controllers:path; that of version 2 has no controllers. */
void cgroupForEachFolder(const char *files, const char *cgroup, const char *controller, cgroupFolderFn *fn,
                         void *priv) {
    for (const char *line = cgroup; line && *line;) {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) return;
        int len = (int)strcspn(path + 1, "\n");
        if (path == names + 1) {
            cgroupGoUpwards(files, path + 1, len, true, fn, priv);
        } else if (cgroupNamesController(names + 1, path, controller)) {
            char mount[PATH_MAX_LEN];
            snprintf(mount, sizeof mount, "%s/%.*s", files, (int)(path - names - 1), names + 1);
            cgroupGoUpwards(mount, path + 1, len, false, fn, priv);
        }
        line = path + 1 + len;
        if (*line) line++;
    }
}
