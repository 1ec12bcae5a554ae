/* SPDX-License-Identifier: BSD-3-Clause */
/* rax.c - the radix tree; the contract is in rax.h.
 *
 * The published idea (Morrison's PATRICIA, 1968; adaptive nodes as in Leis's ART, 2013): a node stands for
 * the bytes that all keys below it share, and has a child for each byte that can follow.
 *
 *     node  | prefix length u32 | children u16 | has value u8 | [value 8] | slot 8 * n | byte * n | prefix |
 *
 * "n" bytes are in order; the i-th belongs to the i-th slot. The slots are in front, where they are aligned
 * without padding. A node is one allocation of exactly the bytes it needs: most nodes of a tree are small,
 * and an insertion at the end, which is what streams do, moves nothing but the prefix.
 *
 * What makes it compact: a slot holds a node, or, with its lowest bit set, a value: that of the key that ends
 * right there, when no other key goes on. Keys that differ only in their last byte, as IDs of the same
 * millisecond do, take 9 bytes each and no node of their own.
 *
 *     "abc" "abd" "abd123"   root -> | "ab" | c: value | d: node | -> | value | 1: node | -> | "23" | value |
 *
 * A node without a value has at least two children (so the tree cannot have more nodes than keys), and one
 * with neither prefix nor children does not exist. Only the slot that points at a node and the one above it
 * ever change: nothing recurses. */
#include "ds/rax.h"

#include "base/assert.h"
#include "base/zmalloc.h"

#define VALUE_BIT ((uintptr_t)1)

struct node {
    uint32_t prefix;
    uint16_t children;
    bool hasValue;
    void *slots[]; /* the value, then the children; then the bytes and the prefix */
};
_Static_assert(sizeof(struct node) == 8, "slots are aligned without padding");

/* ---- Slots ---- */

static bool raxIsValue(const void *slot) {
    return (uintptr_t)slot & VALUE_BIT;
}
static void *raxValueSlot(void *value) {
    debugAssert(!((uintptr_t)value & VALUE_BIT));
    return (void *)((uintptr_t)value | VALUE_BIT);
}
static void *raxSlotValue(const void *slot) {
    return (void *)((uintptr_t)slot & ~VALUE_BIT);
}

/* ---- Nodes ---- */

static size_t raxNodeBytes(size_t prefix, unsigned children, bool hasValue) {
    return sizeof(struct node) + sizeof(void *) * (children + hasValue) + children + prefix;
}
static void **raxChildSlots(struct node *n) {
    return n->slots + n->hasValue;
}
static unsigned char *raxChildBytes(struct node *n) {
    return (unsigned char *)(raxChildSlots(n) + n->children);
}
static char *raxPrefixOf(struct node *n) {
    return (char *)raxChildBytes(n) + n->children;
}
static struct str raxPrefixView(struct node *n) {
    return strN(raxPrefixOf(n), n->prefix);
}

static struct node *raxNodeNew(struct rax *r, struct str head, struct str tail, unsigned children,
                               bool hasValue) {
    serverAssert(head.len + tail.len <= UINT32_MAX);
    struct node *n = zmalloc(raxNodeBytes(head.len + tail.len, children, hasValue));
    n->prefix = (uint32_t)(head.len + tail.len);
    n->children = (uint16_t)children;
    n->hasValue = hasValue;
    if (head.len) memcpy(raxPrefixOf(n), head.ptr, head.len);
    if (tail.len) memcpy(raxPrefixOf(n) + head.len, tail.ptr, tail.len);
    r->nodes++;
    r->bytes += zmallocSize(n);
    return n;
}

static void raxNodeFree(struct rax *r, struct node *n) {
    r->nodes--;
    r->bytes -= zmallocSize(n);
    zfreeSized(n, raxNodeBytes(n->prefix, n->children, n->hasValue));
}

static struct node *raxNodeResize(struct rax *r, struct node *n, size_t bytes) {
    r->bytes -= zmallocSize(n);
    n = zrealloc(n, bytes);
    r->bytes += zmallocSize(n);
    return n;
}

/* Returns the first child whose byte is >= b; n->children when there is none. */
static int raxLowerChild(struct node *n, unsigned char b) {
    const unsigned char *bytes = raxChildBytes(n);
    int low = 0, high = n->children;
    if (high && b > bytes[high - 1]) return high; /* the usual case when keys come in order */
    while (low < high) {
        int mid = (low + high) / 2;
        if (bytes[mid] < b)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Returns -1 if no child has this byte. */
static int raxFindChild(struct node *n, unsigned char b) {
    int i = raxLowerChild(n, b);
    return i < n->children && raxChildBytes(n)[i] == b ? i : -1;
}

static struct node *raxAddChild(struct rax *r, struct node *n, unsigned char b, void *slot) {
    int at = raxLowerChild(n, b);
    unsigned count = n->children;
    n = raxNodeResize(r, n, raxNodeBytes(n->prefix, count + 1, n->hasValue));
    char *bytes = (char *)raxChildBytes(n), *moved = bytes + sizeof(void *);
    memmove(moved + at + 1, bytes + at, count - (unsigned)at + n->prefix);
    memmove(moved, bytes, (size_t)at);
    moved[at] = (char)b;
    void **slots = raxChildSlots(n);
    memmove(slots + at + 1, slots + at, (count - (unsigned)at) * sizeof(void *));
    slots[at] = slot;
    n->children++;
    return n;
}

static struct node *raxRemoveChild(struct rax *r, struct node *n, int at) {
    unsigned count = n->children;
    void **slots = raxChildSlots(n);
    char *bytes = (char *)raxChildBytes(n), *moved = bytes - sizeof(void *);
    memmove(slots + at, slots + at + 1, (count - (unsigned)at - 1) * sizeof(void *));
    memmove(moved, bytes, (size_t)at);
    memmove(moved + at, bytes + at + 1, count - (unsigned)at - 1 + n->prefix);
    n->children--;
    return raxNodeResize(r, n, raxNodeBytes(n->prefix, n->children, n->hasValue));
}

static struct node *raxAddValue(struct rax *r, struct node *n, void *value) {
    size_t rest = raxNodeBytes(n->prefix, n->children, false) - sizeof(struct node);
    n = raxNodeResize(r, n, raxNodeBytes(n->prefix, n->children, true));
    memmove(n->slots + 1, n->slots, rest);
    n->slots[0] = value;
    n->hasValue = true;
    return n;
}

static struct node *raxDropValue(struct rax *r, struct node *n) {
    size_t rest = raxNodeBytes(n->prefix, n->children, false) - sizeof(struct node);
    memmove(n->slots, n->slots + 1, rest);
    n->hasValue = false;
    return raxNodeResize(r, n, raxNodeBytes(n->prefix, n->children, false));
}

/* Returns a copy of the node with other bytes before its children. */
static struct node *raxWithPrefix(struct rax *r, struct node *n, struct str head, struct str tail) {
    struct node *other = raxNodeNew(r, head, tail, n->children, n->hasValue);
    memcpy(other->slots, n->slots, raxNodeBytes(0, n->children, n->hasValue) - sizeof(struct node));
    raxNodeFree(r, n);
    return other;
}

/* Returns a slot that stands for `suffix` alone: the value itself, or a leaf. */
static void *raxLeafSlot(struct rax *r, struct str suffix, void *value) {
    if (!suffix.len) return raxValueSlot(value);
    struct node *n = raxNodeNew(r, suffix, STR(""), 0, true);
    n->slots[0] = value;
    return n;
}

static size_t raxCommonLength(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
    while (i < n && a.ptr[i] == b.ptr[i]) i++;
    return i;
}

static struct str raxSkip(struct str s, size_t n) {
    return strN(s.ptr + n, s.len - n);
}

/* ---- Change ---- */

/* Splits a node whose prefix the key leaves after `common` bytes: a node for the shared bytes goes above
 * it. */
static void *raxSplitNode(struct rax *r, struct node *n, size_t common, struct str key, void *value) {
    struct str prefix = raxPrefixView(n);
    bool ends = common == key.len;
    struct node *top = raxNodeNew(r, strN(prefix.ptr, common), STR(""), 0, false);
    unsigned char b = (unsigned char)prefix.ptr[common];
    void *below;
    if (common + 1 == prefix.len && !n->children) {
        below = raxValueSlot(n->slots[0]);
        raxNodeFree(r, n);
    } else {
        below = raxWithPrefix(r, n, raxSkip(prefix, common + 1), STR(""));
    }
    top = raxAddChild(r, top, b, below);
    if (ends) return raxAddValue(r, top, value);
    return raxAddChild(r, top, (unsigned char)key.ptr[common],
                       raxLeafSlot(r, raxSkip(key, common + 1), value));
}

bool raxInsert(struct rax *r, struct str key, void *value, void **old) {
    void **slot = &r->root;
    if (old) *old = NULL;
    if (!r->size) {
        *slot = raxLeafSlot(r, key, value);
        goto added;
    }
    while (true) {
        if (raxIsValue(*slot)) { /* a key ends here */
            if (!key.len) {
                if (old) *old = raxSlotValue(*slot);
                *slot = raxValueSlot(value);
                return false;
            }
            struct node *n = raxNodeNew(r, STR(""), STR(""), 0, true);
            n->slots[0] = raxSlotValue(*slot);
            *slot = raxAddChild(r, n, (unsigned char)key.ptr[0], raxLeafSlot(r, raxSkip(key, 1), value));
            goto added;
        }
        struct node *n = *slot;
        size_t common = raxCommonLength(raxPrefixView(n), key);
        if (common < n->prefix) {
            *slot = raxSplitNode(r, n, common, key, value);
            goto added;
        }
        key = raxSkip(key, common);
        if (!key.len) {
            if (!n->hasValue) {
                *slot = raxAddValue(r, n, value);
                goto added;
            }
            if (old) *old = n->slots[0];
            n->slots[0] = value;
            return false;
        }
        int i = raxFindChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) {
            *slot = raxAddChild(r, n, (unsigned char)key.ptr[0], raxLeafSlot(r, raxSkip(key, 1), value));
            goto added;
        }
        slot = raxChildSlots(n) + i;
        key = raxSkip(key, 1);
    }
added:
    r->size++;
    r->change++;
    return true;
}

bool raxFind(const struct rax *r, struct str key, void **value) {
    void *slot = r->root;
    if (!r->size) return false;
    while (!raxIsValue(slot)) {
        struct node *n = slot;
        if (key.len < n->prefix || (n->prefix && memcmp(key.ptr, raxPrefixOf(n), n->prefix))) return false;
        key = raxSkip(key, n->prefix);
        if (!key.len) {
            if (n->hasValue && value) *value = n->slots[0];
            return n->hasValue;
        }
        int i = raxFindChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) return false;
        slot = raxChildSlots(n)[i];
        key = raxSkip(key, 1);
    }
    if (!key.len && value) *value = raxSlotValue(slot);
    return !key.len;
}

/* Restores the invariants for a node that has lost a child or its value. */
static void *raxTidy(struct rax *r, struct node *n) {
    if (!n->children && !n->prefix) { /* only a value is left */
        void *slot = raxValueSlot(n->slots[0]);
        raxNodeFree(r, n);
        return slot;
    }
    if (n->hasValue || n->children != 1) return n;
    void *only = raxChildSlots(n)[0];
    struct str head = strN(raxPrefixOf(n), n->prefix);
    /* The byte is just before the prefix; swapping it to the end joins both. */
    char byte = (char)raxChildBytes(n)[0];
    memmove(raxChildBytes(n), head.ptr, head.len);
    head = strN((char *)raxChildBytes(n), n->prefix + 1);
    ((char *)head.ptr)[n->prefix] = byte;
    void *merged = raxIsValue(only) ? raxLeafSlot(r, head, raxSlotValue(only))
                                    : raxWithPrefix(r, only, head, raxPrefixView(only));
    raxNodeFree(r, n);
    return merged;
}

bool raxRemove(struct rax *r, struct str key, void **old) {
    void **slot = &r->root, **above = NULL; /* above: the slot of the node that `slot` is in */
    void *value;
    if (!r->size) return false;
    while (!raxIsValue(*slot)) {
        struct node *n = *slot;
        if (key.len < n->prefix || (n->prefix && memcmp(key.ptr, raxPrefixOf(n), n->prefix))) return false;
        key = raxSkip(key, n->prefix);
        if (!key.len) break;
        int i = raxFindChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) return false;
        above = slot;
        slot = raxChildSlots(n) + i;
        key = raxSkip(key, 1);
    }
    if (key.len) return false;
    struct node *n = raxIsValue(*slot) ? NULL : *slot;
    if (n && !n->hasValue) return false;
    value = n ? n->slots[0] : raxSlotValue(*slot);
    if (n && n->children) {
        *slot = raxTidy(r, raxDropValue(r, n));
    } else {
        if (n) raxNodeFree(r, n);
        if (above) {
            struct node *parent = *above;
            *above = raxTidy(r, raxRemoveChild(r, parent, (int)(slot - raxChildSlots(parent))));
        } else {
            *slot = NULL;
        }
    }
    r->size--;
    r->change++;
    if (old) *old = value;
    return true;
}

/* ---- Iteration ---- */

static void raxGrowPath(struct raxIterator *it) {
    size_t room = it->path_room * 2;
    if (it->path == it->inline_path)
        it->path = memcpy(zmalloc(room * sizeof *it->path), it->inline_path, sizeof it->inline_path);
    else
        it->path = zrealloc(it->path, room * sizeof *it->path);
    it->path_room = room;
}

static void raxAddBytes(struct raxIterator *it, const void *p, size_t n) {
    if (it->key.len + n > it->room) {
        size_t room = (it->key.len + n) * 2;
        if (it->bytes == it->inline_bytes)
            it->bytes = memcpy(zmalloc(room), it->inline_bytes, it->key.len);
        else
            it->bytes = zrealloc(it->bytes, room);
        it->room = room;
        it->key.ptr = it->bytes;
    }
    if (n) memcpy(it->bytes + it->key.len, p, n);
    it->key.len += n;
}

static void raxPushNode(struct raxIterator *it, struct node *n) {
    if (it->depth == it->path_room) raxGrowPath(it);
    it->path[it->depth++] = (struct raxStep){n, -1};
    raxAddBytes(it, raxPrefixOf(n), n->prefix);
}

static struct raxStep *raxTop(struct raxIterator *it) {
    return &it->path[it->depth - 1];
}

static void *raxTopSlot(struct raxIterator *it) {
    return raxChildSlots(raxTop(it)->node)[raxTop(it)->child];
}

/* Moves to a child of the top node; the key gets its byte. */
static void raxEnterChild(struct raxIterator *it, int child) {
    raxTop(it)->child = child;
    raxAddBytes(it, raxChildBytes(raxTop(it)->node) + child, 1);
}

static void raxPopNode(struct raxIterator *it) {
    it->key.len -= ((struct node *)raxTop(it)->node)->prefix;
    it->depth--;
    if (it->depth) it->key.len--; /* the byte of this child */
}

static bool raxArrive(struct raxIterator *it, void *value) {
    it->value = value;
    it->valid = true;
    it->change = it->rax->change;
    return true;
}

static bool raxLost(struct raxIterator *it) {
    it->valid = false;
    return false;
}

/* Moves to the first key below a slot whose byte the key already has. */
static bool raxFirstBelow(struct raxIterator *it, void *slot) {
    while (!raxIsValue(slot)) {
        struct node *n = slot;
        raxPushNode(it, n);
        if (n->hasValue) return raxArrive(it, n->slots[0]);
        raxEnterChild(it, 0);
        slot = raxTopSlot(it);
    }
    return raxArrive(it, raxSlotValue(slot));
}

static bool raxLastBelow(struct raxIterator *it, void *slot) {
    while (!raxIsValue(slot)) {
        struct node *n = slot;
        raxPushNode(it, n);
        if (!n->children) return raxArrive(it, n->slots[0]);
        raxEnterChild(it, n->children - 1);
        slot = raxTopSlot(it);
    }
    return raxArrive(it, raxSlotValue(slot));
}

/* Moves to the next key that is not below the iterator's place: first the children after `child` of the
 * top node. */
static bool raxNextAside(struct raxIterator *it, int child) {
    while (it->depth) {
        struct node *n = raxTop(it)->node;
        if (child + 1 < n->children) {
            raxEnterChild(it, child + 1);
            return raxFirstBelow(it, raxTopSlot(it));
        }
        raxPopNode(it);
        if (it->depth) child = raxTop(it)->child;
    }
    return raxLost(it);
}

/* Moves to the previous key: the children before `child`, then the node's own key. */
static bool raxPrevAside(struct raxIterator *it, int child) {
    while (it->depth) {
        struct node *n = raxTop(it)->node;
        if (child > 0) {
            raxEnterChild(it, child - 1);
            return raxLastBelow(it, raxTopSlot(it));
        }
        if (child == 0 && n->hasValue) {
            raxTop(it)->child = -1;
            return raxArrive(it, n->slots[0]);
        }
        raxPopNode(it);
        if (it->depth) child = raxTop(it)->child;
    }
    return raxLost(it);
}

/* Returns whether the iterator is at a value in a slot, rather than at a node's own key. The key then
 * has that slot's byte, too. */
static bool raxAtSlot(struct raxIterator *it) {
    return it->depth && raxTop(it)->child >= 0;
}

static void raxRewindTo(struct raxIterator *it) {
    it->depth = 0;
    it->key = strN(it->bytes, 0);
}

static bool raxSeekEnd(struct raxIterator *it, bool last) {
    raxRewindTo(it);
    if (!it->rax->size) return raxLost(it);
    return last ? raxLastBelow(it, it->rax->root) : raxFirstBelow(it, it->rax->root);
}

/* Descends to a key. The descent ends on it, or above a slot with only greater or only smaller keys, or
 * with the top node's children to choose from. */
static bool raxSeekKey(struct raxIterator *it, struct str key, bool less, bool equal) {
    void *slot = it->rax->root;
    raxRewindTo(it);
    if (!it->rax->size) return raxLost(it);
    while (!raxIsValue(slot)) {
        struct node *n = slot;
        struct str prefix = raxPrefixView(n);
        size_t common = raxCommonLength(prefix, key);
        if (common < prefix.len) { /* all keys below are on the same side of it */
            bool greater =
                common == key.len || (unsigned char)prefix.ptr[common] > (unsigned char)key.ptr[common];
            if (greater && !less) return raxFirstBelow(it, slot);
            if (!greater && less) return raxLastBelow(it, slot);
            goto aside;
        }
        key = raxSkip(key, common);
        raxPushNode(it, n);
        if (!key.len) {
            if (equal && n->hasValue) return raxArrive(it, n->slots[0]);
            return less ? raxPrevAside(it, -1) : raxNextAside(it, -1);
        }
        int i = raxLowerChild(n, (unsigned char)key.ptr[0]);
        if (i == n->children || raxChildBytes(n)[i] != (unsigned char)key.ptr[0])
            return less ? raxPrevAside(it, i) : raxNextAside(it, i - 1);
        raxEnterChild(it, i);
        slot = raxTopSlot(it);
        key = raxSkip(key, 1);
    }
    if (!key.len && equal) return raxArrive(it, raxSlotValue(slot));
    if (key.len && less) return raxArrive(it, raxSlotValue(slot));
aside:
    if (!it->depth) return raxLost(it);
    it->key.len--;
    return less ? raxPrevAside(it, raxTop(it)->child) : raxNextAside(it, raxTop(it)->child);
}

/* Finds, after a change of the tree, the neighbour of the key at which the iterator stood. */
static bool raxSeekAgain(struct raxIterator *it, bool less) {
    char inline_copy[sizeof it->inline_bytes];
    size_t len = it->key.len;
    char *copy = len <= sizeof inline_copy ? inline_copy : zmalloc(len);
    memcpy(copy, it->key.ptr, len);
    bool found = raxSeekKey(it, strN(copy, len), less, false);
    if (copy != inline_copy) zfree(copy);
    return found;
}

void raxStart(struct raxIterator *it, const struct rax *r) {
    it->rax = r;
    it->bytes = it->inline_bytes;
    it->room = sizeof it->inline_bytes;
    it->path = it->inline_path;
    it->path_room = sizeof it->inline_path / sizeof *it->inline_path;
    it->value = NULL;
    it->valid = false;
    raxRewindTo(it);
}

bool raxSeek(struct raxIterator *it, const char *op, struct str key) {
    bool equal = op[0] == '=' || op[1] == '=';
    debugAssert(strchr("^$=<>", op[0]));
    switch (op[0]) {
    case '^': return raxSeekEnd(it, false);
    case '$': return raxSeekEnd(it, true);
    case '=': return raxFind(it->rax, key, NULL) ? raxSeekKey(it, key, false, true) : raxLost(it);
    default: return raxSeekKey(it, key, op[0] == '<', equal);
    }
}

bool raxNext(struct raxIterator *it) {
    if (!it->valid) return false;
    if (it->change != it->rax->change) return raxSeekAgain(it, false);
    if (!it->depth) return raxLost(it); /* the only key is the empty one */
    if (!raxAtSlot(it)) return raxNextAside(it, -1);
    it->key.len--;
    return raxNextAside(it, raxTop(it)->child);
}

bool raxPrev(struct raxIterator *it) {
    if (!it->valid) return false;
    if (it->change != it->rax->change) return raxSeekAgain(it, true);
    if (!it->depth) return raxLost(it);
    if (!raxAtSlot(it)) return raxPrevAside(it, -1);
    it->key.len--;
    return raxPrevAside(it, raxTop(it)->child);
}

void raxStop(struct raxIterator *it) {
    if (it->bytes != it->inline_bytes) zfree(it->bytes);
    if (it->path != it->inline_path) zfree(it->path);
}

/* ---- Life ---- */

void raxInit(struct rax *r) {
    *r = (struct rax){0};
}

/* Frees nodes with an explicit stack, since badly chosen names make a tree deep. */
static void raxFreeNodes(struct node *n, void (*freeValue)(void *value)) {
    void **stack = NULL;
    size_t depth = 0, room = 0;
    while (n) {
        if (depth + n->children > room) {
            room = (depth + n->children) * 2;
            stack = zrealloc(stack, room * sizeof *stack);
        }
        if (n->hasValue && freeValue) freeValue(n->slots[0]);
        for (int i = 0; i < n->children; i++) {
            void *slot = raxChildSlots(n)[i];
            if (!raxIsValue(slot))
                stack[depth++] = slot;
            else if (freeValue)
                freeValue(raxSlotValue(slot));
        }
        zfreeSized(n, raxNodeBytes(n->prefix, n->children, n->hasValue));
        n = depth ? stack[--depth] : NULL;
    }
    zfree(stack);
}

void raxDestroy(struct rax *r, void (*freeValue)(void *value)) {
    if (r->size && !raxIsValue(r->root))
        raxFreeNodes(r->root, freeValue);
    else if (r->size && freeValue)
        freeValue(raxSlotValue(r->root));
    *r = (struct rax){.change = r->change + 1};
}

/* ---- Moving in memory ---- */

#define SEEN_MAX 32

/* Offers the nodes above the iterator's place to `move`. `seen` holds those that were offered at the last
 * step. Returns the slot of the value. */
static void **raxMovePath(struct rax *r, struct raxIterator *it, void **seen, zmoveFn *move, void *priv) {
    void **slot = &r->root;
    for (size_t i = 0; i < it->depth; i++) {
        struct raxStep *step = &it->path[i];
        if (i >= SEEN_MAX || seen[i] != step->node) {
            size_t size = zmallocSize(step->node);
            void *now = move(priv, step->node);
            if (now) {
                r->bytes += zmallocSize(now) - size;
                *slot = step->node = now;
            }
            if (i < SEEN_MAX) seen[i] = step->node;
        }
        struct node *n = step->node;
        slot = step->child < 0 ? n->slots : &raxChildSlots(n)[step->child];
    }
    return slot;
}

bool raxMove(struct rax *r, const char *op, struct str key, size_t keys, zmoveFn *move, raxValueFn *value,
             void *priv) {
    void *seen[SEEN_MAX] = {NULL};
    struct raxIterator it;
    raxStart(&it, r);
    bool more = raxSeek(&it, op, key);
    for (; more && keys; keys--, more = raxNext(&it)) {
        void **slot = raxMovePath(r, &it, seen, move, priv);
        if (!value) continue;
        void *now = value(priv, it.key, it.value);
        *slot = raxIsValue(*slot) ? raxValueSlot(now) : now;
    }
    raxStop(&it);
    r->change++;
    return more;
}

/* ---- Checks ---- */

struct raxTally {
    size_t keys, nodes, bytes;
};

static void raxVerifySlot(void *slot, struct raxTally *t) {
    if (raxIsValue(slot)) {
        t->keys++;
        return;
    }
    struct node *n = slot;
    t->nodes++;
    t->bytes += zmallocSize(n);
    t->keys += n->hasValue;
    serverAssert(n->hasValue || n->children >= 2);
    serverAssert(n->children || n->prefix);
    for (int i = 0; i < n->children; i++) {
        serverAssert(!i || raxChildBytes(n)[i - 1] < raxChildBytes(n)[i]);
        raxVerifySlot(raxChildSlots(n)[i], t);
    }
}

void raxVerify(const struct rax *r) {
    struct raxTally t = {0};
    if (r->size) raxVerifySlot(r->root, &t);
    serverAssert(t.keys == r->size && t.nodes == r->nodes && t.bytes == r->bytes);
}
