/* SPDX-License-Identifier: BSD-3-Clause */
/* check_rdb_stats.c - see check_rdb_stats.h. A figure is a name and a function of the counts; the three
 * formats walk the same table of figures by type. */
#include "persist/check_rdb_stats.h"

#include "base/assert.h"
#include "base/histogram.h"
#include "base/zmalloc.h"
#include "data/type.h"
#include "types/hash/hash.h"
#include "types/pathhash/pathhash.h"
#include "types/stream/stream.h"
#include "types/string/string_commands.h"

#define HISTOGRAM_BITS 10 /* percentiles are exact up to 2,047 and one part in 1,024 above */
#define HISTOGRAM_MAX  (UINT64_C(1) << 40)

enum { STRING, LIST, SET, ZSET, HASH, MODULE, STREAM, PATH_HASH, TYPES };
static const char *const type_names[TYPES] = {"string", "list",   "set",    "zset",
                                              "hash",   "module", "stream", "pathhash"};

/* Observations: their number, sum, maximum and percentiles. */
struct spread {
    uint64_t count, sum, max;
    struct histogram *histogram; /* NULL: none yet */
};

struct typeCounts {
    uint64_t keys, expires, expired, key_bytes;
    struct spread elements, sizes; /* elements per key, bytes per element */
};

struct rdbStats {
    struct typeCounts (*databases)[TYPES];
    uint64_t count;
    struct typeCounts *current; /* counts for the value being counted */
    uint64_t elements;
};

/* ---- Counting ---- */

static void checkRdbStatsObserve(struct spread *s, uint64_t value) {
    if (!s->histogram) s->histogram = histogramCreate(HISTOGRAM_BITS, HISTOGRAM_MAX);
    histogramCount(s->histogram, HISTOGRAM_BITS, value);
    s->count++;
    s->sum += value;
    if (value > s->max) s->max = value;
}

static void checkRdbStatsCountElement(struct rdbStats *s, uint64_t bytes) {
    s->elements++;
    checkRdbStatsObserve(&s->current->sizes, bytes);
}

static bool checkRdbStatsCountText(void *priv, struct str element) {
    checkRdbStatsCountElement(priv, element.len);
    return true;
}

static void checkRdbStatsCountHash(struct rdbStats *s, const struct object *o) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    hashOpen(&h, o);
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) checkRdbStatsCountElement(s, item.field.s.len + item.value.s.len);
    hashStop(&it);
}

/* An element is a path with its fields. */
static void checkRdbStatsCountPathHash(struct rdbStats *s, const struct object *o) {
    struct pathmapIterator paths;
    struct hashIterator it;
    struct hashItem item;
    struct hash h;
    void **place;
    pathmapIterate(&paths, pathHashOpen(o)->paths, STR(""), NULL);
    while ((place = pathmapNext(&paths))) {
        uint64_t bytes = sdslen(paths.path);
        payloadOpen(&h, *place);
        hashIterate(&it, &h);
        while (hashNext(&it, &item)) bytes += item.field.s.len + item.value.s.len;
        hashStop(&it);
        checkRdbStatsCountElement(s, bytes);
    }
    pathmapStop(&paths);
}

static void checkRdbStatsCountStream(struct rdbStats *s, const struct object *o) {
    struct streamIterator it;
    streamIterate(&it, streamOpen(o), (struct streamID){0, 0}, (struct streamID){UINT64_MAX, UINT64_MAX},
                  false);
    while (streamNext(&it)) {
        uint64_t bytes = 0;
        for (int64_t i = 0; i < it.pairs; i++) {
            struct str field, value;
            streamNextPair(&it, &field, &value);
            bytes += field.len + value.len;
        }
        checkRdbStatsCountElement(s, bytes);
    }
    streamStop(&it);
}

static void checkRdbStatsCountValue(struct rdbStats *s, const struct object *o) {
    char number[LONG_STR_SIZE];
    switch (o->type) {
    case STRING: checkRdbStatsCountElement(s, stringView(o, number).len); break;
    case HASH: checkRdbStatsCountHash(s, o); break;
    case PATH_HASH: checkRdbStatsCountPathHash(s, o); break;
    case STREAM: checkRdbStatsCountStream(s, o); break;
    default: objectTypeOf(o)->iterate(o, checkRdbStatsCountText, s);
    }
}

static struct typeCounts *checkRdbStatsCountsOf(struct rdbStats *s, uint64_t db, int type) {
    if (db >= RDB_STATS_DATABASES) db = RDB_STATS_DATABASES - 1;
    if (db >= s->count) {
        s->databases = zrealloc(s->databases, (db + 1) * sizeof(s->databases[0]));
        memset(s->databases[s->count], 0, (db + 1 - s->count) * sizeof(s->databases[0]));
        s->count = db + 1;
    }
    return &s->databases[db][type];
}

void rdbStatsCount(struct rdbStats *s, uint64_t db, struct str key, struct value *v, bool expires,
                   bool expired) {
    serverAssert(key.ptr && (!v || (v->type >= 0 && v->type < TYPES)));
    s->current = checkRdbStatsCountsOf(s, db, v ? v->type : MODULE);
    s->current->keys++;
    s->current->expires += expires;
    s->current->expired += expired;
    s->current->key_bytes += key.len;
    if (!v) return;
    struct object *o = objectCreate(key, OBJ_NO_EXPIRE, *v);
    s->elements = 0;
    checkRdbStatsCountValue(s, o);
    checkRdbStatsObserve(&s->current->elements, s->elements);
    objectFree(o);
}

/* ---- Figures ---- */

static uint64_t checkRdbStatsKeys(const struct typeCounts *c) {
    return c->keys;
}
static uint64_t checkRdbStatsExpires(const struct typeCounts *c) {
    return c->expires;
}
static uint64_t checkRdbStatsExpired(const struct typeCounts *c) {
    return c->expired;
}
static uint64_t checkRdbStatsKeyBytes(const struct typeCounts *c) {
    return c->key_bytes;
}
static uint64_t checkRdbStatsValueBytes(const struct typeCounts *c) {
    return c->sizes.sum;
}
static uint64_t checkRdbStatsElements(const struct typeCounts *c) {
    return c->elements.sum;
}

static double checkRdbStatsPercentile(const struct spread *s, unsigned percent) {
    if (!s->count) return 0;
    uint64_t rank = (s->count * percent + 99) / 100;
    uint64_t value = histogramHighest(s->histogram, histogramFind(s->histogram, rank));
    return (double)(value < s->max ? value : s->max);
}

enum { COUNT, MAX, AVERAGE, PERCENTILE };
static const struct figure {
    const char *name;
    int kind;
    uint64_t (*count)(const struct typeCounts *c); /* for COUNT */
    size_t spread;                                 /* for the others: offset in struct typeCounts */
    unsigned percent;
} figures[] = {
#define NUM  offsetof(struct typeCounts, elements)
#define SIZE offsetof(struct typeCounts, sizes)
    {"keys.total", COUNT, checkRdbStatsKeys, 0, 0},
    {"expire_keys.total", COUNT, checkRdbStatsExpires, 0, 0},
    {"already_expired.total", COUNT, checkRdbStatsExpired, 0, 0},
    {"keys.size", COUNT, checkRdbStatsKeyBytes, 0, 0},
    {"keys.value_size", COUNT, checkRdbStatsValueBytes, 0, 0},
    {"elements.total", COUNT, checkRdbStatsElements, 0, 0},
    {"elements.size", COUNT, checkRdbStatsValueBytes, 0, 0},
    {"elements.num.max", MAX, NULL, NUM, 0},
    {"elements.num.avg", AVERAGE, NULL, NUM, 0},
    {"elements.num.p99", PERCENTILE, NULL, NUM, 99},
    {"elements.num.p90", PERCENTILE, NULL, NUM, 90},
    {"elements.num.p50", PERCENTILE, NULL, NUM, 50},
    {"elements.size.max", MAX, NULL, SIZE, 0},
    {"elements.size.avg", AVERAGE, NULL, SIZE, 0},
    {"elements.size.p99", PERCENTILE, NULL, SIZE, 99},
    {"elements.size.p90", PERCENTILE, NULL, SIZE, 90},
    {"elements.size.p50", PERCENTILE, NULL, SIZE, 50},
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static void checkRdbStatsPrintValue(char *text, size_t size, const struct figure *f,
                                    const struct typeCounts *c) {
    const struct spread *s = (const void *)((const char *)c + f->spread);
    switch (f->kind) {
    case COUNT: snprintf(text, size, "%llu", (unsigned long long)f->count(c)); break;
    case MAX: snprintf(text, size, "%llu", (unsigned long long)s->max); break;
    case AVERAGE: snprintf(text, size, "%.2f", s->count ? (double)s->sum / (double)s->count : 0.0); break;
    default: snprintf(text, size, "%.2f", checkRdbStatsPercentile(s, f->percent));
    }
}

/* ---- Formats ---- */

static void checkRdbStatsPrintInfo(FILE *out, uint64_t db, const struct typeCounts *types) {
    char value[32];
    for (size_t i = 0; i < FIGURES; i++) {
        for (int t = 0; t < TYPES; t++) {
            checkRdbStatsPrintValue(value, sizeof(value), &figures[i], &types[t]);
            fprintf(out, "[info] db.%llu.type.%s.%s:%s\n", (unsigned long long)db, type_names[t],
                    figures[i].name, value);
        }
    }
}

static void checkRdbStatsPrintRow(FILE *out, bool csv, uint64_t db, const char *name,
                                  const char *const *values) {
    char label[64];
    snprintf(label, sizeof(label), "db.%llu.%s", (unsigned long long)db, name);
    fprintf(out, csv ? "%s" : "%-30s", label);
    for (int t = 0; t < TYPES; t++) fprintf(out, csv ? ",%s" : "\t%-5s", values[t]);
    fputc('\n', out);
}

static void checkRdbStatsPrintRows(FILE *out, bool csv, uint64_t db, const struct typeCounts *types) {
    checkRdbStatsPrintRow(out, csv, db, "type.name", type_names);
    for (size_t i = 0; i < FIGURES; i++) {
        char texts[TYPES][32];
        const char *values[TYPES];
        for (int t = 0; t < TYPES; t++) {
            checkRdbStatsPrintValue(texts[t], sizeof(texts[t]), &figures[i], &types[t]);
            values[t] = texts[t];
        }
        checkRdbStatsPrintRow(out, csv, db, figures[i].name, values);
    }
}

/* ---- Public API ---- */

struct rdbStats *rdbStatsCreate(void) {
    return zcalloc(1, sizeof(struct rdbStats));
}

void rdbStatsFree(struct rdbStats *s) {
    if (!s) return;
    for (uint64_t db = 0; db < s->count; db++) {
        for (int t = 0; t < TYPES; t++) {
            histogramFree(s->databases[db][t].elements.histogram);
            histogramFree(s->databases[db][t].sizes.histogram);
        }
    }
    zfree(s->databases);
    zfree(s);
}

void rdbStatsPrint(const struct rdbStats *s, FILE *out, enum rdbStatsFormat format) {
    for (uint64_t db = 0; db < s->count; db++) {
        if (format == RDB_STATS_INFO)
            checkRdbStatsPrintInfo(out, db, s->databases[db]);
        else
            checkRdbStatsPrintRows(out, format == RDB_STATS_CSV, db, s->databases[db]);
    }
}
