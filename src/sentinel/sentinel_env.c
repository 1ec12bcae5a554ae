/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_env.c - see sentinel_env.h. The supervisor's environment: clocks, sockets, names, the file, the
 * log.
 */
#include "sentinel/sentinel_env.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "data/server_state/role.h"
#include "net/dial.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "sentinel/peer_sockets.h"
#include "sentinel/sentinel.h"
#include "sentinel/sentinel_answers.h"
#include "sentinel/sentinel_commands.h"
#include "sentinel/sentinel_conf.h"
#include "sentinel/sentinel_events.h"
#include "sentinel/sentinel_scripts.h"

#define HZ_LEAST        10 /* ticks a second: from this up to twice as many, anew each time */
#define EXIT_SIMULATION 99

/* ---- The environment ---- */

static bool sentinelEnvResolve(void *w, const char *name, char ip[HOST_IP_LEN]) {
    (void)w;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(name, NULL, &hints, &found) != 0) return false;
    const void *bytes =
        found->ai_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)found->ai_addr)->sin6_addr
            : (const void *)&((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
    bool ok = inet_ntop(found->ai_family, bytes, ip, HOST_IP_LEN) != NULL;
    freeaddrinfo(found);
    return ok;
}

static uint64_t sentinelEnvSomeNumber(void *w) {
    (void)w;
    return randomU64();
}

static void sentinelEnvEvent(void *w, enum eventLevel level, const char *name, const char *payload) {
    (void)w;
    sentinelEvent(level, name, payload);
}

static void sentinelEnvLogLine(void *w, int level, const char *line) {
    (void)w;
    serverLog(level, "%s", line);
}

static void sentinelEnvScript(void *w, const char *path, int argc, const char *const *argv) {
    (void)w;
    scriptsAdd(path, argc, argv);
}

static bool sentinelEnvSave(void *w) {
    (void)w;
    return sentinelConfSave();
}

static void sentinelEnvCrash(void *w) {
    (void)w;
    serverLog(LL_WARNING, "SENTINEL SIMULATE-FAILURE ends this Sentinel now");
    exit(EXIT_SIMULATION);
}

static const struct supervisorEnv env = {
    .connect = peerConnect,
    .close = peerClose,
    .send = peerSend,
    .ownIp = peerOwnIp,
    .resolve = sentinelEnvResolve,
    .random = sentinelEnvSomeNumber,
    .event = sentinelEnvEvent,
    .log = sentinelEnvLogLine,
    .script = sentinelEnvScript,
    .save = sentinelEnvSave,
    .crash = sentinelEnvCrash,
};

/* ---- Life ---- */

static bool begun;

/* Sentinels that tick at the same moments would ask for votes at the same moments, and get none. */
static void sentinelEnvTick(void) {
    if (!begun) return;
    supervisorTick(&sentinel, mstime());
    scriptsTick(mstime());
    server_hz = HZ_LEAST + (int64_t)randomBelow(HZ_LEAST);
}

/* Defaults that the file may change. */
static void sentinelEnvSetFromProgram(const char *name, const char *value) {
    const struct str words[] = {strOf(name), strOf(value)};
    const char *err;
    configSetFromFile(2, words, &err);
}

void sentinelInit(void) {
    sentinelConfRegister();
    if (!sentinel_mode) return;
    supervisorInit(&sentinel, &env, NULL, mstime());
    peerSocketsInit();
    sentinelCommandsInit();
    sentinelAnswersInit();
    sentinelEnvSetFromProgram("port", "26379");
    sentinelEnvSetFromProgram("protected-mode", "no");
    cronRegister(sentinelEnvTick, 0);
}

/* What the supervisor has to know of directives that are not its own. */
static void sentinelEnvTakeSettings(void) {
    sds password = configGet("requirepass");
    bool tls = dial_settings.replication_tls;
    sentinel.settings.own_port = (int)configNumber(tls && configNumber("tls-port") ? "tls-port" : "port");
    sentinel.settings.own_password = password && *password ? sdsdup(password) : NULL;
    sdsfree(password);
}

void sentinelConfigured(void) {
    sentinelConfApply();
    sentinelEnvTakeSettings();
}

void sentinelStart(void) {
    supervisorBegin(&sentinel, mstime());
    begun = true;
}
