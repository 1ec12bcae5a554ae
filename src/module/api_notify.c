/* SPDX-License-Identifier: BSD-3-Clause */
/* api_notify.c - events of the keyspace for modules: who has subscribed is told within the command, before
 * messages go out (data/notify.h). While nobody has, no sink is registered. */
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
    struct module *module; /* NULL: it has ended, and goes when nobody is told of anything */
    ValkeyModuleNotificationFunc callback;
    int classes;
    bool running;
};
static struct notifySubscriber *subscribers; /* in order of subscription */
static int telling;

static void apiNotifyKeyspaceEvent(int class, const char *event, struct str key, int dbid);

static void apiNotifyDropEnded(void) {
    moduleListRemoveIf(struct notifySubscriber, s, subscribers, !s->module) {
        zfree(s);
        if (!subscribers) notifyRemoveEventSink(apiNotifyKeyspaceEvent);
    }
}

/* No key expires while subscribers are notified. */
static bool apiNotifyTelling(void) {
    return telling;
}

static bool apiNotifyWants(const struct notifySubscriber *s, int class) {
    if (!s->module || !(s->classes & class)) return false;
    return !s->running || s->module->options & VALKEYMODULE_OPTIONS_ALLOW_NESTED_KEYSPACE_NOTIFICATIONS;
}

/* In the name of the client whose command runs; its database is the key's meanwhile. */
static void apiNotifyTellOne(struct notifySubscriber *s, int class, const char *event,
                             struct ValkeyModuleString *key, int dbid) {
    struct ValkeyModuleCtx ctx;
    struct declaredKeys nobodys;
    contextOpen(&ctx, s->module, call_running ? call_running->client : NULL, CTX_KEY_EVENT);
    struct client *c = contextClient(&ctx);
    struct db *before = c->db;
    bool was_running = s->running;
    c->db = dbGet(dbid);
    s->running = true;
    declaredKeysBegin(&nobodys, NULL);
    s->callback(&ctx, class, event, key);
    declaredKeysEnd(&nobodys);
    s->running = was_running;
    c->db = before;
    contextClose(&ctx);
}

static void apiNotifyKeyspaceEvent(int class, const char *event, struct str text, int dbid) {
    struct ValkeyModuleString *key = NULL;
    telling++;
    for (struct notifySubscriber *s = subscribers; s; s = s->next) {
        if (!apiNotifyWants(s, class)) continue;
        if (!key) key = stringNew(text);
        apiNotifyTellOne(s, class, event, key, dbid);
    }
    if (key) stringRelease(key);
    if (--telling == 0) apiNotifyDropEnded();
}

static void apiNotifyKeyLeft(struct db *db, struct str key) {
    apiNotifyKeyspaceEvent(NOTIFY_GENERIC, "del", key, db->id);
}

void notifyKeysThatLeave(void) {
    data_hooks.keyLeft = apiNotifyKeyLeft;
}

int vmSubscribeToKeyspaceEvents(struct ValkeyModuleCtx *ctx, int types, ValkeyModuleNotificationFunc cb) {
    if (!subscribers) notifyAddFirstEventSink(apiNotifyKeyspaceEvent);
    notifyKeysThatLeave();
    data_hooks.dropBegins = propagateBegin;
    data_hooks.dropEnds = propagateEnd;
    struct notifySubscriber **end = &subscribers;
    while (*end) end = &(*end)->next;
    *end = zcalloc(1, sizeof **end);
    **end = (struct notifySubscriber){.module = ctx->module, .callback = cb, .classes = types};
    return VALKEYMODULE_OK;
}

int vmNotifyKeyspaceEvent(struct ValkeyModuleCtx *ctx, int type, const char *event,
                          struct ValkeyModuleString *key) {
    if (!ctx) return VALKEYMODULE_ERR;
    keyEvent(type, event, stringText(key), contextDb(ctx));
    return VALKEYMODULE_OK;
}

int vmGetNotifyKeyspaceEvents(void) {
    return keyspaceEventsWanted();
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

static void apiNotifyForget(struct module *m) {
    for (struct notifySubscriber *s = subscribers; s; s = s->next) {
        if (s->module == m) s->module = NULL;
    }
    if (!telling) apiNotifyDropEnded();
}

void notifyPartInit(void) {
    dbAddExpiryVeto(apiNotifyTelling);
    moduleOnUnload(apiNotifyForget);
}
