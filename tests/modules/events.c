/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c - a log of all notifications: events of the keyspace, of the server, of children; messages,
 * clients, the state of the server. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;

#define LINES_MAX 4096
static char *lines[LINES_MAX];
static int count;
static int writes; /* keyspace callbacks write, too */

static const char *eventsText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

static void eventsNote(const char *fmt, ...) {
    char line[512];
    va_list ap;
    if (count == LINES_MAX) return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    lines[count++] = ValkeyModule_Strdup(line);
}

/* events.log: what has been noted since the last time. */
static int logCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, count);
    for (int i = 0; i < count; i++) {
        ValkeyModule_ReplyWithCString(ctx, lines[i]);
        ValkeyModule_Free(lines[i]);
    }
    count = 0;
    return VALKEYMODULE_OK;
}

/* ---- Events of the server ---- */

static void noteKey(Ctx *ctx, uint64_t sub, ValkeyModuleKeyInfo *info) {
    size_t len = 0;
    const char *name = eventsText(ValkeyModule_GetKeyNameFromModuleKey(info->key));
    int type = ValkeyModule_KeyType(info->key);
    const char *value =
        type == VALKEYMODULE_KEYTYPE_STRING ? ValkeyModule_StringDMA(info->key, &len, VALKEYMODULE_READ) : "";
    eventsNote("key %d %s type %d value %.*s db %d %d length %zu", (int)sub, name, type, (int)len, value,
               ValkeyModule_GetDbIdFromModuleKey(info->key), ValkeyModule_GetSelectedDb(ctx),
               ValkeyModule_ValueLength(info->key));
}

static void noteResult(const char *what, uint64_t sub, ValkeyModuleCommandResultInfo *info) {
    char args[256] = "";
    for (int i = 0; i < info->argc; i++) {
        size_t used = strlen(args);
        snprintf(args + used, sizeof args - used, " %s", eventsText(info->argv[i]));
    }
    eventsNote("%s %d %s dirty %d module %d client %d args %d:%s because %s", what, (int)sub,
               info->command_name ? info->command_name : "?", (int)info->dirty, info->is_module_client,
               info->client_id != 0, info->argc, args,
               info->rejection_context ? info->rejection_context : "?");
    if (info->duration_us < 0) eventsNote("a command took %lld us", (long long)info->duration_us);
}

static void onEvent(Ctx *ctx, ValkeyModuleEvent e, uint64_t sub, void *data) {
    static const char *const results[] = {"done", "failed", "rejected", "denied"};
    switch (e.id) {
    case VALKEYMODULE_EVENT_REPLICATION_ROLE_CHANGED: {
        ValkeyModuleReplicationInfo *i = data;
        eventsNote("role %d primary %d host %s ids %d %d", (int)sub, i->primary, i->primary_host,
                   (int)strlen(i->replid1), (int)strlen(i->replid2));
        return;
    }
    case VALKEYMODULE_EVENT_FLUSHDB: {
        ValkeyModuleFlushInfo *i = data;
        eventsNote("flush %d sync %d db %d keys %d", (int)sub, i->sync, i->dbnum,
                   (int)ValkeyModule_DbSize(ctx));
        return;
    }
    case VALKEYMODULE_EVENT_CLIENT_CHANGE: {
        ValkeyModuleClientInfo *i = data;
        eventsNote("client %d flags %d addr %s db %d same %d", (int)sub, (int)i->flags, i->addr, i->db,
                   ValkeyModule_GetClientId(ctx) == i->id);
        return;
    }
    case VALKEYMODULE_EVENT_MODULE_CHANGE: {
        ValkeyModuleModuleChange *i = data;
        eventsNote("module %d %s %d", (int)sub, i->module_name, i->module_version);
        return;
    }
    case VALKEYMODULE_EVENT_CONFIG: {
        ValkeyModuleConfigChange *i = data;
        for (unsigned k = 0; k < i->num_changes; k++)
            eventsNote("config %d %s", (int)sub, i->config_names[k]);
        return;
    }
    case VALKEYMODULE_EVENT_SWAPDB: {
        ValkeyModuleSwapDbInfo *i = data;
        eventsNote("swapdb %d %d", i->dbnum_first, i->dbnum_second);
        return;
    }
    case VALKEYMODULE_EVENT_CRON_LOOP:
        if (count < 1) eventsNote("cron %d", ((ValkeyModuleCronLoop *)data)->hz);
        return;
    case VALKEYMODULE_EVENT_EVENTLOOP:
        if (count < 2) eventsNote("loop %d", (int)sub);
        return;
    case VALKEYMODULE_EVENT_LOADING_PROGRESS: {
        ValkeyModuleLoadingProgress *i = data;
        int flags = ValkeyModule_GetContextFlags(ctx);
        eventsNote("progress %d %d loading %d aside %d", (int)sub, i->progress >= 0 && i->progress <= 1024,
                   !!(flags & VALKEYMODULE_CTX_FLAGS_LOADING),
                   !!(flags & VALKEYMODULE_CTX_FLAGS_ASYNC_LOADING));
        return;
    }
    case VALKEYMODULE_EVENT_KEY: noteKey(ctx, sub, data); return;
    case VALKEYMODULE_EVENT_AUTHENTICATION_ATTEMPT: {
        ValkeyModuleAuthenticationInfo *i = data;
        eventsNote("auth %d %s module %s result %d", (int)sub, i->username,
                   i->module_name ? i->module_name : "?", i->result);
        return;
    }
    case VALKEYMODULE_EVENT_COMMAND_RESULT_SUCCESS:
    case VALKEYMODULE_EVENT_COMMAND_RESULT_FAILURE:
    case VALKEYMODULE_EVENT_COMMAND_RESULT_REJECTED:
    case VALKEYMODULE_EVENT_COMMAND_RESULT_ACL_REJECTED:
        noteResult(results[e.id - VALKEYMODULE_EVENT_COMMAND_RESULT_SUCCESS], sub, data);
        return;
    default: eventsNote("event %d %d", (int)e.id, (int)sub);
    }
}

/* events.watch id ...; events.unwatch id ... */
static int eventsSubscribe(Ctx *ctx, Text **argv, int argc, ValkeyModuleEventCallback callback) {
    int refused = 0;
    for (int i = 1; i < argc; i++) {
        ValkeyModuleEvent e = {(uint64_t)atoi(eventsText(argv[i])), 1};
        refused += ValkeyModule_SubscribeToServerEvent(ctx, e, callback);
    }
    return ValkeyModule_ReplyWithLongLong(ctx, refused);
}
static int eventsWatchCommand(Ctx *ctx, Text **argv, int argc) {
    return eventsSubscribe(ctx, argv, argc, onEvent);
}
static int eventsUnwatchCommand(Ctx *ctx, Text **argv, int argc) {
    return eventsSubscribe(ctx, argv, argc, NULL);
}

/* events.supported: how many there are of each kind. */
static int supportedCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 26);
    for (uint64_t id = 0; id < 26; id++) {
        uint64_t sub = 0;
        while (sub < 20 && ValkeyModule_IsSubEventSupported((ValkeyModuleEvent){id, 1}, sub)) sub++;
        ValkeyModule_ReplyWithLongLong(ctx, (long long)sub);
    }
    return VALKEYMODULE_OK;
}

/* ---- Events of the keyspace ---- */

static int onKeyspace(Ctx *ctx, int type, const char *event, Text *key) {
    eventsNote("%s %d %s db %d", event, type, eventsText(key), ValkeyModule_GetSelectedDb(ctx));
    if (!writes) return VALKEYMODULE_OK;
    Text *other = ValkeyModule_CreateStringPrintf(ctx, "seen:%s", eventsText(key));
    ValkeyModuleKey *k = ValkeyModule_OpenKey(ctx, other, VALKEYMODULE_WRITE);
    ValkeyModule_StringSet(k, key);
    ValkeyModule_NotifyKeyspaceEvent(ctx, VALKEYMODULE_NOTIFY_MODULE, "seen", other);
    ValkeyModule_CloseKey(k);
    ValkeyModule_FreeString(ctx, other);
    return VALKEYMODULE_OK;
}

/* events.listen mask [write|nested] */
static int listenCommand(Ctx *ctx, Text **argv, int argc) {
    writes = argc > 2;
    if (argc > 2 && !strcmp(eventsText(argv[2]), "nested"))
        ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_ALLOW_NESTED_KEYSPACE_NOTIFICATIONS);
    int ok = ValkeyModule_SubscribeToKeyspaceEvents(ctx, atoi(eventsText(argv[1])), onKeyspace);
    return ValkeyModule_ReplyWithLongLong(ctx, ok);
}

/* events.notify class event key */
static int notifyCommand(Ctx *ctx, Text **argv, int argc) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    int ok = ValkeyModule_NotifyKeyspaceEvent(ctx, atoi(eventsText(argv[1])), eventsText(argv[2]), argv[3]);
    return ValkeyModule_ReplyWithLongLong(ctx, ok);
}

static int classesCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetNotifyKeyspaceEvents());
}

/* events.publish channel message; events.spublish */
static int eventsPublishCommand(Ctx *ctx, Text **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    int n = eventsText(argv[0])[7] == 's' ? ValkeyModule_PublishMessageShard(ctx, argv[1], argv[2])
                                          : ValkeyModule_PublishMessage(ctx, argv[1], argv[2]);
    return ValkeyModule_ReplyWithLongLong(ctx, n);
}

/* ---- Children ---- */

static int child;

static void onEnd(int code, int signal, void *data) {
    eventsNote("child %d %d %s", code, signal, (const char *)data);
}

/* events.fork milliseconds code */
static int forkCommand(Ctx *ctx, Text **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    child = ValkeyModule_Fork(onEnd, "data");
    if (child == 0) {
        for (int left = atoi(eventsText(argv[1])); left > 0; left -= 10) {
            ValkeyModule_SendChildHeartbeat(0.5);
            usleep(10000);
        }
        int is_child = ValkeyModule_GetContextFlags(NULL) & VALKEYMODULE_CTX_FLAGS_IS_CHILD;
        ValkeyModule_ExitFromChild(is_child ? atoi(eventsText(argv[2])) : 99);
    }
    return ValkeyModule_ReplyWithLongLong(ctx, child > 0 ? 1 : child);
}

/* events.kill [other] */
static int killCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv;
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_KillForkChild(argc > 1 ? child + 1 : child));
}

/* ---- Clients, the server ---- */

static void replyText(Ctx *ctx, Text *s) {
    if (s)
        ValkeyModule_ReplyWithString(ctx, s);
    else
        ValkeyModule_ReplyWithNull(ctx);
    if (s) ValkeyModule_FreeString(ctx, s);
}

/* events.client id: flags, same id, addr, port is there, db, name, user, certificate; ERR codes. "me" is
 * the caller. */
static int clientCommand(Ctx *ctx, Text **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    uint64_t id = !strcmp(eventsText(argv[1]), "me") ? ValkeyModule_GetClientId(ctx)
                                                     : strtoull(eventsText(argv[1]), NULL, 10);
    ValkeyModuleClientInfo info = VALKEYMODULE_CLIENTINFO_INITIALIZER_V1;
    ValkeyModuleClientInfo newer = {.version = 2};
    ValkeyModule_ReplyWithArray(ctx, 11);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetClientInfoById(&info, id));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetClientInfoById(NULL, id));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetClientInfoById(&newer, id));
    ValkeyModule_ReplyWithLongLong(ctx, (long long)info.flags);
    ValkeyModule_ReplyWithLongLong(ctx, info.id == id);
    ValkeyModule_ReplyWithCString(ctx, info.addr);
    ValkeyModule_ReplyWithLongLong(ctx, info.port != 0);
    ValkeyModule_ReplyWithLongLong(ctx, info.db);
    replyText(ctx, ValkeyModule_GetClientNameById(ctx, id));
    errno = 0;
    replyText(ctx, ValkeyModule_GetClientUserNameById(ctx, id));
    replyText(ctx, ValkeyModule_GetClientCertificate(ctx, id));
    return VALKEYMODULE_OK;
}

/* events.name id name */
static int nameCommand(Ctx *ctx, Text **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    uint64_t id = !strcmp(eventsText(argv[1]), "me") ? ValkeyModule_GetClientId(ctx)
                                                     : strtoull(eventsText(argv[1]), NULL, 10);
    errno = 0;
    int r = ValkeyModule_SetClientNameById(id, argv[2]);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, r);
    return ValkeyModule_ReplyWithLongLong(ctx, r == VALKEYMODULE_OK ? 0 : errno);
}

/* events.flags [none]: the state of the server, with our client or without; the obeyed client, replicas. */
static int flagsCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv;
    ValkeyModule_ReplyWithArray(ctx, 3);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetContextFlags(argc > 1 ? NULL : ctx));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_MustObeyClient(ctx));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_AvoidReplicaTraffic());
}

static int eventsTimeCommand(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    long long apart = ValkeyModule_Microseconds() - ValkeyModule_CachedMicroseconds();
    return ValkeyModule_ReplyWithLongLong(ctx, apart > -1000000 && apart < 1000000);
}

int ValkeyModule_OnUnload(Ctx *ctx) {
    (void)ctx;
    while (count) ValkeyModule_Free(lines[--count]);
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
        const char *flags;
    } commands[] = {
        {"events.log", logCommand, "allow-loading allow-stale"},
        {"events.watch", eventsWatchCommand, ""},
        {"events.unwatch", eventsUnwatchCommand, ""},
        {"events.supported", supportedCommand, ""},
        {"events.listen", listenCommand, ""},
        {"events.notify", notifyCommand, ""},
        {"events.classes", classesCommand, ""},
        {"events.publish", eventsPublishCommand, ""},
        {"events.spublish", eventsPublishCommand, ""},
        {"events.fork", forkCommand, ""},
        {"events.kill", killCommand, ""},
        {"events.client", clientCommand, ""},
        {"events.name", nameCommand, ""},
        {"events.flags", flagsCommand, "allow-stale"},
        {"events.time", eventsTimeCommand, ""},
    };
    if (ValkeyModule_Init(ctx, "events", 1, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags, 0, 0, 0) ==
            VALKEYMODULE_ERR)
            return VALKEYMODULE_ERR;
    }
    ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD |
                                           VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS);
    for (int i = 0; i < argc; i++) { /* from the start */
        ValkeyModuleEvent e = {(uint64_t)atoi(eventsText(argv[i])), 1};
        if (ValkeyModule_SubscribeToServerEvent(ctx, e, onEvent) == VALKEYMODULE_ERR) return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
