/* modules.c - the list of modules; see modules.h. */
#include "command/modules.h"

#include "base/assert.h"
#include "client/reply.h"

#define MODULES_MAX 4

static struct module {
    const char *name, *path;
    int version;
} modules[MODULES_MAX];
static int module_count;

void moduleRegister(const char *name, int version, const char *path) {
    serverAssert(module_count < MODULES_MAX);
    modules[module_count++] = (struct module){.name = name, .version = version, .path = path};
}

void moduleReplyList(struct client *c) {
    replyArrayLen(c, module_count);
    for (const struct module *m = modules; m < modules + module_count; m++) {
        replyMapLen(c, 4);
        replyBulkCstr(c, "name");
        replyBulkCstr(c, m->name);
        replyBulkCstr(c, "ver");
        replyLongLong(c, m->version);
        replyBulkCstr(c, "path");
        replyBulkCstr(c, m->path);
        replyBulkCstr(c, "args");
        replyArrayLen(c, 0);
    }
}
