/* full_sync.c - see full_sync.h. */
#include "repl/full_sync.h"

#include "registry/config.h"
#include "repl/settings.h"

#define SET CONFIG_MODIFIABLE

static int64_t delay_s, max_replicas;

void fullSyncInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("repl-diskless-sync-delay", NULL, SET, &delay_s, 5, 0, INT32_MAX, NULL),
        CONFIG_INT("repl-diskless-sync-max-replicas", NULL, SET, &max_replicas, 0, 0, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
