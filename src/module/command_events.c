/* SPDX-License-Identifier: BSD-3-Clause */
/* command_events.c - the results of commands, as events of the server. The hooks (command/call.h) are idle
 * while no module subscribes.
 *
 *     CALL_BEFORE: saves the time and the count of changes on a stack, because calls nest
 *     CALL_AFTER:  the top of the stack is this call's, unless a module subscribed in between */
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

struct commandEventsCall {
    const struct call *call;
    uint64_t ticks, dirty;
};
static struct commandEventsCall *stack;
static int depth, capacity;
static bool hooks_active;
static const struct request *denied; /* its refusal has been published as a denial already */

static bool commandEventsHasSubscribers(void) {
    return serverEventWanted(SERVER_COMMAND_DONE) || serverEventWanted(SERVER_COMMAND_FAILED);
}

static void commandEventsPublishResult(enum serverEventKind kind, int which, struct client *c,
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
    stack[depth++] = (struct commandEventsCall){call_running, ticksNow(), dbstats.dirty};
}

static void commandEventsAfter(struct client *c) {
    while (depth && stack[depth - 1].call != call_running) depth--; /* calls without CALL_AFTER */
    struct commandEventsCall b = {call_running, ticksNow(),
                                  dbstats.dirty}; /* for a call that subscribed itself */
    if (depth) b = stack[--depth];
    if (c->flags & CLIENT_BLOCKED || call_running->origin == ORIGIN_AOF) return; /* the AOF is no client */
    bool failed = c->flags & CLIENT_ERROR;
    enum serverEventKind kind = failed ? SERVER_COMMAND_FAILED : SERVER_COMMAND_DONE;
    if (!serverEventWanted(kind)) return;
    ValkeyModuleCommandResultInfo info = {.duration_us = (int64_t)((ticksNow() - b.ticks) / ticks_per_us),
                                          .dirty = (int64_t)(dbstats.dirty - b.dirty)};
    commandEventsPublishResult(kind, 0, c, &info);
}

/* ---- Refused ---- */

/* Returns the error that was replied last, without the end of its line and without the code ERR, or "". The
 * caller frees it. */
static sds commandEventsLastError(const struct client *c) {
    const struct replyBlock *b = c->out.tail;
    if (!b || b->used < 3) return sdsempty();
    size_t end = b->used - 2, from = end; /* in front of \r\n */
    while (from > 0 && b->buf[from - 1] != '\n') from--;
    struct str line = strN(b->buf + from, end - from), plain = STR("-ERR ");
    if (strStarts(line, plain)) line = strN(line.ptr + plain.len, line.len - plain.len);
    return b->buf[from] == '-' ? sdsnewstr(line) : sdsempty();
}

/* Redirections by slot are not named as errors; of a redirection to a primary only the first word is. */
static const char *commandEventsContextOf(sds error) {
    static const char *const slots[] = {"-MOVED", "-ASK", "-TRYAGAIN", "-CROSSSLOT", "-CLUSTERDOWN"};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        if (strncmp(error, slots[i], strlen(slots[i])) == 0) return NULL;
    }
    if (strncmp(error, "-REDIRECT", 9) == 0) return "-REDIRECT";
    return sdslen(error) ? error : NULL;
}

static void commandEventsRefused(struct client *c) {
    bool published = denied == c->request;
    denied = NULL;
    bool of_script = call_running && call_running->origin == ORIGIN_SCRIPT; /* the script reports it */
    if (published || of_script || !serverEventWanted(SERVER_COMMAND_REJECTED)) return;
    sds error = commandEventsLastError(c);
    ValkeyModuleCommandResultInfo info = {.rejection_context = commandEventsContextOf(error)};
    commandEventsPublishResult(SERVER_COMMAND_REJECTED, 0, c, &info);
    sdsfree(error);
}

void commandEventDenied(int reason, const struct eventDenial *d) {
    sds object = d->object.ptr ? sdsnewstr(d->object) : NULL;
    ValkeyModuleCommandResultInfo info = {.rejection_context = object};
    denied = d->client->request;
    if (denied) commandEventsPublishResult(SERVER_COMMAND_DENIED, reason, d->client, &info);
    sdsfree(object);
}

/* ---- Registration ---- */

void commandEventsUpdateHooks(void) {
    bool active = commandEventsHasSubscribers();
    if (active == hooks_active) return;
    hooks_active = active;
    callHookIdle(commandEventsBefore, !active);
    callHookIdle(commandEventsAfter, !active);
    depth = 0;
}

void commandEventPartInit(void) {
    callAddHook(CALL_BEFORE, commandEventsBefore, true);
    callAddHook(CALL_AFTER, commandEventsAfter, true);
    callOnRefused(commandEventsRefused);
}
