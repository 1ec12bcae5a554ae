/* SPDX-License-Identifier: BSD-3-Clause */
/* module_type.h - data types of modules, as api_type.c, module_io.c and api_defrag.c share them.
 *
 *     object ──▶ struct moduleValue ──▶ struct ValkeyModuleType ──▶ struct module
 *                       └─▶ the module's own value
 *
 * For the rest of the server they are one type, OBJ_MODULE, whose hooks (data/type.h) call the methods of
 * the value's type. */
#pragma once

#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/type.h"
#include "module/api.h"
#include "types/types.h"

struct rdbReader;
struct rioWriter;

struct ValkeyModuleType {
    struct ValkeyModuleType *next; /* in order of creation */
    struct module *module;
    uint64_t id; /* nine characters of 6 bits, the first one highest; 10 bits of version */
    char name[10];
    ValkeyModuleTypeMethods methods; /* NULL: methods that the module's version of the struct lacks */
};
#define TYPE_VERSION_BITS   10
#define TYPE_VERSION_MAX    ((1 << TYPE_VERSION_BITS) - 1)
#define TYPE_VERSION_OF(id) ((int)((id)&TYPE_VERSION_MAX))
extern struct ValkeyModuleType *module_types;
/* Returns the id of a type, or 0 if the name does not have nine characters out of A-Z a-z 0-9 - _, or the
 * version is out of range. */
uint64_t moduleTypeId(const char *name, int version);
/* Finds a type by its name in the id, in any version; NULL: there is none. */
struct ValkeyModuleType *moduleTypeById(uint64_t id);

struct moduleValue {
    const struct ValkeyModuleType *type;
    void *value;
};
static inline struct moduleValue *moduleValueOf(const struct object *o) {
    return objectPtr(o);
}
struct value moduleValueCreate(const struct ValkeyModuleType *type, void *value);
/* Frees the module's value. Any thread may call it. */
void moduleValueFree(const struct ValkeyModuleType *type, void *value);

/* Returns the number of the database that holds this object, or -1. O(number of databases). */
int moduleFindDb(const struct object *o);
#define DB_BY_OBJECT (-2) /* stands for a number that moduleFindDb has to find */

/* ---- Hooks of OBJ_MODULE in other files ---- */
/* module_io.c */
void moduleTypeSave(struct rioWriter *w, const struct object *o);
enum rdbLoaded moduleTypeLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v);
void moduleTypeRewrite(struct rioWriter *w, struct str key, const struct object *o);
void moduleIoInit(void);
/* api_defrag.c */
bool moduleTypeDefrag(struct db *db, struct object *o, struct defragCursor *at);
void moduleDefragInit(void);
