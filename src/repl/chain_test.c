/* SPDX-License-Identifier: BSD-3-Clause */
/* chain_test.c - compares the chain with a model. The bytes follow from their positions, so that the model
 * only has to know where the chain begins and ends, and where its readers are. */
#include "repl/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"

#define READERS   5
#define PIECES    4
#define PIECE_MAX (40 * 1024)
#define KEEP_MAX  (300 * 1024)
#define VIEW_MAX  8
#define CYCLE     65521 /* number of bytes after which they repeat */

static char bytes[CYCLE + PIECES * PIECE_MAX];

static void fillBytes(void) {
    for (size_t i = 0; i < sizeof bytes; i++) {
        uint32_t at = (uint32_t)(i % CYCLE);
        bytes[i] = (char)((at * 2654435761u) >> 24);
    }
}

static const char *chainTestBytesAt(uint64_t position) {
    return bytes + position % CYCLE;
}

struct chainModel {
    struct chain chain;
    struct chainReader readers[READERS];
    bool reads[READERS];
};

static size_t chainTestStanding(const struct chainModel *m) {
    size_t n = 0;
    for (int i = 0; i < READERS; i++) n += m->reads[i];
    return n;
}

/* Returns mostly small lengths, like those of commands. */
static size_t pickLength(void) {
    switch (randomBelow(8)) {
    case 0: return randomBelow(PIECE_MAX);
    case 1: return 0;
    default: return randomBelow(200);
    }
}

static void chainTestAppend(struct chainModel *m) {
    struct str pieces[PIECES];
    int count = 1 + (int)randomBelow(PIECES);
    uint64_t end = m->chain.end;
    size_t blocks = m->chain.blocks;
    for (int i = 0; i < count; i++) {
        pieces[i] = strN(chainTestBytesAt(end), pickLength());
        end += pieces[i].len;
    }
    bool added = chainAppend(&m->chain, pieces, count);
    assert_int_equal(added, m->chain.blocks != blocks);
    assert_int_equal(m->chain.end, end);
}

/* Checks that a reader sees the next bytes, and all of them when they are in few enough blocks. */
static void checkView(struct chainModel *m, int i) {
    struct iovec iov[VIEW_MAX];
    struct chainReader *r = &m->readers[i];
    uint64_t at = r->at;
    int count = chainReaderView(r, &m->chain, iov, VIEW_MAX);
    for (int k = 0; k < count; k++) {
        assert_true(iov[k].iov_len > 0);
        for (size_t done = 0; done < iov[k].iov_len;) {
            size_t n = iov[k].iov_len - done < CYCLE ? iov[k].iov_len - done : CYCLE;
            assert_memory_equal((char *)iov[k].iov_base + done, chainTestBytesAt(at), n);
            done += n;
            at += n;
        }
    }
    if (count < VIEW_MAX) assert_int_equal(at, m->chain.end);
    assert_int_equal(chainReaderPending(r, &m->chain), m->chain.end - r->at);
}

static void chainTestReadSome(struct chainModel *m, int i) {
    struct chainReader *r = &m->readers[i];
    if (!m->reads[i]) return;
    checkView(m, i);
    uint64_t pending = chainReaderPending(r, &m->chain), at = r->at;
    size_t n = randomBelow(3) ? randomBelow(pending + 1) : pending;
    chainReaderAdvance(r, &m->chain, n);
    assert_int_equal(r->at, at + n);
    checkView(m, i);
}

static void chainTestStart(struct chainModel *m, int i) {
    if (m->reads[i]) return;
    uint64_t span = m->chain.end - m->chain.start;
    uint64_t at = m->chain.start + randomBelow(span + 20) - randomBelow(20);
    bool kept = at >= m->chain.start && at <= m->chain.end;
    m->reads[i] = chainReaderStart(&m->readers[i], &m->chain, at);
    assert_int_equal(m->reads[i], kept);
    if (kept) checkView(m, i);
}

static void chainTestStop(struct chainModel *m, int i) {
    chainReaderStop(&m->readers[i]);
    chainReaderStop(&m->readers[i]);
    m->reads[i] = false;
}

/* Checks that nothing wanted or needed by a reader is freed, and all else except a block at each end. */
static void chainTestTrim(struct chainModel *m) {
    struct chain *c = &m->chain;
    uint64_t start = c->start, wanted = c->end - start < c->keep ? start : c->end - c->keep;
    size_t largest = c->keep / 64 > CHAIN_BLOCK_MIN ? c->keep / 64 : CHAIN_BLOCK_MIN;
    bool all = randomBelow(2);
    chainTrim(c, all ? 1000000 : 1);
    assert_true(c->start >= start && c->start <= wanted);
    for (int i = 0; i < READERS; i++) assert_true(!m->reads[i] || m->readers[i].at >= c->start);
    if (all && !chainTestStanding(m) && c->blocks > 1)
        assert_true(c->end - c->start <= c->keep + 8 * largest);
}

static void chainTestRestart(struct chainModel *m) {
    if (chainTestStanding(m)) return;
    uint64_t at = randomBelow(1000000);
    chainRestart(&m->chain, at);
    assert_int_equal(m->chain.start, at);
    assert_int_equal(m->chain.end, at);
    assert_int_equal(m->chain.memory, 0);
}

static void chainTestCheckMemory(const struct chainModel *m) {
    for (int i = 0; i < READERS; i++) {
        if (!m->reads[i]) continue;
        size_t needs = chainReaderMemory(&m->readers[i], &m->chain);
        assert_true(needs >= chainReaderPending(&m->readers[i], &m->chain));
        assert_true(needs <= m->chain.memory);
        assert_int_equal(needs == m->chain.memory, chainReaderBlocks(&m->readers[i]) == m->chain.blocks);
    }
    size_t beyond = chainMemoryBeyondHistory(&m->chain);
    assert_true(m->chain.memory - beyond <= m->chain.keep || !beyond);
}

static void chainTestModel(void **state) {
    (void)state;
    static struct chainModel m;
    size_t before = zmallocUsedMemory();
    fillBytes();
    chainInit(&m.chain, 64 * 1024);
    for (uint64_t ops = modelShare(300000); ops; ops--) {
        int i = (int)randomBelow(READERS);
        switch (randomBelow(20)) {
        case 0: chainTestStart(&m, i); break;
        case 1: chainTestStop(&m, i); break;
        case 2:
        case 3: chainTestTrim(&m); break;
        case 4: m.chain.keep = randomBelow(50) ? m.chain.keep : 16 * 1024 + randomBelow(KEEP_MAX); break;
        case 5: randomBelow(100) ? chainTestTrim(&m) : chainTestRestart(&m); break;
        case 6:
        case 7:
        case 8:
        case 9: chainTestReadSome(&m, i); break;
        default: chainTestAppend(&m);
        }
        assert_true(chainCheck(&m.chain, chainTestStanding(&m)));
        chainTestCheckMemory(&m);
    }
    for (int i = 0; i < READERS; i++) chainTestStop(&m, i);
    chainRestart(&m.chain, 0);
    assert_int_equal(zmallocUsedMemory(), before);
}

/* A reader that does not advance keeps what it needs, once; when it stops, that is freed in time. */
static void testSlowReader(void **state) {
    (void)state;
    struct chain c;
    struct chainReader slow, fast;
    static char piece[1000];
    struct str text = strN(piece, sizeof piece);
    chainInit(&c, 100 * 1000);
    assert_false(chainAppend(&c, &(struct str){piece, 0}, 1)); /* an empty piece before there is a block */
    assert_true(chainReaderStart(&slow, &c, 0));
    assert_true(chainReaderStart(&fast, &c, 0));
    for (int i = 0; i < 10000; i++) {
        if (chainAppend(&c, &text, 1)) chainTrim(&c, 64);
        chainReaderAdvance(&fast, &c, sizeof piece);
    }
    assert_true(chainCheck(&c, 2));
    assert_int_equal(c.start, 0);
    assert_int_equal(chainReaderMemory(&slow, &c), c.memory);
    assert_true(c.memory < 10000 * sizeof piece * 105 / 100);
    assert_true(chainReaderMemory(&fast, &c) < 32 * 1024);
    assert_int_equal(chainMemoryBeyondHistory(&c), c.memory - c.keep);
    chainReaderStop(&slow);
    size_t blocks = c.blocks;
    chainTrim(&c, 7);
    assert_int_equal(c.blocks, blocks - 7);
    chainTrim(&c, 1000000);
    assert_true(c.memory <= c.keep + 64 * 1024);
    chainReaderStop(&fast);
    chainRestart(&c, 0);
}

/* A large history takes little more memory than its bytes, with large commands, too. */
static void testOverhead(void **state) {
    (void)state;
    struct chain c;
    size_t keep = 20 << 20;
    char *big = zcalloc(1, 300000);
    chainInit(&c, keep);
    for (int i = 0; i < 4000; i++) {
        struct str text = strN(big, i % 3 ? 300000 - (size_t)i : 100);
        if (chainAppend(&c, &text, 1)) chainTrim(&c, 64);
        assert_true(c.memory <= keep + keep / 20);
    }
    assert_true(c.end - c.start >= keep);
    chainRestart(&c, 0);
    zfree(big);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chainTestModel),
        cmocka_unit_test(testSlowReader),
        cmocka_unit_test(testOverhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
