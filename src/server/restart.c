/* SPDX-License-Identifier: BSD-3-Clause */
/* restart.c - see restart.h. All descriptors are closed by exec, whoever opened them, so that the new
 * server inherits none. */
#include "server/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "server/shutdown.h"

static char **first_argv;
static char *first_dir, program[PATH_MAX];

void restartInit(int argc, char **argv) {
    first_argv = zcalloc((size_t)argc + 1, sizeof *first_argv);
    for (int i = 0; i < argc; i++) first_argv[i] = zstrdup(argv[i]);
    char dir[PATH_MAX];
    if (getcwd(dir, sizeof dir)) first_dir = zstrdup(dir);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
}

static void restartCloseAllOnExec(void) {
    long highest = sysconf(_SC_OPEN_MAX);
    for (int fd = STDERR_FILENO + 1; fd < highest; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

/* Starts the program again. Returns only on failure. */
static void restartExec(int64_t delay_ms) {
    restartCloseAllOnExec();
    if (delay_ms) usleep((useconds_t)delay_ms * 1000);
    if (first_dir && chdir(first_dir) != 0)
        serverLog(LL_WARNING, "Can't go back to %s: %s", first_dir, strerror(errno));
    execv(program, first_argv);
    serverLog(LL_WARNING, "Can't run %s: %s", program, strerror(errno));
}

/* Parses the delay. Returns false after replying an error. */
static bool restartParseDelay(struct client *c, int64_t *ms) {
    *ms = 0;
    if (c->argc < 3) return true;
    if (!string2ll(c->argv[2], ms) || *ms > INT_MAX / 1000)
        return replyError(c, "ERR value is not an integer or out of range");
    if (*ms < 0) *ms = 0;
    return true;
}

/* Saves changed directives if there is a configuration file. */
static bool restartSaveConfiguration(void) {
    return !*configFilePath() || configRewrite(false);
}

/* After the shutdown the server cannot go on, so the process ends if the restart fails. */
static void restartDebug(struct client *c) {
    int64_t delay_ms;
    if (!restartParseDelay(c, &delay_ms)) return;
    if (!program[0] || access(program, X_OK) != 0 || !restartSaveConfiguration() ||
        !shutdownPrepare(SHUTDOWN_NOW)) {
        replyError(c, "ERR failed to restart the server. Check server logs.");
        return;
    }
    restartExec(delay_ms);
    _exit(1);
}

static void restartDebugCrashAndRecover(struct client *c) {
    int64_t delay_ms;
    if (!restartParseDelay(c, &delay_ms)) return;
    if (!program[0] || access(program, X_OK) != 0) {
        replyError(c, "ERR failed to restart the server. Check server logs.");
        return;
    }
    restartExec(delay_ms);
    _exit(1);
}

void restartRegister(void) {
    static const char *const restart_help[] = {
        "RESTART [<milliseconds>]", "    Shut down like SHUTDOWN, and start again after a pause.", NULL};
    static const char *const crash_help[] = {"CRASH-AND-RECOVER [<milliseconds>]",
                                             "    Exit as in a crash, and start again after a pause.", NULL};
    static const struct debugSubcommand restart = {"restart", 0, 1, restartDebug, restart_help};
    static const struct debugSubcommand crash = {"crash-and-recover", 0, 1, restartDebugCrashAndRecover,
                                                 crash_help};
    debugRegister(&restart);
    debugRegister(&crash);
}
