/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c - see stats.h. */
#include "web/stats.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_info.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "data/keyspace/db.h"
#include "data/server_state/cluster_view.h"
#include "data/server_state/role.h"
#include "net/resp.h"
#include "registry/info.h"
#include "web/access.h"
#include "web/hot_keys.h"
#include "web/info_view.h"
#include "web/json.h"
#include "web/survey.h"

#define HOT_SHOWN     10
#define SLOW_SHOWN    "12"
#define CLIENTS_SHOWN 12
#define SLOTS_SHOWN   1024 /* ranges */

/* ---- Commands that run for the page ---- */

/* Runs a command if no other one is running and the user may run it. Returns false if not, else *bytes and
 * *reply, which the caller frees. */
static bool statsRunCommand(const struct access *access, struct str *argv, int argc, sds *bytes,
                            struct respReply *reply) {
    if (call_running || !accessAllows(access, argv, argc, 0)) return false;
    struct client *c = clientCreate(NULL);
    struct request r = {.argv = argv, .argc = argc, .cmd = commandLookup(argv, argc)};
    commandRun(c, &r, ORIGIN_DEBUG);
    *bytes = replyChainToSds(c);
    clientFreeNow(c);
    if (respReadReply(*bytes, sdslen(*bytes), reply) > 0) return true;
    sdsfree(*bytes);
    return false;
}

/* ---- INFO ---- */

static sds statsInfoJson(sds s) {
    struct infoView info;
    struct str section = {0};
    infoViewOpen(&info, infoText((struct str[]){STR("everything")}, 1));
    s = jsonOpen(jsonName(s, STR("info")), '{');
    for (int i = 0; i < info.count; i++) {
        const struct infoEntry *line = &info.lines[i];
        if (section.ptr != line->section.ptr) {
            if (section.ptr) s = jsonClose(s, '}');
            section = line->section;
            sds title = sdsnewstr(section);
            sdstolower(title);
            s = jsonOpen(jsonName(s, sdsview(title)), '{');
            sdsfree(title);
        }
        double number;
        s = jsonName(s, line->name);
        s = string2d(line->value, &number) ? jsonNumber(s, number) : jsonString(s, line->value);
    }
    if (section.ptr) s = jsonClose(s, '}');
    infoViewClose(&info);
    return jsonClose(s, '}');
}

/* ---- Keys ---- */

static bool statsMayName(const struct access *access, sds key, int db) {
    return accessAllows(access, (struct str[]){STR("MEMORY"), STR("USAGE"), sdsview(key)}, 3, db);
}

static sds statsTypeJson(sds s, int id, const struct surveyType *type) {
    int last = SURVEY_SIZES;
    while (last > 0 && !type->sizes[last - 1]) last--;
    s = jsonOpen(s, '{');
    s = jsonNameString(s, "type", strOf(objectTypes[id]->name));
    s = jsonNameNumber(s, "keys", (double)type->keys);
    s = jsonNameNumber(s, "bytes", (double)type->bytes);
    s = jsonOpen(jsonName(s, STR("sizes")), '[');
    for (int i = 0; i < last; i++) s = jsonNumber(s, (double)type->sizes[i]);
    return jsonClose(jsonClose(s, ']'), '}');
}

static sds statsSurveyJson(sds s, const struct survey *survey) {
    s = jsonOpen(jsonName(s, STR("survey")), '{');
    s = jsonNameNumber(s, "seen", (double)survey->keys);
    s = jsonBool(jsonName(s, STR("whole")), survey->whole);
    s = jsonOpen(jsonName(s, STR("types")), '[');
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (survey->types[i].keys) s = statsTypeJson(s, i, &survey->types[i]);
    }
    return jsonClose(jsonClose(s, ']'), '}');
}

static sds statsLargestJson(sds s, const struct survey *survey, const struct access *access) {
    s = jsonOpen(jsonName(s, STR("largest")), '[');
    for (int i = 0; i < SURVEY_LARGEST && survey->largest[i].key; i++) {
        const struct surveyKey *k = &survey->largest[i];
        if (!statsMayName(access, k->key, k->db)) continue;
        s = jsonNameString(jsonOpen(s, '{'), "key", sdsview(k->key));
        s = jsonNameNumber(s, "db", k->db);
        s = jsonNameString(s, "type", strOf(objectTypes[k->type]->name));
        s = jsonClose(jsonNameNumber(s, "bytes", (double)k->bytes), '}');
    }
    return jsonClose(s, ']');
}

static sds statsHotJson(sds s, const struct access *access) {
    uint64_t seen;
    const struct topKeys *keys = hotKeysCurrent(&seen);
    const struct topKey *ranked[HOT_KEYS];
    topKeysRank(keys, ranked);
    s = jsonOpen(jsonName(s, STR("hot")), '[');
    for (int i = 0, shown = 0; i < keys->used && shown < HOT_SHOWN; i++) {
        const struct topKey *k = ranked[i];
        uint64_t uses = k->count - k->error;
        if (!uses || !statsMayName(access, k->name, (int)k->id.db)) continue;
        shown++;
        s = jsonNameString(jsonOpen(s, '{'), "key", sdsview(k->name));
        s = jsonNameNumber(s, "db", (double)k->id.db);
        s = jsonClose(jsonNameNumber(s, "share", (double)uses / (double)seen), '}');
    }
    return jsonClose(s, ']');
}

/* ---- Slow commands ---- */

static sds statsSlowEntryJson(sds s, const struct respReply *e) {
    s = jsonNameNumber(jsonOpen(s, '{'), "id", (double)e->element[0].integer);
    s = jsonNameNumber(s, "time", (double)e->element[1].integer);
    s = jsonNameNumber(s, "usec", (double)e->element[2].integer);
    s = jsonOpen(jsonName(s, STR("args")), '[');
    for (size_t i = 0; i < e->element[3].elements; i++) s = jsonString(s, e->element[3].element[i].str);
    s = jsonClose(s, ']');
    s = jsonNameString(s, "client", e->element[4].str);
    return jsonClose(jsonNameString(s, "name", e->element[5].str), '}');
}

static sds statsSlowJson(sds s, const struct access *access) {
    struct str argv[] = {STR("COMMANDLOG"), STR("GET"), STR(SLOW_SHOWN), STR("slow")};
    struct respReply reply;
    sds bytes;
    s = jsonOpen(jsonName(s, STR("slow")), '[');
    if (statsRunCommand(access, argv, 4, &bytes, &reply)) {
        for (size_t i = 0; reply.type == RESP_T_ARRAY && i < reply.elements; i++) {
            if (reply.element[i].elements >= 6) s = statsSlowEntryJson(s, &reply.element[i]);
        }
        respReplyFree(&reply);
        sdsfree(bytes);
    }
    return jsonClose(s, ']');
}

/* ---- Clients ---- */

struct statsBusiest {
    struct client *at[CLIENTS_SHOWN];
    int count;
};

static void statsAddClient(void *priv, struct client *c) {
    struct statsBusiest *b = priv;
    int i = b->count < CLIENTS_SHOWN ? b->count++ : CLIENTS_SHOWN - 1;
    if (b->at[i] && b->at[i]->commands >= c->commands) return;
    for (; i > 0 && b->at[i - 1]->commands < c->commands; i--) b->at[i] = b->at[i - 1];
    b->at[i] = c;
}

static sds statsClientJson(sds s, struct client *c) {
    s = jsonNameNumber(jsonOpen(s, '{'), "id", (double)c->id);
    s = jsonNameString(s, "addr", sdsview(clientPeerName(c)));
    s = jsonNameString(s, "name", clientLabel(c, CLIENT_NAME));
    s = jsonNameString(s, "lib", clientLabel(c, CLIENT_LIB_NAME));
    s = jsonNameString(s, "user", client_users->name(c));
    s = jsonNameString(s, "cmd", c->lastcmd ? sdsview(c->lastcmd->fullname) : STR(""));
    s = jsonNameNumber(s, "db", c->db->id);
    s = jsonNameNumber(s, "age", (double)clientAgeSeconds(c));
    s = jsonNameNumber(s, "idle", (double)clientIdleSeconds(c));
    s = jsonNameNumber(s, "commands", (double)c->commands);
    s = jsonNameNumber(s, "in", (double)c->net_in);
    s = jsonNameNumber(s, "out", (double)c->net_out);
    return jsonClose(jsonNameNumber(s, "memory", (double)clientMemory(c)), '}');
}

static sds statsClientsJson(sds s, bool may) {
    struct statsBusiest b = {0};
    if (may) clientForEach(statsAddClient, &b);
    s = jsonOpen(jsonName(s, STR("clients")), '[');
    for (int i = 0; i < b.count; i++) s = statsClientJson(s, b.at[i]);
    return jsonClose(s, ']');
}

/* ---- Slots ---- */

/* range is [first, last, [host, port, id, ...], replicas ...]. */
static sds statsRangeJson(sds s, const struct respReply *range, struct str me) {
    const struct respReply *owner = &range->element[2];
    struct str host = owner->element[0].str, id = owner->element[2].str;
    s = jsonNameNumber(jsonOpen(s, '{'), "from", (double)range->element[0].integer);
    s = jsonNameNumber(s, "to", (double)range->element[1].integer);
    s = jsonNameString(s, "host", host.ptr ? host : STR(""));
    s = jsonNameNumber(s, "port", (double)owner->element[1].integer);
    s = jsonNameString(s, "id", id);
    return jsonClose(jsonBool(jsonName(s, STR("me")), strEq(id, me)), '}');
}

static sds statsSlotsJson(sds s, const struct access *access) {
    struct str argv[] = {STR("CLUSTER"), STR("SLOTS")};
    struct respReply reply;
    sds bytes;
    if (!cluster_enabled || !statsRunCommand(access, argv, 2, &bytes, &reply)) return s;
    const char *me = cluster_view.myId ? cluster_view.myId() : NULL;
    s = jsonOpen(jsonName(s, STR("slots")), '[');
    for (size_t i = 0; reply.type == RESP_T_ARRAY && i < reply.elements && i < SLOTS_SHOWN; i++) {
        const struct respReply *range = &reply.element[i];
        if (range->elements >= 3 && range->element[2].elements >= 3)
            s = statsRangeJson(s, range, me ? strN(me, CLUSTER_VIEW_ID) : STR(""));
    }
    respReplyFree(&reply);
    sdsfree(bytes);
    return jsonClose(s, ']');
}

/* ---- The whole answer ---- */

static bool statsMay(const struct access *access, const char *a, const char *b, const char *c) {
    return accessAllows(access, (struct str[]){strOf(a), strOf(b), strOf(c ? c : "")}, c ? 3 : 2, 0);
}

sds statsMakeJson(const struct access *access) {
    bool clients_too = statsMay(access, "CLIENT", "LIST", NULL);
    sds s = jsonNameNumber(jsonOpen(sdsMakeRoomFor(sdsempty(), 32768), '{'), "now", (double)mstime());
    surveyWatch();
    hotKeysWatch();
    s = jsonOpen(jsonName(s, STR("rights")), '{');
    s = jsonBool(jsonName(s, STR("keys")), statsMay(access, "MEMORY", "USAGE", NULL));
    s = jsonBool(jsonName(s, STR("slow")), statsMay(access, "COMMANDLOG", "GET", SLOW_SHOWN));
    s = jsonClose(jsonBool(jsonName(s, STR("clients")), clients_too), '}');
    s = statsInfoJson(s);
    const struct survey *survey = surveyCurrent();
    s = statsSurveyJson(s, survey);
    s = statsLargestJson(s, survey, access);
    s = statsHotJson(s, access);
    s = statsSlowJson(s, access);
    s = statsClientsJson(s, clients_too);
    s = statsSlotsJson(s, access);
    return jsonClose(s, '}');
}
