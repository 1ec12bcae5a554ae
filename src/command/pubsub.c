/* SPDX-License-Identifier: BSD-3-Clause */
/* pubsub.c - SUBSCRIBE, PUBLISH and related commands.
 *
 *     topics[kind]             name -> topic: a channel, pattern or shard channel with subscribers
 *     topic: subscribers       [client, subscription] [client, subscription] [empty] ...
 *     client: subscriptions    name -> subscription: its topic, its index among the subscribers
 *
 * Publishing walks the subscribers, an array in order of subscription, so that the next clients can be
 * prefetched. A place that becomes empty stays until half of them are empty; then the others move up. This
 * keeps the order, and unsubscribing costs O(1). Patterns are also in a list: a message is matched with them
 * in order of their creation. */
#include "command/pubsub.h"

#include "base/assert.h"
#include "base/glob.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_info.h"
#include "client/push.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/propagate.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_pubsub.h"
#include "ds/hashtable.h"
#include "registry/info.h"

#define SUBSCRIBERS_MIN 4
#define PREFETCH_AHEAD  4 /* subscribers prefetched ahead */

struct topicSubscriber {
    struct client *client; /* NULL: empty */
    struct topicSubscription *subscription;
};

struct topic {
    struct listNode node; /* for patterns: in order of creation */
    enum pubsubKind kind;
    struct topicSubscriber *subscribers;
    size_t cap, used, count; /* used: places including empty ones, count: subscribers */
    size_t len;
    char name[];
};

struct topicSubscription {
    struct topic *topic;
    size_t index; /* its place in topic->subscribers */
};

/* The part of a client that has ever subscribed. */
struct pubsubClient {
    struct hashtable subscriptions[PUBSUB_KINDS];
    size_t names_len; /* bytes of the names of channels and patterns */
};

static struct hashtable topics[PUBSUB_KINDS];
static struct list patterns;
static size_t pubsub_clients; /* clients with CLIENT_PUBSUB */

/* ---- Tables ---- */

static struct str pubsubTopicName(const struct topic *t) {
    return strN(t->name, t->len);
}
static struct str pubsubTopicKey(const void *entry) {
    return pubsubTopicName(entry);
}
static struct str pubsubSubscriptionKey(const void *entry) {
    return pubsubTopicName(((const struct topicSubscription *)entry)->topic);
}
static const struct hashtableType topics_type = {.entryKey = pubsubTopicKey};
static const struct hashtableType subscriptions_type = {.entryKey = pubsubSubscriptionKey};

static struct topic *pubsubTopicGet(enum pubsubKind kind, struct str name) {
    struct topic *t = hashtableFind(&topics[kind], name);
    if (t) return t;
    t = zcalloc(1, sizeof *t + name.len);
    t->kind = kind;
    t->len = name.len;
    memcpy(t->name, name.ptr, name.len);
    hashtableAdd(&topics[kind], t);
    if (kind == PUBSUB_PATTERN) listAddTail(&patterns, &t->node);
    return t;
}

static void pubsubTopicDrop(struct topic *t) {
    hashtablePop(&topics[t->kind], pubsubTopicName(t));
    if (t->kind == PUBSUB_PATTERN) listRemove(&patterns, &t->node);
    zfree(t->subscribers);
    zfree(t);
}

static struct pubsubClient *pubsubClientState(struct client *c) {
    if (c->pubsub) return c->pubsub;
    c->pubsub = zmalloc(sizeof *c->pubsub);
    c->pubsub->names_len = 0;
    for (int k = 0; k < PUBSUB_KINDS; k++) hashtableInit(&c->pubsub->subscriptions[k], &subscriptions_type);
    return c->pubsub;
}

/* ---- Subscribers of a topic ---- */

static void pubsubAddSubscriber(struct topic *t, struct client *c, struct topicSubscription *s) {
    if (t->used == t->cap) {
        t->cap = t->cap ? t->cap * 2 : SUBSCRIBERS_MIN;
        t->subscribers = zrealloc(t->subscribers, t->cap * sizeof *t->subscribers);
    }
    s->topic = t;
    s->index = t->used;
    t->subscribers[t->used++] = (struct topicSubscriber){.client = c, .subscription = s};
    t->count++;
}

static void pubsubCompactSubscribers(struct topic *t) {
    size_t to = 0;
    for (size_t i = 0; i < t->used; i++) {
        if (!t->subscribers[i].client) continue;
        t->subscribers[i].subscription->index = to;
        t->subscribers[to++] = t->subscribers[i];
    }
    t->used = to;
    t->cap = to > SUBSCRIBERS_MIN ? to : SUBSCRIBERS_MIN;
    t->subscribers = zrealloc(t->subscribers, t->cap * sizeof *t->subscribers);
}

static void pubsubRemoveSubscriber(struct topicSubscription *s) {
    struct topic *t = s->topic;
    t->subscribers[s->index] = (struct topicSubscriber){0};
    t->count--;
    if (!t->count)
        pubsubTopicDrop(t);
    else if (t->used > SUBSCRIBERS_MIN && t->count <= t->used / 2)
        pubsubCompactSubscribers(t);
}

/* ---- Subscribing ---- */

static void pubsubNoteSubscriber(struct client *c, bool is) {
    if (is == ((c->flags & CLIENT_PUBSUB) != 0)) return;
    c->flags ^= CLIENT_PUBSUB;
    pubsub_clients += is ? 1 : (size_t)-1;
    /* The first has subscribed, or the last has unsubscribed. */
    if (pubsub_clients == is) admissionIdle(RULE_PUBSUB, !is);
}

static void pubsubSubscribe(struct client *c, enum pubsubKind kind, struct str name) {
    struct hashtable *own = &pubsubClientState(c)->subscriptions[kind];
    if (hashtableFind(own, name)) return;
    struct topicSubscription *s = zmalloc(sizeof *s);
    pubsubAddSubscriber(pubsubTopicGet(kind, name), c, s);
    hashtableAdd(own, s);
    c->pubsub->names_len += name.len;
    pubsubNoteSubscriber(c, true);
}

static size_t pubsubCount(const struct client *c, enum pubsubKind kind) {
    return c->pubsub ? hashtableSize(&c->pubsub->subscriptions[kind]) : 0;
}

static void pubsubUnsubscribe(struct client *c, enum pubsubKind kind, struct str name) {
    struct topicSubscription *s = c->pubsub ? hashtablePop(&c->pubsub->subscriptions[kind], name) : NULL;
    if (!s) return;
    c->pubsub->names_len -= s->topic->len;
    pubsubRemoveSubscriber(s);
    zfree(s);
    size_t remaining = 0;
    for (int k = 0; k < PUBSUB_KINDS; k++) remaining += pubsubCount(c, k);
    pubsubNoteSubscriber(c, remaining > 0);
}

/* Ends every subscription of a kind, and calls `each` before each. */
static void pubsubUnsubscribeKind(struct client *c, enum pubsubKind kind,
                                  void (*each)(struct client *c, struct str name)) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &c->pubsub->subscriptions[kind], true);
    while (hashtableNext(&it, &entry)) {
        sds name = sdsnewstr(pubsubSubscriptionKey(entry));
        pubsubUnsubscribe(c, kind, sdsview(name));
        if (each) each(c, sdsview(name));
        sdsfree(name);
    }
    hashtableStopIterator(&it);
}

bool pubsubAllAccepted(const struct client *c, enum pubsubKind kind,
                       bool (*fn)(const void *priv, struct str name), const void *priv) {
    if (!c->pubsub) return true;
    struct hashtableIterator it;
    void *entry;
    bool every = true;
    hashtableInitIterator(&it, &c->pubsub->subscriptions[kind], false);
    while (every && hashtableNext(&it, &entry)) every = fn(priv, pubsubSubscriptionKey(entry));
    hashtableStopIterator(&it);
    return every;
}

static size_t pubsubMemory(const struct client *c) {
    if (!c->pubsub) return 0;
    size_t n = zmallocSize(c->pubsub);
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        const struct hashtable *own = &c->pubsub->subscriptions[k];
        n += hashtableMemory(own) +
             hashtableSize(own) * (sizeof(struct topicSubscription) + sizeof(struct topicSubscriber));
    }
    return n + c->pubsub->names_len;
}

void pubsubUnsubscribeAll(struct client *c) {
    if (!c->pubsub) return;
    for (int k = 0; k < PUBSUB_KINDS; k++) {
        pubsubUnsubscribeKind(c, k, NULL);
        hashtableDestroy(&c->pubsub->subscriptions[k]);
    }
    zfree(c->pubsub);
    c->pubsub = NULL;
}

/* ---- Publishing ---- */

static int64_t pubsubDeliver(const struct topic *t, struct pushMessage *m) {
    int64_t sent = 0;
    for (size_t i = 0; i < t->used; i++) {
        struct client *ahead =
            i + PREFETCH_AHEAD < t->used ? t->subscribers[i + PREFETCH_AHEAD].client : NULL;
        if (ahead) {
            __builtin_prefetch(&ahead->flags);
            __builtin_prefetch(&ahead->out);
        }
        struct client *c = t->subscribers[i].client;
        if (!c || c->flags & CLIENT_CLOSE_ASAP) continue;
        pushSend(c, m);
        sent++;
    }
    pushRelease(m);
    return sent;
}

static int64_t pubsubDeliverToPatterns(struct str channel, struct str message) {
    int64_t sent = 0;
    listForEach(&patterns, it) {
        const struct topic *t = listEntry(it, struct topic, node);
        if (!globMatch(pubsubTopicName(t), channel, false)) continue;
        struct pushMessage m = {.parts = {STR("pmessage"), pubsubTopicName(t), channel, message}, .count = 4};
        sent += pubsubDeliver(t, &m);
    }
    return sent;
}

static int64_t pubsubDeliverTo(enum pubsubKind kind, struct str verb, struct str channel,
                               struct str message) {
    const struct topic *t = hashtableFind(&topics[kind], channel);
    if (!t) return 0;
    struct pushMessage m = {.parts = {verb, channel, message}, .count = 3};
    return pubsubDeliver(t, &m);
}

int64_t pubsubPublish(struct str channel, struct str message) {
    int64_t sent = pubsubDeliverTo(PUBSUB_CHANNEL, STR("message"), channel, message);
    return sent + pubsubDeliverToPatterns(channel, message);
}

bool pubsubHasSubscribers(void) {
    return hashtableSize(&topics[PUBSUB_CHANNEL]) || patterns.length;
}

int64_t pubsubPublishShard(struct str channel, struct str message) {
    return pubsubDeliverTo(PUBSUB_SHARD, STR("smessage"), channel, message);
}

bool (*pubsub_to_cluster)(bool shard, struct str channel, struct str message);

static void pubsubForward(bool shard, struct str channel, struct str message) {
    if (!pubsub_to_cluster || !pubsub_to_cluster(shard, channel, message)) propagateForce();
}

void publishCommand(struct client *c) {
    replyLongLong(c, pubsubPublish(c->argv[1], c->argv[2]));
    pubsubForward(false, c->argv[1], c->argv[2]);
}

void spublishCommand(struct client *c) {
    replyLongLong(c, pubsubPublishShard(c->argv[1], c->argv[2]));
    pubsubForward(true, c->argv[1], c->argv[2]);
}

/* ---- Subscribing and unsubscribing ---- */

/* The count in replies: channels and patterns together, shard channels apart. */
static int64_t pubsubShownCount(const struct client *c, enum pubsubKind kind) {
    if (kind == PUBSUB_SHARD) return (int64_t)pubsubCount(c, kind);
    return (int64_t)(pubsubCount(c, PUBSUB_CHANNEL) + pubsubCount(c, PUBSUB_PATTERN));
}

/* Replies as a message, which CLIENT REPLY OFF does not mute. */
static void pubsubReplyChange(struct client *c, const char *verb, enum pubsubKind kind,
                              const struct str *name) {
    c->flags |= CLIENT_PUSHING;
    replyPushLen(c, 3);
    replyBulkCstr(c, verb);
    if (name)
        replyBulk(c, *name);
    else
        replyNull(c);
    replyLongLong(c, pubsubShownCount(c, kind));
    c->flags &= ~(uint32_t)CLIENT_PUSHING;
}

/* Subscribing is allowed in a transaction, but not in a module's call. */
static void pubsubSubscribeGeneric(struct client *c, const char *verb, enum pubsubKind kind) {
    if (!c->conn && c->flags & CLIENT_DENY_BLOCKING) {
        replyErrorFmt(c, "ERR %s isn't allowed for a DENY BLOCKING client",
                      kind == PUBSUB_PATTERN ? "PSUBSCRIBE" : "SUBSCRIBE");
        return;
    }
    for (int i = 1; i < c->argc; i++) {
        pubsubSubscribe(c, kind, c->argv[i]);
        pubsubReplyChange(c, verb, kind, &c->argv[i]);
    }
}

void subscribeCommand(struct client *c) {
    pubsubSubscribeGeneric(c, "subscribe", PUBSUB_CHANNEL);
}
void psubscribeCommand(struct client *c) {
    pubsubSubscribeGeneric(c, "psubscribe", PUBSUB_PATTERN);
}
/* Not allowed in transactions and scripts, where a later redirection, when the slot moves, has no place. */
void ssubscribeCommand(struct client *c) {
    if (c->flags & CLIENT_DENY_BLOCKING) {
        replyError(c, "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
        return;
    }
    pubsubSubscribeGeneric(c, "ssubscribe", PUBSUB_SHARD);
}

static void pubsubReplyUnsubscribed(struct client *c, struct str name) {
    pubsubReplyChange(c, "unsubscribe", PUBSUB_CHANNEL, &name);
}
static void pubsubReplyPunsubscribed(struct client *c, struct str name) {
    pubsubReplyChange(c, "punsubscribe", PUBSUB_PATTERN, &name);
}
static void pubsubReplySunsubscribed(struct client *c, struct str name) {
    pubsubReplyChange(c, "sunsubscribe", PUBSUB_SHARD, &name);
}

/* Ends all subscriptions of a topic; the last one frees it. */
static void pubsubEndTopic(const struct topic *t) {
    sds name = sdsnewstr(pubsubTopicName(t));
    size_t count = 0;
    struct client **clients = zmalloc(t->count * sizeof *clients);
    for (size_t i = 0; i < t->used; i++) {
        if (t->subscribers[i].client) clients[count++] = t->subscribers[i].client;
    }
    for (size_t i = 0; i < count; i++) {
        pubsubUnsubscribe(clients[i], PUBSUB_SHARD, sdsview(name));
        if (!(clients[i]->flags & CLIENT_CLOSE_ASAP)) pubsubReplySunsubscribed(clients[i], sdsview(name));
    }
    zfree(clients);
    sdsfree(name);
}

void pubsubUnsubscribeShards(bool (*stays)(struct str channel)) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &topics[PUBSUB_SHARD], true);
    while (hashtableNext(&it, &entry)) {
        if (!stays(pubsubTopicKey(entry))) pubsubEndTopic(entry);
    }
    hashtableStopIterator(&it);
}

static void pubsubUnsubscribeGeneric(struct client *c, const char *verb, enum pubsubKind kind,
                                     void (*reply)(struct client *c, struct str name)) {
    for (int i = 1; i < c->argc; i++) {
        pubsubUnsubscribe(c, kind, c->argv[i]);
        reply(c, c->argv[i]);
    }
    if (c->argc > 1) return;
    if (pubsubCount(c, kind))
        pubsubUnsubscribeKind(c, kind, reply);
    else
        pubsubReplyChange(c, verb, kind, NULL);
}

void unsubscribeCommand(struct client *c) {
    pubsubUnsubscribeGeneric(c, "unsubscribe", PUBSUB_CHANNEL, pubsubReplyUnsubscribed);
}
void punsubscribeCommand(struct client *c) {
    pubsubUnsubscribeGeneric(c, "punsubscribe", PUBSUB_PATTERN, pubsubReplyPunsubscribed);
}
void sunsubscribeCommand(struct client *c) {
    pubsubUnsubscribeGeneric(c, "sunsubscribe", PUBSUB_SHARD, pubsubReplySunsubscribed);
}

/* ---- PUBSUB ---- */

static void pubsubReplyNames(struct client *c, enum pubsubKind kind) {
    if (c->argc > 3) {
        replySubcommandError(c);
        return;
    }
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &topics[kind], false);
    while (hashtableNext(&it, &entry)) {
        if (c->argc == 3 && !globMatch(c->argv[2], pubsubTopicKey(entry), false)) continue;
        replyBulk(c, pubsubTopicKey(entry));
        n++;
    }
    hashtableStopIterator(&it);
    replySetArrayLen(c, mark, n);
}

static void pubsubReplyNumbers(struct client *c, enum pubsubKind kind) {
    replyArrayLen(c, (c->argc - 2) * 2);
    for (int i = 2; i < c->argc; i++) {
        const struct topic *t = hashtableFind(&topics[kind], c->argv[i]);
        replyBulk(c, c->argv[i]);
        replyLongLong(c, t ? (int64_t)t->count : 0);
    }
}

void pubsubChannelsCommand(struct client *c) {
    pubsubReplyNames(c, PUBSUB_CHANNEL);
}
void pubsubShardchannelsCommand(struct client *c) {
    pubsubReplyNames(c, PUBSUB_SHARD);
}
void pubsubNumsubCommand(struct client *c) {
    pubsubReplyNumbers(c, PUBSUB_CHANNEL);
}
void pubsubShardnumsubCommand(struct client *c) {
    pubsubReplyNumbers(c, PUBSUB_SHARD);
}
void pubsubNumpatCommand(struct client *c) {
    replyLongLong(c, (int64_t)patterns.length);
}

void pubsubHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "CHANNELS [<pattern>]",
                     "    The channels with subscribers; with a pattern, the matching ones.",
                     "NUMPAT",
                     "    The number of different patterns.",
                     "NUMSUB [<channel> ...]",
                     "    The number of subscribers of each channel, without patterns.",
                     "SHARDCHANNELS [<pattern>]",
                     "    Like CHANNELS, for shard channels.",
                     "SHARDNUMSUB [<shardchannel> ...]",
                     "    Like NUMSUB, for shard channels.",
                     NULL,
                 });
}

/* ---- Registration ---- */

/* In RESP2 messages look like replies, so a client that waits for messages cannot run other commands. */
static enum admission pubsubCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(c->flags & CLIENT_PUBSUB) || c->resp >= 3) return ADMITTED;
    static commandProc *const allowed[] = {
        subscribeCommand,    unsubscribeCommand, psubscribeCommand, punsubscribeCommand, ssubscribeCommand,
        sunsubscribeCommand, pingCommand,        quitCommand,       resetCommand,
    };
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (r->cmd->spec->proc == allowed[i]) return ADMITTED;
    }
    replyErrorFmt(c,
                  "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                  "allowed in this context",
                  r->cmd->fullname);
    return REFUSED;
}

static sds pubsubStatsInfo(sds s) {
    s = infoField(s, "pubsub_channels:%zu", hashtableSize(&topics[PUBSUB_CHANNEL]));
    s = infoField(s, "pubsub_patterns:%zu", patterns.length);
    return infoField(s, "pubsubshard_channels:%zu", hashtableSize(&topics[PUBSUB_SHARD]));
}

static sds pubsubClientsInfo(sds s) {
    return infoField(s, "pubsub_clients:%zu", pubsub_clients);
}

static sds pubsubCatChannels(sds s, struct client *c) {
    return clientInfoNumber(s, (int64_t)pubsubCount(c, PUBSUB_CHANNEL));
}
static sds pubsubCatPatterns(sds s, struct client *c) {
    return clientInfoNumber(s, (int64_t)pubsubCount(c, PUBSUB_PATTERN));
}
static sds pubsubCatShardChannels(sds s, struct client *c) {
    return clientInfoNumber(s, (int64_t)pubsubCount(c, PUBSUB_SHARD));
}

static bool pubsubCommandRuns(void) {
    return propagation.depth > 0;
}

void pubsubInit(void) {
    for (int k = 0; k < PUBSUB_KINDS; k++) hashtableInit(&topics[k], &topics_type);
    listInit(&patterns);
    clientOnFree(pubsubUnsubscribeAll);
    clientOnMemory(pubsubMemory);
    clientInfoField("sub", pubsubCatChannels);
    clientInfoField("psub", pubsubCatPatterns);
    clientInfoField("ssub", pubsubCatShardChannels);
    admissionFill(RULE_PUBSUB, pubsubCheck);
    admissionFillRead(RULE_PUBSUB, admissionNoRead); /* no read of a subscriber runs in another thread */
    admissionIdle(RULE_PUBSUB, true);
    infoRegister("clients", pubsubClientsInfo);
    infoRegister("stats", pubsubStatsInfo);
    pushInit(pubsubCommandRuns);
    keyspaceEventsInit();
}
