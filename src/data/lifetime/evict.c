/* SPDX-License-Identifier: BSD-3-Clause */
/* evict.c - eviction; see evict.h. evict_marks.c has the marks of use on objects.
 *
 * Finding the best key of all would take an order of all keys. Instead a few are sampled for each eviction,
 * and the best ones ever sampled are remembered until they are evicted or used again:
 *
 *     sample of each database  ──▶  pool of 16 candidates  ──▶  the one with the highest score goes
 *
 * The higher the score, the better the candidate: idle seconds (LRU), seconds without a change (LRM), 255
 * minus uses (LFU), nearness of the expiry (TTL), uses to be expected (LHD, hit_density.c). The pool makes up
 * for small samples: soon nearly all of it is older than anything a sample is likely to bring. A candidate is
 * stored by key, as its object may be gone or have moved. Before it is evicted its score is computed again,
 * and it is dropped if the score has fallen, since the key was used meanwhile.
 *
 * Invariant: a key is chosen only while memory is over the limit, nobody has vetoed it, and the policy may
 * choose that key. evictObject asserts the last two; dropping candidates may have freed what was over the
 * limit. */
#include "data/lifetime/evict.h"

#include <math.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/usable_memory.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/lifetime/hit_density.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "data/server_state/import_mode.h"
#include "data/server_state/role.h"
#include "data/type.h"
#include "net/ae.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/info.h"
#include "registry/latency.h"

#define POOL_SIZE        16
#define SAMPLES_MAX      64
#define HOOKS_MAX        8
#define VALUE_SAMPLES    5   /* elements from which a value's size is estimated */
#define CLOCK_PERIOD     16  /* keys between two readings of the clock */
#define TENACITY_US      500 /* time of one call, by default */
#define TENACITY_DEFAULT 10
#define TENACITY_DOUBLE  5.0 /* the time doubles with every so many steps more */
#define TENACITY_NO_END  100
#define THREAD_WAIT_US   1000 /* for the lazy-free thread, when nothing can be evicted */

static const struct configEnum policies[] = {
    {"volatile-lru", BY_LRU | OF_VOLATILE},
    {"volatile-lfu", BY_LFU | OF_VOLATILE},
    {"volatile-random", BY_CHANCE | OF_VOLATILE},
    {"volatile-ttl", BY_TTL | OF_VOLATILE},
    {"volatile-lrm", BY_LRM | OF_VOLATILE},
    {"volatile-lhd", BY_LHD | OF_VOLATILE},
    {"allkeys-lru", BY_LRU},
    {"allkeys-lfu", BY_LFU},
    {"allkeys-random", BY_CHANCE},
    {"allkeys-lrm", BY_LRM},
    {"allkeys-lhd", BY_LHD},
    {"noeviction", NO_EVICTION},
    {NULL, 0},
};

const char err_oom[] = "OOM command not allowed when used memory > 'maxmemory'.";

static int64_t maxmemory_set; /* the directive: bytes, or, negative, a percentage of the usable memory */
static int64_t maxmemory;     /* the limit in bytes that follows from it; 0: none */
static int64_t samples, tenacity;
static void (*limit_changed)(void);

static bool out_of_memory, timer_set;
static size_t being_freed; /* bytes that the lazy-free thread has not freed yet, about */
static uint64_t evicted_keys, exceeded_us;
static int64_t exceeded_since_us; /* 0: memory is below the limit */

static size_t (*exempt[HOOKS_MAX])(void);
static bool (*vetoes[HOOKS_MAX])(void);
static int exempt_count, veto_count;

/* ---- Candidates ---- */

static struct evictCandidate {
    sds key; /* NULL: the entry is free */
    int dbid;
    uint64_t score, hash;
} pool[POOL_SIZE];

static uint64_t evictScoreOf(const struct object *o) {
    if (evict_policy & (BY_LRU | BY_LRM)) return objectIdleSeconds(o);
    if (evict_policy & BY_LFU) return LFU_MAX - objectFrequency(o);
    if (evict_policy & BY_LHD) return densityScore(o->lru);
    return INT64_MAX - (uint64_t)objectExpire(o);
}

static void evictCandidateDrop(struct evictCandidate *c) {
    sdsfree(c->key);
    c->key = NULL;
}

static void evictPoolForget(void) {
    for (int i = 0; i < POOL_SIZE; i++) evictCandidateDrop(&pool[i]);
}

/* Returns the entry that a better candidate may take: a free one, or the worst. */
static struct evictCandidate *evictPoolWorst(void) {
    struct evictCandidate *worst = &pool[0];
    for (int i = 0; i < POOL_SIZE; i++) {
        if (!pool[i].key) return &pool[i];
        if (pool[i].score < worst->score) worst = &pool[i];
    }
    return worst;
}

static struct evictCandidate *evictPoolBest(void) {
    struct evictCandidate *best = NULL;
    for (int i = 0; i < POOL_SIZE; i++) {
        if (pool[i].key && (!best || pool[i].score > best->score)) best = &pool[i];
    }
    return best;
}

static bool evictPoolHas(const struct db *db, uint64_t hash) {
    for (int i = 0; i < POOL_SIZE; i++) {
        if (pool[i].key && pool[i].hash == hash && pool[i].dbid == db->id) return true;
    }
    return false;
}

static void evictPoolOffer(const struct db *db, const struct object *o) {
    struct evictCandidate *place = evictPoolWorst();
    uint64_t score = evictScoreOf(o);
    if (place->key && place->score >= score) return;
    struct str key = objectKey(o);
    uint64_t hash = keyHash(key);
    if (evictPoolHas(db, hash)) return;
    evictCandidateDrop(place);
    *place = (struct evictCandidate){.key = sdsnewstr(key), .dbid = db->id, .score = score, .hash = hash};
}

static size_t keys_to_choose; /* under LHD, in all databases, when the last samples were taken */

/* LHD: each key of a sample stands for as many keys of its database. */
static void evictLearn(const struct keyspace *ks, struct object **sample, size_t n) {
    size_t keys = evict_policy & OF_VOLATILE ? keyspaceExpiresSize(ks) : keyspaceSize(ks);
    for (size_t i = 0; i < n; i++) densityNoteSample(sample[i]->lru, (double)keys / (double)n);
    keys_to_choose += keys;
}

/* Offers a sample of every database. Returns false when there is no key to choose. */
static bool evictPoolFill(void) {
    struct object *sample[SAMPLES_MAX];
    bool any = false;
    keys_to_choose = 0;
    for (int i = 0; i < dbCount(); i++) {
        size_t n = keyspaceSample(&dbs[i].keyspace, evict_policy & OF_VOLATILE, sample, (size_t)samples);
        if (evict_policy & BY_LHD && n) evictLearn(&dbs[i].keyspace, sample, n);
        for (size_t j = 0; j < n; j++) evictPoolOffer(&dbs[i], sample[j]);
        any |= n > 0;
    }
    if (evict_policy & BY_LHD && any) densityNoteSampled();
    return any;
}

/* Returns the object of a candidate, if its score has not fallen. */
static struct object *evictCheckCandidate(const struct evictCandidate *c) {
    struct object *o = dbFind(&dbs[c->dbid], sdsview(c->key));
    if (!o || (evict_policy & OF_VOLATILE && !objectHasExpire(o))) return NULL;
    if (keyspaceHidesKey(&dbs[c->dbid].keyspace, sdsview(c->key))) return NULL;
    return evictScoreOf(o) >= c->score ? o : NULL;
}

/* A sample just taken has the scores that it had then, so this ends. */
static struct object *evictBestVictim(struct db **db) {
    while (evictPoolFill()) {
        struct evictCandidate *c;
        while ((c = evictPoolBest())) {
            struct object *o = evictCheckCandidate(c);
            *db = &dbs[c->dbid];
            evictCandidateDrop(c);
            if (o) return o;
        }
    }
    return NULL;
}

/* The databases take turns. */
static struct object *evictRandomVictim(struct db **db) {
    static int next_db;
    for (int i = 0; i < dbCount(); i++) {
        *db = &dbs[next_db++ % dbCount()];
        struct object *o = keyspaceAnyKey(&(*db)->keyspace, evict_policy & OF_VOLATILE);
        if (o) return o;
    }
    return NULL;
}

/* A primary into which another server copies its data keeps all keys: the other server decides what is
 * removed. */
static bool evictIsOff(void) {
    return evict_policy & NO_EVICTION || (import_mode && !roleIsReplica());
}

static struct object *evictFindVictim(struct db **db) {
    if (evictIsOff()) return NULL;
    return evict_policy & BY_CHANCE ? evictRandomVictim(db) : evictBestVictim(db);
}

/* ---- The limit ---- */

static size_t evictExemptBytes(void) {
    size_t sum = 0;
    for (int i = 0; i < exempt_count; i++) sum += exempt[i]();
    return sum;
}

/* The main thread unlinks faster than the other thread frees: if bytes on their way were not subtracted, one
 * large value too many would evict all keys. */
bool evictOverLimit(void) {
    size_t used = zmallocUsedMemory();
    if (used <= (size_t)maxmemory) return false;
    if (being_freed && !bioPending(BIO_LAZY_FREE)) being_freed = 0;
    size_t uncounted = evictExemptBytes() + being_freed;
    return used > uncounted && used - uncounted > (size_t)maxmemory;
}

static uint64_t evictTimeLimitUs(void) {
    if (tenacity == TENACITY_NO_END) return UINT64_MAX;
    if (tenacity <= TENACITY_DEFAULT) return (uint64_t)(tenacity * TENACITY_US / TENACITY_DEFAULT);
    return (uint64_t)(TENACITY_US * exp2((double)(tenacity - TENACITY_DEFAULT) / TENACITY_DOUBLE));
}

static uint64_t evictExceededNowUs(void) {
    return exceeded_since_us ? (uint64_t)(monotonicUs() - exceeded_since_us) : 0;
}

static void evictNoteExceeded(bool exceeded) {
    if (exceeded == (exceeded_since_us != 0)) return;
    exceeded_us += evictExceededNowUs();
    exceeded_since_us = exceeded ? monotonicUs() : 0;
}

static bool evictIsAllowed(void) {
    if (!maxmemory) return false;
    for (int i = 0; i < veto_count; i++) {
        if (vetoes[i]()) return false;
    }
    return true;
}

enum evictOutcome { BELOW, NOT_YET, CANNOT };

static void evictObject(struct db *db, struct object *o) {
    serverAssert(!evictIsOff() && (objectHasExpire(o) || !(evict_policy & OF_VOLATILE)));
    debugAssert(evictIsAllowed());
    if (lazyfree_lazy_eviction && objectHasPtr(o) && objectTypeOf(o)->freeEffort(o) > LAZYFREE_THRESHOLD) {
        being_freed += objectTypeOf(o)->memoryUsage(o, VALUE_SAMPLES);
    }
    int64_t started_us = latencyTimerStart();
    dbEvictKey(db, o);
    latencyTimerEnd("eviction-del", started_us);
    evicted_keys++;
    if (evict_policy & BY_LHD) densityNoteEviction(keys_to_choose);
}

/* Values that other commands have unlinked may still be waiting to be freed: waits for that before a
 * command is refused. */
static enum evictOutcome evictWaitForThread(uint64_t start, uint64_t limit_us) {
    if (evictIsOff()) return CANNOT;
    while (bioPending(BIO_LAZY_FREE) && (uint64_t)monotonicUs() - start < limit_us) {
        if (!evictOverLimit()) return BELOW;
        usleep(limit_us < THREAD_WAIT_US ? (useconds_t)limit_us : THREAD_WAIT_US);
    }
    return evictOverLimit() ? CANNOT : BELOW;
}

static enum evictOutcome evictUntilBelow(void) {
    if (!evictOverLimit()) return BELOW;
    uint64_t start = (uint64_t)monotonicUs(), limit_us = evictTimeLimitUs();
    for (unsigned keys = 1; evictOverLimit(); keys++) {
        struct db *db;
        struct object *o = evictFindVictim(&db);
        if (!o) return evictWaitForThread(start, limit_us);
        evictObject(db, o);
        if (keys % CLOCK_PERIOD == 0 && (uint64_t)monotonicUs() - start > limit_us) return NOT_YET;
    }
    return BELOW;
}

static int64_t evictTimer(struct aeEventLoop *el, int64_t id, void *data);

static enum evictOutcome evictRun(void) {
    if (!evictIsAllowed()) return BELOW;
    int64_t started_us = latencyTimerStart();
    enum evictOutcome outcome = evictUntilBelow();
    latencyTimerEnd("eviction-cycle", started_us);
    evictNoteExceeded(outcome != BELOW);
    if (outcome == NOT_YET && !timer_set) {
        timer_set = true;
        aeCreateTimeEvent(server_el, 0, evictTimer, NULL);
    }
    return outcome;
}

static int64_t evictTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    clockRefresh();
    timer_set = evictRun() == NOT_YET;
    return timer_set ? 0 : AE_NOMORE;
}

/* ---- Public API ---- */

bool evictNow(void) {
    out_of_memory = evictRun() == CANNOT;
    return !out_of_memory;
}

void evictOnLimitChange(void (*fn)(void)) {
    serverAssert(!limit_changed);
    limit_changed = fn;
}

size_t evictLimit(void) {
    return (size_t)maxmemory;
}

bool evictOutOfMemory(void) {
    return maxmemory && out_of_memory;
}

void evictExempt(size_t (*fn)(void)) {
    serverAssert(fn && exempt_count < HOOKS_MAX);
    exempt[exempt_count++] = fn;
}

void evictNoteBeingFreed(size_t bytes) {
    being_freed += bytes;
}

void evictAddVeto(bool (*fn)(void)) {
    serverAssert(fn && veto_count < HOOKS_MAX);
    vetoes[veto_count++] = fn;
}

static const char *evictPolicyName(void) {
    const struct configEnum *p = policies;
    while (p->value != evict_policy) p++;
    return p->name;
}

static sds evictMemoryFields(sds s) {
    char human[64];
    bytesToHuman(human, sizeof human, (uint64_t)maxmemory);
    s = infoField(s, "maxmemory:%lld", (long long)maxmemory);
    s = infoField(s, "maxmemory_human:%s", human);
    s = infoField(s, "maxmemory_policy:%s", evictPolicyName());
    return infoField(s, "mem_not_counted_for_evict:%zu", evictExemptBytes());
}

static sds evictStatsFields(sds s) {
    uint64_t now_us = evictExceededNowUs();
    s = infoField(s, "evicted_keys:%llu", (unsigned long long)evicted_keys);
    s = infoField(s, "total_eviction_exceeded_time:%llu", (unsigned long long)(exceeded_us + now_us) / 1000);
    return infoField(s, "current_eviction_exceeded_time:%llu", (unsigned long long)now_us / 1000);
}

static void evictResetStats(void) {
    evicted_keys = exceeded_us = 0;
    if (exceeded_since_us) exceeded_since_us = monotonicUs();
}

/* Marks a key as changed now, under LRM. */
static void evictMarkChange(struct client *c, struct db *db, struct str key) {
    (void)c;
    struct object *o = dbFind(db, key);
    if (o) objectSetMark(o, lruClock());
}

/* Scores of two policies cannot be compared. The marks on objects stay as they are and become right with
 * use. */
static bool evictPolicyChanged(const char **err) {
    (void)err;
    evictPoolForget();
    densityReset();
    notifySetMarker(evict_policy & BY_LRM ? evictMarkChange : NULL);
    return true;
}

/* The limit of a control group may change at any time; it is read again whenever maxmemory is set. */
static void evictReadLimit(void) {
    maxmemory = maxmemory_set >= 0 ? maxmemory_set : (int64_t)(usableMemory() / 100) * -maxmemory_set;
}

static sds evictLimitText(const struct configDirective *d) {
    (void)d;
    return sdsfromll(maxmemory);
}

static bool evictLimitChanged(const char **err) {
    (void)err;
    evictReadLimit();
    if (limit_changed) limit_changed();
    if (!maxmemory) evictNoteExceeded(false);
    if (!maxmemory || !evictOverLimit()) return true;
    serverLog(
        LL_WARNING,
        "maxmemory was set to %lld bytes, but %zu are in use. Keys are evicted or write commands refused, "
        "depending on maxmemory-policy.",
        (long long)maxmemory, zmallocUsedMemory());
    if (!timer_set) aeCreateTimeEvent(server_el, 0, evictTimer, NULL);
    timer_set = true;
    return true;
}

void evictInit(void) {
    static struct configDirective directives[] = {
        {.name = "maxmemory",
         .type = CONFIG_TYPE_INT,
         .flags = CONFIG_MODIFIABLE | CONFIG_MEMORY | CONFIG_PERCENT | CONFIG_VOLATILE,
         .var.i = &maxmemory_set,
         .min = -100,
         .max = INT64_MAX,
         .clamp_min = -100,
         .clamp_max = INT64_MAX, /* from 2^63 on: in effect unlimited */
         .get = evictLimitText,
         .apply = evictLimitChanged},
        CONFIG_ENUM("maxmemory-policy", NULL, CONFIG_MODIFIABLE, &evict_policy, NO_EVICTION, policies,
                    evictPolicyChanged),
        CONFIG_INT("maxmemory-samples", NULL, CONFIG_MODIFIABLE, &samples, 5, 1, SAMPLES_MAX, NULL),
        CONFIG_INT("maxmemory-eviction-tenacity", NULL, CONFIG_MODIFIABLE, &tenacity, TENACITY_DEFAULT, 0,
                   TENACITY_NO_END, NULL),
    };
    large_value_note_freeing = evictNoteBeingFreed;
    configRegister(directives, sizeof directives / sizeof *directives);
    evictMarksInit();
    infoRegister("memory", evictMemoryFields);
    infoRegister("stats", evictStatsFields);
    configOnResetStat(evictResetStats);
}

void evictStart(void) {
    const char *err;
    evictReadLimit();
    evictPolicyChanged(&err);
    if (limit_changed) limit_changed();
}
