/* SPDX-License-Identifier: BSD-3-Clause */
/* type.c - the table of data types, which the modules in types/ fill in. */
#include "data/type.h"

#include "base/assert.h"

const struct objectType *objectTypes[OBJ_TYPES_MAX];

void objectTypeRegister(const struct objectType *type) {
    serverAssert(type->id < OBJ_TYPES_MAX && !objectTypes[type->id]);
    serverAssert(type->free && type->freeEffort);
    objectTypes[type->id] = type;
}

const struct objectType *objectTypeByName(struct str name) {
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        const struct objectType *type = objectTypes[i];
        if (type && (type->hasName ? type->hasName(name) : strIs(name, type->name))) return type;
    }
    return NULL;
}

void objectFree(struct object *o) {
    if (objectHasPtr(o)) objectTypeOf(o)->free(objectValue(o));
    objectFreeHeader(o);
}
