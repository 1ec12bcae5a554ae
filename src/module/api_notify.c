/* SPDX-License-Identifier: BSD-3-Clause */
/* api_notify.c - keyspace events for modules. Subscribers are called within the command, before messages go
 * out (data/notify.h). The sink is registered only while there are subscribers. */
#include "base/zmalloc.h"
#include "client/client.h"
#include "command/call.h"
#include "command/declared_keys.h"
#include "command/propagate.h"
#include "command/pubsub.h"
#include "data/keyspace/db.h"
#include "data/keyspace/hooks.h"
#include "data/notify.h"
#include "module/events.h"
#include "module/parts.h"

struct notifySubscriber {
    struct notifySubscriber *next;
    struct module *module; /* NULL: unloaded; freed when no event is being delivered */
    ValkeyModuleNotificationFunc callback;
    int classes;
    bool running;
};
static struct notifySubscriber *subscribers; /* in order of subscription */
static int delivering;

static void apiNotifyKeyspaceEvent(int class, const char *event, struct str key, int dbid);

static void apiNotifyDropEnded(void) {
    moduleListRemoveIf(struct notifySubscriber, s, subscribers, !s->module) {
        zfree(s);
        if (!subscribers) notifyRemoveEventSink(apiNotifyKeyspaceEvent);
    }
}

/* Vetoes the expiry of keys while subscribers are called. */
static bool apiNotifyIsDelivering(void) {
    return delivering;
}

static bool apiNotifyMatches(const struct notifySubscriber *s, int class) {
    if (!s->module || !(s->classes & class)) return false;
    return !s->running || s->module->options & VALKEYMODULE_OPTIONS_ALLOW_NESTED_KEYSPACE_NOTIFICATIONS;
}

/* Calls one subscriber on behalf of the client whose command runs; the client's database is that of
 * the key meanwhile. */
static void apiNotifyCallSubscriber(struct notifySubscriber *s, int class, const char *event,
                                    struct ValkeyModuleString *key, int dbid) {
    struct ValkeyModuleCtx ctx;
    struct declaredKeys no_declared_keys;
    contextOpen(&ctx, s->module, call_running ? call_running->client : NULL, CTX_KEY_EVENT);
    struct client *c = contextClient(&ctx);
    struct db *before = c->db;
    bool was_running = s->running;
    c->db = dbGet(dbid);
    s->running = true;
    declaredKeysBegin(&no_declared_keys, NULL);
    s->callback(&ctx, class, event, key);
    declaredKeysEnd(&no_declared_keys);
    s->running = was_running;
    c->db = before;
    contextClose(&ctx);
}

static void apiNotifyKeyspaceEvent(int class, const char *event, struct str text, int dbid) {
    struct ValkeyModuleString *key = NULL;
    delivering++;
    for (struct notifySubscriber *s = subscribers; s; s = s->next) {
        if (!apiNotifyMatches(s, class)) continue;
        if (!key) key = stringNew(text);
        apiNotifyCallSubscriber(s, class, event, key, dbid);
    }
    if (key) stringRelease(key);
    if (--delivering == 0) apiNotifyDropEnded();
}

static void apiNotifyKeyLeft(struct db *db, struct str key) {
    apiNotifyKeyspaceEvent(NOTIFY_GENERIC, "del", key, db->id);
}

void notifyEnableKeyLeft(void) {
    data_hooks.keyLeft = apiNotifyKeyLeft;
}

int vmSubscribeToKeyspaceEvents(struct ValkeyModuleCtx *ctx, int types, ValkeyModuleNotificationFunc cb) {
    if (!subscribers) notifyAddFirstEventSink(apiNotifyKeyspaceEvent);
    notifyEnableKeyLeft();
    data_hooks.dropBegins = propagateBegin;
    data_hooks.dropEnds = propagateEnd;
    struct notifySubscriber **end = &subscribers;
    while (*end) end = &(*end)->next;
    *end = zcalloc(1, sizeof **end);
    **end = (struct notifySubscriber){
        .module = ctx->module, .callback = cb, .classes = types & ~NOTIFY_REPLACEMENTS};
    return VALKEYMODULE_OK;
}

int vmNotifyKeyspaceEvent(struct ValkeyModuleCtx *ctx, int type, const char *event,
                          struct ValkeyModuleString *key) {
    if (!ctx) return VALKEYMODULE_ERR;
    keyEvent(type, event, stringText(key), contextDb(ctx));
    return VALKEYMODULE_OK;
}

int vmGetNotifyKeyspaceEvents(void) {
    return keyspaceEventsWanted() & ~NOTIFY_REPLACEMENTS;
}

int vmPublishMessage(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *channel,
                     struct ValkeyModuleString *message) {
    (void)ctx;
    int64_t receivers = pubsubPublish(stringText(channel), stringText(message));
    if (pubsub_to_cluster) pubsub_to_cluster(false, stringText(channel), stringText(message));
    return (int)receivers;
}

int vmPublishMessageShard(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *channel,
                          struct ValkeyModuleString *message) {
    (void)ctx;
    int64_t receivers = pubsubPublishShard(stringText(channel), stringText(message));
    if (pubsub_to_cluster) pubsub_to_cluster(true, stringText(channel), stringText(message));
    return (int)receivers;
}

static void apiNotifyForgetModule(struct module *m) {
    for (struct notifySubscriber *s = subscribers; s; s = s->next) {
        if (s->module == m) s->module = NULL;
    }
    if (!delivering) apiNotifyDropEnded();
}

void notifyPartInit(void) {
    dbAddExpiryVeto(apiNotifyIsDelivering);
    moduleOnUnload(apiNotifyForgetModule);
}
