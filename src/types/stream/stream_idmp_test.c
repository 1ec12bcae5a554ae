/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_idmp_test.c - idempotence records against an array of all of them, with a clock of the test's own;
 * automatic ids against those of Redis 8.6.3. */
#include "types/stream/stream_idmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/sds.h"
#include "base/zmalloc.h"

#define MODEL_MAX 4000
#define PIDS      12
#define IIDS      300

/* ---- The model: records in the order in which they were added ---- */

struct idmpModel {
    struct idmpModelRecord {
        unsigned pid, iid;
        struct streamID entry;
    } r[MODEL_MAX];
    size_t n;
    int64_t duration_s, maxsize, now_ms;
    uint64_t added;
    struct streamID last;
};

static void idmpModelRemoveAt(struct idmpModel *m, size_t at) {
    memmove(m->r + at, m->r + at + 1, (m->n - at - 1) * sizeof *m->r);
    m->n--;
}

/* Returns the place of a record, or m->n. */
static size_t idmpModelFind(const struct idmpModel *m, unsigned pid, unsigned iid) {
    size_t i = 0;
    while (i < m->n && (m->r[i].pid != pid || m->r[i].iid != iid)) i++;
    return i;
}

static size_t idmpModelCount(const struct idmpModel *m, unsigned pid) {
    size_t count = 0;
    for (size_t i = 0; i < m->n; i++) count += m->r[i].pid == pid;
    return count;
}

static bool idmpModelIsExpired(const struct idmpModel *m, size_t at) {
    return (int64_t)m->r[at].entry.ms <= m->now_ms - m->duration_s * 1000;
}

static void idmpModelAdd(struct idmpModel *m, unsigned pid, unsigned iid, struct streamID entry) {
    m->r[m->n++] = (struct idmpModelRecord){pid, iid, entry};
    m->added++;
    size_t oldest = 0;
    if (idmpModelCount(m, pid) <= (size_t)m->maxsize) return;
    while (m->r[oldest].pid != pid) oldest++;
    idmpModelRemoveAt(m, oldest);
}

/* ---- Names ---- */

/* Ids are of all lengths; some are binary. */
static struct str idmpTestName(char kind, unsigned number, char *text) {
    size_t len = (size_t)sprintf(text, "%c%c%u", kind, 0, number);
    for (unsigned i = 0; i < number % 7 * 9; i++) text[len++] = 'x';
    return strN(text + (number % 3 ? 0 : 2), len - (number % 3 ? 0 : 2));
}

struct idmpTestNames {
    char pid_text[100], iid_text[100];
    struct str pid, iid;
};

static void idmpTestSetNames(struct idmpTestNames *t, unsigned pid, unsigned iid) {
    t->pid = idmpTestName('p', pid, t->pid_text);
    t->iid = idmpTestName('i', iid, t->iid_text);
}

/* ---- Checks ---- */

static void idmpTestCheckProducers(struct idmpStream *x, const struct idmpModel *m) {
    size_t producers = 0;
    for (unsigned pid = 0; pid < PIDS; pid++) {
        struct idmpTestNames t;
        size_t count = idmpModelCount(m, pid), seen = 0;
        idmpTestSetNames(&t, pid, 0);
        struct idmpProducer *p = hashtableFind(&x->producers, t.pid);
        assert_int_equal(p != NULL, count > 0);
        producers += count > 0;
        if (!p) continue;
        assert_int_equal(p->count, count);
        if (p->records) assert_int_equal(hashtableSize(p->records), count);
        for (struct idmpRecord *r = p->oldest; r; r = r->next, seen++) {
            assert_ptr_equal(r->producer, p);
            if (!r->next) assert_ptr_equal(p->newest, r);
        }
        assert_int_equal(seen, count);
    }
    assert_int_equal(idmpProducers(x), producers);
    hashtableVerify(&x->producers);
}

static void idmpTestCheck(struct idmpStream *x, const struct idmpModel *m) {
    struct idmpRecord *r = x->oldest, *older = NULL;
    assert_int_equal(x->count, m->n);
    assert_int_equal(x->added, m->added);
    for (size_t i = 0; i < m->n; i++, older = r, r = r->newer) {
        struct idmpTestNames t;
        idmpTestSetNames(&t, m->r[i].pid, m->r[i].iid);
        assert_non_null(r);
        assert_ptr_equal(r->older, older);
        assert_true(strEq(idmpIid(r), t.iid) && strEq(idmpName(r->producer), t.pid));
        assert_int_equal(streamIDCompare(r->entry, m->r[i].entry), 0);
        assert_ptr_equal(idmpFind(x, t.pid, t.iid), r);
        assert_int_equal(idmpIsExpired(x, r, m->now_ms), idmpModelIsExpired(m, i));
    }
    assert_null(r);
    assert_ptr_equal(x->newest, older);
    idmpTestCheckProducers(x, m);
}

/* ---- Steps ---- */

/* Every 20th record is of an older entry, as XIDMPRECORD adds them. */
static void idmpTestAdd(struct idmpStream *x, struct idmpModel *m, unsigned pid, unsigned iid) {
    struct idmpTestNames t;
    idmpTestSetNames(&t, pid, iid);
    size_t at = idmpModelFind(m, pid, iid);
    struct idmpRecord *r = idmpFind(x, t.pid, t.iid);
    assert_int_equal(r != NULL, at < m->n);
    if (r) {
        assert_int_equal(streamIDCompare(r->entry, m->r[at].entry), 0);
        return;
    }
    if (m->n == MODEL_MAX - 1) return;
    m->last = (struct streamID){(uint64_t)m->now_ms, m->last.seq + 1};
    struct streamID entry = m->last;
    if (!randomBelow(20)) entry.ms -= randomBelow(5000);
    idmpAdd(x, t.pid, t.iid, entry);
    idmpModelAdd(m, pid, iid, entry);
}

static void idmpTestRemove(struct idmpStream *x, struct idmpModel *m, unsigned pid, unsigned iid) {
    struct idmpTestNames t;
    idmpTestSetNames(&t, pid, iid);
    struct idmpRecord *r = idmpFind(x, t.pid, t.iid);
    if (!r) return;
    idmpRemove(x, r);
    idmpModelRemoveAt(m, idmpModelFind(m, pid, iid));
}

static void idmpTestExpire(struct idmpStream *x, struct idmpModel *m) {
    size_t limit = randomBelow(2) ? SIZE_MAX : randomBelow(5), n = 0;
    m->now_ms += (int64_t)randomBelow(randomBelow(20) ? 100 : 20000);
    for (; n < limit && m->n && idmpModelIsExpired(m, 0); n++) idmpModelRemoveAt(m, 0);
    assert_int_equal(idmpExpire(x, m->now_ms, limit), n);
}

static void idmpTestFindValid(struct idmpStream *x, struct idmpModel *m, unsigned pid, unsigned iid) {
    struct idmpTestNames t;
    idmpTestSetNames(&t, pid, iid);
    size_t at = idmpModelFind(m, pid, iid);
    bool expired = at < m->n && idmpModelIsExpired(m, at);
    struct idmpRecord *r = idmpFind(x, t.pid, t.iid);
    assert_ptr_equal(idmpFindValid(x, t.pid, t.iid, m->now_ms), expired ? NULL : r);
    if (!expired) return;
    for (size_t i = 0; i < m->n && (m->r[i].pid != pid || idmpModelIsExpired(m, i));) {
        bool own = m->r[i].pid == pid, last = own && m->r[i].iid == iid;
        if (own)
            idmpModelRemoveAt(m, i);
        else
            i++;
        if (last) return;
    }
    idmpModelRemoveAt(m, idmpModelFind(m, pid, iid));
}

static void idmpTestConfigure(struct idmpStream *x, struct idmpModel *m) {
    int64_t duration_s = randomBelow(3) ? m->duration_s : 1 + (int64_t)randomBelow(20),
            maxsize = randomBelow(3) ? m->maxsize : 1 + (int64_t)randomBelow(200);
    bool changed = duration_s != m->duration_s || maxsize != m->maxsize;
    assert_int_equal(idmpConfigure(x, duration_s, maxsize), changed);
    m->duration_s = duration_s;
    m->maxsize = maxsize;
    if (changed) m->n = 0;
}

/* Puts the model in the order of IDs, stable; none are equal. */
static void idmpTestSort(struct idmpStream *x, struct idmpModel *m) {
    idmpSort(x);
    for (size_t i = 1; i < m->n; i++) {
        struct idmpModelRecord r = m->r[i];
        size_t to = i;
        for (; to && streamIDCompare(m->r[to - 1].entry, r.entry) > 0; to--) m->r[to] = m->r[to - 1];
        m->r[to] = r;
    }
}

static void *idmpTestMoveTo(void *priv, void *ptr) {
    (void)priv;
    if (randomBelow(4) == 0) return NULL;
    size_t size = zmallocSize(ptr);
    void *copy = zmallocAligned(64, (size + 63) / 64 * 64);
    memcpy(copy, ptr, size);
    zfree(ptr);
    return copy;
}

static void idmpTestMoveAll(struct idmpStream *x) {
    uint64_t cursor = 0;
    do cursor = idmpMove(x, cursor, idmpTestMoveTo, NULL);
    while (cursor);
}

static struct idmpStream *idmpTestReplaceByCopy(struct idmpStream *x) {
    struct idmpStream *copy = idmpDup(x);
    idmpFreeRecords(x);
    streamFree(&x->stream);
    return copy;
}

static struct idmpStream *idmpTestStep(struct idmpStream *x, struct idmpModel *m) {
    unsigned pid = (unsigned)(randomBelow(3) ? randomBelow(3) : randomBelow(PIDS)),
             iid = (unsigned)randomBelow(IIDS), step = (unsigned)randomBelow(2000);
    if (step < 1700)
        idmpTestAdd(x, m, pid, iid);
    else if (step < 1850)
        idmpTestExpire(x, m);
    else if (step < 1920)
        idmpTestFindValid(x, m, pid, iid);
    else if (step < 1980)
        idmpTestRemove(x, m, pid, iid);
    else if (step < 1984)
        idmpTestConfigure(x, m);
    else if (step < 1988)
        idmpTestSort(x, m);
    else if (step < 1994)
        idmpTestMoveAll(x);
    else
        x = idmpTestReplaceByCopy(x);
    return x;
}

static void recordsAreThoseOfTheModel(void **state) {
    (void)state;
    static struct idmpModel m;
    idmp_duration_s = m.duration_s = 10;
    idmp_maxsize = m.maxsize = 100;
    m.now_ms = 1000000;
    struct idmpStream *x = idmpFromPlain(streamNew());
    for (uint64_t left = modelShare(300000); left; left--) {
        x = idmpTestStep(x, &m);
        if (left % 200 == 0) idmpTestCheck(x, &m);
    }
    idmpFreeRecords(x);
    streamFree(&x->stream);
}

static void aStreamWithoutRecordsBecomesPlainAgain(void **state) {
    (void)state;
    struct str pair[] = {STR("f"), STR("v")};
    struct stream *s = streamNew();
    streamAppend(s, (struct streamID){1, 1}, pair, 1);
    struct idmpStream *x = idmpFromPlain(s);
    assert_false(idmpHasState(x));
    idmpAdd(x, STR("p"), STR("i"), (struct streamID){1, 1});
    assert_true(idmpHasState(x));
    assert_int_equal(idmpExpire(x, 1 + idmp_duration_s * 1000 - 1, 9), 0);
    assert_int_equal(idmpExpire(x, 1 + idmp_duration_s * 1000, 9), 1);
    s = idmpToPlain(x);
    assert_int_equal(s->length, 1);
    assert_true(streamExists(s, (struct streamID){1, 1}));
    streamFree(s);
}

/* An entry may be later than the clock, and the clock may be before 1970. */
static void timesDoNotOverflow(void **state) {
    (void)state;
    struct idmpStream *x = idmpFromPlain(streamNew());
    idmpAdd(x, STR("p"), STR("i"), (struct streamID){UINT64_MAX, 0});
    assert_int_equal(idmpExpire(x, INT64_MAX, 9), 0);
    idmpRemove(x, x->oldest);
    idmpAdd(x, STR("p"), STR("i"), (struct streamID){0, 0});
    assert_int_equal(idmpExpire(x, -5, 9), 0);
    assert_int_equal(idmpExpire(x, INT64_MAX, 9), 1);
    idmpFreeRecords(x);
    streamFree(&x->stream);
}

static void automaticIdsAreThoseOfRedis(void **state) {
    (void)state;
    static const struct {
        const char *words[6], *id;
    } known[] = {
        {{"f", "v"}, "6e95729ee727f0814aedffba55730079"},
        {{"a", "1", "b", "2"}, "c5b282935f77a53123e1ff7a302a11f2"},
        {{"b", "2", "a", "1"}, "c5b282935f77a53123e1ff7a302a11f2"},
        {{"a", "1", "a", "1"}, "7cd8847868842eaf3c2706c3f301a55b"},
        {{"a", "1", "a", "1", "a", "1"}, "8763c1776fc7605da6e20ddc850659a6"},
        {{"ab", "c"}, "16a40e6f34744cb4db57cd2b7d195a72"},
        {{"a", "bc"}, "cd716045a670276ba36d448ef5da2ace"},
        {{"", ""}, "1a9f7ebbaea1d61d30b6b8daa3e38da7"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct str pairs[6];
        size_t words = 0;
        for (; words < 6 && known[i].words[words]; words++) pairs[words] = strOf(known[i].words[words]);
        char id[IDMP_AUTO_BYTES], hex[2 * IDMP_AUTO_BYTES + 1];
        idmpAutoIid(pairs, words / 2, id);
        for (size_t b = 0; b < sizeof id; b++) sprintf(hex + 2 * b, "%02x", (unsigned char)id[b]);
        assert_string_equal(hex, known[i].id);
    }
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordsAreThoseOfTheModel),
        cmocka_unit_test(aStreamWithoutRecordsBecomesPlainAgain),
        cmocka_unit_test(timesDoNotOverflow),
        cmocka_unit_test(automaticIdsAreThoseOfRedis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
