/* SPDX-License-Identifier: BSD-3-Clause */
/* subkey_events.c - changes of fields of hashes as messages, for subscribers to
 *
 *     __subkeyspace@<db>__:<key>               <event>|<fields>         with S in notify-keyspace-events
 *     __subkeyevent@<db>__:<event>             <length>:<key>|<fields>  with T
 *     __subkeyspaceitem@<db>__:<key>\n<field>  <event>, once per field  with I
 *     __subkeyspaceevent@<db>__:<event>|<key>  <fields>                 with V
 *
 * <fields> is <length>:<field>,<length>:<field>,... The class h has to be wanted as well. Otherwise no sink
 * is registered, and nobody collects fields. Part of pubsub.h. */
#include "base/sds.h"
#include "command/pubsub.h"
#include "data/notify.h"

#define SUBKEY_FORMS                                                                                         \
    (NOTIFY_SUBKEYSPACE | NOTIFY_SUBKEYEVENT | NOTIFY_SUBKEYSPACEITEM | NOTIFY_SUBKEYSPACEEVENT)

static int forms;

static sds subkeyEventsAdd(sds s, struct str text) {
    return sdscatstr(sdscatprintf(s, "%zu:", text.len), text);
}

static sds subkeyEventsFieldsText(const struct subkeys *fields) {
    sds s = sdsempty();
    for (size_t i = 0; i < fields->count; i++) {
        if (i) s = sdscatlen(s, ",", 1);
        s = subkeyEventsAdd(s, fields->first[i * fields->step]);
    }
    return s;
}

/* Publishes on the channel __<form>@<dbid>__:<first><separator><second>. Frees the message. */
static void subkeyEventsSend(const char *form, int dbid, struct str first, const char *separator,
                             struct str second, sds message) {
    sds channel = sdscatstr(sdscatprintf(sdsempty(), "__%s@%d__:", form, dbid), first);
    channel = sdscatstr(sdscatstr(channel, strOf(separator)), second);
    pubsubPublish(sdsview(channel), sdsview(message));
    sdsfree(channel);
    sdsfree(message);
}

/* A key with a line end in it would look like another key and its field. */
static void subkeyEventsSendItems(struct str event, struct str key, int dbid, const struct subkeys *fields) {
    if (memchr(key.ptr, '\n', key.len)) return;
    for (size_t i = 0; i < fields->count; i++)
        subkeyEventsSend("subkeyspaceitem", dbid, key, "\n", fields->first[i * fields->step],
                         sdsnewstr(event));
}

static void subkeyEventsPublish(const char *name, struct str key, int dbid, const struct subkeys *fields) {
    if (!fields->count || !pubsubHasSubscribers()) return;
    struct str event = strOf(name), none = STR("");
    sds list = subkeyEventsFieldsText(fields);
    if (forms & NOTIFY_SUBKEYSPACE)
        subkeyEventsSend("subkeyspace", dbid, key, "", none,
                         sdscatstr(sdscat(sdsnew(name), "|"), sdsview(list)));
    if (forms & NOTIFY_SUBKEYEVENT)
        subkeyEventsSend("subkeyevent", dbid, event, "", none,
                         sdscatstr(sdscat(subkeyEventsAdd(sdsempty(), key), "|"), sdsview(list)));
    if (forms & NOTIFY_SUBKEYSPACEITEM) subkeyEventsSendItems(event, key, dbid, fields);
    if (forms & NOTIFY_SUBKEYSPACEEVENT)
        subkeyEventsSend("subkeyspaceevent", dbid, event, "|", key, sdsdup(list));
    sdsfree(list);
}

void subkeyEventsWant(int classes) {
    forms = classes & SUBKEY_FORMS;
    notify_subkey_sink = forms && classes & NOTIFY_HASH ? subkeyEventsPublish : NULL;
}
