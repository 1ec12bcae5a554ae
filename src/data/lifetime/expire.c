/* SPDX-License-Identifier: BSD-3-Clause */
/* expire.c - active expiry: deletes keys that have expired although no command looks them up.
 * Part of data/keyspace/db.h.
 *
 * Each cycle walks the table of keys with an expiry by a scan cursor, a few buckets at a time. It continues
 * in a database while the share of expired keys it meets stays above a tenth and the time budget lasts. The
 * slow cycle may use a quarter of the time, in slices of two milliseconds: cron starts the first, and when it
 * runs out of time a timer starts the others. The fast cycle (before sleep) may use one millisecond of two,
 * and only after a slow cycle that ran out of time. These are the figures of effort 1; `active-expire-effort`
 * up to 10 looks at more keys, for longer, and stops at a smaller share.
 *
 * A deletion counts as a change, so that save points notice it. It does not when a command finds the expired
 * key, since a command that counts changes is propagated.
 *
 * Invariant: a key is deleted only when its own expiry is past (dbExpireKey asserts it), and none while
 * expired keys are kept (asserted below). */
#include "base/assert.h"
#include "base/clock.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "net/ae.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/latency.h"

/* The figures at effort 1, and what each further step of effort adds. */
#define CYCLE_SHARE_PERCENT (25 + 2 * (effort - 1))
#define SLICE_US            2000
#define PAUSE_MS            (SLICE_US * (100 - CYCLE_SHARE_PERCENT) / CYCLE_SHARE_PERCENT / 1000)
#define FAST_BUDGET_US      (1000 + 250 * (effort - 1))
#define SAMPLE_KEYS         (20 + 5 * (uint64_t)(effort - 1))
#define ACCEPTED_STALE      (0.10 - 0.01 * (double)(effort - 1))
#define SAMPLE_SCANS        100 /* limits a walk through empty stretches of a sparse table */

static int64_t effort; /* 1 to 10 */
bool active_expire_enabled = true;
static bool timed_out, timer_set;

struct sample {
    struct db *db;
    uint64_t looked, expired;
    double ttl_sum; /* a double, as times may be as far away as an int64 reaches */
    int64_t ttl_count;
};

static void expireSampleKey(void *priv, void *entry) {
    struct sample *s = priv;
    struct object *o = entry;
    s->looked++;
    int64_t ttl = objectExpire(o) - cmd_time_ms;
    if (ttl < 0) {
        if (dbExpireKey(s->db, o)) {
            dbstats.expired_actively++;
            changesCount(1);
        }
        s->expired++;
    } else {
        s->ttl_sum += (double)ttl;
        s->ttl_count++;
    }
}

/* Takes one sample of a database; returns the share of expired keys in it. */
static double expireSampleDb(struct db *db, struct sample *total) {
    struct sample s = {.db = db};
    debugAssert(!dbKeepsExpired());
    int wrapped = 0;
    for (int i = 0; i < SAMPLE_SCANS && s.looked < SAMPLE_KEYS; i++) {
        if (!keyspaceScanExpires(&db->keyspace, expireSampleKey, &s) && wrapped++) break;
    }
    if (s.ttl_count) {
        int64_t avg = (int64_t)(s.ttl_sum / (double)s.ttl_count);
        keyspaceNoteTtl(&db->keyspace, avg);
    }
    total->looked += s.looked;
    total->expired += s.expired;
    return s.looked ? (double)s.expired / (double)s.looked : 0;
}

/* Deletes expired keys within a time budget; called from cron (slow) and before sleep (fast). */
static void expireRunCycle(bool fast) {
    static int next_db;
    static int64_t fast_from; /* time before which no fast cycle runs */
    if (fast && !timed_out) return;
    int64_t start = monotonicUs();
    if (fast && start < fast_from) return;
    timed_out = false;
    if (!active_expire_enabled || dbKeepsExpired()) return;
    int64_t share = 10000 * CYCLE_SHARE_PERCENT / server_hz;
    int64_t budget = fast ? FAST_BUDGET_US : share < SLICE_US ? share : SLICE_US;
    struct sample total = {0};
    for (int i = 0; i < dbCount() && !timed_out; i++) {
        struct db *db = &dbs[next_db];
        next_db = (next_db + 1) % dbCount();
        if (!keyspaceShownExpires(&db->keyspace)) {
            keyspaceNoteTtl(&db->keyspace, 0);
            continue;
        }
        while (expireSampleDb(db, &total) > ACCEPTED_STALE && keyspaceShownExpires(&db->keyspace)) {
            if (monotonicUs() - start > budget) {
                timed_out = true;
                dbstats.expired_time_cap++;
                break;
            }
        }
    }
    double stale = total.looked ? (double)total.expired / (double)total.looked : 0;
    dbstats.expired_stale_perc = stale * 0.05 + dbstats.expired_stale_perc * 0.95;
    int64_t took_us = monotonicUs() - start;
    dbstats.expire_cycle_us += (uint64_t)took_us;
    if (fast) fast_from = start + 2 * FAST_BUDGET_US;
    latencyAddSampleIfNeeded("expire-cycle", took_us / 1000);
}

static int64_t expireTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    clockRefresh();
    expireRunCycle(false);
    timer_set = timed_out;
    return timed_out ? PAUSE_MS : AE_NOMORE;
}

static void expireCron(void) {
    if (timer_set) return;
    expireRunCycle(false);
    if (!timed_out) return;
    timer_set = true;
    aeCreateTimeEvent(server_el, PAUSE_MS, expireTimer, NULL);
}
static void expireBeforeSleep(void) {
    expireRunCycle(true);
}

void expireInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("active-expire-effort", NULL, CONFIG_MODIFIABLE, &effort, 1, 1, 10, NULL),
    };
    configRegister(directives, 1);
    cronRegister(expireCron, 0);
    beforeSleepRegister(expireBeforeSleep);
}
