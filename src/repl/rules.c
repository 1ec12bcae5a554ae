/* rules.c - see rules.h. */
#include "repl/rules.h"

#include "data/role.h"
#include "registry/config.h"
#include "repl/link.h"
#include "repl/replicas.h"
#include "repl/replication.h"

#define SET CONFIG_MODIFIABLE

static bool ignore_maxmemory, ignore_disk_errors;

void rulesInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("replica-ignore-disk-write-errors", NULL, SET, &ignore_disk_errors, false, NULL),
        CONFIG_BOOL("replica-ignore-maxmemory", "slave-ignore-maxmemory", SET, &ignore_maxmemory, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
