/* info.c - INFO: a report put together from what the rooms have registered.
 *
 *     # Server                 one title per section,
 *     valkey_version:9.1.2     then the fields of all rooms that have registered for it, in a fixed order,
 *                              a blank line between sections
 *     # Clients
 *     ...
 *
 * The sections and their order are fixed here; the fields are not known here, but for three sections that
 * report on the registries of core itself: commandstats, errorstats and keyspace. */
#include "registry/info.h"

#include "command/command.h"
#include "commands/server.h"

#include <stdarg.h>

#include "base/assert.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "registry/config.h"
#include "data/db.h"
#include "registry/info_order.h"
#include "client/reply.h"

struct infoSection {
    const char *name, *title;
    int groups; /* INFO_*: it shows when one of these is asked for */
    infoFn **fields;
    size_t field_count;
};

#define INFO_ANY  (INFO_DEFAULT | INFO_ALL | INFO_EVERYTHING)
#define INFO_LONG (INFO_ALL | INFO_EVERYTHING)

static struct infoSection sections[] = {
    {.name = "server", .title = "Server", .groups = INFO_ANY},
    {.name = "tls", .title = "TLS", .groups = INFO_LONG},
    {.name = "clients", .title = "Clients", .groups = INFO_ANY},
    {.name = "memory", .title = "Memory", .groups = INFO_ANY},
    {.name = "persistence", .title = "Persistence", .groups = INFO_ANY},
    {.name = "stats", .title = "Stats", .groups = INFO_ANY},
    {.name = "replication", .title = "Replication", .groups = INFO_ANY},
    {.name = "cpu", .title = "CPU", .groups = INFO_ANY},
    {.name = "modules", .title = "Modules", .groups = INFO_ANY},
    {.name = "commandstats", .title = "Commandstats", .groups = INFO_LONG},
    {.name = "errorstats", .title = "Errorstats", .groups = INFO_ANY},
    {.name = "latencystats", .title = "Latencystats", .groups = INFO_LONG},
    {.name = "cluster", .title = "Cluster", .groups = INFO_ANY},
    {.name = "cluster_info", .title = "Cluster Info", .groups = INFO_LONG},
    {.name = "scriptingengines", .title = "Scripting Engines", .groups = INFO_LONG},
    {.name = "keyspace", .title = "Keyspace", .groups = INFO_ANY},
    {.name = "debug", .title = "Debug"},
};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

/* ---- The report ---- */

/* Is the section among the names, or in a group that is? */
static bool sectionWanted(const struct infoSection *section, const struct str *names, int count) {
    if (count == 0) return section->groups & INFO_DEFAULT;
    for (int i = 0; i < count; i++) {
        if (strIs(names[i], section->name)) return true;
        if ((section->groups & INFO_DEFAULT) && strIs(names[i], "default")) return true;
        if ((section->groups & INFO_ALL) && strIs(names[i], "all")) return true;
        if ((section->groups & INFO_EVERYTHING) && strIs(names[i], "everything")) return true;
    }
    return false;
}

/* ---- The order of fields ---- */

/* The place of a field in the order; -1: it has none. The rooms' lines are mostly in order, so the search
 * begins behind the last one found. */
static int fieldRank(const char *const *order, int count, struct str line, int *next) {
    const char *colon = memchr(line.ptr, ':', line.len);
    size_t len = colon ? (size_t)(colon - line.ptr) : line.len;
    for (int i = 0, k = *next; i < count; i++, k++) {
        if (k == count) k = 0;
        if (order[k][0] != line.ptr[0] || strncmp(order[k], line.ptr, len) != 0 || order[k][len]) continue;
        *next = k + 1;
        return k;
    }
    return -1;
}

/* Appends the fields of `text` to s in the given order, then those that have no place in it. */
static sds appendOrdered(sds s, const char *const *order, const char *text) {
    int count = 0, next = 0;
    while (order[count]) count++;
    struct str *placed = zcalloc((size_t)count, sizeof *placed);
    sds others = sdsempty();
    for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
        struct str line = strN(p, (size_t)(end + 1 - p));
        int rank = fieldRank(order, count, line, &next);
        if (rank >= 0)
            placed[rank] = line;
        else
            others = sdscatstr(others, line);
    }
    for (int i = 0; i < count; i++) s = sdscatstr(s, placed[i]);
    s = sdscatstr(s, sdsview(others));
    sdsfree(others);
    zfree(placed);
    return s;
}

static sds appendSection(sds s, const struct infoSection *section) {
    const char *const *order = infoOrder(section->name);
    sds fields = order ? sdsempty() : s;
    for (size_t i = 0; i < section->field_count; i++) fields = section->fields[i](fields);
    if (!order) return fields;
    s = appendOrdered(s, order, fields);
    sdsfree(fields);
    return s;
}

sds infoText(const struct str *names, int count) {
    sds s = sdsempty();
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!sectionWanted(&sections[i], names, count)) continue;
        s = sdscatprintf(s, "%s# %s\r\n", sdslen(s) ? "\r\n" : "", sections[i].title);
        s = appendSection(s, &sections[i]);
    }
    return s;
}

sds infoField(sds s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    s = sdscatvprintf(s, fmt, ap);
    va_end(ap);
    return sdscatlen(s, "\r\n", 2);
}

void infoRegister(const char *name, infoFn *fn) {
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        struct infoSection *section = &sections[i];
        if (!strIs(strOf(name), section->name)) continue;
        section->fields = zrealloc(section->fields, (section->field_count + 1) * sizeof *section->fields);
        section->fields[section->field_count++] = fn;
        return;
    }
    serverPanic("INFO has no section '%s'", name);
}

/* ---- The sections of core itself ---- */

/* A name must not look like the end of the field's own name, or of its line. */
static sds safeName(const char *name) {
    sds safe = sdsnew(name);
    for (char *p = safe; *p; p++) {
        if (strchr("#:\n\r", *p)) *p = '_';
    }
    return safe;
}

static sds appendCommandStats(sds s, const struct hashtable *table) {
    struct hashtableIterator it;
    hashtableInitIterator(&it, (struct hashtable *)table, false);
    void *entry;
    while (hashtableNext(&it, &entry)) {
        const struct serverCommand *cmd = entry;
        if (cmd->calls || cmd->rejected || cmd->failed) {
            uint64_t us = cmd->ticks / ticks_per_us;
            double us_per_call = cmd->calls ? (double)us / (double)cmd->calls : 0;
            s = infoField(
                s, "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,failed_calls=%llu",
                cmd->fullname, (unsigned long long)cmd->calls, (unsigned long long)us, us_per_call,
                (unsigned long long)cmd->rejected, (unsigned long long)cmd->failed);
        }
        if (cmd->subcommands) s = appendCommandStats(s, cmd->subcommands);
    }
    hashtableStopIterator(&it);
    return s;
}

static sds infoCommandStats(sds s) {
    return appendCommandStats(s, &commands);
}

static void appendErrorStat(void *priv, const char *prefix, uint64_t count) {
    sds *s = priv, name = safeName(prefix);
    *s = infoField(*s, "errorstat_%s:count=%llu", name, (unsigned long long)count);
    sdsfree(name);
}

static sds infoErrorStats(sds s) {
    errorStatsForEach(appendErrorStat, &s);
    return s;
}

static sds infoKeyspace(sds s) {
    for (int i = 0; i < dbCount(); i++) {
        const struct db *db = dbGet(i);
        if (dbSize(db) == 0) continue;
        s = infoField(s, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=%zu", i, dbSize(db),
                      dbExpiresSize(db), (long long)db->avg_ttl_ms, dbVolatileCount(db, false));
    }
    return s;
}

/* ---- INFO ---- */

void infoCommand(struct client *c) {
    sds text = infoText(c->argv + 1, c->argc - 1);
    replyVerbatim(c, sdsview(text), "txt");
    sdsfree(text);
}

void infoInit(void) {
    infoRegister("commandstats", infoCommandStats);
    infoRegister("errorstats", infoErrorStats);
    infoRegister("keyspace", infoKeyspace);
}
