/* SPDX-License-Identifier: BSD-3-Clause */
/* api_table.c - the table of interface functions. Modules find them by name, under the prefixes of both
 * headers that they may be compiled with. */
#include <string.h>

#include "base/assert.h"
#include "ds/hashtable.h"
#include "module/api.h"

/* Headers declare this function, but no server has it. Modules do not find it, as in an older server. */
#define vmReplySetPushLength NULL

struct apiFunction {
    const char *name;
    void *fn;
};

#define FUNCTION(type, name, parameters) {#name, (void *)vm##name},
static struct apiFunction functions[] = {
    VALKEYMODULE_FUNCTIONS(FUNCTION)
    /* the only name that differs in Redis's header */
    {"DefragRedisModuleString", (void *)vmDefragValkeyModuleString},
};

static struct str apiTableFunctionName(const void *entry) {
    return strOf(((const struct apiFunction *)entry)->name);
}
static const struct hashtableType table_type = {.entryKey = apiTableFunctionName};
static struct hashtable table;

int vmGetApi(const char *name, void *out) {
    static const struct str prefixes[] = {{"ValkeyModule_", 13}, {"RedisModule_", 12}};
    for (int i = 0; i < 2; i++) {
        if (!strStarts(strOf(name), prefixes[i])) continue;
        const struct apiFunction *found = hashtableFind(&table, strOf(name + prefixes[i].len));
        if (!found) break;
        memcpy(out, &found->fn, sizeof found->fn);
        return VALKEYMODULE_OK;
    }
    return VALKEYMODULE_ERR;
}

void apiTableInit(void) {
    hashtableInit(&table, &table_type);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].fn) hashtableAdd(&table, &functions[i]);
    }
}
