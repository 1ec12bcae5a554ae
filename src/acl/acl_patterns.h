/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_patterns.h - the patterns of keys, or of channels, that a selector grants.
 *
 * Most rules look like `app:*` or `queue`. So patterns are sorted by form when they have changed, and a name
 * is looked up among prefixes and whole names by binary search; only other patterns are tried one by one. A
 * hundred rules cost seven comparisons. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

enum { ACL_PATTERN_READ = 1, ACL_PATTERN_WRITE = 2, ACL_PATTERN_ALL = 3 };

struct aclPattern {
    sds text;
    unsigned access; /* ACL_PATTERN_* that it grants */
};

struct aclMatcher;
struct aclPatterns {
    struct aclPattern *items; /* in order of addition */
    int count;
    struct aclMatcher *matchers[ACL_PATTERN_ALL + 1]; /* by the access that is checked; NULL: not built yet */
};

/* Adds a pattern, or further access to one that exists. */
void aclPatternsAdd(struct aclPatterns *p, struct str text, unsigned access);
void aclPatternsCopy(struct aclPatterns *to, const struct aclPatterns *from); /* `to` is uninitialized */
void aclPatternsClear(struct aclPatterns *p);
/* Returns whether a pattern that grants all of `access` matches. O(log n), plus O(n) in patterns that are
 * neither prefixes nor whole names. */
bool aclPatternsMatch(struct aclPatterns *p, struct str name, unsigned access);
/* As aclPatternsMatch. *begin: the prefix that matches, so that all names with it match, or NULL when it is
 * no prefix. A view, valid until the patterns change. */
bool aclPatternsMatchBegin(struct aclPatterns *p, struct str name, unsigned access, struct str *begin);
/* Returns whether exactly this pattern exists and grants all of `access`. */
bool aclPatternsHave(const struct aclPatterns *p, struct str text, unsigned access);
