/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_conf.c - see sentinel_conf.h.
 *
 * Lines wait until all have been read. Then those about the Sentinel itself are applied first, then the
 * primaries, then the settings of these, in whatever order the file has them. The file is rewritten, by the
 * rules of CONFIG REWRITE, whenever something changes that must survive a restart. */
#include "sentinel/sentinel_conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "sentinel/sentinel.h"

#define USUAL_HZ 10

struct waitingLine {
    int number;
    sds text; /* as in the file, for errors */
    struct str *words;
    int count;
};

static struct waitingLine *waiting;
static int waiting_count;

/* ---- Reading ---- */

/* Copies the words, which are valid only during this call. */
static void sentinelConfAddLine(int argc, const struct str *argv) {
    waiting = zrealloc(waiting, ((size_t)waiting_count + 1) * sizeof *waiting);
    struct waitingLine *line = &waiting[waiting_count++];
    const char *text;
    *line = (struct waitingLine){.number = configLine(&text), .count = argc};
    line->text = sdsnew(text);
    line->words = zcalloc((size_t)argc, sizeof *line->words);
    for (int i = 0; i < argc; i++) line->words[i] = sdsview(sdsnewstr(argv[i]));
}

static void sentinelConfFreeLine(struct waitingLine *line) {
    for (int i = 0; i < line->count; i++) sdsfree((sds)line->words[i].ptr);
    zfree(line->words);
    sdsfree(line->text);
}

static bool sentinelConfSetLine(const struct configDirective *d, int argc, const struct str *argv,
                                const char **err) {
    (void)d;
    bool bare = argc == 1 && argv[0].len == 0; /* --sentinel on the command line */
    if (bare) return true;
    *err = "sentinel directive while not in sentinel mode";
    if (!sentinel_mode) return false;
    sentinelConfAddLine(argc, argv);
    return true;
}

static sds sentinelConfGetNothing(const struct configDirective *d) {
    (void)d;
    return sdsempty();
}

static void sentinelConfRequireFile(void) {
    const char *path = configFilePath();
    if (!*path) {
        serverLog(LL_WARNING,
                  "A Sentinel keeps its state in its configuration file, but none was given, so it exits");
        exit(1);
    }
    if (access(path, W_OK) == 0) return;
    serverLog(LL_WARNING,
              "The configuration file %s of this Sentinel cannot be written: %s. The Sentinel exits.", path,
              strerror(errno));
    exit(1);
}

void sentinelConfApply(void) {
    for (enum configPass pass = PASS_SELF; pass <= PASS_REST; pass++) {
        for (int i = 0; i < waiting_count; i++) {
            struct waitingLine *line = &waiting[i];
            if (supervisorConfigPass(line->words[0]) != pass) continue;
            const char *err = supervisorConfigLine(&sentinel, line->count, line->words);
            if (err) configFatal(line->number, line->text, err);
        }
    }
    for (int i = 0; i < waiting_count; i++) sentinelConfFreeLine(&waiting[i]);
    zfree(waiting);
    waiting = NULL;
    waiting_count = 0;
    sentinelConfRequireFile();
}

/* ---- Writing ---- */

static sds sentinelConfAllLines(bool (*present)(void *priv, struct str kind), void *priv) {
    return sentinel_mode ? supervisorConfigLines(&sentinel, present, priv) : sdsempty();
}

bool sentinelConfSave(void) {
    int64_t hz = server_hz;
    server_hz = USUAL_HZ; /* the current value changes at each tick and must not be saved */
    bool ok = configRewrite(false);
    int reason = errno;
    server_hz = hz;
    if (ok)
        serverLog(LL_NOTICE, "The configuration file of this Sentinel is written");
    else
        serverLog(LL_WARNING, "The configuration file of this Sentinel could not be written: %s",
                  strerror(reason));
    return ok;
}

void sentinelConfRegister(void) {
    /* Old names of lines, which are still read. */
    static const char *const aliases[] = {"known-slave", "known-replica", "master-reboot-down-after-period",
                                          "primary-reboot-down-after-period", NULL};
    static const struct configLineKinds kinds = {.lines = sentinelConfAllLines, .aliases = aliases};
    static struct configDirective directives[] = {
        {.name = "sentinel",
         .type = CONFIG_TYPE_SPECIAL,
         .flags = CONFIG_MULTI_ARG | CONFIG_LINES | CONFIG_MAY_STAND_ALONE,
         .set = sentinelConfSetLine,
         .get = sentinelConfGetNothing,
         .kinds = &kinds},
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
