/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_file.c - see topology_file.h.
 *
 * A line is split into words at blanks. The second word is the address with its names and values, the third
 * has the flags, and from the ninth on there are slots. All input is checked: ids, ports, slots, roles;
 * contradictions between lines are errors. */
#define _GNU_SOURCE /* memrchr */
#include "cluster/topology_file.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define FIXED_WORDS 8 /* words in the line of a node before the slots */

/* ---- Flags ---- */

static const struct {
    const char *name;
    uint16_t flag;
} flag_names[] = {
    {"myself", NODE_MYSELF},
    {"master", NODE_PRIMARY},
    {"slave", NODE_REPLICA},
    {"fail?", NODE_PFAIL},
    {"fail", NODE_FAIL},
    {"handshake", NODE_HANDSHAKE},
    {"noaddr", NODE_NOADDR},
    {"nofailover", NODE_NOFAILOVER},
    /* names that are read, and never written: */
    {"primary", NODE_PRIMARY},
    {"replica", NODE_REPLICA},
    {"noflags", 0},
};
#define PRINTED_FLAGS 8

static sds topologyFileAppendFlags(sds s, uint16_t flags) {
    size_t before = sdslen(s);
    for (int i = 0; i < PRINTED_FLAGS; i++) {
        if (!(flags & flag_names[i].flag)) continue;
        if (sdslen(s) > before) s = sdscat(s, ",");
        s = sdscat(s, flag_names[i].name);
    }
    return sdslen(s) > before ? s : sdscat(s, "noflags");
}

static bool topologyFileReadFlag(struct str word, uint16_t *flags) {
    for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
        if (!strEq(word, strOf(flag_names[i].name))) continue;
        *flags |= flag_names[i].flag;
        return true;
    }
    return false;
}

/* ---- Writing ---- */

static sds topologyFileAppendSlots(sds s, const struct slotSet *slots) {
    slotSetForEachRun(slots, first, last) {
        s = first == last ? sdscatprintf(s, " %d", first) : sdscatprintf(s, " %d-%d", first, last);
    }
    return s;
}

static sds topologyFileAppendOpenSlots(sds s, const struct topology *t) {
    for (int i = 0; i < t->open_count; i++) {
        const struct openSlot *open = &t->open[i];
        if (open->to) s = sdscatprintf(s, " [%d->-%s]", open->slot, open->to->id);
        if (open->from) s = sdscatprintf(s, " [%d-<-%s]", open->slot, open->from->id);
    }
    return s;
}

bool topologyIsTextValid(struct str value) {
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c <= ',' || c == 0x7f || (c < 0x80 && strchr(";<=>?@[]^{|}~\\", c))) return false;
    }
    return true;
}

/* Leaves out a text that could not be read again; other nodes announce it later. */
static sds topologyFileAppendText(sds s, const char *name, const char *value) {
    return *value && topologyIsTextValid(strOf(value)) ? sdscatprintf(s, ",%s=%s", name, value) : s;
}
static sds topologyFileAppendPort(sds s, const char *name, uint16_t port) {
    return port ? sdscatprintf(s, ",%s=%u", name, port) : s;
}

/* Appends the fields that only the file has, not the lines for clients. */
static sds topologyFileAppendFields(sds s, const struct clusterNode *n, bool tls) {
    s = topologyFileAppendText(s, "availability-zone", n->availability_zone);
    s = topologyFileAppendPort(s, "client-tls-port", n->client_tls_port);
    s = topologyFileAppendPort(s, "client-tcp-port", n->client_tcp_port);
    s = topologyFileAppendText(s, "client-ipv6", n->client_ipv6);
    s = topologyFileAppendText(s, "client-ipv4", n->client_ipv4);
    s = tls ? sdscatprintf(s, ",tcp-port=%u", n->tcp_port) : sdscatprintf(s, ",tls-port=%u", n->tls_port);
    s = topologyFileAppendText(s, "nodename", n->human_name);
    if (n->replica_priority) s = sdscatprintf(s, ",replica-priority=%u", n->replica_priority);
    return sdscatprintf(s, ",shard-id=%s", n->shard_id);
}

const char *nodeClientIp(const struct clusterNode *n, enum nodeLineAudience audience) {
    if ((audience == LINE_CLIENT || audience == LINE_TLS_CLIENT) && sdslen(n->client_ipv4))
        return n->client_ipv4;
    if ((audience == LINE_CLIENT6 || audience == LINE_TLS_CLIENT6) && sdslen(n->client_ipv6))
        return n->client_ipv6;
    return n->ip;
}

uint16_t nodeClientPort(const struct clusterNode *n, enum nodeLineAudience audience) {
    bool tls = audience == LINE_TLS_FILE || audience == LINE_TLS_CLIENT || audience == LINE_TLS_CLIENT6;
    bool file = audience == LINE_FILE || audience == LINE_TLS_FILE;
    uint16_t announced = tls ? n->client_tls_port : n->client_tcp_port;
    if (announced && !file) return announced;
    return tls ? n->tls_port : n->tcp_port;
}

sds nodeFormatLine(sds s, const struct topology *t, const struct clusterNode *n,
                   enum nodeLineAudience audience) {
    bool file = audience == LINE_FILE || audience == LINE_TLS_FILE;
    s = sdscatprintf(s, "%s %s:%u@%u", n->id, nodeClientIp(n, audience), nodeClientPort(n, audience),
                     n->bus_port);
    if (file)
        s = sdscat(sdscat(s, ","), topologyIsTextValid(sdsview(n->hostname)) ? n->hostname : "");
    else if (sdslen(n->hostname))
        s = sdscatprintf(s, ",%s", n->hostname);
    if (file) s = topologyFileAppendFields(s, n, audience == LINE_TLS_FILE);
    s = topologyFileAppendFlags(sdscat(s, " "), n->flags);
    uint64_t epoch = n->primary ? n->primary->config_epoch : n->config_epoch;
    bool myself = n->flags & NODE_MYSELF, connected = myself || (n->out && n->connected);
    s = sdscatprintf(s, " %s %lld %lld %llu %s", n->primary ? n->primary->id : "-",
                     myself ? 0 : (long long)n->ping_sent_ms, myself ? 0 : (long long)n->pong_received_ms,
                     (unsigned long long)epoch, connected ? "connected" : "disconnected");
    struct slotSet slots = n->slots; /* the file has only those that the owner still claims */
    if (file) slotSetSubtract(&slots, &t->unclaimed);
    s = topologyFileAppendSlots(s, &slots);
    return myself ? topologyFileAppendOpenSlots(s, t) : s;
}

sds topologyFormat(sds s, const struct topology *t, bool tls) {
    for (int i = 0; i < t->count; i++) {
        if (t->nodes[i]->flags & NODE_HANDSHAKE) continue;
        s = sdscat(nodeFormatLine(s, t, t->nodes[i], tls ? LINE_TLS_FILE : LINE_FILE), "\n");
    }
    return sdscatprintf(s, "vars currentEpoch %llu lastVoteEpoch %llu\n",
                        (unsigned long long)t->current_epoch, (unsigned long long)t->last_vote_epoch);
}

/* ---- Reading ---- */

/* Returns the part of *rest before the next `at`, or all of it if there is none, and
 * removes both from *rest. */
static struct str topologyFileCut(struct str *rest, char at) {
    const char *end = rest->len ? memchr(rest->ptr, at, rest->len) : NULL;
    struct str part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = end ? part.len + 1 : rest->len;
    *rest = strN(rest->ptr + used, rest->len - used);
    return part;
}

static bool topologyFileReadNumber(struct str word, uint64_t max, uint64_t *out) {
    return string2ull(word, out) && *out <= max;
}

static bool topologyFileReadPort(struct str word, uint16_t *out) {
    uint64_t number;
    if (!topologyFileReadNumber(word, UINT16_MAX, &number)) return false;
    *out = (uint16_t)number;
    return true;
}

static bool topologyFileReadPriority(struct str word, uint32_t *out) {
    uint64_t number;
    if (!topologyFileReadNumber(word, INT32_MAX, &number)) return false;
    *out = (uint32_t)number;
    return true;
}

static bool topologyFileReadText(struct str value, sds *out) {
    if (!topologyIsTextValid(value)) return false;
    *out = sdscpylen(*out, value.ptr, value.len);
    return true;
}

static bool topologyFileReadField(struct clusterNode *n, struct str field) {
    struct str value = field, name = topologyFileCut(&value, '=');
    if (name.len == field.len) return false;
    if (strEq(name, STR("availability-zone"))) return topologyFileReadText(value, &n->availability_zone);
    if (strEq(name, STR("nodename"))) return topologyFileReadText(value, &n->human_name);
    if (strEq(name, STR("client-ipv4"))) return topologyFileReadText(value, &n->client_ipv4);
    if (strEq(name, STR("client-ipv6"))) return topologyFileReadText(value, &n->client_ipv6);
    if (strEq(name, STR("client-tcp-port"))) return topologyFileReadPort(value, &n->client_tcp_port);
    if (strEq(name, STR("client-tls-port"))) return topologyFileReadPort(value, &n->client_tls_port);
    if (strEq(name, STR("replica-priority"))) return topologyFileReadPriority(value, &n->replica_priority);
    if (strEq(name, STR("tcp-port"))) return topologyFileReadPort(value, &n->tcp_port);
    if (strEq(name, STR("tls-port"))) return topologyFileReadPort(value, &n->tls_port);
    if (!strEq(name, STR("shard-id")) || value.len != NODE_ID_LEN || !busIsIdValid(value.ptr)) return false;
    memcpy(n->shard_id, value.ptr, NODE_ID_LEN);
    return true;
}

/* Parses ip:port, an optional @bus, then names and values. The address may contain colons. */
static bool topologyFileReadAddress(struct clusterNode *n, struct str word, bool tls) {
    struct str rest = word, address = topologyFileCut(&rest, ',');
    struct str bus = address;
    address = topologyFileCut(&bus, '@');
    const char *colon = memrchr(address.ptr, ':', address.len);
    if (!colon) return false;
    struct str ip = strN(address.ptr, (size_t)(colon - address.ptr));
    struct str port = strN(colon + 1, address.len - ip.len - 1);
    uint16_t *main_port = tls ? &n->tls_port : &n->tcp_port;
    if (ip.len >= NODE_IP_LEN || !topologyFileReadPort(port, main_port)) return false;
    memcpy(n->ip, ip.ptr, ip.len);
    if (bus.len) {
        if (!topologyFileReadPort(bus, &n->bus_port)) return false;
    } else {
        n->bus_port = (uint16_t)(*main_port + BUS_PORT_OFFSET);
    }
    if (!topologyFileReadText(topologyFileCut(&rest, ','), &n->hostname)) return false;
    while (rest.len) {
        if (!topologyFileReadField(n, topologyFileCut(&rest, ','))) return false;
    }
    return true;
}

/* Returns the node of this id, and adds it if its own line has not come yet. */
static struct clusterNode *topologyFileFindOrAddNode(struct topology *t, struct str id, int64_t now_ms) {
    if (id.len != NODE_ID_LEN || !busIsIdValid(id.ptr)) return NULL;
    struct clusterNode *n = topologyFind(t, id.ptr);
    return n ? n : topologyAdd(t, id.ptr, 0, now_ms);
}

static bool topologyFileReadFlags(struct topology *t, struct clusterNode *n, struct str word) {
    uint16_t flags = 0;
    while (word.len) {
        if (!topologyFileReadFlag(topologyFileCut(&word, ','), &flags)) return false;
    }
    n->flags |= flags;
    if (flags & NODE_MYSELF) {
        if (t->myself) return false;
        t->myself = n;
    }
    return true;
}

/* Parses [slot->-id] or [slot-<-id]. */
static bool topologyFileReadOpenSlot(struct topology *t, struct str word, int64_t now_ms) {
    if (word.len < 2 || word.ptr[word.len - 1] != ']') return false;
    struct str rest = strN(word.ptr + 1, word.len - 2), number = topologyFileCut(&rest, '-');
    uint64_t slot;
    if (!topologyFileReadNumber(number, KEY_SLOTS - 1, &slot) || rest.len < 2 || rest.ptr[1] != '-')
        return false;
    struct clusterNode *other = topologyFileFindOrAddNode(t, strN(rest.ptr + 2, rest.len - 2), now_ms);
    if (!other) return false;
    if (rest.ptr[0] == '>')
        slotSetMigrating(t, (int)slot, other);
    else if (rest.ptr[0] == '<')
        slotSetImporting(t, (int)slot, other);
    else
        return false;
    return true;
}

static bool topologyFileReadSlots(struct topology *t, struct clusterNode *n, struct str word,
                                  int64_t now_ms) {
    if (word.len && word.ptr[0] == '[') return topologyFileReadOpenSlot(t, word, now_ms);
    struct str rest = word, from = topologyFileCut(&rest, '-');
    uint64_t first, last;
    if (!topologyFileReadNumber(from, KEY_SLOTS - 1, &first)) return false;
    last = first;
    if (from.len < word.len && !topologyFileReadNumber(rest, KEY_SLOTS - 1, &last)) return false;
    for (uint64_t slot = first; slot <= last; slot++) { /* the first of two lines with the same slot counts */
        if (!t->owner[slot]) slotAssign(t, (int)slot, n);
    }
    return first <= last;
}

/* Parses vars name number ... */
static bool topologyFileReadVars(struct topology *t, struct str rest) {
    do {
        struct str name = topologyFileCut(&rest, ' ');
        uint64_t *var = strEq(name, STR("currentEpoch"))    ? &t->current_epoch
                        : strEq(name, STR("lastVoteEpoch")) ? &t->last_vote_epoch
                                                            : NULL;
        uint64_t value;
        if (!topologyFileReadNumber(topologyFileCut(&rest, ' '), UINT64_MAX, &value)) return false;
        if (var) *var = value;
    } while (rest.len);
    return true;
}

static bool topologyFileReadNode(struct topology *t, struct str line, bool tls, int64_t now_ms) {
    struct str words[FIXED_WORDS], rest = line;
    for (int i = 0; i < FIXED_WORDS; i++) {
        words[i] = topologyFileCut(&rest, ' ');
        if (words[i].len == 0) return false;
    }
    struct clusterNode *n = topologyFileFindOrAddNode(t, words[0], now_ms);
    uint64_t ping, pong;
    bool again = n && n->flags & ~NODE_MIGRATE_TO; /* set when the line of a replica came before this one */
    if (!n || again || !topologyFileReadAddress(n, words[1], tls) || !topologyFileReadFlags(t, n, words[2]))
        return false;
    if (!topologyFileReadNumber(words[4], INT64_MAX, &ping) ||
        !topologyFileReadNumber(words[5], INT64_MAX, &pong))
        return false;
    if (!topologyFileReadNumber(words[6], UINT64_MAX, &n->config_epoch)) return false;
    if (ping) n->ping_sent_ms = now_ms;
    if (pong) n->pong_received_ms = now_ms;
    if (nodeHasFailed(n)) n->fail_ms = now_ms;
    if (!strEq(words[3], STR("-"))) {
        struct clusterNode *primary = topologyFileFindOrAddNode(t, words[3], now_ms);
        if (!primary || primary == n || nodeIsPrimary(n)) return false;
        nodeBecomeReplica(t, n, primary);
    }
    if (nodeIsReplica(n)) n->config_epoch = 0;
    while (rest.len) {
        if (!topologyFileReadSlots(t, n, topologyFileCut(&rest, ' '), now_ms)) return false;
    }
    return true;
}

/* Checks the whole after all lines have been read. A replica is in the shard of its
 * primary, whatever its line says. */
static bool topologyFileCheckWhole(struct topology *t, bool has_vars) {
    if (!t->myself || !has_vars) return false;
    for (int i = 0; i < t->count; i++) {
        struct clusterNode *n = t->nodes[i];
        if (nodeIsPrimary(n) == nodeIsReplica(n) || (nodeIsReplica(n) && n->slot_count)) return false;
        if (n->primary) memcpy(n->shard_id, n->primary->shard_id, NODE_ID_LEN);
        if (n->config_epoch > t->current_epoch) t->current_epoch = n->config_epoch;
    }
    return true;
}

bool topologyParse(struct topology *t, struct str text, bool tls, int64_t now_ms, sds *err) {
    serverAssert(t->count == 0 && err);
    bool has_vars = false;
    struct str rest = text;
    for (int number = 1; rest.len; number++) {
        struct str line = topologyFileCut(&rest, '\n'), words = line;
        if (line.len == 0) continue;
        bool vars = strEq(topologyFileCut(&words, ' '), STR("vars"));
        has_vars |= vars;
        if (vars ? topologyFileReadVars(t, words) : topologyFileReadNode(t, line, tls, now_ms)) continue;
        *err = sdscatprintf(sdsempty(), "line %d", number);
        return false;
    }
    if (topologyFileCheckWhole(t, has_vars)) return true;
    *err = sdsnew("what its lines say does not fit together");
    return false;
}
