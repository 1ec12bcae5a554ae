/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_file.c - see topology_file.h.
 *
 * A line is cut into words by blanks; the second word is the address with its names and values, the third the
 * flags, and from the ninth on there are slots. Nothing is believed: ids, ports, slots and roles are looked
 * at, and what does not fit together is an error. */
#define _GNU_SOURCE /* memrchr */
#include "cluster/topology_file.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"

#define FIXED_WORDS 8 /* of the line of a node, before the slots */

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
    /* only read: */
    {"primary", NODE_PRIMARY},
    {"replica", NODE_REPLICA},
    {"noflags", 0},
};
#define PRINTED_FLAGS 8

static sds topologyFileFlagsText(sds s, uint16_t flags) {
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

static sds topologyFileSlotsText(sds s, const struct slotSet *slots) {
    for (int last, first = slotSetRun(slots, 0, &last); first >= 0;
         first = slotSetRun(slots, last + 1, &last))
        s = first == last ? sdscatprintf(s, " %d", first) : sdscatprintf(s, " %d-%d", first, last);
    return s;
}

static sds topologyFileOpenSlotsText(sds s, const struct topology *t) {
    for (int i = 0; i < t->open_count; i++) {
        const struct openSlot *open = &t->open[i];
        if (open->to) s = sdscatprintf(s, " [%d->-%s]", open->slot, open->to->id);
        if (open->from) s = sdscatprintf(s, " [%d-<-%s]", open->slot, open->from->id);
    }
    return s;
}

bool topologyTextValid(struct str value) {
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c <= ',' || c == 0x7f || (c < 0x80 && strchr(";<=>?@[]^{|}~\\", c))) return false;
    }
    return true;
}

/* What could not be read again is left out: some of it is told by others. */
static sds topologyFileTextField(sds s, const char *name, const char *value) {
    return *value && topologyTextValid(strOf(value)) ? sdscatprintf(s, ",%s=%s", name, value) : s;
}
static sds topologyFilePortField(sds s, const char *name, uint16_t port) {
    return port ? sdscatprintf(s, ",%s=%u", name, port) : s;
}

/* What clients do not see. */
static sds topologyFileFieldsText(sds s, const struct clusterNode *n, bool tls) {
    s = topologyFileTextField(s, "availability-zone", n->availability_zone);
    s = topologyFilePortField(s, "client-tls-port", n->client_tls_port);
    s = topologyFilePortField(s, "client-tcp-port", n->client_tcp_port);
    s = topologyFileTextField(s, "client-ipv6", n->client_ipv6);
    s = topologyFileTextField(s, "client-ipv4", n->client_ipv4);
    s = tls ? sdscatprintf(s, ",tcp-port=%u", n->tcp_port) : sdscatprintf(s, ",tls-port=%u", n->tls_port);
    s = topologyFileTextField(s, "nodename", n->human_name);
    return sdscatprintf(s, ",shard-id=%s", n->shard_id);
}

const char *nodeClientIp(const struct clusterNode *n, enum nodeLineFor who) {
    if ((who == LINE_CLIENT || who == LINE_TLS_CLIENT) && sdslen(n->client_ipv4)) return n->client_ipv4;
    if ((who == LINE_CLIENT6 || who == LINE_TLS_CLIENT6) && sdslen(n->client_ipv6)) return n->client_ipv6;
    return n->ip;
}

uint16_t nodeClientPort(const struct clusterNode *n, enum nodeLineFor who) {
    bool tls = who == LINE_TLS_FILE || who == LINE_TLS_CLIENT || who == LINE_TLS_CLIENT6;
    bool file = who == LINE_FILE || who == LINE_TLS_FILE;
    uint16_t told = tls ? n->client_tls_port : n->client_tcp_port;
    if (told && !file) return told;
    return tls ? n->tls_port : n->tcp_port;
}

sds nodeLine(sds s, const struct topology *t, const struct clusterNode *n, enum nodeLineFor who) {
    bool file = who == LINE_FILE || who == LINE_TLS_FILE;
    s = sdscatprintf(s, "%s %s:%u@%u", n->id, nodeClientIp(n, who), nodeClientPort(n, who), n->bus_port);
    if (file)
        s = sdscat(sdscat(s, ","), topologyTextValid(sdsview(n->hostname)) ? n->hostname : "");
    else if (sdslen(n->hostname))
        s = sdscatprintf(s, ",%s", n->hostname);
    if (file) s = topologyFileFieldsText(s, n, who == LINE_TLS_FILE);
    s = topologyFileFlagsText(sdscat(s, " "), n->flags);
    uint64_t epoch = n->primary ? n->primary->config_epoch : n->config_epoch;
    bool myself = n->flags & NODE_MYSELF, connected = myself || (n->out && n->connected);
    s = sdscatprintf(s, " %s %lld %lld %llu %s", n->primary ? n->primary->id : "-",
                     myself ? 0 : (long long)n->ping_sent_ms, myself ? 0 : (long long)n->pong_received_ms,
                     (unsigned long long)epoch, connected ? "connected" : "disconnected");
    struct slotSet slots = n->slots; /* in the file only those that it still claims */
    if (file) slotSetWithout(&slots, &t->unclaimed);
    s = topologyFileSlotsText(s, &slots);
    return myself ? topologyFileOpenSlotsText(s, t) : s;
}

sds topologyText(sds s, const struct topology *t, bool tls) {
    for (int i = 0; i < t->count; i++) {
        if (t->nodes[i]->flags & NODE_HANDSHAKE) continue;
        s = sdscat(nodeLine(s, t, t->nodes[i], tls ? LINE_TLS_FILE : LINE_FILE), "\n");
    }
    return sdscatprintf(s, "vars currentEpoch %llu lastVoteEpoch %llu\n",
                        (unsigned long long)t->current_epoch, (unsigned long long)t->last_vote_epoch);
}

/* ---- Reading ---- */

/* The part of *rest before the next `at`, which is taken away with it; all of it when there is none. */
static struct str topologyFileCut(struct str *rest, char at) {
    const char *end = rest->len ? memchr(rest->ptr, at, rest->len) : NULL;
    struct str part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t gone = end ? part.len + 1 : rest->len;
    *rest = strN(rest->ptr + gone, rest->len - gone);
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

static bool topologyFileReadText(struct str value, sds *out) {
    if (!topologyTextValid(value)) return false;
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
    if (strEq(name, STR("tcp-port"))) return topologyFileReadPort(value, &n->tcp_port);
    if (strEq(name, STR("tls-port"))) return topologyFileReadPort(value, &n->tls_port);
    if (!strEq(name, STR("shard-id")) || value.len != NODE_ID_LEN || !busIdValid(value.ptr)) return false;
    memcpy(n->shard_id, value.ptr, NODE_ID_LEN);
    return true;
}

/* ip:port, @bus where it is told, then names and values. An address may have colons itself. */
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
        n->bus_port = (uint16_t)(*main_port + BUS_PORT_AWAY);
    }
    if (!topologyFileReadText(topologyFileCut(&rest, ','), &n->hostname)) return false;
    while (rest.len) {
        if (!topologyFileReadField(n, topologyFileCut(&rest, ','))) return false;
    }
    return true;
}

/* Nodes may be named before their own line comes. */
static struct clusterNode *topologyFileNodeNamed(struct topology *t, struct str id, int64_t now_ms) {
    if (id.len != NODE_ID_LEN || !busIdValid(id.ptr)) return NULL;
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

/* [slot->-id] or [slot-<-id] */
static bool topologyFileReadOpenSlot(struct topology *t, struct str word, int64_t now_ms) {
    if (word.len < 2 || word.ptr[word.len - 1] != ']') return false;
    struct str rest = strN(word.ptr + 1, word.len - 2), number = topologyFileCut(&rest, '-');
    uint64_t slot;
    if (!topologyFileReadNumber(number, KEY_SLOTS - 1, &slot) || rest.len < 2 || rest.ptr[1] != '-')
        return false;
    struct clusterNode *other = topologyFileNodeNamed(t, strN(rest.ptr + 2, rest.len - 2), now_ms);
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
    for (uint64_t slot = first; slot <= last; slot++) { /* of two lines that have it, the first one counts */
        if (!t->owner[slot]) slotAssign(t, (int)slot, n);
    }
    return first <= last;
}

/* vars name number ... */
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
    struct clusterNode *n = topologyFileNodeNamed(t, words[0], now_ms);
    uint64_t ping, pong;
    bool again = n && n->flags & ~NODE_MIGRATE_TO; /* which it has of a replica, whose line came before */
    if (!n || again || !topologyFileReadAddress(n, words[1], tls) || !topologyFileReadFlags(t, n, words[2]))
        return false;
    if (!topologyFileReadNumber(words[4], INT64_MAX, &ping) ||
        !topologyFileReadNumber(words[5], INT64_MAX, &pong))
        return false;
    if (!topologyFileReadNumber(words[6], UINT64_MAX, &n->config_epoch)) return false;
    if (ping) n->ping_sent_ms = now_ms;
    if (pong) n->pong_received_ms = now_ms;
    if (nodeFailed(n)) n->fail_ms = now_ms;
    if (!strEq(words[3], STR("-"))) {
        struct clusterNode *primary = topologyFileNodeNamed(t, words[3], now_ms);
        if (!primary || primary == n || nodeIsPrimary(n)) return false;
        nodeBecomeReplica(t, n, primary);
    }
    if (nodeIsReplica(n)) n->config_epoch = 0;
    while (rest.len) {
        if (!topologyFileReadSlots(t, n, topologyFileCut(&rest, ' '), now_ms)) return false;
    }
    return true;
}

/* All lines have been read. A replica is in the shard of its primary, whatever its line says. */
static bool topologyFileComplete(struct topology *t, bool has_vars) {
    if (!t->myself || !has_vars) return false;
    for (int i = 0; i < t->count; i++) {
        struct clusterNode *n = t->nodes[i];
        if (nodeIsPrimary(n) == nodeIsReplica(n) || (nodeIsReplica(n) && n->slot_count)) return false;
        if (n->primary) memcpy(n->shard_id, n->primary->shard_id, NODE_ID_LEN);
        if (n->config_epoch > t->current_epoch) t->current_epoch = n->config_epoch;
    }
    return true;
}

bool topologyRead(struct topology *t, struct str text, bool tls, int64_t now_ms, sds *err) {
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
    if (topologyFileComplete(t, has_vars)) return true;
    *err = sdsnew("what its lines say does not fit together");
    return false;
}
