/* SPDX-License-Identifier: BSD-3-Clause */
/* linked_list.h - an intrusive doubly linked ring: embed a `struct listNode` and get your struct back with
 * listEntry(). All operations are O(1). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct listNode {
    struct listNode *prev, *next;
};
struct list {
    struct listNode head; /* sentinel: points at itself when empty */
    size_t length;
};

#define listEntry(node, type, field) ((type *)((char *)(node)-offsetof(type, field)))
/* The body may remove `it`. */
#define listForEach(list, it)                                                                                \
    for (struct listNode *it = (list)->head.next, *it##_next = it->next; it != &(list)->head;                \
         it = it##_next, it##_next = it->next)

static inline void listInit(struct list *l) {
    l->head.prev = l->head.next = &l->head;
    l->length = 0;
}
static inline void listInsertBefore(struct list *l, struct listNode *at, struct listNode *n) {
    n->next = at;
    n->prev = at->prev;
    at->prev->next = n;
    at->prev = n;
    l->length++;
}
static inline void listAddTail(struct list *l, struct listNode *n) {
    listInsertBefore(l, &l->head, n);
}
static inline void listAddHead(struct list *l, struct listNode *n) {
    listInsertBefore(l, l->head.next, n);
}
/* Sets n->next to NULL, which listLinked() checks. */
static inline void listRemove(struct list *l, struct listNode *n) {
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
    l->length--;
}
static inline bool listLinked(const struct listNode *n) {
    return n->next != NULL;
}
/* Updates the neighbours of a linked node whose memory has been copied to n. */
static inline void listNodeMoved(struct listNode *n) {
    n->prev->next = n->next->prev = n;
}
static inline struct listNode *listFirst(struct list *l) {
    return l->length ? l->head.next : NULL;
}
