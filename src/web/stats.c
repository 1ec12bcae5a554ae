/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c - see stats.h. */
#include "web/stats.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "client/client.h"
#include "client/client_info.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/latency_histogram.h"
#include "data/keyspace/db.h"
#include "data/server_state/cluster_view.h"
#include "data/server_state/role.h"
#include "net/resp.h"
#include "registry/config.h"
#include "registry/info.h"
#include "web/access.h"
#include "web/hot_keys.h"
#include "web/info_view.h"
#include "web/json.h"
#include "web/survey.h"
#include "web/warning_facts.h"

#define HOT_SHOWN     10
#define SLOW_SHOWN    "12"
#define CLIENTS_SHOWN 12
#define SHARDS_SHOWN  256
#define NODES_SHOWN   16   /* of a shard */
#define RANGES_SHOWN  1024 /* of a shard */
#define LATENCY_SHOWN 12

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

static sds statsInfoJson(sds s, const struct infoView *info) {
    struct str section = {0};
    s = jsonOpen(jsonName(s, STR("info")), '{');
    for (int i = 0; i < info->count; i++) {
        const struct infoEntry *line = &info->lines[i];
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

/* ---- Latencies ---- */

struct statsMostCalled {
    const struct serverCommand *at[LATENCY_SHOWN];
    uint64_t calls[LATENCY_SHOWN];
    int count;
};

static void statsAddCommand(void *priv, struct serverCommand *cmd) {
    struct statsMostCalled *m = priv;
    uint64_t calls = cmd->latency ? histogramTotal(cmd->latency) : 0;
    if (!calls || (m->count == LATENCY_SHOWN && m->calls[m->count - 1] >= calls)) return;
    int i = m->count < LATENCY_SHOWN ? m->count++ : LATENCY_SHOWN - 1;
    for (; i > 0 && m->calls[i - 1] < calls; i--) {
        m->at[i] = m->at[i - 1];
        m->calls[i] = m->calls[i - 1];
    }
    m->at[i] = cmd;
    m->calls[i] = calls;
}

static double statsPercentileUs(const struct histogram *h, uint64_t calls, double share) {
    uint64_t rank = (uint64_t)(share * (double)calls + 0.5);
    return (double)histogramHighest(h, histogramFind(h, rank ? rank : 1)) / 1000;
}

/* Chunk k of the histogram has the values from 2^(LATENCY_BITS+k-1) on, up to twice that; chunk 0 all that
 * are smaller than those of chunk 1. */
static sds statsLatencyCountsJson(sds s, const struct histogram *h, uint64_t calls) {
    int per_chunk = 1 << h->bits, chunk = 0;
    while (!h->chunks[chunk]) chunk++;
    s = jsonNameNumber(s, "first", h->bits + chunk - 1);
    s = jsonOpen(jsonName(s, STR("counts")), '[');
    for (uint64_t shown = 0; shown < calls; chunk++) {
        uint64_t sum = 0;
        for (int i = 0; h->chunks[chunk] && i < per_chunk; i++) sum += h->chunks[chunk][i];
        s = jsonNumber(s, (double)sum);
        shown += sum;
    }
    return jsonClose(s, ']');
}

static sds statsLatencyJson(sds s) {
    struct statsMostCalled m = {0};
    commandForEach(statsAddCommand, &m);
    s = jsonOpen(jsonName(s, STR("latency")), '[');
    for (int i = 0; i < m.count; i++) {
        const struct histogram *h = m.at[i]->latency;
        s = jsonNameString(jsonOpen(s, '{'), "cmd", sdsview(m.at[i]->fullname));
        s = jsonNameNumber(s, "calls", (double)m.calls[i]);
        s = jsonNameNumber(s, "p50", statsPercentileUs(h, m.calls[i], 0.5));
        s = jsonNameNumber(s, "p99", statsPercentileUs(h, m.calls[i], 0.99));
        s = jsonNameNumber(s, "p999", statsPercentileUs(h, m.calls[i], 0.999));
        s = jsonNameNumber(s, "max", statsPercentileUs(h, m.calls[i], 1));
        s = jsonClose(statsLatencyCountsJson(s, h, m.calls[i]), '}');
    }
    return jsonClose(s, ']');
}

/* ---- Warnings ---- */

static sds statsWarningsJson(sds s, struct infoView *info, bool settings) {
    struct warningFacts facts;
    struct warning found[WARNINGS_MAX];
    warningFactsRead(&facts, info, settings);
    int count = warningsFind(&facts, found);
    s = jsonOpen(jsonName(s, STR("warnings")), '[');
    for (int i = 0; i < count; i++) {
        s = jsonNameString(jsonOpen(s, '{'), "id", strOf(found[i].id));
        s = jsonNameString(s, "severity", strOf(warningsSeverityName(found[i].severity)));
        s = jsonNameString(s, "text", sdsview(found[i].text));
        s = jsonClose(jsonNameString(s, "docs", strOf(found[i].docs)), '}');
        sdsfree(found[i].text);
    }
    return jsonClose(s, ']');
}

/* ---- The cluster ---- */

static double statsFieldNumber(const struct respReply *map, const char *name) {
    const struct respReply *value = respField(map, name);
    return value ? (double)value->integer : 0;
}

static sds statsNodeJson(sds s, const struct respReply *node, struct str me) {
    struct str host = respFieldText(node, "endpoint"), id = respFieldText(node, "id");
    bool plain = respField(node, "port") != NULL;
    s = jsonNameString(jsonOpen(s, '{'), "id", id);
    s = jsonNameString(s, "host", host.len ? host : respFieldText(node, "ip"));
    s = jsonNameNumber(s, "port", statsFieldNumber(node, plain ? "port" : "tls-port"));
    s = jsonBool(jsonName(s, STR("me")), strEq(id, me));
    s = jsonBool(jsonName(s, STR("primary")), strIs(respFieldText(node, "role"), "master"));
    s = jsonNameString(s, "health", respFieldText(node, "health"));
    return jsonClose(jsonNameNumber(s, "offset", statsFieldNumber(node, "replication-offset")), '}');
}

static sds statsShardJson(sds s, const struct respReply *shard, struct str me) {
    const struct respReply *slots = respField(shard, "slots"), *nodes = respField(shard, "nodes");
    s = jsonOpen(jsonName(jsonOpen(s, '{'), STR("slots")), '[');
    for (size_t i = 0; slots && i + 1 < slots->elements && i < 2 * RANGES_SHOWN; i += 2) {
        s = jsonNumber(jsonOpen(s, '['), (double)slots->element[i].integer);
        s = jsonClose(jsonNumber(s, (double)slots->element[i + 1].integer), ']');
    }
    s = jsonOpen(jsonName(jsonClose(s, ']'), STR("nodes")), '[');
    for (size_t i = 0; nodes && i < nodes->elements && i < NODES_SHOWN; i++)
        s = statsNodeJson(s, &nodes->element[i], me);
    return jsonClose(jsonClose(s, ']'), '}');
}

static sds statsShardsJson(sds s, const struct access *access) {
    struct str argv[] = {STR("CLUSTER"), STR("SHARDS")};
    struct respReply reply;
    sds bytes;
    if (!cluster_enabled || !statsRunCommand(access, argv, 2, &bytes, &reply)) return s;
    const char *me = cluster_view.myId ? cluster_view.myId() : NULL;
    s = jsonOpen(jsonName(s, STR("shards")), '[');
    for (size_t i = 0; reply.type == RESP_T_ARRAY && i < reply.elements && i < SHARDS_SHOWN; i++)
        s = statsShardJson(s, &reply.element[i], me ? strN(me, CLUSTER_VIEW_ID) : STR(""));
    respReplyFree(&reply);
    sdsfree(bytes);
    return jsonClose(s, ']');
}

/* ---- The whole answer ---- */

static bool statsMay(const struct access *access, const char *a, const char *b, const char *c) {
    return accessAllows(access, (struct str[]){strOf(a), strOf(b), strOf(c ? c : "")}, c ? 3 : 2, 0);
}

/* How the page finds the pages of other nodes. */
static sds statsNodeUrlJson(sds s) {
    sds url = configGet("metrics-node-url");
    s = jsonNameString(s, "node_url", sdsview(url));
    sdsfree(url);
    return s;
}

sds statsMakeJson(const struct access *access) {
    bool settings = statsMay(access, "CONFIG", "GET", "*");
    bool clients_too = statsMay(access, "CLIENT", "LIST", NULL);
    sds s = jsonNameNumber(jsonOpen(sdsMakeRoomFor(sdsempty(), 32768), '{'), "now", (double)mstime());
    struct infoView info;
    surveyWatch();
    hotKeysWatch();
    infoViewOpen(&info, infoText((struct str[]){STR("everything")}, 1));
    s = jsonOpen(jsonName(s, STR("rights")), '{');
    s = jsonBool(jsonName(s, STR("keys")), statsMay(access, "MEMORY", "USAGE", NULL));
    s = jsonBool(jsonName(s, STR("slow")), statsMay(access, "COMMANDLOG", "GET", SLOW_SHOWN));
    s = jsonClose(jsonBool(jsonName(s, STR("clients")), clients_too), '}');
    s = statsInfoJson(s, &info);
    const struct survey *survey = surveyCurrent();
    s = statsSurveyJson(s, survey);
    s = statsLargestJson(s, survey, access);
    s = statsHotJson(s, access);
    s = statsSlowJson(s, access);
    s = statsClientsJson(s, clients_too);
    s = statsLatencyJson(s);
    s = statsWarningsJson(s, &info, settings);
    s = statsShardsJson(s, access);
    if (settings) s = statsNodeUrlJson(s);
    infoViewClose(&info);
    return jsonClose(s, '}');
}
