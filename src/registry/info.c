/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c - the report of INFO, composed of what modules have registered.
 *
 *     # Server                 one title per section,
 *     valkey_version:9.1.2     then the fields of all modules that have registered for it, in a fixed order,
 *                              a blank line between sections
 *     # Clients
 *     ...
 *
 * The sections and their order are fixed here; the fields come from the modules. */
#include "registry/info.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "registry/info_order.h"

#define USUAL_LENGTH 8000 /* bytes of a report with all default sections */
#define LINE_ROOM    256  /* a line is composed in such a buffer before it is appended */
#define NUMBER_ROOM  320  /* any double with two decimals */
/* Up to here a hundred times a number is exact to 1e-7, which is much less than NEAR_MIDDLE. */
#define HUNDREDTHS_MAX 1e9
#define NEAR_MIDDLE    1e-3

struct infoSection {
    const char *name, *alias, *title; /* alias may be NULL */
    int groups;                       /* INFO_*: it shows when one of these is requested */
    bool absent;                      /* this kind of server has no such section: infoRestrictSections */
    infoFn **fields;
    size_t field_count;
    const char *const *order; /* info_order.c; NULL: order of registration */
    int order_count;
    int *places, place_count; /* by line number: its place in the order the last time */
};

/* Groups that contain a section: default ones are in all groups; a section in none only shows by name. */
enum { INFO_DEFAULT = 1, INFO_ALL = 2, INFO_EVERYTHING = 4 };
#define INFO_ANY  (INFO_DEFAULT | INFO_ALL | INFO_EVERYTHING)
#define INFO_LONG (INFO_ALL | INFO_EVERYTHING)

static struct infoSection sections[] = {
    {.name = "server", .title = "Server", .groups = INFO_ANY},
    {.name = "tls", .title = "TLS", .groups = INFO_LONG},
    {.name = "clients", .title = "Clients", .groups = INFO_ANY},
    {.name = "memory", .title = "Memory", .groups = INFO_ANY},
    {.name = "persistence", .title = "Persistence", .groups = INFO_ANY},
    {.name = "threads", .title = "Threads", .groups = INFO_LONG},
    {.name = "stats", .title = "Stats", .groups = INFO_ANY},
    {.name = "replication", .title = "Replication", .groups = INFO_ANY},
    {.name = "cpu", .title = "CPU", .groups = INFO_ANY},
    {.name = "modules", .alias = "module_list", .title = "Modules", .groups = INFO_ANY},
    {.name = "commandstats", .title = "Commandstats", .groups = INFO_LONG},
    {.name = "errorstats", .title = "Errorstats", .groups = INFO_ANY},
    {.name = "latencystats", .title = "Latencystats", .groups = INFO_LONG},
    {.name = "cluster", .title = "Cluster", .groups = INFO_ANY},
    {.name = "cluster_info", .title = "Cluster Info", .groups = INFO_LONG},
    {.name = "scriptingengines", .title = "Scripting Engines", .groups = INFO_LONG},
    {.name = "keyspace", .title = "Keyspace", .groups = INFO_ANY},
    {.name = "keysizes", .title = "Keysizes", .groups = INFO_LONG},
    {.name = "hotkeys", .title = "Hotkeys", .groups = INFO_LONG},
    {.name = "throttling", .title = "Throttling", .groups = INFO_LONG},
    {.name = "sentinel", .title = "Sentinel", .groups = INFO_ANY, .absent = true},
    {.name = "debug", .title = "Debug"},
};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

/* ---- Sections ---- */

/* Returns whether the section is among the names, or in a group that is. */
static bool infoSectionIsRequested(const struct infoSection *section, const struct str *names, int count) {
    if (count == 0) return section->groups & INFO_DEFAULT;
    for (int i = 0; i < count; i++) {
        if (strIs(names[i], section->name)) return true;
        if (section->alias && strIs(names[i], section->alias)) return true;
        if ((section->groups & INFO_DEFAULT) && strIs(names[i], "default")) return true;
        if ((section->groups & INFO_ALL) && strIs(names[i], "all")) return true;
        if ((section->groups & INFO_EVERYTHING) && strIs(names[i], "everything")) return true;
    }
    return false;
}

/* ---- The order of fields ---- */

/* A name of the order that ends with # stands for a series of numbered fields. */
static bool infoIsField(struct str line, const char *name) {
    size_t n = strlen(name);
    if (name[n - 1] == '#')
        return line.len >= n && memcmp(line.ptr, name, n - 1) == 0 && line.ptr[n - 1] >= '0' &&
               line.ptr[n - 1] <= '9';
    return line.len > n && line.ptr[n] == ':' && memcmp(line.ptr, name, n) == 0;
}

/* Returns the place of line number `i` in the order; -1: it has none. The modules print nearly the same lines
 * each time, so the place that the line had last time is tried first. */
static int infoFieldPlace(struct infoSection *section, struct str line, int i) {
    if (i >= section->place_count) {
        section->places = zrealloc(section->places, (size_t)(i + 1) * sizeof *section->places);
        section->places[i] = -1;
        section->place_count = i + 1;
    }
    int place = section->places[i];
    if (place >= 0 && infoIsField(line, section->order[place])) return place;
    for (place = section->order_count - 1; place >= 0 && !infoIsField(line, section->order[place]);) place--;
    section->places[i] = place;
    return place;
}

/* Appends the lines of `text` to s in the order of the section, then those without a place. */
static sds infoAppendOrdered(sds s, struct infoSection *section, struct str text) {
    struct str *placed = zcalloc((size_t)section->order_count, sizeof *placed);
    sds others = NULL;
    int i = 0;
    for (const char *p = text.ptr, *end; (end = strchr(p, '\n')); p = end + 1, i++) {
        struct str line = strN(p, (size_t)(end + 1 - p));
        int place = infoFieldPlace(section, line, i);
        if (place >= 0 && placed[place].len)
            placed[place].len += line.len; /* the next field of a series, whose fields follow each other */
        else if (place >= 0)
            placed[place] = line;
        else
            others = sdscatstr(others ? others : sdsempty(), line);
    }
    s = sdsMakeRoomFor(s, text.len);
    for (int k = 0; k < section->order_count; k++) {
        if (placed[k].len) s = sdscatstr(s, placed[k]);
    }
    if (others) s = sdscatstr(s, sdsview(others));
    sdsfree(others);
    zfree(placed);
    return s;
}

/* ---- The report ---- */

static sds infoAppendFields(sds s, const struct infoSection *section) {
    for (size_t i = 0; i < section->field_count; i++) s = section->fields[i](s);
    return s;
}

static infoNamesFn *others;

void infoOnNames(infoNamesFn *fn) {
    serverAssert(!others);
    others = fn;
}

size_t info_used_memory;

sds infoText(const struct str *names, int count) {
    info_used_memory = zmallocUsedMemory();
    sds s = sdsMakeRoomFor(sdsempty(), USUAL_LENGTH), unordered = NULL;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        struct infoSection *section = &sections[i];
        if (section->absent || !infoSectionIsRequested(section, names, count)) continue;
        if (sdslen(s)) s = sdscat(s, "\r\n");
        s = sdscat(sdscat(sdscat(s, "# "), section->title), "\r\n");
        if (!section->order) {
            s = infoAppendFields(s, section);
            continue;
        }
        if (!unordered) unordered = sdsMakeRoomFor(sdsempty(), USUAL_LENGTH);
        sdssetlen(unordered, 0);
        unordered = infoAppendFields(unordered, section);
        s = infoAppendOrdered(s, section, sdsview(unordered));
    }
    sdsfree(unordered);
    return others ? others(s, names, count) : s;
}

/* ---- Lines ---- */

/* A line that is being composed, and the text that it goes to. */
struct infoLine {
    sds text;
    size_t len; /* bytes that are not in the text yet */
    char bytes[LINE_ROOM];
};

static inline void infoLineAdd(struct infoLine *line, const char *p, size_t n) {
    if (__builtin_expect(line->len + n > sizeof line->bytes, 0)) {
        line->text = sdscatlen(line->text, line->bytes, line->len);
        line->len = 0;
        if (n > sizeof line->bytes) {
            line->text = sdscatlen(line->text, p, n);
            return;
        }
    }
    memcpy(line->bytes + line->len, p, n);
    line->len += n;
}

/* Adds a number with two decimals, rounded as printf does. False: printf has to format it, as it is negative,
 * large, or so near the middle between two results that the product below may be on the wrong side. */
static inline bool infoLineAddHundredths(struct infoLine *line, double v) {
    double rounded = v * 100 + 0.5;
    if (signbit(v) || !(rounded < HUNDREDTHS_MAX)) return false;
    uint64_t n = (uint64_t)rounded;
    double above = rounded - (double)n;
    if (above < NEAR_MIDDLE || above > 1 - NEAR_MIDDLE) return false;
    char number[LONG_STR_SIZE + 3];
    unsigned len = ull2string(number, n / 100);
    number[len++] = '.';
    number[len++] = (char)('0' + n / 10 % 10);
    number[len++] = (char)('0' + n % 10);
    infoLineAdd(line, number, len);
    return true;
}

/* Adds the conversion at `percent` with its arguments. Returns the rest of the format. */
static const char *infoLineAddConversion(struct infoLine *line, const char *percent, va_list *ap) {
    _Static_assert(sizeof(long) == 8 && sizeof(long long) == 8 && sizeof(size_t) == 8, "l, ll and z are one");
    char number[NUMBER_ROOM];
    const char *spec = percent + 1;
    while (*spec == 'l' || *spec == 'z') spec++;
    bool wide = spec > percent + 1;
    if (*spec == 's' && !wide) {
        const char *word = va_arg(*ap, const char *);
        infoLineAdd(line, word, strlen(word));
    } else if (*spec == 'd') {
        infoLineAdd(line, number, ll2string(number, wide ? va_arg(*ap, long long) : va_arg(*ap, int)));
    } else if (*spec == 'u') {
        uint64_t v = wide ? va_arg(*ap, unsigned long long) : va_arg(*ap, unsigned);
        infoLineAdd(line, number, ull2string(number, v));
    } else if (strncmp(percent, "%.2f", 4) == 0) {
        double v = va_arg(*ap, double);
        if (!infoLineAddHundredths(line, v))
            infoLineAdd(line, number, (size_t)snprintf(number, sizeof number, "%.2f", v));
        return percent + 4;
    } else { /* the C library formats the rest */
        line->text = sdscatlen(line->text, line->bytes, line->len);
        line->len = 0;
        line->text = sdscatvprintf(line->text, percent, *ap);
        return "";
    }
    return spec + 1;
}

sds infoAppendName(sds s, const char *name) {
    for (const char *p = name; *p; p++) s = sdscatlen(s, strchr("#:\r\n", *p) ? "_" : p, 1);
    return s;
}

/* Formats common conversions itself: most lines are text, words and plain numbers, and an INFO has 200 lines
 * and more. This takes a third of printf's time. */
sds infoField(sds s, const char *fmt, ...) {
    struct infoLine line; /* not initialized: clearing its bytes costs time */
    line.text = s;
    line.len = 0;
    va_list ap;
    va_start(ap, fmt);
    for (const char *percent; (percent = strchr(fmt, '%'));) {
        infoLineAdd(&line, fmt, (size_t)(percent - fmt));
        fmt = infoLineAddConversion(&line, percent, &ap);
    }
    va_end(ap);
    infoLineAdd(&line, fmt, strlen(fmt));
    infoLineAdd(&line, "\r\n", 2);
    return sdscatlen(line.text, line.bytes, line.len);
}

void infoRestrictSections(const char *const *names) {
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        const char *const *name = names;
        while (*name && strcmp(*name, sections[i].name) != 0) name++;
        sections[i].absent = !*name;
    }
}

void infoRegister(const char *name, infoFn *fn) {
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        struct infoSection *section = &sections[i];
        if (!strIs(strOf(name), section->name)) continue;
        if (!section->fields && (section->order = infoOrder(name)) != NULL) {
            while (section->order[section->order_count]) section->order_count++;
        }
        section->fields = zrealloc(section->fields, (section->field_count + 1) * sizeof *section->fields);
        section->fields[section->field_count++] = fn;
        return;
    }
    serverPanic("INFO has no section '%s'", name);
}
