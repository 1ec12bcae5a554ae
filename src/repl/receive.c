/* receive.c - see receive.h. */
#include "repl/receive.h"

#include "registry/config.h"
#include "repl/replication.h"

static bool lazy_flush; /* replica-lazy-flush */

void receiveInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("replica-lazy-flush", "slave-lazy-flush", CONFIG_MODIFIABLE, &lazy_flush, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
