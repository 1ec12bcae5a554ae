/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist_private.h - the nodes of a quicklist; for quicklist.c and quicklist_save.c. */
#pragma once

#include "ds/quicklist.h"

struct qlNode {
    struct qlNode *prev, *next;
    unsigned char *data;
    uint32_t bytes; /* bytes of the listpack or the plain element, uncompressed */
    uint16_t count;
    bool plain : 1, compressed : 1, incompressible : 1;
    uint8_t mark; /* belongs to quicklist_save.c */
};
_Static_assert(sizeof(struct qlNode) == 32, "exactly an allocator class");

struct qlPacked { /* data of a compressed node */
    uint32_t size;
    unsigned char bytes[];
};

void qlNodeFree(struct qlNode *n);
size_t qlNodeDataSize(const struct qlNode *n);
struct qlNodeView qlNodeViewOf(const struct qlNode *n);

/* ---- quicklist_save.c: called for lists that are `watched` ---- */
/* The contents of the node are about to change. */
void qlSaveNode(const struct quicklist *ql, struct qlNode *n);
/* The node's data is about to be replaced or freed. Returns whether it has been taken over. */
bool qlSaveTakeData(const struct quicklist *ql, struct qlNode *n);
/* The node is about to be unlinked and freed. */
void qlSaveUnlink(const struct quicklist *ql, struct qlNode *n);
