/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_patterns.h - the patterns of keys, or of channels, that somebody may use.
 *
 * Most rules look like `app:*` or `queue`: so patterns are sorted by form when they have changed, and a name
 * is looked up among those that are a beginning, or a whole name, by halving; only the rest is tried one by
 * one. A hundred rules cost seven comparisons. */
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
    struct aclMatcher *matchers[ACL_PATTERN_ALL + 1]; /* by the access asked for; NULL: to be made */
};

/* A pattern that is there already gets the further access. */
void aclPatternsAdd(struct aclPatterns *p, struct str text, unsigned access);
void aclPatternsCopy(struct aclPatterns *to, const struct aclPatterns *from); /* `to` is uninitialized */
void aclPatternsClear(struct aclPatterns *p);
/* Does one pattern that grants all of `access` match? O(log n), and O(n) in those that are neither beginnings
 * nor whole names. */
bool aclPatternsMatch(struct aclPatterns *p, struct str name, unsigned access);
/* The same; *begin: the beginning that fits, so that all names with it match, or NULL when it is not one that
 * matches. A view, good until the patterns change. */
bool aclPatternsMatchBegin(struct aclPatterns *p, struct str name, unsigned access, struct str *begin);
/* Is there this very pattern, and does it grant all of `access`? */
bool aclPatternsHave(const struct aclPatterns *p, struct str text, unsigned access);
