/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_env.c - see sentinel_env.h. The environment of the supervisor has clocks, sockets,
 * names, the file and the log. */
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

#define HZ_LEAST        10 /* ticks a second: a new random number, up to twice as many, after each tick */
#define EXIT_SIMULATION 99

/* ---- The environment ---- */

static bool sentinelEnvResolve(void *ctx, const char *name, char ip[HOST_IP_LEN]) {
    (void)ctx;
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

static uint64_t sentinelEnvRandom(void *ctx) {
    (void)ctx;
    return randomU64();
}

static void sentinelEnvEvent(void *ctx, enum eventLevel level, const char *name, const char *payload) {
    (void)ctx;
    sentinelEvent(level, name, payload);
}

static void sentinelEnvLog(void *ctx, int level, const char *line) {
    (void)ctx;
    serverLog(level, "%s", line);
}

static void sentinelEnvScript(void *ctx, const char *path, int argc, const char *const *argv) {
    (void)ctx;
    scriptsAdd(path, argc, argv);
}

static bool sentinelEnvSave(void *ctx) {
    (void)ctx;
    return sentinelConfSave();
}

static void sentinelEnvCrash(void *ctx) {
    (void)ctx;
    serverLog(LL_WARNING, "SENTINEL SIMULATE-FAILURE ends this Sentinel now");
    exit(EXIT_SIMULATION);
}

static const struct supervisorEnv env = {
    .connect = peerConnect,
    .close = peerClose,
    .send = peerSend,
    .ownIp = peerGetOwnIp,
    .resolve = sentinelEnvResolve,
    .random = sentinelEnvRandom,
    .event = sentinelEnvEvent,
    .log = sentinelEnvLog,
    .script = sentinelEnvScript,
    .save = sentinelEnvSave,
    .crash = sentinelEnvCrash,
};

/* ---- Start ---- */

static bool started;

/* Ticks at random times: Sentinels that tick at the same moments would request votes at the
 * same moments, and get none. */
static void sentinelEnvTick(void) {
    if (!started) return;
    supervisorTick(&sentinel, mstime());
    scriptsTick(mstime());
    server_hz = HZ_LEAST + (int64_t)randomBelow(HZ_LEAST);
}

/* Sets a default, which the file may change. */
static void sentinelEnvSetDefault(const char *name, const char *value) {
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
    sentinelEnvSetDefault("port", "26379");
    sentinelEnvSetDefault("protected-mode", "no");
    cronRegister(sentinelEnvTick, 0);
}

/* Copies directives that the supervisor does not have itself. */
static void sentinelEnvCopySettings(void) {
    sds password = configGet("requirepass");
    bool tls = dial_settings.replication_tls;
    sentinel.settings.own_port = (int)configNumber(tls && configNumber("tls-port") ? "tls-port" : "port");
    sentinel.settings.own_password = password && *password ? sdsdup(password) : NULL;
    sdsfree(password);
}

void sentinelApplyConfig(void) {
    sentinelConfApply();
    sentinelEnvCopySettings();
}

void sentinelStart(void) {
    supervisorStart(&sentinel, mstime());
    started = true;
}
