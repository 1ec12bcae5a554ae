/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_nodes.c - parses the text of CLUSTER NODES, addresses and slots. See tool_nodes.h. */
#define _GNU_SOURCE /* memrchr */
#include "tools/tool_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define FIELDS_BEFORE_SLOTS 8

/* ---- Sets of slots ---- */

int nodeSlotsCount(const struct nodeSlots *s) {
    int count = 0;
    for (int i = 0; i < CLUSTER_SLOTS / 64; i++) count += __builtin_popcountll(s->words[i]);
    return count;
}

bool nodeSlotsRun(const struct nodeSlots *s, int from, int *first, int *last) {
    while (from < CLUSTER_SLOTS && !nodeSlotsHas(s, from)) from++;
    if (from == CLUSTER_SLOTS) return false;
    *first = *last = from;
    while (*last + 1 < CLUSTER_SLOTS && nodeSlotsHas(s, *last + 1)) ++*last;
    return true;
}

sds slotSetText(const struct nodeSlots *s) {
    sds out = sdsempty();
    for (int first, last = -1; nodeSlotsRun(s, last + 1, &first, &last);) {
        if (sdslen(out)) out = sdscat(out, ",");
        out = sdscatprintf(out, first == last ? "[%d]" : "[%d-%d]", first, last);
    }
    return out;
}

/* ---- Addresses ---- */

static bool toolNodesParsePort(struct str text, int *port) {
    int64_t n;
    if (!string2ll(text, &n) || n < 0 || n > 65535) return false;
    *port = (int)n;
    return true;
}

bool toolAddressParse(struct str text, sds *host, int *port, int *bus) {
    const char *at = memchr(text.ptr, '@', text.len);
    size_t len = at ? (size_t)(at - text.ptr) : text.len;
    const char *colon = memrchr(text.ptr, ':', len);
    int bus_port = 0;
    if (!colon || !toolNodesParsePort(strN(colon + 1, (size_t)(text.ptr + len - colon - 1)), port))
        return false;
    if (at && !toolNodesParsePort(strN(at + 1, text.len - len - 1), &bus_port)) return false;
    if (bus) *bus = bus_port;
    *host = sdsnewlen(text.ptr, (size_t)(colon - text.ptr));
    if (sdslen(*host) > 1 && (*host)[0] == '[') sdsrange(*host, 1, -2);
    return true;
}

/* ---- Nodes ---- */

static bool toolFlagsHave(const char *flags, const char *name) {
    size_t len = strlen(name);
    for (const char *at = flags; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0')) return true;
    }
    return false;
}

static void toolNodesReadFlags(struct toolNode *n, sds text) {
    n->myself = toolFlagsHave(text, "myself");
    n->replica = toolFlagsHave(text, "slave") || toolFlagsHave(text, "replica");
    n->failed = toolFlagsHave(text, "fail");
    n->handshake = toolFlagsHave(text, "handshake");
    n->noaddr = toolFlagsHave(text, "noaddr");
    n->flags = sdsnew(strncmp(text, "myself,", 7) == 0 ? text + 7 : text);
}

static bool toolNodesReadId(char *id, const char *text, size_t len) {
    if (len != CLUSTER_ID_SIZE) return false;
    memcpy(id, text, len);
    id[len] = '\0';
    return true;
}

static bool toolNodesReadSlot(struct str text, int *slot) {
    int64_t n;
    if (!string2ll(text, &n) || n < 0 || n >= CLUSTER_SLOTS) return false;
    *slot = (int)n;
    return true;
}

/* Reads "[5->-id]" or "[5-<-id]". */
static bool toolNodesReadOpenSlot(struct toolNode *n, struct str word) {
    const char *dash = memchr(word.ptr, '-', word.len);
    struct cliOpenSlot open;
    size_t before = dash ? (size_t)(dash - word.ptr) : 0, after = word.len - before;
    if (!dash || after < 5 || word.ptr[word.len - 1] != ']') return false;
    open.importing = dash[1] == '<';
    if (!toolNodesReadSlot(strN(word.ptr + 1, before - 1), &open.slot) ||
        !toolNodesReadId(open.peer, dash + 3, after - 4))
        return false;
    n->open = zrealloc(n->open, (size_t)(n->open_count + 1) * sizeof(n->open[0]));
    n->open[n->open_count++] = open;
    return true;
}

static bool toolNodesReadSlots(struct toolNode *n, struct str word) {
    int first, last;
    if (word.len && word.ptr[0] == '[') return toolNodesReadOpenSlot(n, word);
    const char *dash = memchr(word.ptr, '-', word.len);
    size_t len = dash ? (size_t)(dash - word.ptr) : word.len;
    if (!toolNodesReadSlot(strN(word.ptr, len), &first)) return false;
    last = first;
    if (dash && (!toolNodesReadSlot(strN(dash + 1, word.len - len - 1), &last) || last < first)) return false;
    for (int slot = first; slot <= last; slot++) nodeSlotsAdd(&n->slots, slot);
    return true;
}

static bool toolNodesReadNode(struct toolNode *n, sds *words, int count) {
    if (count < FIELDS_BEFORE_SLOTS || !toolNodesReadId(n->id, words[0], sdslen(words[0]))) return false;
    const char *comma = strchr(words[1], ',');
    struct str address = strN(words[1], comma ? (size_t)(comma - words[1]) : sdslen(words[1]));
    if (!toolAddressParse(address, &n->host, &n->port, &n->bus_port)) return false;
    toolNodesReadFlags(n, words[2]);
    if (strcmp(words[3], "-") != 0 && !toolNodesReadId(n->primary, words[3], sdslen(words[3]))) return false;
    if (!string2ull(sdsview(words[6]), &n->epoch)) return false;
    n->connected = strcmp(words[7], "connected") == 0;
    for (int i = FIELDS_BEFORE_SLOTS; i < count; i++) {
        if (sdslen(words[i]) && !toolNodesReadSlots(n, sdsview(words[i]))) return false;
    }
    return true;
}

int toolNodesParse(struct str text, struct toolNode **nodes) {
    int lines_count, count = 0;
    bool ok = true;
    sds *lines = sdssplitlen(text.ptr, text.len, "\n", 1, &lines_count);
    *nodes = zcalloc((size_t)lines_count + 1, sizeof(**nodes));
    for (int i = 0; i < lines_count && ok; i++) {
        int words_count;
        sdstrim(lines[i], "\r ");
        if (sdslen(lines[i]) == 0) continue;
        sds *words = sdssplitlen(lines[i], sdslen(lines[i]), " ", 1, &words_count);
        ok = toolNodesReadNode(&(*nodes)[count++], words, words_count);
        sdsfreesplitres(words, words_count);
    }
    if (lines) sdsfreesplitres(lines, lines_count);
    if (ok && count) return count;
    toolNodesFree(*nodes, count);
    *nodes = NULL;
    return -1;
}

void toolNodesFree(struct toolNode *nodes, int count) {
    for (int i = 0; i < count; i++) {
        sdsfree(nodes[i].host);
        sdsfree(nodes[i].flags);
        zfree(nodes[i].open);
    }
    zfree(nodes);
}

static int toolNodesCompareTexts(const void *a, const void *b) {
    return strcmp(*(const sds *)a, *(const sds *)b);
}

sds toolNodesSignature(const struct toolNode *nodes, int count) {
    sds *parts = zmalloc(((size_t)count + 1) * sizeof(parts[0])), out = sdsempty();
    int used = 0;
    for (int i = 0; i < count; i++) {
        sds slots = slotSetText(&nodes[i].slots);
        if (sdslen(slots)) parts[used++] = sdscatprintf(sdsempty(), "%s:%s|", nodes[i].id, slots);
        sdsfree(slots);
    }
    qsort(parts, (size_t)used, sizeof(parts[0]), toolNodesCompareTexts);
    for (int i = 0; i < used; i++) out = sdscat(out, parts[i]);
    sdsfreesplitres(parts, used);
    return out;
}

int toolKeySlot(struct str key) {
    const char *open = memchr(key.ptr, '{', key.len);
    const char *end = key.ptr + key.len;
    const char *close = open ? memchr(open + 1, '}', (size_t)(end - open - 1)) : NULL;
    if (close && close > open + 1) key = strN(open + 1, (size_t)(close - open - 1));
    return crc16(key.ptr, key.len) % CLUSTER_SLOTS;
}
