/* SPDX-License-Identifier: BSD-3-Clause */
/* survey.c - see survey.h.
 *
 *     databases in order ──▶ keyspaceScan, a millisecond each tick ──▶ `now`; at the end it becomes `last`
 *
 * It only reads. It waits while a file is loaded, or while a command runs (a long script runs turns
 * of the loop). */
#include "web/survey.h"

#include "base/clock.h"
#include "command/call.h"
#include "data/keyspace/db.h"
#include "net/ae.h"
#include "web/watch.h"

#define TICK_MS      100
#define TICK_WORK_US 1000
#define PAUSE_MS     15000 /* pause between two surveys */
#define SAMPLES      5     /* elements of a value that are measured */
#define KEY_MAX      512   /* keys with longer names are not listed */

static struct survey now, last;
static bool have_last;
static int at_db;
static uint64_t cursor;
static int64_t pause_until_ms;
static struct watch watch;

static void surveyFree(struct survey *s) {
    for (int i = 0; i < SURVEY_LARGEST; i++) sdsfree(s->largest[i].key);
    *s = (struct survey){0};
}

/* ---- A key ---- */

static void surveyAddLargest(const struct object *o, uint64_t bytes) {
    struct surveyKey *at = now.largest;
    struct str key = objectKey(o);
    int i = SURVEY_LARGEST - 1;
    if ((at[i].key && at[i].bytes >= bytes) || key.len > KEY_MAX) return;
    sdsfree(at[i].key);
    for (; i > 0 && (!at[i - 1].key || at[i - 1].bytes < bytes); i--) at[i] = at[i - 1];
    at[i] = (struct surveyKey){sdsnewstr(key), at_db, (int)o->type, bytes};
}

static void surveyAddKey(void *priv, void *entry) {
    (void)priv;
    const struct object *o = entry;
    struct surveyType *type = &now.types[o->type];
    uint64_t bytes = objectAllocSize(o) + objectTypeOf(o)->memoryUsage(o, SAMPLES);
    int size = bytes ? 63 - __builtin_clzll(bytes) : 0;
    type->sizes[size < SURVEY_SIZES ? size : SURVEY_SIZES - 1]++;
    type->keys++;
    type->bytes += bytes;
    now.keys++;
    surveyAddLargest(o, bytes);
}

/* ---- The scan ---- */

static void surveyFinish(int64_t now_ms) {
    surveyFree(&last);
    last = now;
    last.whole = true;
    have_last = true;
    now = (struct survey){0};
    at_db = 0;
    pause_until_ms = now_ms + PAUSE_MS;
}

static void surveyContinue(void) {
    int64_t start = monotonicUs();
    if (db_loading || call_running || start / 1000 < pause_until_ms) return;
    while (monotonicUs() - start < TICK_WORK_US) {
        cursor = keyspaceScan(&dbGet(at_db)->keyspace, cursor, SLOTS_SHOWN, surveyAddKey, NULL);
        if (cursor == 0 && ++at_db == dbCount()) {
            surveyFinish(start / 1000);
            return;
        }
    }
}

static void surveyStop(void) {
    surveyFree(&now);
    surveyFree(&last);
    have_last = false;
    at_db = 0;
    cursor = 0;
    pause_until_ms = 0;
}

void surveyInit(void) {
    watch = (struct watch){.period_ms = TICK_MS, .tick = surveyContinue, .stop = surveyStop};
}

void surveyWatch(void) {
    watchKeepRunning(&watch);
}

const struct survey *surveyCurrent(void) {
    return have_last ? &last : &now;
}
