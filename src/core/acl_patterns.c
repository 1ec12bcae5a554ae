/* acl_patterns.c - see acl_patterns.h.
 *
 *     "app:*" "app:x:*" "queue" "[ab]?*"     -->   names     queue               sorted
 *                                                  begins    app:                sorted, none begins another
 *                                                  globs     [ab]?*
 *
 * A beginning that another one begins is left out. So, when a beginning fits a name, it is the last one that
 * is not behind the name in order: whatever stood between the two would begin with it, too. */
#include "core/acl_patterns.h"

#include <stdlib.h>

#include "base/glob.h"
#include "base/zmalloc.h"

struct aclMatcher {
    struct str *names, *begins, *globs; /* views of the patterns' texts, in one allocation behind this */
    int name_count, begin_count, glob_count;
};

/* ---- Making a matcher ---- */

static int compare(const void *a, const void *b) {
    return strCmp(*(const struct str *)a, *(const struct str *)b);
}

static bool startsWith(struct str s, struct str start) {
    return s.len >= start.len && memcmp(s.ptr, start.ptr, start.len) == 0;
}

static void dropCovered(struct aclMatcher *m) {
    int kept = 0;
    for (int i = 0; i < m->begin_count; i++) {
        if (!kept || !startsWith(m->begins[i], m->begins[kept - 1])) m->begins[kept++] = m->begins[i];
    }
    m->begin_count = kept;
}

static void place(struct aclMatcher *m, struct str text) {
    size_t plain = 0;
    while (plain < text.len && !memchr("*?[\\", text.ptr[plain], 4)) plain++;
    if (plain == text.len)
        m->names[m->name_count++] = text;
    else if (plain == text.len - 1 && text.ptr[plain] == '*')
        m->begins[m->begin_count++] = strN(text.ptr, plain);
    else
        m->globs[m->glob_count++] = text;
}

static struct aclMatcher *matcherCreate(const struct aclPatterns *p, unsigned access) {
    size_t each = (size_t)p->count;
    struct aclMatcher *m = zcalloc(1, sizeof *m + 3 * each * sizeof(struct str));
    m->names = (struct str *)(m + 1);
    m->begins = m->names + each;
    m->globs = m->begins + each;
    for (int i = 0; i < p->count; i++) {
        if ((p->items[i].access & access) == access) place(m, sdsview(p->items[i].text));
    }
    qsort(m->names, (size_t)m->name_count, sizeof *m->names, compare);
    qsort(m->begins, (size_t)m->begin_count, sizeof *m->begins, compare);
    dropCovered(m);
    return m;
}

static void forgetMatchers(struct aclPatterns *p) {
    for (int i = 0; i <= ACL_PATTERN_ALL; i++) {
        zfree(p->matchers[i]);
        p->matchers[i] = NULL;
    }
}

/* ---- Matching ---- */

/* The last of the sorted strings that is not greater than s; NULL when all are. */
static const struct str *lastUpTo(const struct str *sorted, int count, struct str s) {
    int low = 0;
    while (low < count) {
        int middle = low + (count - low) / 2;
        if (strCmp(sorted[middle], s) <= 0)
            low = middle + 1;
        else
            count = middle;
    }
    return low ? &sorted[low - 1] : NULL;
}

static bool matches(const struct aclMatcher *m, struct str name) {
    const struct str *found = lastUpTo(m->begins, m->begin_count, name);
    if (found && startsWith(name, *found)) return true;
    found = lastUpTo(m->names, m->name_count, name);
    if (found && strEq(*found, name)) return true;
    for (int i = 0; i < m->glob_count; i++) {
        if (globMatch(m->globs[i], name, false)) return true;
    }
    return false;
}

bool aclPatternsMatch(struct aclPatterns *p, struct str name, unsigned access) {
    if (!p->count) return false;
    if (!p->matchers[access]) p->matchers[access] = matcherCreate(p, access);
    return matches(p->matchers[access], name);
}

/* ---- The list ---- */

static struct aclPattern *find(const struct aclPatterns *p, struct str text) {
    for (int i = 0; i < p->count; i++) {
        if (strEq(sdsview(p->items[i].text), text)) return &p->items[i];
    }
    return NULL;
}

bool aclPatternsHave(const struct aclPatterns *p, struct str text, unsigned access) {
    const struct aclPattern *found = find(p, text);
    return found && (found->access & access) == access;
}

void aclPatternsAdd(struct aclPatterns *p, struct str text, unsigned access) {
    struct aclPattern *found = find(p, text);
    if (found) {
        found->access |= access;
    } else {
        p->items = zrealloc(p->items, (size_t)(p->count + 1) * sizeof *p->items);
        p->items[p->count++] = (struct aclPattern){.text = sdsnewstr(text), .access = access};
    }
    forgetMatchers(p);
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
    forgetMatchers(p);
    *p = (struct aclPatterns){0};
}
