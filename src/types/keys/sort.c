/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.c - see sort.h.
 *
 * All elements are copied into one string, as texts that end in a NUL; so are the weights that BY looks up
 * when they are to be compared as texts (without BY, an element is its own weight). They are copied because a
 * lookup may expire keys and so change any data.
 *
 *     texts:     | banana\0 | 17\0 | apple\0 | ...
 *     weights:   | 3\0 | x\0 | ...                       (ALPHA with BY)
 *     elements:  | text, weight | ...
 *     keys:      | number or first bytes of the weight, index of the element | ...     this is sorted
 *
 * A pattern names a key: its first * stands for the element, and what follows "->" is a field of a hash.
 *
 *     user_*->name     prefix "user_", suffix "", field "name"
 *
 * Without sorting (BY a constant), only elements in the result are copied. */
#define _GNU_SOURCE /* for memmem */
#include "types/keys/sort.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "base/key_slot.h"
#include "base/num.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_sort.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "data/server_state/role.h"
#include "data/type.h"
#include "ds/keysort.h"
#include "types/hash/hash.h"
#include "types/list/list.h"
#include "types/set/set.h"
#include "types/string/string_commands.h"
#include "types/types.h"
#include "types/zset/zset.h"

struct sortPattern {
    bool element; /* "#": the element itself */
    bool star;    /* false: nothing is looked up */
    struct str prefix, suffix, field;
};

struct sortArgs {
    bool alpha, desc, may_store;
    bool nosort; /* BY a constant */
    bool has_by;
    struct sortPattern by;
    struct sortPattern *gets; /* owned */
    int get_count;
    int64_t offset, limit; /* limit < 0: no limit */
    struct str store;      /* ptr NULL: reply */
};

struct sortElement {
    size_t text_at, text_len;
    struct str text;
    size_t weight_at;
    struct str weight; /* ALPHA: what is compared; ptr NULL: none, sorts first */
};

/* The elements of the result: positions in the sorted order. */
struct sortSlice {
    size_t first, end;
};

struct sortRun {
    struct client *c;
    const struct sortArgs *args;
    sds texts, weights, key; /* key: that of the present lookup */
    struct sortElement *element;
    struct sortKey *keys; /* as many, in the sorted order; NULL: in their own order */
    size_t count, capacity;
    struct sortSlice answer;
    bool bytes;     /* ALPHA: compare as bytes, not in the order of a language */
    bool scattered; /* the stored elements are in another order on each server: their texts decide between
                       equal weights */
};

/* The result of a lookup: a view of the value, of `buf` or of the hash's text. */
struct sortLookup {
    bool found;
    struct str value;
    char buf[LONG_STR_SIZE];
    struct hash hash;
    struct hashText field;
};

/* ---- Arguments ---- */

static struct sortPattern sortParsePattern(struct str s) {
    struct sortPattern p = {.element = strEq(s, STR("#"))};
    const char *end = s.ptr + s.len, *star = s.len ? memchr(s.ptr, '*', s.len) : NULL;
    if (!star) return p;
    const char *arrow = memmem(star + 1, (size_t)(end - star - 1), "->", 2);
    if (arrow && arrow + 2 == end) arrow = NULL; /* no field: then it is part of the name */
    p.star = true;
    p.prefix = strN(s.ptr, (size_t)(star - s.ptr));
    p.suffix = strN(star + 1, (size_t)((arrow ? arrow : end) - star - 1));
    if (arrow) p.field = strN(arrow + 2, (size_t)(end - arrow - 2));
    return p;
}

enum sortOption { SORT_UNKNOWN, SORT_ASC, SORT_DESC, SORT_ALPHA, SORT_LIMIT, SORT_STORE, SORT_BY, SORT_GET };

/* Returns the option at argv[i]; *args: how many arguments it takes. */
static enum sortOption sortOptionAt(const struct str *argv, int argc, int i, int *args) {
    static const struct {
        const char *name;
        int args;
        enum sortOption option;
    } options[] = {{"asc", 0, SORT_ASC},     {"desc", 0, SORT_DESC},   {"alpha", 0, SORT_ALPHA},
                   {"limit", 2, SORT_LIMIT}, {"store", 1, SORT_STORE}, {"by", 1, SORT_BY},
                   {"get", 1, SORT_GET}};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        *args = options[o].args;
        if (strIs(argv[i], options[o].name) && i + *args < argc) return options[o].option;
    }
    *args = 0;
    return SORT_UNKNOWN;
}

/* Returns the key, and that of the last STORE. The keys that BY and GET read depend on the elements. */
int sortGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    int store = 0;
    for (int i = 2, args; i < argc; i += 1 + args)
        if (sortOptionAt(argv, argc, i, &args) == SORT_STORE) store = i + 1;
    int count = keyRefsAdd(keys, 0, 1, 1, 1, KEY_RO | KEY_ACCESS);
    return store ? keyRefsAdd(keys, count, store, store, 1, KEY_OW | KEY_UPDATE) : count;
}

/* The keys that BY and GET read depend on the elements: so in a cluster the pattern must ensure that they all
 * are in the slot of the sorted key. */
static bool sortCheckSlot(struct client *c, struct str pattern, const char *error) {
    if (!cluster_enabled || patternSlot(pattern) == keySlot(c->argv[1])) return true;
    return replyError(c, error);
}

static bool sortMayReadAll(struct client *c, const char *error) {
    if (aclMayReadAllKeys(c)) return true;
    return replyError(c, error);
}

static bool sortParseBy(struct client *c, struct str pattern, struct sortArgs *a) {
    a->by = sortParsePattern(pattern);
    if (a->by.star && !sortCheckSlot(c, pattern,
                                     "ERR BY option of SORT denied in Cluster mode when keys formed by the "
                                     "pattern may be in different slots."))
        return false;
    if (a->by.star && !sortMayReadAll(c, "ERR BY option of SORT denied due to insufficient ACL permissions."))
        return false;
    a->has_by = true;
    if (!a->by.star) a->nosort = true; /* permanently, whatever BY follows */
    return true;
}

static bool sortParseGet(struct client *c, struct str pattern, struct sortArgs *a) {
    if (!strEq(pattern, STR("#")) &&
        !sortCheckSlot(c, pattern,
                       "ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be "
                       "in different slots."))
        return false;
    if (!sortMayReadAll(c, "ERR GET option of SORT denied due to insufficient ACL permissions."))
        return false;
    a->gets[a->get_count++] = sortParsePattern(pattern);
    return true;
}

static bool sortParseOption(struct client *c, int *i, struct sortArgs *a) {
    int args;
    enum sortOption option = sortOptionAt(c->argv, c->argc, *i, &args);
    const struct str *arg = c->argv + *i + 1;
    if (option == SORT_UNKNOWN || (option == SORT_STORE && !a->may_store)) return replySyntaxError(c);
    *i += args;
    if (option == SORT_LIMIT)
        return argLongLong(c, arg[0], &a->offset, NULL) && argLongLong(c, arg[1], &a->limit, NULL);
    if (option == SORT_BY) return sortParseBy(c, *arg, a);
    if (option == SORT_GET) return sortParseGet(c, *arg, a);
    if (option == SORT_STORE)
        a->store = *arg;
    else if (option == SORT_ALPHA)
        a->alpha = true;
    else
        a->desc = option == SORT_DESC;
    return true;
}

static bool sortParseOptions(struct client *c, struct sortArgs *a) {
    a->gets = zmalloc((size_t)c->argc * sizeof *a->gets);
    for (int i = 2; i < c->argc; i++)
        if (!sortParseOption(c, &i, a)) return false;
    return true;
}

/* ---- Looking up ---- */

static void sortLookupPattern(struct sortRun *run, const struct sortPattern *p, struct str element,
                              struct sortLookup *l) {
    l->found = p->element;
    l->value = element;
    if (!p->star) return;
    sdssetlen(run->key, 0);
    run->key = sdscatstr(run->key, p->prefix);
    run->key = sdscatstr(run->key, element);
    run->key = sdscatstr(run->key, p->suffix);
    struct object *o = lookupKeyRead(run->c, sdsview(run->key));
    if (!o) return;
    if (p->field.len && o->type == OBJ_HASH) {
        hashOpen(&l->hash, o);
        l->found = hashGet(&l->hash, p->field, &l->field);
        l->value = l->field.s;
    } else if (!p->field.len && o->type == OBJ_STRING) {
        l->found = true;
        l->value = stringView(o, l->buf);
    }
}

/* ---- Collecting ---- */

static size_t sortKeepText(sds *pool, struct str s) {
    size_t at = sdslen(*pool);
    *pool = sdsMakeRoomFor(*pool, s.len + 1);
    if (s.len) memcpy(*pool + at, s.ptr, s.len);
    (*pool)[at + s.len] = 0;
    sdssetlen(*pool, at + s.len + 1);
    return at;
}

static bool sortCollectElement(void *priv, struct str text) {
    struct sortRun *run = priv;
    if (run->count == run->capacity) {
        run->capacity = run->capacity ? 2 * run->capacity : 64;
        run->element = zrealloc(run->element, run->capacity * sizeof *run->element);
    }
    run->element[run->count++] =
        (struct sortElement){.text_at = sortKeepText(&run->texts, text), .text_len = text.len};
    return true;
}

static void sortCollectList(struct sortRun *run, struct listRef l, size_t first, size_t count, bool back) {
    struct listIterator it;
    int64_t at = (int64_t)first;
    if (!count || !listTypeSeek(&it, l, back ? -1 - at : at)) return;
    do {
        char text[LP_INTBUF_SIZE];
        sortCollectElement(run, listTypeText(&it, text));
    } while (--count && (back ? listTypePrev(&it) : listTypeNext(&it)));
    listTypeStop(&it);
}

static void sortCollectZset(struct sortRun *run, struct zsetRef z, size_t first, size_t count, bool back) {
    struct zsetPlace p;
    if (!count || !z.index->atRank(z.ptr, back ? zsetLength(z) - 1 - first : first, &p)) return;
    do {
        struct zsetElement e;
        z.index->read(z.ptr, &p, &e);
        sortCollectElement(run, e.member);
    } while (--count && z.index->step(z.ptr, &p, back));
}

static void sortCollectSet(struct sortRun *run, struct setRef s, size_t first, size_t count) {
    struct setIterator it;
    struct setMember m;
    setIterate(&it, s);
    for (size_t i = 0; i < first + count && setNext(&it, &m); i++)
        if (i >= first) sortCollectElement(run, m.s);
    setStop(&it);
}

static struct sortSlice sortSliceOf(const struct sortArgs *a, size_t count) {
    struct sortSlice s = {a->offset > 0 ? (size_t)a->offset : 0, count};
    if (s.first > count) s.first = count;
    if (a->limit >= 0 && (uint64_t)a->limit < count - s.first) s.end = s.first + (size_t)a->limit;
    return s;
}

/* Collects in stored order, or from the end; a set has no direction. */
static void sortCollectUnsorted(struct sortRun *run, const struct object *o) {
    const struct sortArgs *a = run->args;
    size_t count = o->type == OBJ_LIST   ? listTypeLength(listTypeOpen(o))
                   : o->type == OBJ_ZSET ? zsetLength(zsetOpen(o))
                                         : setSize(setOpen(o));
    struct sortSlice s = sortSliceOf(a, count);
    if (o->type == OBJ_LIST)
        sortCollectList(run, listTypeOpen(o), s.first, s.end - s.first, a->desc);
    else if (o->type == OBJ_ZSET)
        sortCollectZset(run, zsetOpen(o), s.first, s.end - s.first, a->desc);
    else
        sortCollectSet(run, setOpen(o), s.first, s.end - s.first);
    run->answer = (struct sortSlice){0, run->count};
}

static void sortCollect(struct sortRun *run, const struct object *o) {
    if (run->args->nosort) {
        sortCollectUnsorted(run, o);
    } else {
        objectTypeOf(o)->iterate(o, sortCollectElement, run);
        run->answer = sortSliceOf(run->args, run->count);
    }
    /* The pool is complete, so its offsets can become addresses. */
    for (size_t i = 0; i < run->count; i++) {
        struct sortElement *e = &run->element[i];
        e->text = strN(run->texts + e->text_at, e->text_len);
    }
}

/* Parses numbers as C does, except hexadecimal ones and leading blanks. The text ends in a NUL. */
static bool sortReadNumber(const char *text, double *v) {
    char *end;
    errno = 0;
    if (!*text || isspace((unsigned char)*text) || strpbrk(text, "xX")) return false;
    *v = strtod(text, &end);
    return !*end && errno != ERANGE && !isnan(*v);
}

/* Integers are converted as such, which is exact up to 2^53 and rounds alike above. */
static bool sortNumberOf(struct sortRun *run, struct str weight, bool ends_in_nul, double *v) {
    int64_t integer;
    if (string2ll(weight, &integer)) {
        *v = (double)integer;
        return true;
    }
    if (ends_in_nul) return sortReadNumber(weight.ptr, v);
    sdssetlen(run->weights, 0); /* needed for this conversion only */
    sortKeepText(&run->weights, weight);
    return sortReadNumber(run->weights, v);
}

/* Sets the numbers to compare. Returns false when a weight is no number. */
static bool sortSetNumbers(struct sortRun *run) {
    const struct sortArgs *a = run->args;
    for (size_t i = 0; i < run->count; i++) {
        const struct sortElement *e = &run->element[i];
        struct sortLookup l = {.found = true, .value = e->text};
        double number = 0;
        if (a->has_by) sortLookupPattern(run, &a->by, e->text, &l);
        if (l.found && !sortNumberOf(run, l.value, !a->has_by, &number)) return false;
        run->keys[i] = (struct sortKey){keysortDouble(number), i};
    }
    return true;
}

static void sortLookUpWeights(struct sortRun *run) {
    enum { NO_WEIGHT = -1 };
    for (size_t i = 0; i < run->count; i++) {
        struct sortElement *e = &run->element[i];
        struct sortLookup l;
        sortLookupPattern(run, &run->args->by, e->text, &l);
        e->weight_at = l.found ? sortKeepText(&run->weights, l.value) : (size_t)NO_WEIGHT;
        e->weight.len = l.value.len;
    }
    for (size_t i = 0; i < run->count; i++) {
        struct sortElement *e = &run->element[i];
        e->weight.ptr = e->weight_at == (size_t)NO_WEIGHT ? NULL : run->weights + e->weight_at;
    }
}

/* Whether strcoll() compares bytes, as in the locales that belong to no language. */
static bool sortCollatesBytes(void) {
    static const char *const names[] = {"C", "POSIX", "C.UTF-8", "C.utf8"};
    const char *locale = setlocale(LC_COLLATE, NULL);
    for (size_t i = 0; locale && i < sizeof names / sizeof *names; i++)
        if (!strcmp(locale, names[i])) return true;
    return false;
}

/* Returns how many leading bytes all weights have in common. */
static size_t sortCommonPrefix(const struct sortRun *run) {
    const char *first = NULL;
    size_t len = 0;
    for (size_t i = 0; i < run->count; i++) {
        struct str weight = run->element[i].weight;
        if (!weight.ptr) continue;
        if (!first) {
            first = weight.ptr;
            len = weight.len;
        }
        size_t n = 0;
        while (n < len && n < weight.len && weight.ptr[n] == first[n]) n++;
        len = n;
    }
    return len;
}

/* A stored result is ordered by all bytes, so that replicas have the same whatever their locale. A replied
 * one is compared like strcoll() does, which ends at a NUL. */
static void sortCutWeights(struct sortRun *run) {
    for (size_t i = 0; i < run->count; i++) {
        struct str *weight = &run->element[i].weight;
        if (weight->ptr) weight->len = strlen(weight->ptr);
    }
}

/* The common leading bytes do not distinguish weights: the keys are the bytes after them. In the order of a
 * language, leading bytes say nothing. */
static void sortSetTexts(struct sortRun *run) {
    if (run->args->has_by)
        sortLookUpWeights(run);
    else
        for (size_t i = 0; i < run->count; i++) run->element[i].weight = run->element[i].text;
    bool stores = run->args->store.ptr;
    if (!stores) sortCutWeights(run);
    run->bytes = stores || sortCollatesBytes();
    size_t common = run->bytes ? sortCommonPrefix(run) : 0;
    for (size_t i = 0; i < run->count; i++) {
        struct str weight = run->element[i].weight;
        uint64_t key = 0;
        if (weight.ptr && run->bytes) key = keysortText(strN(weight.ptr + common, weight.len - common));
        run->keys[i] = (struct sortKey){key, i};
    }
}

/* ---- Sorting ---- */

/* Compares two elements whose keys are equal. */
static int sortCompareElements(void *priv, size_t a, size_t b) {
    const struct sortRun *run = priv;
    const struct sortElement *x = &run->element[a], *y = &run->element[b];
    int cmp;
    if (!run->args->alpha)
        cmp = strCmp(x->text, y->text);
    else if (!x->weight.ptr || !y->weight.ptr)
        cmp = !y->weight.ptr - !x->weight.ptr;
    else
        cmp = run->bytes ? strCmp(x->weight, y->weight) : strcoll(x->weight.ptr, y->weight.ptr);
    if (!cmp && run->scattered) cmp = strCmp(x->text, y->text);
    return run->args->desc ? -cmp : cmp;
}

/* Returns false when an error has been replied. */
static bool sortOrder(struct sortRun *run, const struct sortArgs *a) {
    if (a->nosort) return true;
    run->keys = zmalloc(run->count * sizeof *run->keys);
    if (a->alpha) {
        sortSetTexts(run);
    } else if (!sortSetNumbers(run))
        return replyError(run->c, "ERR One or more scores can't be converted into double");
    for (size_t i = 0; a->desc && i < run->count; i++) run->keys[i].key = ~run->keys[i].key;
    size_t wanted = run->answer.end;
    if (wanted < run->count) keysortSelect(run->keys, run->count, wanted, sortCompareElements, run);
    keysortSort(run->keys, wanted, sortCompareElements, run);
    return true;
}

/* ---- Results ---- */

/* Receives every value of the result, in order; found is false for a missing one. */
typedef void sortOutput(void *priv, bool found, struct str value);

static void sortEmitResult(struct sortRun *run, const struct sortSlice *s, sortOutput *out, void *priv) {
    const struct sortArgs *a = run->args;
    for (size_t i = s->first; i < s->end; i++) {
        struct str text = run->element[run->keys ? run->keys[i].at : i].text;
        if (!a->get_count) out(priv, true, text);
        for (int g = 0; g < a->get_count; g++) {
            struct sortLookup l;
            sortLookupPattern(run, &a->gets[g], text, &l);
            out(priv, l.found, l.value);
        }
    }
}

static void sortReplyValue(void *priv, bool found, struct str value) {
    if (found)
        replyBulk(priv, value);
    else
        replyNull(priv);
}

static void sortPushValue(void *priv, bool found, struct str value) {
    listTypePush(priv, found ? value : STR(""), LIST_RIGHT);
}

static void sortStoreResult(struct sortRun *run, const struct sortSlice *s, size_t length) {
    struct client *c = run->c;
    struct str key = run->args->store;
    if (length) {
        struct listRef l = listTypeNew(0);
        char room[LIST_EMBED_MAX];
        sortEmitResult(run, s, sortPushValue, &l);
        dbSet(c->db, key, listTypeValue(l, room), false);
        keyChanged(c, c->db, key, NOTIFY_LIST, "sortstore", length);
    } else if (dbDelete(c->db, key)) {
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "del", 1);
    }
    replyLongLong(c, (int64_t)length);
}

static void sortReplyResult(struct sortRun *run) {
    const struct sortArgs *a = run->args;
    struct sortSlice s = run->answer;
    size_t length = (s.end - s.first) * (size_t)(a->get_count ? a->get_count : 1);
    if (a->store.ptr) {
        sortStoreResult(run, &s, length);
        return;
    }
    replyArrayLen(run->c, (int64_t)length);
    sortEmitResult(run, &s, sortReplyValue, run->c);
}

/* ---- SORT, SORT_RO ---- */

/* The order of a set differs between servers: where that matters, the set is sorted. */
static void sortOrderSet(const struct client *c, struct sortArgs *a) {
    if (!a->nosort || !(a->store.ptr || c->flags & CLIENT_SCRIPT)) return;
    a->nosort = a->has_by = false;
    a->alpha = true;
}

static void sortRunObject(struct client *c, const struct object *o, struct sortArgs *a) {
    if (o && o->type != OBJ_LIST && o->type != OBJ_SET && o->type != OBJ_ZSET) {
        replyWrongType(c);
        return;
    }
    struct sortRun run = {.c = c, .args = a, .texts = sdsempty(), .weights = sdsempty(), .key = sdsempty()};
    if (o && o->type == OBJ_SET) sortOrderSet(c, a);
    run.scattered = a->store.ptr && o && o->type == OBJ_SET && o->encoding == SET_HASHTABLE;
    if (o) sortCollect(&run, o);
    if (sortOrder(&run, a)) sortReplyResult(&run);
    zfree(run.element);
    zfree(run.keys);
    sdsfree(run.key);
    sdsfree(run.weights);
    sdsfree(run.texts);
}

static void sortGeneric(struct client *c, bool may_store) {
    struct sortArgs a = {.limit = -1, .may_store = may_store};
    if (sortParseOptions(c, &a)) sortRunObject(c, lookupKeyRead(c, c->argv[1]), &a);
    zfree(a.gets);
}

void sortCommand(struct client *c) {
    sortGeneric(c, true);
}

void sortRoCommand(struct client *c) {
    sortGeneric(c, false);
}

void sortInit(void) {
    commandRegister(commandsSort);
}
