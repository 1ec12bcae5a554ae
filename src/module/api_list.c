/* SPDX-License-Identifier: BSD-3-Clause */
/* api_list.c - module functions for keys that hold a list. Stepping through one by index is O(1) per step,
 * because the key keeps the position of the last access. */
#include <errno.h>

#include "module/module_key.h"

static int64_t apiListLength(struct ValkeyModuleKey *key) {
    struct object *o = moduleKeyObject(key);
    return o ? (int64_t)listTypeLength(listTypeOpen(o)) : 0;
}

/* Stores a changed list in its object; deletes the key if the list is empty. */
static void apiListCommit(struct ValkeyModuleKey *key, struct object *o, struct listRef l) {
    if (listTypeLength(l)) {
        listTypeCommit(key->db, o, l);
    } else {
        listTypeDeleteKey(key->db, moduleKeyName(key), o, l);
    }
}

int vmListPush(struct ValkeyModuleKey *key, int where, struct ValkeyModuleString *ele) {
    if (!ele || !moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_WRITE, true)) {
        if (!ele) errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    moduleKeyEndWalk(key);
    struct str text = stringText(ele);
    enum listEnd end = where == VALKEYMODULE_LIST_HEAD ? LIST_LEFT : LIST_RIGHT;
    struct object *o = moduleKeyObject(key);
    struct listRef l = o ? listTypeOpen(o) : listTypeNew(text.len);
    listTypePush(&l, text, end);
    if (o) {
        listTypeCommit(key->db, o, l);
    } else {
        char room[LIST_EMBED_MAX];
        dbAdd(key->db, moduleKeyName(key), listTypeValue(l, room));
    }
    return VALKEYMODULE_OK;
}

/* Moves to the element at index, by one step if the last access was beside it. Returns false and sets errno
 * if there is none. */
static bool apiListSeek(struct ValkeyModuleKey *key, long index) {
    int64_t len = apiListLength(key), at = index < 0 ? index + len : index;
    if (at < 0 || at >= len) {
        errno = EDOM;
        return false;
    }
    if (key->walk == WALK_LIST) {
        int64_t step = at - key->list.index;
        bool near = step >= -1 && step <= 1;
        bool there =
            near && (step == 0 || (step > 0 ? listTypeNext(&key->list.it) : listTypePrev(&key->list.it)));
        key->list.index = at;
        if (there) return true;
    }
    moduleKeyEndWalk(key);
    if (!listTypeSeek(&key->list.it, listTypeOpen(moduleKeyObject(key)), at)) {
        errno = EDOM;
        return false;
    }
    key->walk = WALK_LIST;
    key->list.index = at;
    return true;
}

struct ValkeyModuleString *vmListGet(struct ValkeyModuleKey *key, long index) {
    char digits[LP_INTBUF_SIZE];
    if (!moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_READ, false) || !apiListSeek(key, index)) return NULL;
    struct str text = listTypeText(&key->list.it, digits);
    return vmCreateString(key->ctx, text.ptr, text.len);
}

struct ValkeyModuleString *vmListPop(struct ValkeyModuleKey *key, int where) {
    if (!moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_WRITE, false)) return NULL;
    char digits[LP_INTBUF_SIZE];
    int64_t at = where == VALKEYMODULE_LIST_HEAD ? 0 : apiListLength(key) - 1;
    if (!apiListSeek(key, at)) return NULL;
    struct str text = listTypeText(&key->list.it, digits);
    struct ValkeyModuleString *popped = vmCreateString(key->ctx, text.ptr, text.len);
    moduleKeyEndWalk(key);
    struct object *o = moduleKeyObject(key);
    struct listRef l = listTypeOpen(o);
    listTypeDelete(&l, (uint64_t)at, 1);
    listTypeShrink(&l);
    apiListCommit(key, o, l);
    return popped;
}

int vmListSet(struct ValkeyModuleKey *key, long index, struct ValkeyModuleString *value) {
    if (!value) errno = EINVAL;
    if (!value || !moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_WRITE, false)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    struct object *o = moduleKeyObject(key);
    struct listRef l = listTypeOpen(o);
    if (!listTypeSet(&l, index, stringText(value))) {
        errno = EDOM;
        return VALKEYMODULE_ERR;
    }
    listTypeCommit(key->db, o, l);
    return VALKEYMODULE_OK;
}

/* index is the position of the new element after the insertion; at the ends this is a push. */
int vmListInsert(struct ValkeyModuleKey *key, long index, struct ValkeyModuleString *value) {
    if (!value) errno = EINVAL;
    if (!value || !moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_WRITE, true)) return VALKEYMODULE_ERR;
    int64_t len = apiListLength(key), at = index < 0 ? index + len + 1 : index;
    if (at < 0 || at > len) {
        errno = EDOM;
        return VALKEYMODULE_ERR;
    }
    if (at == len) return vmListPush(key, VALKEYMODULE_LIST_TAIL, value);
    if (at == 0) return vmListPush(key, VALKEYMODULE_LIST_HEAD, value);
    moduleKeyEndWalk(key);
    struct object *o = moduleKeyObject(key);
    struct listRef l = listTypeOpen(o);
    listTypeInsertAt(&l, (uint64_t)at, stringText(value));
    listTypeCommit(key->db, o, l);
    return VALKEYMODULE_OK;
}

int vmListDelete(struct ValkeyModuleKey *key, long index) {
    if (!moduleKeyCheck(key, OBJ_LIST, VALKEYMODULE_WRITE, false)) return VALKEYMODULE_ERR;
    int64_t len = apiListLength(key), at = index < 0 ? index + len : index;
    if (at < 0 || at >= len) {
        errno = EDOM;
        return VALKEYMODULE_ERR;
    }
    moduleKeyEndWalk(key);
    struct object *o = moduleKeyObject(key);
    struct listRef l = listTypeOpen(o);
    listTypeDelete(&l, (uint64_t)at, 1);
    listTypeShrink(&l);
    apiListCommit(key, o, l);
    return VALKEYMODULE_OK;
}
