/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c - start-up, then the event loop. This is the only file that names every module. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/client_auth.h"
#include "base/clock.h"
#include "base/hash_function.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sds.h"
#include "base/ticks.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "client/client_session.h"
#include "client/reply_gate.h"
#include "cluster/bus_links.h"
#include "cluster/cluster.h"
#include "command/admission.h"
#include "command/blocking.h"
#include "command/busy.h"
#include "command/call.h"
#include "command/client_commands.h"
#include "command/command.h"
#include "command/commandlog.h"
#include "command/data_hooks.h"
#include "command/evict_admission.h"
#include "command/held_clients.h"
#include "command/hotkeys.h"
#include "command/io_threads.h"
#include "command/latency_histogram.h"
#include "command/loading.h"
#include "command/monitor.h"
#include "command/multi.h"
#include "command/parallel_read.h"
#include "command/pause.h"
#include "command/pubsub.h"
#include "command/throttle.h"
#include "command/tracking.h"
#include "command/turn.h"
#include "command/wait.h"
#include "commands/cmd_acl.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_generic.h"
#include "commands/cmd_pubsub.h"
#include "commands/cmd_server.h"
#include "commands/cmd_transactions.h"
#include "data/child.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/keyspace/keyspace_info.h"
#include "data/lifetime/defrag.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "data/rdb/rdb.h"
#include "data/server_state/import_mode.h"
#include "data/server_state/role.h"
#include "metrics/info_commands.h"
#include "metrics/keysizes.h"
#include "metrics/latency_commands.h"
#include "metrics/memory.h"
#include "module/module.h"
#include "net/ae.h"
#include "net/connection.h"
#include "net/dial.h"
#include "net/io_thread.h"
#include "persist/aof.h"
#include "persist/check.h"
#include "persist/snapshot.h"
#include "registry/at_exit.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/product.h"
#include "registry/server_events.h"
#include "repl/replication.h"
#include "script/lua/lua_engine.h"
#include "script/script.h"
#include "sentinel/sentinel_env.h"
#include "server/absent_features.h"
#include "server/config_commands.h"
#include "server/crash.h"
#include "server/debug_command.h"
#include "server/event_backend.h"
#include "server/listen.h"
#include "server/priority_clients.h"
#include "server/process.h"
#include "server/restart.h"
#include "server/server_info.h"
#include "server/shutdown.h"
#include "server/system_check.h"
#include "server/tls_server.h"
#include "server/watchdog.h"
#include "types/hash/hash.h"
#include "types/keys/dump.h"
#include "types/keys/exec_conditions.h"
#include "types/keys/generic.h"
#include "types/keys/sort.h"
#include "types/list/list.h"
#include "types/pathhash/pathhash.h"
#include "types/set/set.h"
#include "types/stream/stream.h"
#include "types/string/bitmap.h"
#include "types/string/hyperloglog_commands.h"
#include "types/string/string_commands.h"
#include "types/zset/geo.h"
#include "types/zset/zset.h"
#include "web/warning_facts.h"
#include "web/web.h"

/* ---- Command line ---- */

static void mainPrintVersion(void) {
    printf("Valkey server v=%s sha=%s:%d malloc=%s bits=%d build=%s %s=%s\n", VALKEY_VERSION, build_commit,
           build_modified, zmallocName(), (int)sizeof(long) * 8, build_id, PRODUCT_NAME, PRODUCT_VERSION);
}

static void mainUsage(FILE *out, const char *name) {
    fprintf(out,
            "Usage: %s [/path/to/valkey.conf] [--directive value ...] [-]\n"
            "       %s /path/to/sentinel.conf --sentinel\n\n"
            "  -                        read more configuration from standard input; may come first, too\n"
            "  --directive value        overrides the file; any directive of valkey.conf\n"
            "  --sentinel               monitor servers, and fail them over, like valkey-sentinel\n"
            "  --check-system           check the settings of this system, and print what to change\n"
            "  --test-memory MEGABYTES  test this much memory by writing and reading patterns\n"
            "  -v, --version\n"
            "  -h, --help\n\n"
            "Examples:\n"
            "  %s                                  (all defaults, port 6379)\n"
            "  %s /etc/valkey/6379.conf\n"
            "  %s --port 7777 --loglevel verbose\n"
            "  echo 'maxclients 100' | %s -\n",
            name, name, name, name, name, name);
}

static void mainLoadStdin(void) {
    sds text = sdsempty();
    char buf[4096];
    size_t n;
    serverLog(LL_NOTICE, "The configuration is read from standard input");
    while ((n = fread(buf, 1, sizeof buf, stdin)) > 0) text = sdscatlen(text, buf, n);
    configLoadText(text);
    sdsfree(text);
}

/* Turns "--name v1 v2 --other v" into one configuration line per option. The word behind a name is its value
 * even if it begins with dashes; only --save and --sentinel may have none. */
static void mainLoadOptions(int argc, char **argv) {
    sds text = sdsempty();
    bool needs_value = false;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && !needs_value) {
            text = sdscatprintf(text, "\n%s", argv[i] + 2);
            needs_value = strcasecmp(argv[i], "--save") != 0 && strcasecmp(argv[i], "--sentinel") != 0;
        } else {
            text = sdscat(text, i ? " " : "\n");
            text = sdscatrepr(text, argv[i], strlen(argv[i]));
            needs_value = false;
        }
    }
    configLoadText(text);
    sdsfree(text);
}

/* Handles arguments that request something else than a server, and exits then. */
static void mainHandleInfoOptions(int argc, char **argv) {
    if (argc < 2) return;
    if (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version")) {
        mainPrintVersion();
        exit(0);
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        mainUsage(stdout, argv[0]);
        exit(0);
    }
    if (!strcmp(argv[1], "--check-system")) exit(systemCheck("", stdout));
    if (!strcmp(argv[1], "--test-memory")) exit(testMemoryMain(argc - 2, argv + 2));
}

/* Loads the file, standard input, and the options; later values win. */
static void mainLoadConfiguration(int argc, char **argv) {
    int next = 1;
    mainHandleInfoOptions(argc, argv);
    if (argc > 1) {
        if (argv[1][0] != '-') {
            configLoadFile(argv[1]);
            next = 2;
        }
        bool first = !strcmp(argv[1], "-"), last = argc > next && !strcmp(argv[argc - 1], "-");
        if (first || last) mainLoadStdin();
        if (first) next = 2;
        if (last && argc > next) argc--;
    }
    mainLoadOptions(argc - next, argv + next);
}

/* ---- Start-up ---- */

static void mainSeed(void) {
    uint8_t key[16];
    randomBytes(key, sizeof key);
    hashSetSeed(key);
}

static bool mainUsesTls(void) {
    return listenTlsPort() || dial_settings.replication_tls;
}

static void mainRegisterTls(void) {
    tlsServerRegister(mainUsesTls);
    busLinksSetTls(tlsServerCurrent);
}

/* Groups of commands without a module of their own. */
static void mainRegisterCommands(void) {
    commandRegister(commandsAcl);
    commandRegister(commandsConnection);
    commandRegister(commandsServer);
    commandRegister(commandsGeneric);
    commandRegister(commandsPubsub);
    commandRegister(commandsTransactions);
}

/* Inits that register commands, directives, INFO fields, jobs. Their order has no effect, so they stand by
 * layer: nothing runs before all are registered, and what is shown or checked in an order has a table of its
 * own for that (registry/info_order.c, command/admission.c). The tests pass with shuffled tables. */
// clang-format off
static void (*const modules[])(void) = {
    /* registry */
    bioRegister, productInit,
    /* data */
    keyspaceInfoInit, rdbInit, dbRegister, defragInit, importModeInit, lazyfreeInit, evictInit,
    forklessConfigInit,
    /* client */
    clientCoreInit, clientLogInit,
    /* command */
    admissionInit, busyInit, clientCommandsInit, commandInit, callInit, dataHooksInit, latencyHistogramInit,
    commandlogInit, hotkeysInit, loadingInit, ioThreadsRegister, parallelReadInit,
    /* acl */
    aclInit,
    /* types */
    migrateInit, stringInit, listTypeInit, bitmapInit, hyperloglogInit, setInit, hashTypeInit, zsetInit,
    geoInit, sortInit, execConditionsInit, streamInit, pathHashInit,
    /* persist */
    snapshotInit,
    /* script */
    scriptInit,
    /* metrics */
    infoCommandsInit, memoryInit, latencyInit, keysizesInit,
    /* server */
    configCommandsInit, processRegister, restartRegister, oomScoreRegister, serverInfoRegister,
    listenRegister, priorityClientsInit, eventBackendRegister, mainRegisterTls, absentFeaturesRegister, crashRegister,
    watchdogRegister, debugInit, mainRegisterCommands,
};

/* Inits that register hooks, too. Hooks of one kind run in the order of registration: when a client is freed,
 * before and after a call, between two calls, before the loop sleeps. The comments say which init has to
 * stand where and why; no other dependency is known. */
static void (*const modules_in_order[])(void) = {
    clientEvictInit, replyGateInit, clientOutputInit, clientSessionInit,
    /* authInit before blockingInit: clients of a deleted user are closed before blocked ones are served. */
    authInit, turnInit, blockingInit, multiInit, pubsubInit, trackingInit, pauseInit, throttleInit, heldClientsInit, monitorInit, childInit, forklessInit,
    /* evictAdmissionInit after blockingInit: clients' memory is counted after blocked ones were served. */
    evictAdmissionInit,
    /* aofInit before the others: the append-only file is written and synced before they check what is synced
     * (WAITAOF, a shutdown that waits for replicas, a replica's acknowledgement to its primary). */
    aofInit, waitInit, shutdownRegister, replicationInit, clusterInit,
    /* Last, because the hooks of loaded modules and of the metrics port follow those of the server. */
    moduleInit, sentinelInit, webInit,
};
// clang-format on

static void mainRegisterModules(void) {
    commandCoreInit(); /* makes the table of commands, which the other inits fill */
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) modules[i]();
    for (size_t i = 0; i < sizeof modules_in_order / sizeof *modules_in_order; i++) modules_in_order[i]();
    warningFactsUseSystemChecks(systemCheckForEach);
    if (!sentinel_mode) atExitRegister(aofOnShutdown); /* mainRunServer registers snapshotOnExit behind it */
}

static void mainEndTurn(struct aeEventLoop *el) {
    connServePending(el);
    blockingHandleReady();
    turnRun(); /* clients that have been unblocked since */
    beforeSleepRun();
    clientsWritePending();
    clientFreeClosed();
    ioThreadsFlush();
}

/* While threads bring requests, the main thread executes them without checking its own sockets and timers in
 * between, since that costs as much as several requests. */
static inline void mainEndTurns(struct aeEventLoop *el) {
    mainEndTurn(el);
    for (ioThreadsTurnBegins(); ioThreadsReceiveMore(); mainEndTurn(el)) {
        clockRefresh();
        turnRun();
    }
}

/* complete: all changes are in the append-only file. */
static inline void mainGoToSleep(struct aeEventLoop *el, bool complete) {
    aeSetDontWait(el, turnPending() || connHasPending(el) || !ioMainSleeps());
    serverInfoSleep();
    if (complete) parallelReadsOpen(); /* last: threads may count what they do from now on */
}

static void mainBeforeSleep(struct aeEventLoop *el) {
    mainEndTurns(el);
    mainGoToSleep(el, true);
}

static void mainAfterEvents(struct aeEventLoop *el) {
    (void)el;
    ioThreadsReceive();
    turnRun();
}

static void mainAfterSleep(struct aeEventLoop *el) {
    (void)el;
    parallelReadsClose();
    ioMainWakes();
    serverInfoWake();
    clockRefresh();
}

static void mainBeforeSleepWithModules(struct aeEventLoop *el) {
    moduleRunPostedCalls();
    mainEndTurns(el);
    uint64_t dirty = dbstats.dirty;
    serverEvent(SERVER_LOOP, EVENT_STARTED, NULL);
    mainGoToSleep(el, dbstats.dirty == dirty);
}

static void mainAfterSleepWithModules(struct aeEventLoop *el) {
    mainAfterSleep(el);
    serverEvent(SERVER_LOOP, EVENT_ENDED, NULL);
}

static void mainSetLoopHooks(bool any) {
    aeSetBeforeSleep(server_el, any ? mainBeforeSleepWithModules : mainBeforeSleep);
    aeSetAfterSleep(server_el, any ? mainAfterSleepWithModules : mainAfterSleep);
}

static int64_t serverCron(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    uint64_t start = ticksNow();
    cronRun();
    serverInfoCron(ticksNow() - start);
    return 1000 / server_hz;
}

static void mainCreateLoop(void) {
    eventBackendChoose();
    server_el = aeCreate(listenMaxFds());
    if (!server_el) {
        serverLog(LL_WARNING, "The event loop could not be created: %s", strerror(errno));
        exit(1);
    }
    aeSetBeforeSleep(server_el, mainBeforeSleep);
    aeSetAfterSleep(server_el, mainAfterSleep);
    aeSetAfterEvents(server_el, mainAfterEvents);
    moduleOnPresence(mainSetLoopHooks);
    aeCreateTimeEvent(server_el, 1, serverCron, NULL);
}

static void mainLogStart(int argc) {
    serverLog(LL_NOTICE, "Valkey is starting");
    serverLog(LL_NOTICE, "Version %s, %d bits, commit %s, modified %d, process %d, %s %s", VALKEY_VERSION,
              (int)sizeof(long) * 8, build_commit, build_modified, (int)getpid(), PRODUCT_NAME,
              PRODUCT_VERSION);
    if (argc > 1)
        serverLog(LL_NOTICE, "The configuration is read");
    else
        serverLog(LL_NOTICE,
                  "No configuration file is given, so every directive has its default. To name one: %s "
                  "/path/to/valkey.conf",
                  "valkey-server");
    serverLog(LL_NOTICE, "Clock for durations: %s", serverClockName());
    if (!processShowLogo())
        serverLog(LL_NOTICE, "The server runs in %s mode on port %d", roleModeText(), listenPort());
}

static const char *mainProgramName(char **argv) {
    const char *slash = strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

/* Tells whether this is a Sentinel. It has to be known before anything is registered. */
static bool mainIsSentinel(int argc, char **argv) {
    if (strstr(mainProgramName(argv), "valkey-sentinel") || strstr(mainProgramName(argv), "redis-sentinel"))
        return true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--sentinel") == 0) return true;
    }
    return false;
}

/* Under another name, the program is another tool. Returns only if it is the server. */
static void mainRunOtherTool(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } tools[] = {
        {"check-rdb", checkRdbMain},
        {"check-aof", checkAofMain},
    };
    const char *name = mainProgramName(argv);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (strstr(name, tools[i].name)) exit(tools[i].main(argc, argv));
    }
}

/* Runs a Sentinel, which has no data: its clients use databases that stay empty. */
static void mainRunSentinel(void) {
    dbInit();
    aclStart();
    ioThreadsBegin();
    listenStart();
    webStart();
    memoryMarkStarted();
    sentinelStart();
    processNotifyReady();
    aeMain(server_el);
}

static void mainRunServer(void) {
    atExitRegister(snapshotOnExit);
    clusterBegin();
    dbInit();
    bioInit();
    scriptStart();
    moduleStart();
    luaEngineStart();
    aclStart();
    evictStart();
    ioThreadsBegin();
    listenStart();
    webStart();
    clusterStart();
    memoryMarkStarted();
    replicationBegin();
    serverLog(LL_NOTICE, "The server is set up");
    if (aofEnabled()) {
        aofStartup();
    } else {
        aofStartupOff();
        snapshotLoadAtStart();
    }
    processNotifyReady();
    listenAnnounce();
    replicationStart();
    clusterDataLoaded();
    aeMain(server_el);
}

int main(int argc, char **argv) {
    restartInit(argc, argv);
    processInit(argc, argv);
    tzset();
    mainSeed();
    ticksCalibrate();
    clockRefresh();
    sentinel_mode = mainIsSentinel(argc, argv);
    if (sentinel_mode) logSetRole('X');
    mainRegisterModules();
    mainRunOtherTool(argc, argv);
    mainLoadConfiguration(argc, argv);
    processLogStart();
    if (sentinel_mode) sentinelApplyConfig();
    latencyStart();
    commandlogRefreshLimits();
    processStart();
    mainLogStart(argc);
    if (!sentinel_mode) absentFeaturesReport(); /* a Sentinel has no use for them anyway */
    crashInit();
    watchdogInit();
    mainCreateLoop();
    shutdownInit();
    if (sentinel_mode)
        mainRunSentinel();
    else
        mainRunServer();
    return 0;
}
