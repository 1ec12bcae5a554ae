/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_prompt.c - the interactive session: prompt, history file, the loop. Part of cli.h.
 *
 * The history file holds one line per command as typed, the newest last. Lines are appended at once, so
 * that concurrent sessions lose nothing. Lines with secrets are neither written nor remembered. */
#define _GNU_SOURCE /* strcasestr */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/cli/cli.h"
#include "tools/cli/cli_edit.h"

#define HISTORY_MAX 1000

/* ---- History ---- */

static sds cliPromptHistoryPath(void) {
    const char *path = getenv("VALKEYCLI_HISTFILE"), *home = getenv("HOME");
    if (!path) path = getenv("REDISCLI_HISTFILE");
    if (path) return *path && strcmp(path, "/dev/null") != 0 ? sdsnew(path) : NULL;
    return home && *home ? sdscatprintf(sdsempty(), "%s/.valkeycli_history", home) : NULL;
}

static FILE *cliPromptOpenPrivate(const char *path, int flags, const char *mode) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    return fd == -1 ? NULL : fdopen(fd, mode);
}

/* Keeps the newest lines of a history file that has grown over the limit. */
static void cliPromptHistoryTrim(const char *path, int lines, const char *text) {
    for (int i = HISTORY_MAX; i < lines; i++) text = strchr(text, '\n') + 1;
    FILE *f = cliPromptOpenPrivate(path, O_WRONLY | O_CREAT | O_TRUNC, "w");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static void cliPromptHistoryLoad(const char *path) {
    FILE *f = path ? fopen(path, "re") : NULL;
    if (!f) return;
    char *line = NULL;
    size_t cap = 0;
    int lines = 0;
    sds text = sdsempty();
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; lines++) {
        if (line[n - 1] == '\n') line[n - 1] = '\0';
        cliEditRemember(line);
        text = sdscatprintf(text, "%s\n", line);
    }
    fclose(f);
    if (lines > HISTORY_MAX) cliPromptHistoryTrim(path, lines, text);
    sdsfree(text);
    free(line);
}

static void cliPromptHistoryAdd(const char *path, const char *line) {
    cliEditRemember(line);
    FILE *f = path ? cliPromptOpenPrivate(path, O_WRONLY | O_CREAT | O_APPEND, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s\n", line);
    fclose(f);
}

static bool cliPromptAnyWordIs(int argc, sds *argv, const char *name) {
    for (int i = 0; i < argc; i++) {
        if (strcasecmp(argv[i], name) == 0) return true;
    }
    return false;
}

static bool cliPromptAnyWordHas(int argc, sds *argv, const char *part) {
    for (int i = 0; i < argc; i++) {
        if (strcasestr(argv[i], part)) return true;
    }
    return false;
}

/* Returns whether the line may contain a password. */
static bool cliPromptIsSecret(const char *line) {
    int argc;
    sds *argv = sdssplitargs(line, strlen(line), &argc);
    if (!argv) return strcasestr(line, "auth") || strcasestr(line, "pass");
    bool secret = false;
    int at = argc > 1 && argv[0][0] >= '0' && argv[0][0] <= '9'; /* a repeat count */
    if (argc > at) {
        const char *name = argv[at];
        secret = strcasecmp(name, "auth") == 0;
        secret |= strcasecmp(name, "acl") == 0 && cliPromptAnyWordIs(argc, argv, "setuser");
        secret |= strcasecmp(name, "hello") == 0 && cliPromptAnyWordIs(argc, argv, "auth");
        secret |= strcasecmp(name, "migrate") == 0 &&
                  (cliPromptAnyWordIs(argc, argv, "auth") || cliPromptAnyWordIs(argc, argv, "auth2"));
        secret |= strcasecmp(name, "config") == 0 &&
                  (cliPromptAnyWordHas(argc, argv, "pass") || cliPromptAnyWordHas(argc, argv, "masterauth") ||
                   cliPromptAnyWordHas(argc, argv, "primaryauth") || cliPromptAnyWordHas(argc, argv, "user"));
        secret |= strcasecmp(name, "sentinel") == 0 && cliPromptAnyWordHas(argc, argv, "pass");
    }
    sdsfreesplitres(argv, argc);
    return secret;
}

/* ---- The loop ---- */

static void cliPromptOnInterrupt(int sig) {
    (void)sig;
    cli_interrupted = 1;
}

static sds cliPromptText(const struct cli *c) {
    if (c->link.fd == -1) return sdsnew("not connected> ");
    sds out = cliAddress(c);
    if (c->socket) out = sdscat(sdscpylen(out, "valkey ", 7), c->socket);
    if (c->db) out = sdscatprintf(out, "[%d]", c->db);
    if (c->subscriptions) out = sdscat(out, "(subscribed mode)");
    return sdscat(out, c->in_multi ? "(TX)> " : "> ");
}

/* Makes Ctrl-C interrupt a wait for replies. While a line is typed it is a key (cli_edit.c). */
static void cliPromptCatchInterrupt(void) {
    struct sigaction action = {.sa_handler = cliPromptOnInterrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static enum cliEdited cliPromptReadLine(const struct cli *c, sds *line) {
    sds prompt = cliPromptText(c);
    enum cliEdited edited = cliEditLine(prompt, line);
    sdsfree(prompt);
    return edited;
}

static bool cliPromptLineIsBlank(const char *line) {
    return line[strspn(line, " \t\r\n")] == '\0';
}

static bool cliPromptRunTyped(struct cli *c, const char *history, const sds line) {
    if (cliPromptLineIsBlank(line)) return true;
    if (!cliPromptIsSecret(line)) cliPromptHistoryAdd(history, line);
    return cliRunLine(c, line, sdslen(line));
}

/* Handles one line; false when the user leaves. Ctrl-C on an empty line prints how to leave, and leaves
 * when repeated. */
static bool cliPromptOnce(struct cli *c, const char *history) {
    static bool was_empty;
    sds line;
    enum cliEdited edited = cliPromptReadLine(c, &line);
    bool again = was_empty && edited == CLI_EDIT_EMPTY_DROPPED, more = true;
    was_empty = edited == CLI_EDIT_EMPTY_DROPPED;
    if (edited == CLI_EDIT_LINE)
        more = cliPromptRunTyped(c, history, line);
    else if (edited == CLI_EDIT_END)
        printf("\n"); /* the shell's prompt starts on a new line */
    else if (was_empty && !again)
        printf("(to leave: exit, Ctrl-D, or Ctrl-C again)\n");
    sdsfree(line);
    return more && !again && edited != CLI_EDIT_END;
}

void cliPrompt(struct cli *c) {
    c->interactive = true;
    cliPromptCatchInterrupt();
    cliEditInit(c, HISTORY_MAX);
    sds path = cliPromptHistoryPath();
    cliPromptHistoryLoad(path);
    while (cliPromptOnce(c, path)) continue;
    sdsfree(path);
    cliEditEnd();
}
