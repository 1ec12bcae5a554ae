/* SPDX-License-Identifier: BSD-3-Clause */
/* api_hash.c - module functions for keys that hold a hash. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "module/module_key.h"
#include "types/hash/hash.h"

#define SET_FLAGS                                                                                            \
    (VALKEYMODULE_HASH_NX | VALKEYMODULE_HASH_XX | VALKEYMODULE_HASH_CFIELDS | VALKEYMODULE_HASH_COUNT_ALL)

/* Returns the next field of the variable arguments; ptr NULL: the end. */
static struct str apiHashNextField(va_list *ap, int flags) {
    if (flags & VALKEYMODULE_HASH_CFIELDS) {
        const char *field = va_arg(*ap, const char *);
        return field ? strOf(field) : strN(NULL, 0);
    }
    struct ValkeyModuleString *field = va_arg(*ap, struct ValkeyModuleString *);
    return field ? stringText(field) : strN(NULL, 0);
}

/* Sets one field and returns by how much it counts in the result. */
static int apiHashSetField(struct hash *h, struct str field, struct ValkeyModuleString *value, int flags) {
    bool there = hashGet(h, field, NULL);
    if ((flags & VALKEYMODULE_HASH_XX && !there) || (flags & VALKEYMODULE_HASH_NX && there)) return 0;
    if (value == VALKEYMODULE_HASH_DELETE) return hashRemove(h, field);
    hashSet(h, field, (struct hashInput){.text = stringText(value)}, false);
    return there || flags & VALKEYMODULE_HASH_COUNT_ALL;
}

int vmHashSet(struct ValkeyModuleKey *key, int flags, ...) {
    struct hash h;
    int counted = 0;
    struct object *o = key ? moduleKeyObject(key) : NULL;
    errno = !key || flags & ~SET_FLAGS          ? EINVAL
            : o && o->type != OBJ_HASH          ? ENOTSUP
            : !(key->mode & VALKEYMODULE_WRITE) ? EBADF
                                                : 0;
    if (errno) return 0;
    if (o)
        hashOpen(&h, o);
    else
        hashNew(&h);
    va_list ap;
    va_start(ap, flags);
    for (struct str field; (field = apiHashNextField(&ap, flags)).ptr;)
        counted += apiHashSetField(&h, field, va_arg(ap, struct ValkeyModuleString *), flags);
    va_end(ap);
    hashCommit(&h, key->db, moduleKeyName(key), o);
    errno = counted ? 0 : ENOENT;
    return counted;
}

int vmHashGet(struct ValkeyModuleKey *key, int flags, ...) {
    struct hash h;
    struct hashText value;
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!key || (o && o->type != OBJ_HASH)) return VALKEYMODULE_ERR;
    if (o) hashOpen(&h, o);
    va_list ap;
    va_start(ap, flags);
    for (struct str field; (field = apiHashNextField(&ap, flags)).ptr;) {
        bool there = o && hashGet(&h, field, &value);
        if (flags & VALKEYMODULE_HASH_EXISTS)
            *va_arg(ap, int *) = there;
        else
            *va_arg(ap, struct ValkeyModuleString **) =
                there ? vmCreateString(key->ctx, value.s.ptr, value.s.len) : NULL;
    }
    va_end(ap);
    return VALKEYMODULE_OK;
}

/* ---- Values by reference ---- */

/* Copies the text, because a hash owns its values and the module could free the buffer earlier. */
int vmHashSetStringRef(struct ValkeyModuleKey *key, struct ValkeyModuleString *field, const char *buf,
                       size_t len) {
    struct hash h;
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!moduleKeyIsWritable(key) || !o || o->type != OBJ_HASH || !field || !buf) return VALKEYMODULE_ERR;
    hashOpen(&h, o);
    if (!hashGet(&h, stringText(field), NULL)) return -1;
    hashSet(&h, stringText(field), (struct hashInput){.text = strN(buf, len), .owned = HASH_ELSEWHERE}, true);
    hashCommit(&h, key->db, moduleKeyName(key), o);
    return VALKEYMODULE_OK;
}

/* Returns 1 if the key holds no hash, too. */
int vmHashHasStringRef(struct ValkeyModuleKey *key, struct ValkeyModuleString *field) {
    struct hash h;
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || o->type != OBJ_HASH) return 1;
    hashOpen(&h, o);
    return field && hashIsElsewhere(&h, stringText(field));
}
