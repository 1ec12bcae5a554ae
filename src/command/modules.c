/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.c - the list of modules; see modules.h. */
#include "command/modules.h"

#include "client/reply.h"

static struct listedModule *listed;
static int listed_count;

void modulesListAdd(struct listedModule *m) {
    struct listedModule **end = &listed;
    while (*end) end = &(*end)->next;
    *end = m;
    m->next = NULL;
    listed_count++;
}

void modulesListRemove(struct listedModule *m) {
    struct listedModule **at = &listed;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    listed_count--;
}

struct listedModule *modulesListFind(struct str name) {
    struct listedModule *m = listed;
    while (m && !strIs(name, m->name)) m = m->next;
    return m;
}

void moduleReplyList(struct client *c) {
    replyArrayLen(c, listed_count);
    for (const struct listedModule *m = listed; m; m = m->next) {
        replyMapLen(c, 4);
        replyBulkCstr(c, "name");
        replyBulkCstr(c, m->name);
        replyBulkCstr(c, "ver");
        replyLongLong(c, m->version);
        replyBulkCstr(c, "path");
        replyBulkCstr(c, m->path);
        replyBulkCstr(c, "args");
        replyArrayLen(c, m->arg_count);
        for (int i = 0; i < m->arg_count; i++) replyBulk(c, sdsview(m->args[i]));
    }
}
