/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_pager.c - shows replies longer than the screen in a pager, at the prompt. Part of cli.h.
 *
 * The pager is $VALKEYCLI_PAGER, else $PAGER, else less if it is installed; "cat" and an empty value
 * mean none. less keeps colours and the screen, unless $LESS is set. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/cli.h"

static bool cliPagerIsInPath(const char *program) {
    const char *path = getenv("PATH");
    for (bool more = path != NULL; more;) {
        size_t len = strcspn(path, ":");
        sds file = sdscatprintf(sdsnewlen(path, len), "/%s", program);
        bool found = access(file, X_OK) == 0;
        sdsfree(file);
        if (found) return true;
        more = path[len] == ':';
        path += len + 1;
    }
    return false;
}

/* Returns the pager's command, NULL for none. */
static const char *cliPagerCommand(void) {
    const char *command = getenv("VALKEYCLI_PAGER");
    if (!command) command = getenv("PAGER");
    if (!command) return cliPagerIsInPath("less") ? "less" : NULL;
    return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Shows a text. The user may leave the pager early (SIGPIPE), and Ctrl-C is for the pager. */
static bool cliPagerPage(const char *command, const sds text) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit, pipe;
    setenv("LESS", "-RX", 0);
    fflush(stdout);
    FILE *pager = popen(command, "w");
    if (!pager) return false;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    sigaction(SIGPIPE, &ignore, &pipe);
    fwrite(text, 1, sdslen(text), pager);
    int status = pclose(pager);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    sigaction(SIGPIPE, &pipe, NULL);
    return status != -1 && WIFEXITED(status) &&
           WEXITSTATUS(status) != 127; /* 127: the program does not exist */
}

void cliShow(const struct cli *c, const sds text) {
    bool wanted = c->pager && c->terminal && c->interactive && isatty(STDIN_FILENO);
    const char *command = wanted && cliRows(sdsview(text), cliTerminalWidth()) >= cliTerminalHeight()
                              ? cliPagerCommand()
                              : NULL;
    if (command && cliPagerPage(command, text)) return;
    fwrite(text, 1, sdslen(text), stdout);
}
