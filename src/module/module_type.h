/* SPDX-License-Identifier: BSD-3-Clause */
/* module_type.h - data types of modules: what api_type.c, module_io.c, api_defrag.c share.
 *
 *     object ──▶ struct moduleValue ──▶ struct ValkeyModuleType ──▶ struct module
 *                       └─▶ what the module has made
 *
 * To the house they are one type, OBJ_MODULE: its hooks (data/type.h) ask the type of the value. */
#pragma once

#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/type.h"
#include "module/api.h"
#include "types/types.h"

struct rdbReader;
struct rioWriter;

struct ValkeyModuleType {
    struct ValkeyModuleType *next; /* in the order in which they were made */
    struct module *module;
    uint64_t id; /* nine characters of 6 bits, the first one highest, and the version in the last 10 */
    char name[10];
    ValkeyModuleTypeMethods methods; /* those that the module's version of the struct does not have: NULL */
};
#define TYPE_VERSION_BITS   10
#define TYPE_VERSION_MAX    ((1 << TYPE_VERSION_BITS) - 1)
#define TYPE_VERSION_OF(id) ((int)((id)&TYPE_VERSION_MAX))
extern struct ValkeyModuleType *module_types;
/* Whatever version it is of; NULL. */
struct ValkeyModuleType *moduleTypeById(uint64_t id);

struct moduleValue {
    const struct ValkeyModuleType *type;
    void *value;
};
static inline struct moduleValue *moduleValueOf(const struct object *o) {
    return objectPtr(o);
}
struct value moduleValueMake(const struct ValkeyModuleType *type, void *value);
/* What the module has made goes. Any thread. */
void moduleValueDrop(const struct ValkeyModuleType *type, void *value);

/* The database that holds this object, found when a module asks: -1, none does. O(number of databases). */
int moduleDbOf(const struct object *o);
#define DB_BY_OBJECT (-2) /* instead of a number: ask moduleDbOf */

/* ---- Hooks of OBJ_MODULE that are elsewhere ---- */
/* module_io.c */
void moduleTypeSave(struct rioWriter *w, const struct object *o);
enum rdbLoaded moduleTypeLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v);
void moduleTypeRewrite(struct rioWriter *w, struct str key, const struct object *o);
void moduleIoInit(void);
/* api_defrag.c */
bool moduleTypeDefrag(struct db *db, struct object *o, struct defragCursor *at);
void moduleDefragInit(void);
