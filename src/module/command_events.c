/* SPDX-License-Identifier: BSD-3-Clause */
/* command_events.c - how commands have ended, as events of the server. Hooks of command/call.h, which are
 * idle while no module has subscribed.
 *
 *     CALL_BEFORE: when, and how many changes there had been ──▶ a stack, as calls nest
 *     CALL_AFTER:  the top of it is this call's, unless somebody has subscribed in between */
#include <string.h>

#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply_block.h"
#include "command/call.h"
#include "command/command.h"
#include "data/keyspace/database.h"
#include "module/events.h"
#include "module/parts.h"

struct begun {
    const struct call *call;
    uint64_t ticks, dirty;
};
static struct begun *stack;
static int depth, capacity;
static bool listening;
static const struct request *denied; /* this refusal has been told as one by rules */

static bool commandEventsResultsWanted(void) {
    return serverEventWanted(SERVER_COMMAND_DONE) || serverEventWanted(SERVER_COMMAND_FAILED);
}

static void commandEventsTell(enum serverEventKind kind, int which, struct client *c,
                              ValkeyModuleCommandResultInfo *info) {
    const struct request *r = c->request;
    struct stringArgs args;
    stringArgsOpen(&args, r->argv, r->argc);
    info->version = VALKEYMODULE_COMMANDRESULTINFO_VERSION;
    info->command_name = r->cmd ? r->cmd->fullname : NULL;
    info->client_id = c->id;
    info->is_module_client = call_running && call_running->origin == ORIGIN_MODULE;
    info->argc = args.argc;
    info->argv = args.argv;
    eventsPublish(kind, which, info, NULL, NULL);
    stringArgsClose(&args);
}

static void commandEventsBefore(struct client *c) {
    (void)c;
    if (depth == capacity) {
        capacity = capacity ? 2 * capacity : 8;
        stack = zrealloc(stack, (size_t)capacity * sizeof *stack);
    }
    stack[depth++] = (struct begun){call_running, ticksNow(), dbstats.dirty};
}

static void commandEventsAfter(struct client *c) {
    while (depth && stack[depth - 1].call != call_running) depth--; /* of calls whose end was not awaited */
    struct begun b = {call_running, ticksNow(), dbstats.dirty};     /* it has subscribed itself */
    if (depth) b = stack[--depth];
    if (c->flags & CLIENT_BLOCKED || call_running->origin == ORIGIN_AOF) return; /* a file is no client */
    bool failed = c->flags & CLIENT_ERROR;
    enum serverEventKind kind = failed ? SERVER_COMMAND_FAILED : SERVER_COMMAND_DONE;
    if (!serverEventWanted(kind)) return;
    ValkeyModuleCommandResultInfo info = {.duration_us = (int64_t)((ticksNow() - b.ticks) / ticks_per_us),
                                          .dirty = (int64_t)(dbstats.dirty - b.dirty)};
    commandEventsTell(kind, 0, c, &info);
}

/* ---- Refused ---- */

/* The error that has just been replied, without the end of its line, and without the code that says nothing;
 * "": there is none to be seen. The caller's. */
static sds commandEventsLastError(const struct client *c) {
    const struct replyBlock *b = c->out.tail;
    if (!b || b->used < 3) return sdsempty();
    size_t end = b->used - 2, from = end; /* in front of \r\n */
    while (from > 0 && b->buf[from - 1] != '\n') from--;
    struct str line = strN(b->buf + from, end - from), plain = STR("-ERR ");
    if (strStarts(line, plain)) line = strN(line.ptr + plain.len, line.len - plain.len);
    return b->buf[from] == '-' ? sdsnewstr(line) : sdsempty();
}

/* A redirection by slot is no error that would be named, one to a primary is by its first word only. */
static const char *commandEventsContextOf(sds error) {
    static const char *const slots[] = {"-MOVED", "-ASK", "-TRYAGAIN", "-CROSSSLOT", "-CLUSTERDOWN"};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        if (strncmp(error, slots[i], strlen(slots[i])) == 0) return NULL;
    }
    if (strncmp(error, "-REDIRECT", 9) == 0) return "-REDIRECT";
    return sdslen(error) ? error : NULL;
}

static void commandEventsRefused(struct client *c) {
    bool told = denied == c->request;
    denied = NULL;
    bool of_script = call_running && call_running->origin == ORIGIN_SCRIPT; /* the script's affair */
    if (told || of_script || !serverEventWanted(SERVER_COMMAND_REJECTED)) return;
    sds error = commandEventsLastError(c);
    ValkeyModuleCommandResultInfo info = {.rejection_context = commandEventsContextOf(error)};
    commandEventsTell(SERVER_COMMAND_REJECTED, 0, c, &info);
    sdsfree(error);
}

void commandEventDenied(int reason, const struct eventDenial *d) {
    sds object = d->object.ptr ? sdsnewstr(d->object) : NULL;
    ValkeyModuleCommandResultInfo info = {.rejection_context = object};
    denied = d->client->request;
    if (denied) commandEventsTell(SERVER_COMMAND_DENIED, reason, d->client, &info);
    sdsfree(object);
}

/* ---- Registration ---- */

void commandEventsWanted(void) {
    bool want = commandEventsResultsWanted();
    if (want == listening) return;
    listening = want;
    callHookIdle(commandEventsBefore, !want);
    callHookIdle(commandEventsAfter, !want);
    depth = 0;
}

void commandEventsInit(void) {
    callAddHook(CALL_BEFORE, commandEventsBefore, true);
    callAddHook(CALL_AFTER, commandEventsAfter, true);
    callOnRefused(commandEventsRefused);
}
