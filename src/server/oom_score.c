/* SPDX-License-Identifier: BSD-3-Clause */
/* oom_score.c - oom-score-adj, which tells the kernel which process to kill first when memory runs out.
 * Part of process.h.
 *
 * The value of the role is written to /proc/self/oom_score_adj: as it is (absolute), or added to the value
 * at the start of the server (relative, or yes). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "data/child.h"
#include "registry/config.h"
#include "server/process.h"

#define SCORE_PATH "/proc/self/oom_score_adj"
#define SCORE_MAX  1000 /* limit of the kernel */
#define VALUE_MAX  2000

enum { OOM_NO, OOM_RELATIVE, OOM_ABSOLUTE };

static int mode;
static int64_t values[OOM_ROLES] = {0, 200, 800};
static enum oomRole current_role = OOM_PRIMARY;
static int64_t score_at_start;
static bool changed; /* we have changed it, and restore it when the directive is turned off */

static int64_t oomScoreReadScore(void) {
    long score = 0;
    FILE *f = fopen(SCORE_PATH, "re");
    if (!f) return 0;
    if (fscanf(f, "%ld", &score) != 1) score = 0;
    fclose(f);
    return score;
}

static bool oomScoreWriteScore(int64_t score) {
    if (score > SCORE_MAX) score = SCORE_MAX;
    if (score < -SCORE_MAX) score = -SCORE_MAX;
    char text[LONG_STR_SIZE];
    size_t len = ll2string(text, score);
    int fd = open(SCORE_PATH, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    int reason = errno;
    if (fd >= 0) close(fd);
    if (!ok) serverLog(LL_WARNING, "Writing oom_score_adj failed: %s", strerror(reason));
    return ok;
}

static bool oomScoreApplyScore(enum oomRole role) {
    if (mode == OOM_NO) {
        bool ok = !changed || oomScoreWriteScore(score_at_start);
        if (ok) changed = false;
        return ok;
    }
    if (!changed) score_at_start = oomScoreReadScore();
    changed = true;
    return oomScoreWriteScore(values[role] + (mode == OOM_RELATIVE ? score_at_start : 0));
}

void oomScoreSetRole(enum oomRole role) {
    current_role = role;
    oomScoreApplyScore(role);
}

static bool oomScoreApply(const char **err) {
    if (oomScoreApplyScore(current_role)) return true;
    *err = "Failed to apply new oom_score_adj configuration, check server logs.";
    return false;
}

static bool oomScoreSetValues(const struct configDirective *d, int argc, const struct str *argv,
                              const char **err) {
    (void)d;
    if (argc != OOM_ROLES) {
        *err = "wrong number of arguments";
        return false;
    }
    int64_t now[OOM_ROLES];
    for (int i = 0; i < OOM_ROLES; i++) {
        if (string2ll(argv[i], &now[i]) && now[i] >= -VALUE_MAX && now[i] <= VALUE_MAX) continue;
        *err = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        return false;
    }
    if (now[OOM_REPLICA] < now[OOM_PRIMARY] || now[OOM_CHILD] < now[OOM_REPLICA])
        serverLog(
            LL_WARNING,
            "oom-score-adj-values decrease, but a process without privileges may only raise its score, so "
            "some of them may have no effect");
    memcpy(values, now, sizeof values);
    return true;
}

static sds oomScoreGetValues(const struct configDirective *d) {
    (void)d;
    return sdscatprintf(sdsempty(), "%lld %lld %lld", (long long)values[0], (long long)values[1],
                        (long long)values[2]);
}

static void oomScoreOnFork(enum childKind kind) {
    (void)kind;
    if (mode != OOM_NO) oomScoreApplyScore(OOM_CHILD);
}

void oomScoreRegister(void) {
    static const struct configEnum modes[] = {
        {"no", OOM_NO}, {"yes", OOM_RELATIVE}, {"relative", OOM_RELATIVE}, {"absolute", OOM_ABSOLUTE}, {0}};
    static struct configDirective directives[] = {
        CONFIG_ENUM("oom-score-adj", NULL, CONFIG_MODIFIABLE, &mode, OOM_NO, modes, oomScoreApply),
        CONFIG_SPECIAL("oom-score-adj-values", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, oomScoreSetValues,
                       oomScoreGetValues, oomScoreApply),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    childOnFork(oomScoreOnFork);
}
