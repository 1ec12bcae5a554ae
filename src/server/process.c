/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c - see process.h. */
#include "server/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "base/log.h"
#include "base/version.h"
#include "data/child.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/info.h"
#include "server/listen.h"
#include "server/system_check.h"

#define DEFAULT_PIDFILE "/var/run/valkey.pid"

enum { SUPERVISED_NO, SUPERVISED_AUTO, SUPERVISED_SYSTEMD, SUPERVISED_UPSTART };
static const char *const supervisor_names[] = {"no", "auto", "systemd", "upstart"};

static bool daemonize, syslog_enabled, disable_thp, always_show_logo, set_proc_title;
static sds pidfile, logfile, syslog_ident, locale_collate, title_template, server_cpulist;
static int loglevel, log_format, log_timestamp, syslog_facility;
static int supervised_mode, supervised; /* as configured; as detected */
static bool pidfile_written, title_ready;

/* ---- The log ---- */

static const struct configEnum loglevel_names[] = {
    {"debug", LL_DEBUG},     {"verbose", LL_VERBOSE}, {"notice", LL_NOTICE},
    {"warning", LL_WARNING}, {"nothing", LL_NOTHING}, {NULL, 0},
};

static bool processApplyLoglevel(const char **err) {
    (void)err;
    logSetLevel(loglevel);
    return true;
}

static bool processApplyLogFormat(const char **err) {
    (void)err;
    logSetFormat(log_format);
    logSetTimestamp(log_timestamp);
    return true;
}

static bool processValidLogfile(const char *value, const char **err) {
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

/* ---- The working directory, the locale ---- */

static bool processSetDir(const struct configDirective *d, int argc, const struct str *argv,
                          const char **err) {
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

static sds processGetDir(const struct configDirective *d) {
    (void)d;
    char buf[PATH_MAX];
    return sdsnew(getcwd(buf, sizeof buf) ? buf : "");
}

/* Sets the order of strings in SORT ... ALPHA; empty: that of the environment. */
static bool processApplyLocale(const char **err) {
    if (setlocale(LC_COLLATE, locale_collate ? locale_collate : "")) return true;
    *err = "Invalid locale name";
    return false;
}

static bool processValidLocale(const char *value, const char **err) {
    locale_t locale = newlocale(LC_COLLATE_MASK, value, (locale_t)0);
    if (!locale) {
        *err = "Invalid locale name";
        return false;
    }
    freelocale(locale);
    return true;
}

/* ---- The title ---- */

/* Appends the value of a variable of the template. Returns NULL if there is no such variable. */
static sds processTitleVariable(sds s, struct str name, const char *title) {
    sds value = NULL;
    if (strIs(name, "title")) return sdscat(s, title);
    if (strIs(name, "listen-addr")) return listenAppendName(s);
    if (strIs(name, "server-mode"))
        return cluster_enabled || sentinel_mode ? sdscatprintf(s, "[%s]", roleModeText()) : s;
    if (strIs(name, "config-file")) return sdscat(s, *configFilePath() ? configFilePath() : "-");
    if (strIs(name, "port") || strIs(name, "tls-port") || strIs(name, "unixsocket")) {
        sds directive = sdsnewstr(name);
        value = configGet(directive);
        sdsfree(directive);
        s = sdscat(s, value ? value : "0");
        sdsfree(value);
        return s;
    }
    sdsfree(s);
    return NULL;
}

/* Returns NULL if the template has an unknown variable or an unclosed brace. */
static sds processExpandTitle(const char *template, const char *title) {
    sds s = sdsempty();
    while (*template) {
        if (*template != '{') {
            s = sdscatlen(s, template ++, 1);
            continue;
        }
        const char *end = strchr(template, '}');
        if (!end) {
            sdsfree(s);
            return NULL;
        }
        s = processTitleVariable(s, strN(template + 1, (size_t)(end - template - 1)), title);
        if (!s) return NULL;
        template = end + 1;
    }
    return sdstrim(s, " ");
}

static void processShowTitle(const char *title) {
    if (!set_proc_title || !title_ready) return;
    sds s = processExpandTitle(title_template, title);
    if (s) processSetTitle(s);
    sdsfree(s);
}

static bool processValidTemplate(const char *value, const char **err) {
    sds s = processExpandTitle(value, "");
    bool ok = s && sdslen(s) > 0; /* {title} alone would be an empty title */
    sdsfree(s);
    if (ok) return true;
    *err = "template format is invalid or contains unknown variables";
    return false;
}

static bool processApplyTitle(const char **err) {
    (void)err;
    processShowTitle(processProgram());
    return true;
}

static void processOnFork(enum childKind kind) {
    processShowTitle(kind == CHILD_RDB ? "valkey-rdb-bgsave" : "valkey-aof-rewrite");
}

/* ---- Directives ---- */

static sds processInfoServer(sds s) {
    return infoField(s, "process_supervised:%s", supervisor_names[supervised]);
}

static const struct configEnum supervised_names[] = {
    {"upstart", SUPERVISED_UPSTART},
    {"systemd", SUPERVISED_SYSTEMD},
    {"auto", SUPERVISED_AUTO},
    {"no", SUPERVISED_NO},
    {0},
};
static const struct configEnum log_format_names[] = {
    {"legacy", LOG_LEGACY}, {"logfmt", LOG_LOGFMT}, {"json", LOG_JSON}, {0}};
static const struct configEnum log_timestamp_names[] = {
    {"legacy", LOG_TIME_LEGACY}, {"iso8601", LOG_TIME_ISO8601}, {"milliseconds", LOG_TIME_MILLISECONDS}, {0}};
static const struct configEnum facility_names[] = {
    {"user", LOG_USER},     {"local0", LOG_LOCAL0},
    {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2},
    {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},
    {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6},
    {"local7", LOG_LOCAL7}, {0},
};

void processRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("daemonize", NULL, 0, &daemonize, false, NULL),
        CONFIG_ENUM("supervised", NULL, 0, &supervised_mode, SUPERVISED_NO, supervised_names, NULL),
        CONFIG_STRING("pidfile", NULL, CONFIG_EMPTY_IS_NULL, &pidfile, NULL, NULL, NULL),
        CONFIG_STRING("logfile", NULL, 0, &logfile, "", processValidLogfile, NULL),
        CONFIG_ENUM("loglevel", NULL, CONFIG_MODIFIABLE, &loglevel, LL_NOTICE, loglevel_names,
                    processApplyLoglevel),
        CONFIG_ENUM("log-format", NULL, CONFIG_MODIFIABLE, &log_format, LOG_LEGACY, log_format_names,
                    processApplyLogFormat),
        CONFIG_ENUM("log-timestamp-format", NULL, CONFIG_MODIFIABLE, &log_timestamp, LOG_TIME_LEGACY,
                    log_timestamp_names, processApplyLogFormat),
        CONFIG_BOOL("syslog-enabled", NULL, 0, &syslog_enabled, false, NULL),
        CONFIG_STRING("syslog-ident", NULL, 0, &syslog_ident, "valkey", NULL, NULL),
        CONFIG_ENUM("syslog-facility", NULL, 0, &syslog_facility, LOG_LOCAL0, facility_names, NULL),
        CONFIG_BOOL("set-proc-title", NULL, 0, &set_proc_title, true, NULL),
        CONFIG_STRING("proc-title-template", NULL, CONFIG_MODIFIABLE, &title_template,
                      "{title} {listen-addr} {server-mode}", processValidTemplate, processApplyTitle),
        CONFIG_BOOL("always-show-logo", NULL, 0, &always_show_logo, false, NULL),
        CONFIG_BOOL("disable-thp", NULL, 0, &disable_thp, true, NULL),
        CONFIG_STRING("locale-collate", NULL, CONFIG_MODIFIABLE, &locale_collate, "", processValidLocale,
                      processApplyLocale),
        CONFIG_STRING("server-cpulist", "server_cpulist", CONFIG_EMPTY_IS_NULL, &server_cpulist, NULL, NULL,
                      NULL),
        CONFIG_SPECIAL("dir", NULL, CONFIG_MODIFIABLE | CONFIG_PROTECTED, processSetDir, processGetDir, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", processInfoServer);
    childOnFork(processOnFork);
}

/* ---- Supervisors ---- */

/* Sends one datagram to systemd's socket. */
static void processNotifySystemd(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (supervised != SUPERVISED_SYSTEMD || !path || strlen(path) >= sizeof addr.sun_path) return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    memcpy(addr.sun_path, path, strlen(path));
    if (path[0] == '@') addr.sun_path[0] = 0; /* an abstract socket */
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&addr, len) < 0)
        serverLog(LL_WARNING, "Can't notify systemd: %s", strerror(errno));
    close(fd);
}

static void processFindSupervisor(void) {
    bool systemd = getenv("NOTIFY_SOCKET"), upstart = getenv("UPSTART_JOB");
    supervised = supervised_mode;
    if (supervised == SUPERVISED_AUTO)
        supervised = upstart ? SUPERVISED_UPSTART : systemd ? SUPERVISED_SYSTEMD : SUPERVISED_NO;
    if (supervised == SUPERVISED_SYSTEMD && !systemd) {
        serverLog(LL_WARNING, "systemd supervision requested, but NOTIFY_SOCKET not found");
        supervised = SUPERVISED_NO;
    } else if (supervised == SUPERVISED_UPSTART && !upstart) {
        serverLog(LL_WARNING, "supervised upstart is set, but the environment has no UPSTART_JOB");
        supervised = SUPERVISED_NO;
    }
    if (supervised == SUPERVISED_SYSTEMD) {
        serverLog(
            LL_NOTICE,
            "systemd supervises the server. TimeoutStartSec and TimeoutStopSec of the unit must leave time "
            "for loading and saving the data.");
        processNotifySystemd("STATUS=Valkey is loading...\n");
    }
}

/* Stops the process, which is how Upstart learns that it is ready; Upstart sends SIGCONT then. */
static void processStopForUpstart(void) {
    serverLog(LL_NOTICE, "Supervised by upstart. Stopping, to tell that the server is ready.");
    raise(SIGSTOP);
}

/* ---- Start and end ---- */

static void processBecomeDaemon(void) {
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

static void processWritePidFile(void) {
    if (!pidfile && !daemonize) return;
    if (!pidfile) pidfile = sdsnew(DEFAULT_PIDFILE);
    FILE *f = fopen(pidfile, "w");
    if (!f) {
        serverLog(LL_WARNING, "Writing the pid file failed: %s", strerror(errno));
        return;
    }
    fprintf(f, "%d\n", (int)getpid());
    pidfile_written = fclose(f) == 0;
}

static void processForbidHugePages(void) {
    if (disable_thp && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == -1)
        serverLog(LL_WARNING, "Failed to disable THP: %s", strerror(errno));
}

bool processShowLogo(void) {
    if (!always_show_logo && !(isatty(STDOUT_FILENO) && !*logfile && !syslog_enabled)) return false;
    serverLog(LL_NOTICE | LL_RAW,
              "\n"
              "    o-------------------->o            Valkey %s (%s/%d) %d bit\n"
              "    |                     |\n"
              "    o-------->o---------->o            Running in %s mode\n"
              "    |         |           |            Port: %d\n"
              "    o--->o--->o---->o---->o            PID: %d\n"
              "    |    |    |     |     |\n"
              "   \"\"   a    k     l     y\n\n",
              VALKEY_VERSION, build_commit, build_modified, (int)sizeof(long) * 8, roleModeText(),
              listenPort(), (int)getpid());
    return true;
}

void processLogStart(void) {
    logSetLevel(loglevel);
    processApplyLogFormat(NULL);
    logSetFile(logfile ? logfile : "");
    if (syslog_enabled) logOpenSyslog(syslog_ident, syslog_facility);
}

void processStart(void) {
    const char *err = NULL;
    if (!processApplyLocale(&err))
        serverLog(LL_WARNING, "Failed to set the locale '%s': %s", locale_collate, err);
    processFindSupervisor();
    if (daemonize && supervised == SUPERVISED_NO) processBecomeDaemon();
    processWritePidFile();
    processForbidHugePages();
    /* Without overcommit, forks fail although they need little memory. */
    const char *advice = systemOvercommitAdvice();
    if (advice) serverLog(LL_WARNING, "WARNING %s", advice);
    oomScoreSetRole(OOM_PRIMARY);
    cpulistApply(server_cpulist); /* threads inherit it */
}

void processNotifyReady(void) {
    title_ready = true;
    processShowTitle(processProgram());
    processNotifySystemd("STATUS=Ready to accept connections\nREADY=1\n");
    if (supervised == SUPERVISED_UPSTART) processStopForUpstart();
}

void processNotifyStopping(void) {
    if (pidfile_written) serverLog(LL_NOTICE, "The pid file is deleted");
    processRemovePidFile();
    processNotifySystemd("STOPPING=1\n");
}

void processRemovePidFile(void) {
    if (pidfile_written) unlink(pidfile);
}
