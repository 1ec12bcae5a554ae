/* import_mode.c - see import_mode.h; what follows from it for keys is in db.c. */
#include "data/import_mode.h"

#include "command/command.h"
#include "commands/connection.h"
#include "client/client.h"
#include "registry/config.h"
#include "data/db.h"
#include "data/evict.h"
#include "client/reply.h"

bool import_mode;

void clientImportSourceCommand(struct client *c) {
    bool on = strIs(c->argv[2], "on");
    bool off = strIs(c->argv[2], "off");
    if (!off && !import_mode) {
        replyError(c, "ERR Server is not in import mode");
    } else if (!on && !off) {
        replySyntaxError(c);
    } else {
        c->flags = (c->flags & ~(uint32_t)CLIENT_IMPORT_SOURCE) | (on ? CLIENT_IMPORT_SOURCE : 0);
        replyOk(c);
    }
}

static bool importing(void) {
    return import_mode;
}

void importModeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("import-mode", NULL, CONFIG_MODIFIABLE, &import_mode, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    evictAddVeto(importing);
    dbAddExpiryVeto(importing);
}
