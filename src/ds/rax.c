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

static bool isValue(const void *slot) {
    return (uintptr_t)slot & VALUE_BIT;
}
static void *valueSlot(void *value) {
    debugAssert(!((uintptr_t)value & VALUE_BIT));
    return (void *)((uintptr_t)value | VALUE_BIT);
}
static void *slotValue(const void *slot) {
    return (void *)((uintptr_t)slot & ~VALUE_BIT);
}

/* ---- Nodes ---- */

static size_t nodeBytes(size_t prefix, unsigned children, bool hasValue) {
    return sizeof(struct node) + sizeof(void *) * (children + hasValue) + children + prefix;
}
static void **childSlots(struct node *n) {
    return n->slots + n->hasValue;
}
static unsigned char *childBytes(struct node *n) {
    return (unsigned char *)(childSlots(n) + n->children);
}
static char *prefixOf(struct node *n) {
    return (char *)childBytes(n) + n->children;
}
static struct str prefixView(struct node *n) {
    return strN(prefixOf(n), n->prefix);
}

static struct node *raxNodeNew(struct rax *r, struct str head, struct str tail, unsigned children,
                               bool hasValue) {
    serverAssert(head.len + tail.len <= UINT32_MAX);
    struct node *n = zmalloc(nodeBytes(head.len + tail.len, children, hasValue));
    n->prefix = (uint32_t)(head.len + tail.len);
    n->children = (uint16_t)children;
    n->hasValue = hasValue;
    if (head.len) memcpy(prefixOf(n), head.ptr, head.len);
    if (tail.len) memcpy(prefixOf(n) + head.len, tail.ptr, tail.len);
    r->nodes++;
    r->bytes += zmallocSize(n);
    return n;
}

static void raxNodeFree(struct rax *r, struct node *n) {
    r->nodes--;
    r->bytes -= zmallocSize(n);
    zfreeSized(n, nodeBytes(n->prefix, n->children, n->hasValue));
}

static struct node *nodeResize(struct rax *r, struct node *n, size_t bytes) {
    r->bytes -= zmallocSize(n);
    n = zrealloc(n, bytes);
    r->bytes += zmallocSize(n);
    return n;
}

/* The first child whose byte is >= b; n->children when there is none. */
static int lowerChild(struct node *n, unsigned char b) {
    const unsigned char *bytes = childBytes(n);
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

/* -1 when no child has this byte. */
static int findChild(struct node *n, unsigned char b) {
    int i = lowerChild(n, b);
    return i < n->children && childBytes(n)[i] == b ? i : -1;
}

static struct node *addChild(struct rax *r, struct node *n, unsigned char b, void *slot) {
    int at = lowerChild(n, b);
    unsigned count = n->children;
    n = nodeResize(r, n, nodeBytes(n->prefix, count + 1, n->hasValue));
    char *bytes = (char *)childBytes(n), *moved = bytes + sizeof(void *);
    memmove(moved + at + 1, bytes + at, count - (unsigned)at + n->prefix);
    memmove(moved, bytes, (size_t)at);
    moved[at] = (char)b;
    void **slots = childSlots(n);
    memmove(slots + at + 1, slots + at, (count - (unsigned)at) * sizeof(void *));
    slots[at] = slot;
    n->children++;
    return n;
}

static struct node *removeChild(struct rax *r, struct node *n, int at) {
    unsigned count = n->children;
    void **slots = childSlots(n);
    char *bytes = (char *)childBytes(n), *moved = bytes - sizeof(void *);
    memmove(slots + at, slots + at + 1, (count - (unsigned)at - 1) * sizeof(void *));
    memmove(moved, bytes, (size_t)at);
    memmove(moved + at, bytes + at + 1, count - (unsigned)at - 1 + n->prefix);
    n->children--;
    return nodeResize(r, n, nodeBytes(n->prefix, n->children, n->hasValue));
}

static struct node *addValue(struct rax *r, struct node *n, void *value) {
    size_t rest = nodeBytes(n->prefix, n->children, false) - sizeof(struct node);
    n = nodeResize(r, n, nodeBytes(n->prefix, n->children, true));
    memmove(n->slots + 1, n->slots, rest);
    n->slots[0] = value;
    n->hasValue = true;
    return n;
}

static struct node *dropValue(struct rax *r, struct node *n) {
    size_t rest = nodeBytes(n->prefix, n->children, false) - sizeof(struct node);
    memmove(n->slots, n->slots + 1, rest);
    n->hasValue = false;
    return nodeResize(r, n, nodeBytes(n->prefix, n->children, false));
}

/* The same node with other bytes in front of its children. */
static struct node *withPrefix(struct rax *r, struct node *n, struct str head, struct str tail) {
    struct node *other = raxNodeNew(r, head, tail, n->children, n->hasValue);
    memcpy(other->slots, n->slots, nodeBytes(0, n->children, n->hasValue) - sizeof(struct node));
    raxNodeFree(r, n);
    return other;
}

/* What stands for `suffix` and nothing else: the value itself, or a leaf. */
static void *leafSlot(struct rax *r, struct str suffix, void *value) {
    if (!suffix.len) return valueSlot(value);
    struct node *n = raxNodeNew(r, suffix, STR(""), 0, true);
    n->slots[0] = value;
    return n;
}

static size_t commonLength(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
    while (i < n && a.ptr[i] == b.ptr[i]) i++;
    return i;
}

static struct str skip(struct str s, size_t n) {
    return strN(s.ptr + n, s.len - n);
}

/* ---- Change ---- */

/* The key leaves the node's prefix after `common` bytes: a node for what is shared goes above it. */
static void *splitNode(struct rax *r, struct node *n, size_t common, struct str key, void *value) {
    struct str prefix = prefixView(n);
    bool ends = common == key.len;
    struct node *top = raxNodeNew(r, strN(prefix.ptr, common), STR(""), 0, false);
    unsigned char b = (unsigned char)prefix.ptr[common];
    void *below;
    if (common + 1 == prefix.len && !n->children) {
        below = valueSlot(n->slots[0]);
        raxNodeFree(r, n);
    } else {
        below = withPrefix(r, n, skip(prefix, common + 1), STR(""));
    }
    top = addChild(r, top, b, below);
    if (ends) return addValue(r, top, value);
    return addChild(r, top, (unsigned char)key.ptr[common], leafSlot(r, skip(key, common + 1), value));
}

bool raxInsert(struct rax *r, struct str key, void *value, void **old) {
    void **slot = &r->root;
    if (old) *old = NULL;
    if (!r->size) {
        *slot = leafSlot(r, key, value);
        goto added;
    }
    while (true) {
        if (isValue(*slot)) { /* a key ends here */
            if (!key.len) {
                if (old) *old = slotValue(*slot);
                *slot = valueSlot(value);
                return false;
            }
            struct node *n = raxNodeNew(r, STR(""), STR(""), 0, true);
            n->slots[0] = slotValue(*slot);
            *slot = addChild(r, n, (unsigned char)key.ptr[0], leafSlot(r, skip(key, 1), value));
            goto added;
        }
        struct node *n = *slot;
        size_t common = commonLength(prefixView(n), key);
        if (common < n->prefix) {
            *slot = splitNode(r, n, common, key, value);
            goto added;
        }
        key = skip(key, common);
        if (!key.len) {
            if (!n->hasValue) {
                *slot = addValue(r, n, value);
                goto added;
            }
            if (old) *old = n->slots[0];
            n->slots[0] = value;
            return false;
        }
        int i = findChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) {
            *slot = addChild(r, n, (unsigned char)key.ptr[0], leafSlot(r, skip(key, 1), value));
            goto added;
        }
        slot = childSlots(n) + i;
        key = skip(key, 1);
    }
added:
    r->size++;
    r->change++;
    return true;
}

bool raxFind(const struct rax *r, struct str key, void **value) {
    void *slot = r->root;
    if (!r->size) return false;
    while (!isValue(slot)) {
        struct node *n = slot;
        if (key.len < n->prefix || (n->prefix && memcmp(key.ptr, prefixOf(n), n->prefix))) return false;
        key = skip(key, n->prefix);
        if (!key.len) {
            if (n->hasValue && value) *value = n->slots[0];
            return n->hasValue;
        }
        int i = findChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) return false;
        slot = childSlots(n)[i];
        key = skip(key, 1);
    }
    if (!key.len && value) *value = slotValue(slot);
    return !key.len;
}

/* A node has lost a child or its value: bring it back into the form that the invariants ask for. */
static void *tidy(struct rax *r, struct node *n) {
    if (!n->children && !n->prefix) { /* only a value is left */
        void *slot = valueSlot(n->slots[0]);
        raxNodeFree(r, n);
        return slot;
    }
    if (n->hasValue || n->children != 1) return n;
    void *only = childSlots(n)[0];
    struct str head = strN(prefixOf(n), n->prefix);
    /* The byte stands just before the prefix; swapping it to the end makes both one piece. */
    char byte = (char)childBytes(n)[0];
    memmove(childBytes(n), head.ptr, head.len);
    head = strN((char *)childBytes(n), n->prefix + 1);
    ((char *)head.ptr)[n->prefix] = byte;
    void *merged =
        isValue(only) ? leafSlot(r, head, slotValue(only)) : withPrefix(r, only, head, prefixView(only));
    raxNodeFree(r, n);
    return merged;
}

bool raxRemove(struct rax *r, struct str key, void **old) {
    void **slot = &r->root, **above = NULL; /* above: the slot of the node that `slot` is in */
    void *value;
    if (!r->size) return false;
    while (!isValue(*slot)) {
        struct node *n = *slot;
        if (key.len < n->prefix || (n->prefix && memcmp(key.ptr, prefixOf(n), n->prefix))) return false;
        key = skip(key, n->prefix);
        if (!key.len) break;
        int i = findChild(n, (unsigned char)key.ptr[0]);
        if (i < 0) return false;
        above = slot;
        slot = childSlots(n) + i;
        key = skip(key, 1);
    }
    if (key.len) return false;
    struct node *n = isValue(*slot) ? NULL : *slot;
    if (n && !n->hasValue) return false;
    value = n ? n->slots[0] : slotValue(*slot);
    if (n && n->children) {
        *slot = tidy(r, dropValue(r, n));
    } else {
        if (n) raxNodeFree(r, n);
        if (above) {
            struct node *parent = *above;
            *above = tidy(r, removeChild(r, parent, (int)(slot - childSlots(parent))));
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

static void growPath(struct raxIterator *it) {
    size_t room = it->path_room * 2;
    if (it->path == it->inline_path)
        it->path = memcpy(zmalloc(room * sizeof *it->path), it->inline_path, sizeof it->inline_path);
    else
        it->path = zrealloc(it->path, room * sizeof *it->path);
    it->path_room = room;
}

static void addBytes(struct raxIterator *it, const void *p, size_t n) {
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

static void pushNode(struct raxIterator *it, struct node *n) {
    if (it->depth == it->path_room) growPath(it);
    it->path[it->depth++] = (struct raxStep){n, -1};
    addBytes(it, prefixOf(n), n->prefix);
}

static struct raxStep *top(struct raxIterator *it) {
    return &it->path[it->depth - 1];
}

static void *topSlot(struct raxIterator *it) {
    return childSlots(top(it)->node)[top(it)->child];
}

/* Moves to a child of the top node; the key gets its byte. */
static void enterChild(struct raxIterator *it, int child) {
    top(it)->child = child;
    addBytes(it, childBytes(top(it)->node) + child, 1);
}

static void popNode(struct raxIterator *it) {
    it->key.len -= ((struct node *)top(it)->node)->prefix;
    it->depth--;
    if (it->depth) it->key.len--; /* the byte that led here */
}

static bool arrive(struct raxIterator *it, void *value) {
    it->value = value;
    it->valid = true;
    it->change = it->rax->change;
    return true;
}

static bool lost(struct raxIterator *it) {
    it->valid = false;
    return false;
}

/* The first key below a slot whose byte the key already has. */
static bool firstBelow(struct raxIterator *it, void *slot) {
    while (!isValue(slot)) {
        struct node *n = slot;
        pushNode(it, n);
        if (n->hasValue) return arrive(it, n->slots[0]);
        enterChild(it, 0);
        slot = topSlot(it);
    }
    return arrive(it, slotValue(slot));
}

static bool lastBelow(struct raxIterator *it, void *slot) {
    while (!isValue(slot)) {
        struct node *n = slot;
        pushNode(it, n);
        if (!n->children) return arrive(it, n->slots[0]);
        enterChild(it, n->children - 1);
        slot = topSlot(it);
    }
    return arrive(it, slotValue(slot));
}

/* The next key that does not lie below where the iterator stands: first the children after `child` of the top
 * node. */
static bool nextAside(struct raxIterator *it, int child) {
    while (it->depth) {
        struct node *n = top(it)->node;
        if (child + 1 < n->children) {
            enterChild(it, child + 1);
            return firstBelow(it, topSlot(it));
        }
        popNode(it);
        if (it->depth) child = top(it)->child;
    }
    return lost(it);
}

/* The previous key: the children before `child`, then the node's own key. */
static bool prevAside(struct raxIterator *it, int child) {
    while (it->depth) {
        struct node *n = top(it)->node;
        if (child > 0) {
            enterChild(it, child - 1);
            return lastBelow(it, topSlot(it));
        }
        if (child == 0 && n->hasValue) {
            top(it)->child = -1;
            return arrive(it, n->slots[0]);
        }
        popNode(it);
        if (it->depth) child = top(it)->child;
    }
    return lost(it);
}

/* Is the iterator at a value in a slot, rather than at a node's own key? Then the key has that slot's byte,
 * too. */
static bool atSlot(struct raxIterator *it) {
    return it->depth && top(it)->child >= 0;
}

static void rewindTo(struct raxIterator *it) {
    it->depth = 0;
    it->key = strN(it->bytes, 0);
}

static bool seekEnd(struct raxIterator *it, bool last) {
    rewindTo(it);
    if (!it->rax->size) return lost(it);
    return last ? lastBelow(it, it->rax->root) : firstBelow(it, it->rax->root);
}

/* Where a descent for a key ended: on it, or with everything below the last slot greater, or smaller, or with
 * the top node's children to choose from. */
static bool seekKey(struct raxIterator *it, struct str key, bool less, bool equal) {
    void *slot = it->rax->root;
    rewindTo(it);
    if (!it->rax->size) return lost(it);
    while (!isValue(slot)) {
        struct node *n = slot;
        struct str prefix = prefixView(n);
        size_t common = commonLength(prefix, key);
        if (common < prefix.len) { /* all keys below are on the same side of it */
            bool greater =
                common == key.len || (unsigned char)prefix.ptr[common] > (unsigned char)key.ptr[common];
            if (greater && !less) return firstBelow(it, slot);
            if (!greater && less) return lastBelow(it, slot);
            goto aside;
        }
        key = skip(key, common);
        pushNode(it, n);
        if (!key.len) {
            if (equal && n->hasValue) return arrive(it, n->slots[0]);
            return less ? prevAside(it, -1) : nextAside(it, -1);
        }
        int i = lowerChild(n, (unsigned char)key.ptr[0]);
        if (i == n->children || childBytes(n)[i] != (unsigned char)key.ptr[0])
            return less ? prevAside(it, i) : nextAside(it, i - 1);
        enterChild(it, i);
        slot = topSlot(it);
        key = skip(key, 1);
    }
    if (!key.len && equal) return arrive(it, slotValue(slot));
    if (key.len && less) return arrive(it, slotValue(slot));
aside:
    if (!it->depth) return lost(it);
    it->key.len--;
    return less ? prevAside(it, top(it)->child) : nextAside(it, top(it)->child);
}

/* The tree has changed: look for the neighbour of the key that we stood on. */
static bool seekAgain(struct raxIterator *it, bool less) {
    char inline_copy[sizeof it->inline_bytes];
    size_t len = it->key.len;
    char *copy = len <= sizeof inline_copy ? inline_copy : zmalloc(len);
    memcpy(copy, it->key.ptr, len);
    bool found = seekKey(it, strN(copy, len), less, false);
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
    rewindTo(it);
}

bool raxSeek(struct raxIterator *it, const char *op, struct str key) {
    bool equal = op[0] == '=' || op[1] == '=';
    switch (op[0]) {
    case '^': return seekEnd(it, false);
    case '$': return seekEnd(it, true);
    case '=': return raxFind(it->rax, key, NULL) ? seekKey(it, key, false, true) : lost(it);
    default: return seekKey(it, key, op[0] == '<', equal);
    }
}

bool raxNext(struct raxIterator *it) {
    if (!it->valid) return false;
    if (it->change != it->rax->change) return seekAgain(it, false);
    if (!it->depth) return lost(it); /* the only key is the empty one */
    if (!atSlot(it)) return nextAside(it, -1);
    it->key.len--;
    return nextAside(it, top(it)->child);
}

bool raxPrev(struct raxIterator *it) {
    if (!it->valid) return false;
    if (it->change != it->rax->change) return seekAgain(it, true);
    if (!it->depth) return lost(it);
    if (!atSlot(it)) return prevAside(it, -1);
    it->key.len--;
    return prevAside(it, top(it)->child);
}

void raxStop(struct raxIterator *it) {
    if (it->bytes != it->inline_bytes) zfree(it->bytes);
    if (it->path != it->inline_path) zfree(it->path);
}

/* ---- Life ---- */

void raxInit(struct rax *r) {
    *r = (struct rax){0};
}

/* With a stack of its own: names chosen badly make a tree deep. */
static void freeNodes(struct node *n, void (*freeValue)(void *value)) {
    void **stack = NULL;
    size_t depth = 0, room = 0;
    while (n) {
        if (depth + n->children > room) {
            room = (depth + n->children) * 2;
            stack = zrealloc(stack, room * sizeof *stack);
        }
        if (n->hasValue && freeValue) freeValue(n->slots[0]);
        for (int i = 0; i < n->children; i++) {
            void *slot = childSlots(n)[i];
            if (!isValue(slot))
                stack[depth++] = slot;
            else if (freeValue)
                freeValue(slotValue(slot));
        }
        zfreeSized(n, nodeBytes(n->prefix, n->children, n->hasValue));
        n = depth ? stack[--depth] : NULL;
    }
    zfree(stack);
}

void raxDestroy(struct rax *r, void (*freeValue)(void *value)) {
    if (r->size && !isValue(r->root))
        freeNodes(r->root, freeValue);
    else if (r->size && freeValue)
        freeValue(slotValue(r->root));
    *r = (struct rax){.change = r->change + 1};
}

/* ---- Moving in memory ---- */

#define SEEN_MAX 32

/* Offers the nodes above where the iterator stands. Most were so at the last step: those are in `seen`.
 * Returns the slot of the value. */
static void **movePath(struct rax *r, struct raxIterator *it, void **seen, zmoveFn *move, void *priv) {
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
        slot = step->child < 0 ? n->slots : &childSlots(n)[step->child];
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
        void **slot = movePath(r, &it, seen, move, priv);
        if (!value) continue;
        void *now = value(priv, it.key, it.value);
        *slot = isValue(*slot) ? valueSlot(now) : now;
    }
    raxStop(&it);
    r->change++;
    return more;
}

/* ---- Checks ---- */

struct tally {
    size_t keys, nodes, bytes;
};

static void verifySlot(void *slot, struct tally *t) {
    if (isValue(slot)) {
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
        serverAssert(!i || childBytes(n)[i - 1] < childBytes(n)[i]);
        verifySlot(childSlots(n)[i], t);
    }
}

void raxVerify(const struct rax *r) {
    struct tally t = {0};
    if (r->size) verifySlot(r->root, &t);
    serverAssert(t.keys == r->size && t.nodes == r->nodes && t.bytes == r->bytes);
}
