/* process.c - see process.h. */
#include "server/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "core/config.h"

#define DEFAULT_PIDFILE "/var/run/valkey.pid"

static bool daemonize;
static sds pidfile, logfile;
static int loglevel;
static bool pidfile_written;

static const struct configEnum loglevel_names[] = {
    {"debug", LL_DEBUG},     {"verbose", LL_VERBOSE}, {"notice", LL_NOTICE},
    {"warning", LL_WARNING}, {"nothing", LL_NOTHING}, {NULL, 0},
};

static bool applyLoglevel(const char **err) {
    (void)err;
    logSetLevel(loglevel);
    return true;
}

static bool validLogfile(const char *value, const char **err) {
    static char reason[512];
    if (!*value) return true;
    FILE *f = fopen(value, "a");
    if (!f) {
        snprintf(reason, sizeof reason, "Can't open the log file: %s", strerror(errno));
        *err = reason;
        return false;
    }
    fclose(f);
    return true;
}

static bool setDir(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    if (argc != 1) {
        *err = "wrong number of arguments";
        return false;
    }
    sds path = sdsnewstr(argv[0]);
    bool ok = chdir(path) == 0;
    if (!ok) *err = strerror(errno);
    sdsfree(path);
    return ok;
}

static sds getDir(const struct configDirective *d) {
    (void)d;
    char buf[PATH_MAX];
    return sdsnew(getcwd(buf, sizeof buf) ? buf : "");
}

void processRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("daemonize", NULL, 0, &daemonize, false, NULL),
        CONFIG_STRING("pidfile", NULL, CONFIG_EMPTY_IS_NULL, &pidfile, NULL, NULL, NULL),
        CONFIG_STRING("logfile", NULL, 0, &logfile, "", validLogfile, NULL),
        CONFIG_ENUM("loglevel", NULL, CONFIG_MODIFIABLE, &loglevel, LL_NOTICE, loglevel_names, applyLoglevel),
        CONFIG_SPECIAL("dir", NULL, CONFIG_MODIFIABLE | CONFIG_PROTECTED, setDir, getDir, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}

static void becomeDaemon(void) {
    pid_t pid = fork();
    if (pid < 0) {
        fprintf(stderr, "Can't fork to the background: %s\n", strerror(errno));
        exit(1);
    }
    if (pid > 0) _exit(0);
    setsid();
    int fd = open("/dev/null", O_RDWR);
    if (fd < 0) return;
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

static void writePidFile(void) {
    if (!pidfile && !daemonize) return;
    if (!pidfile) pidfile = sdsnew(DEFAULT_PIDFILE);
    FILE *f = fopen(pidfile, "w");
    if (!f) {
        serverLog(LL_WARNING, "Failed to write PID file: %s", strerror(errno));
        return;
    }
    fprintf(f, "%d\n", (int)getpid());
    pidfile_written = fclose(f) == 0;
}

void processStart(void) {
    logSetLevel(loglevel);
    logSetFile(logfile ? logfile : "");
    if (daemonize) becomeDaemon();
    writePidFile();
}

void processRemovePidFile(void) {
    if (pidfile_written) unlink(pidfile);
}
