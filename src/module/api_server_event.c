/* SPDX-License-Identifier: BSD-3-Clause */
/* api_server_event.c - subscriptions to events of the server (registry/server_events.h) and the data of each
 * event. command_events.c has the events about commands.
 *
 *     serverEvent ──▶ sink: the structure of the interface ──▶ eventsPublish ──▶ each module that wants it
 *
 * A callback may subscribe, or end a subscription. Ended subscriptions are freed when no callback runs. */
#include <string.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "command/declared_keys.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "data/server_state/role.h"
#include "module/events.h"
#include "module/module_key.h"
#include "module/parts.h"
#include "registry/cron.h"

struct eventSubscription {
    struct eventSubscription *next;
    struct module *module;
    ValkeyModuleEventCallback callback; /* NULL: the subscription has ended */
    bool running;
};
static struct eventSubscription *subscriptions[SERVER_EVENT_KINDS]; /* in order of subscription */
static int delivering;

_Static_assert(SERVER_SLOT_MIGRATION == VALKEYMODULE_EVENT_ATOMIC_SLOT_MIGRATION,
               "kinds are the interface's");
_Static_assert(SERVER_COMMAND_DENIED == VALKEYMODULE_EVENT_COMMAND_RESULT_ACL_REJECTED, "all of them");
_Static_assert(EVENT_AOF_AT_ONCE == VALKEYMODULE_SUBEVENT_PERSISTENCE_SYNC_AOF_START, "so are which");
_Static_assert(EVENT_NOT_LOADED == VALKEYMODULE_SUBEVENT_LOADING_FAILED, "so are which");
_Static_assert(EVENT_KEY_OVERWRITTEN == VALKEYMODULE_SUBEVENT_KEY_OVERWRITTEN, "so are which");
_Static_assert(EVENT_EXPORT_COMPLETED == VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_EXPORT_COMPLETED,
               "so are which");

/* ---- Delivery ---- */

static void apiServerEventDropEnded(enum serverEventKind kind) {
    moduleListRemoveIf(struct eventSubscription, s, subscriptions[kind], !s->callback) {
        zfree(s);
    }
    if (subscriptions[kind]) return;
    serverEventWant(kind, false);
    if (kind >= SERVER_COMMAND_DONE) commandEventsUpdateHooks();
}

static void apiServerEventCallSubscriber(struct eventSubscription *s, enum serverEventKind kind, int which,
                                         void *info, struct client *c, struct db *db) {
    struct ValkeyModuleCtx ctx;
    struct declaredKeys no_declared_keys;
    contextOpen(&ctx, s->module, c, 0);
    struct client *context_client = contextClient(&ctx);
    struct db *before = context_client->db;
    if (db) context_client->db = db;
    s->running = true;
    propagateBegin(); /* commands of the callback are propagated as one unit */
    declaredKeysBegin(&no_declared_keys, NULL);
    s->callback(&ctx, (ValkeyModuleEvent){kind, 1}, (uint64_t)which, info);
    declaredKeysEnd(&no_declared_keys);
    propagateEnd();
    s->running = false;
    context_client->db = before;
    contextClose(&ctx);
}

/* A callback for events of commands is not called for commands that it runs itself, which would never end. */
static bool apiServerEventMatches(const struct eventSubscription *s, enum serverEventKind kind,
                                  const void *info) {
    if (!s->callback || (s->running && kind >= SERVER_COMMAND_DONE)) return false;
    return kind != SERVER_MODULE ||
           strcmp(((const ValkeyModuleModuleChange *)info)->module_name, s->module->name) != 0;
}

void eventsPublish(enum serverEventKind kind, int which, void *info, struct client *c, struct db *db) {
    delivering++;
    for (struct eventSubscription *s = subscriptions[kind]; s; s = s->next) {
        if (apiServerEventMatches(s, kind, info)) apiServerEventCallSubscriber(s, kind, which, info, c, db);
    }
    if (--delivering == 0) apiServerEventDropEnded(kind);
}

/* ---- Data of the events ---- */

static void apiServerEventPublishRole(int replica) {
    struct replicationState now;
    replication_control.describe(&now);
    ValkeyModuleReplicationInfo info = {.version = VALKEYMODULE_REPLICATIONINFO_VERSION,
                                        .primary = !replica,
                                        .primary_host = now.host ? now.host : "",
                                        .primary_port = now.port,
                                        .replid1 = now.id,
                                        .replid2 = now.id2,
                                        .repl1_offset = now.offset,
                                        .repl2_offset = (uint64_t)now.offset2};
    eventsPublish(SERVER_ROLE, replica, &info, NULL, NULL);
}

static void apiServerEventPublishFlush(int which, const struct eventFlush *e) {
    ValkeyModuleFlushInfo info = {VALKEYMODULE_FLUSHINFO_VERSION, !e->async, e->db};
    eventsPublish(SERVER_FLUSH, which, &info, NULL, e->db >= 0 ? dbGet(e->db) : NULL);
}

static void apiServerEventPublishClient(int which, struct client *c) {
    ValkeyModuleClientInfo info = {.version = VALKEYMODULE_CLIENTINFO_VERSION};
    clientInfoFill(&info, c);
    eventsPublish(SERVER_CLIENT, which, &info, c, NULL);
}

static void apiServerEventPublishModule(int which, const struct module *m) {
    ValkeyModuleModuleChange info = {VALKEYMODULE_MODULE_CHANGE_VERSION, m->name, m->ver};
    eventsPublish(SERVER_MODULE, which, &info, NULL, NULL);
}

static void apiServerEventPublishProgress(int which, const int *progress) {
    ValkeyModuleLoadingProgress info = {VALKEYMODULE_LOADING_PROGRESS_VERSION, (int32_t)server_hz, *progress};
    eventsPublish(SERVER_LOADING_PROGRESS, which, &info, NULL, NULL);
}

static void apiServerEventPublishSwap(const int *databases) {
    ValkeyModuleSwapDbInfo info = {VALKEYMODULE_SWAPDBINFO_VERSION, databases[0], databases[1]};
    eventsPublish(SERVER_SWAPDB, 0, &info, NULL, NULL);
}

static void apiServerEventPublishConfig(const struct eventConfig *e) {
    ValkeyModuleConfigChange info = {VALKEYMODULE_CONFIGCHANGE_VERSION, (uint32_t)e->count, e->names};
    eventsPublish(SERVER_CONFIG, 0, &info, NULL, NULL);
}

static void apiServerEventPublishKey(int which, const struct eventKey *e) {
    struct ValkeyModuleKey key;
    struct str text = objectKey(e->object);
    struct ValkeyModuleString *name = stringNew(text);
    moduleKeyInit(&key, e->db, name, VALKEYMODULE_READ | MODULE_KEY_EXPIRED_TOO);
    ValkeyModuleKeyInfo info = {VALKEYMODULE_KEYINFO_VERSION, &key};
    eventsPublish(SERVER_KEY, which, &info, NULL, e->db);
    moduleKeyFree(&key);
    stringRelease(name);
}

static void apiServerEventPublishAuth(const struct eventAuth *e) {
    sds user = sdsnewstr(e->user);
    ValkeyModuleAuthenticationInfo info = {
        VALKEYMODULE_AUTHENTICATION_INFO_VERSION, e->client->id, user, e->module,
        e->granted ? VALKEYMODULE_AUTH_RESULT_GRANTED : VALKEYMODULE_AUTH_RESULT_DENIED};
    eventsPublish(SERVER_AUTH, 0, &info, NULL, NULL);
    sdsfree(user);
}

static void apiServerEventPublishMigration(int which, const struct eventSlotMigration *e) {
    ValkeyModuleAtomicSlotMigrationInfo info = {.version = VALKEYMODULE_ATOMICSLOTMIGRATION_INFO_VERSION,
                                                .num_slot_ranges = (uint32_t)e->count};
    strncpy(info.job_name, e->job, sizeof info.job_name - 1);
    info.slot_ranges = zmalloc((size_t)e->count * sizeof *info.slot_ranges);
    for (int i = 0; i < e->count; i++)
        info.slot_ranges[i] = (ValkeyModuleSlotRange){e->ranges[i][0], e->ranges[i][1]};
    eventsPublish(SERVER_SLOT_MIGRATION, which, &info, NULL, NULL);
    zfree(info.slot_ranges);
}

static void apiServerEventSink(enum serverEventKind kind, int which, const void *data) {
    switch (kind) {
    case SERVER_ROLE: apiServerEventPublishRole(which); return;
    case SERVER_FLUSH: apiServerEventPublishFlush(which, data); return;
    case SERVER_CLIENT: apiServerEventPublishClient(which, (struct client *)data); return;
    case SERVER_MODULE: apiServerEventPublishModule(which, data); return;
    case SERVER_LOADING_PROGRESS: apiServerEventPublishProgress(which, data); return;
    case SERVER_SWAPDB: apiServerEventPublishSwap(data); return;
    case SERVER_CONFIG: apiServerEventPublishConfig(data); return;
    case SERVER_KEY: apiServerEventPublishKey(which, data); return;
    case SERVER_AUTH: apiServerEventPublishAuth(data); return;
    case SERVER_SLOT_MIGRATION: apiServerEventPublishMigration(which, data); return;
    case SERVER_COMMAND_DENIED: commandEventDenied(which, data); return;
    default: eventsPublish(kind, which, NULL, NULL, NULL);
    }
}

static void apiServerEventPublishCron(void) {
    ValkeyModuleCronLoop info = {VALKEYMODULE_CRON_LOOP_VERSION, (int32_t)server_hz};
    if (serverEventWanted(SERVER_CRON)) eventsPublish(SERVER_CRON, 0, &info, NULL, NULL);
}

/* ---- Subscribing ---- */

int vmSubscribeToServerEvent(struct ValkeyModuleCtx *ctx, ValkeyModuleEvent event,
                             ValkeyModuleEventCallback callback) {
    if (!ctx->module || event.id >= SERVER_EVENT_KINDS || event.dataver > 1) return VALKEYMODULE_ERR;
    struct eventSubscription **at = &subscriptions[event.id];
    while (*at && ((*at)->module != ctx->module || !(*at)->callback)) at = &(*at)->next;
    if (*at) {
        (*at)->callback = callback;
        if (!callback && !delivering) apiServerEventDropEnded((enum serverEventKind)event.id);
        return VALKEYMODULE_OK;
    }
    if (!callback) return VALKEYMODULE_OK;
    *at = zcalloc(1, sizeof **at);
    **at = (struct eventSubscription){.module = ctx->module, .callback = callback};
    serverEventWant((enum serverEventKind)event.id, true);
    if (event.id >= SERVER_COMMAND_DONE) commandEventsUpdateHooks();
    return VALKEYMODULE_OK;
}

int vmIsSubEventSupported(ValkeyModuleEvent event, uint64_t subevent) {
    /* 9.1.2 says that events of authentication, migration and executed commands have no subevents. */
    static const uint8_t counts[SERVER_EVENT_KINDS] = {
        [SERVER_ROLE] = 2,           [SERVER_PERSISTENCE] = 6, [SERVER_FLUSH] = 2,
        [SERVER_LOADING] = 5,        [SERVER_CLIENT] = 2,      [SERVER_REPLICA] = 2,
        [SERVER_PRIMARY_LINK] = 2,   [SERVER_MODULE] = 2,      [SERVER_LOADING_PROGRESS] = 2,
        [SERVER_FORK] = 2,           [SERVER_ASYNC_LOAD] = 3,  [SERVER_LOOP] = 2,
        [SERVER_CONFIG] = 1,         [SERVER_KEY] = 4,         [SERVER_COMMAND_REJECTED] = 1,
        [SERVER_COMMAND_DENIED] = 5,
    };
    return event.id < SERVER_EVENT_KINDS && subevent < counts[event.id];
}

static void apiServerEventForgetModule(struct module *m) {
    for (int kind = 0; kind < SERVER_EVENT_KINDS; kind++) {
        bool had = false;
        for (struct eventSubscription *s = subscriptions[kind]; s; s = s->next) {
            if (s->module != m) continue;
            s->callback = NULL;
            had = true;
        }
        if (had && !delivering) apiServerEventDropEnded((enum serverEventKind)kind);
    }
}

void serverEventPartInit(void) {
    server_event_sink = apiServerEventSink;
    cronRegister(apiServerEventPublishCron, 0);
    moduleOnUnload(apiServerEventForgetModule);
}
