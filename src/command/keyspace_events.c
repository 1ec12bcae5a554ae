/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_events.c - key changes as messages, for subscribers to
 *
 *     __keyspace@<db>__:<key>      the message is the event     with K in notify-keyspace-events
 *     __keyevent@<db>__:<event>    the message is the key       with E
 *
 * subkey_events.c has the messages about fields of hashes.
 *
 * The other letters of the directive choose classes of events. Those of o and c, which A leaves out, tell of
 * values that are replaced; their senders are told that anybody wants them (SERVER_REPLACEMENT). While it is
 * empty no sink is registered, and a change costs nothing here. Part of pubsub.h. */
#include "base/sds.h"
#include "command/pubsub.h"
#include "data/notify.h"
#include "registry/config.h"
#include "registry/server_events.h"

#define NOTIFY_ALL                                                                                           \
    (NOTIFY_GENERIC | NOTIFY_STRING | NOTIFY_LIST | NOTIFY_SET | NOTIFY_HASH | NOTIFY_ZSET |                 \
     NOTIFY_EXPIRED | NOTIFY_EVICTED | NOTIFY_STREAM | NOTIFY_MODULE | NOTIFY_PATH_HASH)

static int configured; /* NOTIFY_* */

/* In the order in which they are printed. */
static const struct {
    char letter;
    int class;
} classes[] = {
    {'A', NOTIFY_ALL},
    {'g', NOTIFY_GENERIC},
    {'$', NOTIFY_STRING},
    {'l', NOTIFY_LIST},
    {'s', NOTIFY_SET},
    {'h', NOTIFY_HASH},
    {'z', NOTIFY_ZSET},
    {'x', NOTIFY_EXPIRED},
    {'e', NOTIFY_EVICTED},
    {'t', NOTIFY_STREAM},
    {'d', NOTIFY_MODULE},
    {'p', NOTIFY_PATH_HASH},
    {'n', NOTIFY_NEW},
    {'o', NOTIFY_OVERWRITTEN},
    {'c', NOTIFY_TYPE_CHANGED},
    {'K', NOTIFY_KEYSPACE},
    {'E', NOTIFY_KEYEVENT},
    {'m', NOTIFY_KEY_MISS},
    {'S', NOTIFY_SUBKEYSPACE},
    {'T', NOTIFY_SUBKEYEVENT},
    {'I', NOTIFY_SUBKEYSPACEITEM},
    {'V', NOTIFY_SUBKEYSPACEEVENT},
};
#define CLASS_COUNT (sizeof classes / sizeof *classes)

int keyspaceEventsWanted(void) {
    return configured;
}

static void keyspaceEventsPublishPair(const char *prefix, int dbid, struct str subject, struct str message) {
    sds channel = sdscatstr(sdscatprintf(sdsempty(), "__%s@%d__:", prefix, dbid), subject);
    pubsubPublish(sdsview(channel), message);
    sdsfree(channel);
}

static void keyspaceEventsPublishEvent(int class, const char *event, struct str key, int dbid) {
    if (!(configured & class) || !pubsubHasSubscribers()) return;
    if (configured & NOTIFY_KEYSPACE) keyspaceEventsPublishPair("keyspace", dbid, key, strOf(event));
    if (configured & NOTIFY_KEYEVENT) keyspaceEventsPublishPair("keyevent", dbid, strOf(event), key);
}

static bool keyspaceEventsSetClasses(const struct configDirective *d, int argc, const struct str *argv,
                                     const char **err) {
    (void)d, (void)argc;
    int now = 0;
    for (size_t i = 0; i < argv[0].len; i++) {
        size_t k = 0;
        while (k < CLASS_COUNT && classes[k].letter != argv[0].ptr[i]) k++;
        if (k == CLASS_COUNT) {
            *err = "Invalid event class character. Use 'Ag$lshzxeKEtmdnp'.";
            return false;
        }
        now |= classes[k].class;
    }
    if (now && !configured) notifyAddEventSink(keyspaceEventsPublishEvent);
    if (!now && configured) notifyRemoveEventSink(keyspaceEventsPublishEvent);
    serverEventWant(SERVER_REPLACEMENT, now & NOTIFY_REPLACEMENTS);
    configured = now;
    subkeyEventsWant(now);
    return true;
}

static sds keyspaceEventsGetClasses(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    int shown = 0;
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        int class = classes[i].class;
        if ((configured & class) != class || (shown & class) == class) continue;
        s = sdscatlen(s, &classes[i].letter, 1);
        shown |= class;
        /* Redis 7.0 does not show n beside A either. */
        if (class == NOTIFY_ALL) shown |= NOTIFY_NEW | NOTIFY_REPLACEMENTS;
    }
    return s;
}

void keyspaceEventsInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("notify-keyspace-events", NULL, CONFIG_MODIFIABLE, keyspaceEventsSetClasses,
                       keyspaceEventsGetClasses, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
