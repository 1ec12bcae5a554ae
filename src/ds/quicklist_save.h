/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist_save.h - reads the nodes that a quicklist had at one moment, one by one, while it is changed.
 *
 *     struct qlSave *s = qlSaveBegin(ql);
 *     while ((step = qlSaveCurrent(s, &view)) != QL_SAVE_DONE)
 *         if (step == QL_SAVE_NODE) write view; qlSaveAdvance(s);
 *     qlSaveEnd(s);
 *
 * The list may be changed between any two of these calls, by all functions of quicklist.h except qlMove and
 * qlFree. A node is copied before it is changed for the first time, unless it has been read; a node that is
 * freed is kept instead. */
#pragma once

#include "ds/quicklist.h"

struct qlSave;

/* Returns the save of this list, or NULL when there is none. Set by whoever calls qlSaveBegin, and called
 * before changes of a list that has a save or had one that ended early. */
extern struct qlSave *(*ql_save_of)(const struct quicklist *ql);

/* Offers the contents of an old node, which would be kept in memory; may be NULL. Returns a token (from
 * zmalloc, freed by the save) after it has stored a copy of them elsewhere, or NULL. */
typedef void *qlSaveStoreFn(void *priv, struct str bytes);

/* The list has no save. O(1), but for one walk over its nodes after 126 saves that ended early. */
struct qlSave *qlSaveBegin(struct quicklist *ql, qlSaveStoreFn *store, void *priv);

enum qlSaveStep {
    /* *view is the next node as it was at the beginning, until qlSaveAdvance. When its contents are
     * elsewhere, view->bytes.ptr is the token, and view->elsewhere. */
    QL_SAVE_NODE,
    QL_SAVE_SKIPPED, /* only new nodes were found so far */
    QL_SAVE_DONE
};
/* Called again after a change of the list, it returns the same bytes in the same form, perhaps at another
 * address. */
enum qlSaveStep qlSaveCurrent(struct qlSave *s, struct qlNodeView *view);
void qlSaveAdvance(struct qlSave *s);
size_t qlSaveKeptBytes(const struct qlSave *s); /* of old nodes whose turn has not come */
/* Frees the save, which may not have come to its end. */
void qlSaveEnd(struct qlSave *s);
