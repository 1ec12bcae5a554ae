/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_progress.c - see cli_progress.h. */
#include "tools/cli/cli_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/sds.h"

#define FIRST_US 1000000
#define EVERY_US 200000

struct cliProgress cliProgressStart(const char *what, int64_t total) {
    return (struct cliProgress){
        .what = what, .total = total, .start_us = monotonicUs(), .is_on = isatty(STDERR_FILENO)};
}

static sds cliProgressCatAmount(sds out, const struct cliProgress *p, int64_t amount) {
    char text[64];
    if (p->what) return sdscatprintf(out, "%lld", (long long)amount);
    bytesToHuman(text, sizeof(text), (uint64_t)amount);
    return sdscat(out, text);
}

static sds cliProgressLine(const struct cliProgress *p, int64_t done, int64_t elapsed_us, const char *more) {
    bool known = p->total > 0;
    int64_t total = p->total > done ? p->total : done;
    int64_t rate = (int64_t)((double)done * 1e6 / (double)elapsed_us);
    sds out = sdsempty();
    if (known) out = sdscatprintf(out, "%5.1f%%  ", total ? (double)done * 100 / (double)total : 100);
    out = cliProgressCatAmount(out, p, done);
    if (known) out = cliProgressCatAmount(sdscat(out, " of "), p, total);
    if (p->what) out = sdscatprintf(out, " %s", p->what);
    out = sdscat(cliProgressCatAmount(sdscat(out, ", "), p, rate), "/s");
    if (known && rate > 0)
        out = sdscatprintf(out, ", %lld s left", (long long)((total - done + rate - 1) / rate));
    if (*more) out = sdscatprintf(out, ", %s", more);
    return out;
}

void cliProgressShow(struct cliProgress *p, int64_t done, const char *more) {
    if (!p->is_on) return;
    int64_t now_us = monotonicUs(), elapsed_us = now_us - p->start_us;
    if (elapsed_us < FIRST_US || now_us - p->shown_us < EVERY_US) return;
    sds line = cliProgressLine(p, done, elapsed_us, more);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    sdsfree(line);
    p->shown_us = now_us;
    p->is_shown = true;
}

void cliProgressClear(struct cliProgress *p) {
    if (!p->is_shown) return;
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
    p->is_shown = false;
    p->shown_us = 0;
}
