/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_preferences.c - preferences: lines such as ":set nohints" in ~/.valkeyclirc or at the prompt. Part
 * of cli.h.
 *
 * Each is a switch of the session. Options of the command line take precedence: the file does not switch
 * on what they switch off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/cli/cli.h"

static const char *const names[] = {"hints",   "nohints", "color",   "nocolor", "table",
                                    "notable", "pager",   "nopager", NULL};

const char *cliPreferenceName(int at) {
    return names[at];
}

static void cliPreferencesList(const struct cli *c) {
    printf("hints: %s\ncolor: %s\ntable: %s\npager: %s\n", c->hints ? "on" : "off", c->colour ? "on" : "off",
           c->tables ? "on" : "off", c->pager ? "on" : "off");
}

/* Sets a preference; false if it does not exist. */
static bool cliPreferencesSet(struct cli *c, const char *name) {
    bool on = strncasecmp(name, "no", 2) != 0;
    const char *what = on ? name : name + 2;
    bool *to = strcasecmp(what, "hints") == 0   ? &c->hints
               : strcasecmp(what, "color") == 0 ? &c->colour
               : strcasecmp(what, "table") == 0 ? &c->tables
               : strcasecmp(what, "pager") == 0 ? &c->pager
                                                : NULL;
    if (to) *to = on;
    if (to == &c->tables) c->table_hint = false; /* the user knows the choice */
    return to != NULL;
}

/* Answers ":get pubsub": whether the session has subscriptions. */
static void cliPreferenceGet(const struct cli *c, const char *name) {
    if (strcasecmp(name, "pubsub") == 0)
        printf("%d\n", c->subscriptions > 0);
    else
        printf("unknown valkey-cli get option '%s'\n", name);
}

void cliPreference(struct cli *c, int argc, const sds *argv) {
    if (strcasecmp(argv[0], ":get") == 0 && argc > 1) {
        cliPreferenceGet(c, argv[1]);
        return;
    }
    bool set = strcasecmp(argv[0], ":set") == 0;
    if (!set || argc > 2 || (argc == 1 && !c->interactive))
        printf("unknown valkey-cli internal command '%s'\n", argv[0]);
    else if (argc == 1)
        cliPreferencesList(c);
    else if (!cliPreferencesSet(c, argv[1]))
        printf("unknown valkey-cli preference '%s'\n", argv[1]);
}

static sds cliPreferencesPath(void) {
    const char *path = getenv("VALKEYCLI_RCFILE"), *home = getenv("HOME");
    if (!path) path = getenv("REDISCLI_RCFILE");
    if (path) return *path ? sdsnew(path) : NULL;
    return home && *home ? sdscatprintf(sdsempty(), "%s/.valkeyclirc", home) : NULL;
}

static void cliPreferencesApplyLine(struct cli *c, const char *line, size_t len) {
    int argc;
    sds *argv = sdssplitargs(line, len, &argc);
    if (argv && argc) cliPreference(c, argc, argv);
    if (argv) sdsfreesplitres(argv, argc);
}

void cliLoadPreferences(struct cli *c) {
    sds path = cliPreferencesPath();
    FILE *f = path ? fopen(path, "re") : NULL;
    sdsfree(path);
    if (!f) return;
    bool tables = c->tables, pager = c->pager;
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) cliPreferencesApplyLine(c, line, (size_t)n);
    free(line);
    fclose(f);
    c->tables &= tables;
    c->pager &= pager;
    if (c->colour_when != CLI_AUTO) c->colour = c->colour_when == CLI_ALWAYS;
}
