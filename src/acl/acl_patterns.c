/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_patterns.c - see acl_patterns.h.
 *
 *     "app:*" "app:x:*" "queue" "[ab]?*"     -->   names     queue               sorted
 *                                                  begins    app:                sorted, none begins another
 *                                                  globs     [ab]?*
 *
 * A prefix that begins with a shorter one is left out. So if a prefix matches a name, it is the last one that
 * is not greater than the name: any text between the two would begin with that prefix. */
#include "acl/acl_patterns.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/zmalloc.h"

struct sortedTexts {
    struct str *texts;
    /* The first 8 bytes of each as a number: they compare as the texts do, except for ties. */
    uint64_t *heads;
    int count;
};

struct aclMatcher {
    struct sortedTexts names, begins;
    struct str *globs; /* views of the patterns' texts; the arrays lie behind this struct */
    int glob_count, last_begin;
};

/* ---- Sorted texts ---- */

static int aclPatternsCompare(const void *a, const void *b) {
    return strCmp(*(const struct str *)a, *(const struct str *)b);
}

static uint64_t aclPatternsHeadOf(struct str s) {
    uint64_t head = 0;
    if (s.len >= sizeof head)
        memcpy(&head, s.ptr, sizeof head);
    else
        for (size_t i = s.len; i > 0; i--) head = head << 8 | (unsigned char)s.ptr[i - 1];
    return __builtin_bswap64(head);
}

static void aclPatternsSort(struct sortedTexts *t) {
    qsort(t->texts, (size_t)t->count, sizeof *t->texts, aclPatternsCompare);
    for (int i = 0; i < t->count; i++) t->heads[i] = aclPatternsHeadOf(t->texts[i]);
}

/* Returns how many heads are not greater. It has no branches that could be mispredicted. */
static int aclPatternsHeadsUpTo(const struct sortedTexts *t, uint64_t head) {
    const uint64_t *base = t->heads;
    int n = t->count;
    while (n > 1) {
        int half = n / 2;
        base += base[half - 1] <= head ? half : 0;
        n -= half;
    }
    return (int)(base - t->heads) + (n && *base <= head);
}

/* Returns the index of the last text that is not greater than s; -1 when all are greater. */
static int aclPatternsLastUpTo(const struct sortedTexts *t, struct str s, uint64_t head) {
    int high = aclPatternsHeadsUpTo(t, head);
    if (!high || t->heads[high - 1] != head) return high - 1;
    int low = head ? aclPatternsHeadsUpTo(t, head - 1) : 0;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strCmp(t->texts[middle], s) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high - 1;
}

/* ---- Building a matcher ---- */

static void aclPatternsDropCovered(struct sortedTexts *t) {
    int kept = 0;
    for (int i = 0; i < t->count; i++) {
        if (kept && strStarts(t->texts[i], t->texts[kept - 1])) continue;
        t->heads[kept] = t->heads[i];
        t->texts[kept++] = t->texts[i];
    }
    t->count = kept;
}

static void aclPatternsPlace(struct aclMatcher *m, struct str text) {
    size_t plain = 0;
    while (plain < text.len && !memchr("*?[\\", text.ptr[plain], 4)) plain++;
    if (plain == text.len)
        m->names.texts[m->names.count++] = text;
    else if (plain == text.len - 1 && text.ptr[plain] == '*')
        m->begins.texts[m->begins.count++] = strN(text.ptr, plain);
    else
        m->globs[m->glob_count++] = text;
}

static struct aclMatcher *aclPatternsMatcherCreate(const struct aclPatterns *p, unsigned access) {
    size_t each = (size_t)p->count;
    struct aclMatcher *m = zcalloc(1, sizeof *m + each * (3 * sizeof(struct str) + 2 * sizeof(uint64_t)));
    m->names.texts = (struct str *)(m + 1);
    m->begins.texts = m->names.texts + each;
    m->globs = m->begins.texts + each;
    m->names.heads = (uint64_t *)(m->globs + each);
    m->begins.heads = m->names.heads + each;
    for (int i = 0; i < p->count; i++) {
        if ((p->items[i].access & access) == access) aclPatternsPlace(m, sdsview(p->items[i].text));
    }
    aclPatternsSort(&m->names);
    aclPatternsSort(&m->begins);
    aclPatternsDropCovered(&m->begins);
    return m;
}

static void aclPatternsForgetMatchers(struct aclPatterns *p) {
    for (int i = 0; i <= ACL_PATTERN_ALL; i++) {
        zfree(p->matchers[i]);
        p->matchers[i] = NULL;
    }
}

/* ---- Matching ---- */

/* Most prefixes are so short that comparing heads is enough. */
static inline bool aclPatternsBeginFits(const struct sortedTexts *begins, int i, struct str name,
                                        uint64_t head) {
    struct str begin = begins->texts[i];
    uint64_t mask = begin.len < sizeof head ? ~(UINT64_MAX >> (8 * begin.len)) : UINT64_MAX;
    if ((begins->heads[i] ^ head) & mask || begin.len > name.len) return false;
    return begin.len <= sizeof head ||
           memcmp(begin.ptr + sizeof head, name.ptr + sizeof head, begin.len - sizeof head) == 0;
}

/* A client's keys often have the same prefix, so the one that matched last is tried first. */
static bool aclPatternsBeginsMatch(struct aclMatcher *m, struct str name) {
    if (!m->begins.count || !name.len) return false; /* "*" does not match an empty name */
    uint64_t head = aclPatternsHeadOf(name);
    if (aclPatternsBeginFits(&m->begins, m->last_begin, name, head)) return true;
    int i = aclPatternsLastUpTo(&m->begins, name, head);
    if (i < 0 || !aclPatternsBeginFits(&m->begins, i, name, head)) return false;
    m->last_begin = i;
    return true;
}

static bool aclPatternsOthersMatch(const struct aclMatcher *m, struct str name) {
    int i = m->names.count ? aclPatternsLastUpTo(&m->names, name, aclPatternsHeadOf(name)) : -1;
    if (i >= 0 && strEq(m->names.texts[i], name)) return true;
    for (int k = 0; k < m->glob_count; k++) {
        if (globMatch(m->globs[k], name, false)) return true;
    }
    return false;
}

bool aclPatternsMatchBegin(struct aclPatterns *p, struct str name, unsigned access, struct str *begin) {
    *begin = (struct str){0};
    if (!p->count) return false;
    if (!p->matchers[access]) p->matchers[access] = aclPatternsMatcherCreate(p, access);
    struct aclMatcher *m = p->matchers[access];
    if (!aclPatternsBeginsMatch(m, name)) return aclPatternsOthersMatch(m, name);
    *begin = m->begins.texts[m->last_begin];
    return true;
}

bool aclPatternsMatch(struct aclPatterns *p, struct str name, unsigned access) {
    struct str begin;
    return aclPatternsMatchBegin(p, name, access, &begin);
}

/* ---- The list ---- */

static struct aclPattern *aclPatternsFind(const struct aclPatterns *p, struct str text) {
    for (int i = 0; i < p->count; i++) {
        if (strEq(sdsview(p->items[i].text), text)) return &p->items[i];
    }
    return NULL;
}

bool aclPatternsHave(const struct aclPatterns *p, struct str text, unsigned access) {
    const struct aclPattern *found = aclPatternsFind(p, text);
    return found && (found->access & access) == access;
}

void aclPatternsAdd(struct aclPatterns *p, struct str text, unsigned access) {
    struct aclPattern *found = aclPatternsFind(p, text);
    if (found) {
        found->access |= access;
    } else {
        p->items = zrealloc(p->items, (size_t)(p->count + 1) * sizeof *p->items);
        p->items[p->count++] = (struct aclPattern){.text = sdsnewstr(text), .access = access};
    }
    aclPatternsForgetMatchers(p);
}

void aclPatternsCopy(struct aclPatterns *to, const struct aclPatterns *from) {
    *to = (struct aclPatterns){.count = from->count};
    if (!from->count) return;
    to->items = zmalloc((size_t)from->count * sizeof *to->items);
    for (int i = 0; i < from->count; i++) {
        to->items[i] =
            (struct aclPattern){.text = sdsdup(from->items[i].text), .access = from->items[i].access};
    }
}

void aclPatternsClear(struct aclPatterns *p) {
    for (int i = 0; i < p->count; i++) sdsfree(p->items[i].text);
    zfree(p->items);
    aclPatternsForgetMatchers(p);
    *p = (struct aclPatterns){0};
}
