/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h - for fuzzers that run commands. Requests are made of lines, so that mutations make sense.
 * Commands are refused if they end the server, fork, sleep, access anything outside of it, or leave
 * state that emptyServer does not reset; so are requests for a billion elements. */
#pragma once

#include "client/reply.h"
#include "commands/cmd_hash.h"
#include "commands/cmd_set.h"
#include "commands/cmd_sorted_set.h"
#include "server.h"

#define ELEMENTS_MAX 1000

static const char *const refused_names[] = {
    "shutdown",     "save",           "bgsave",      "bgrewriteaof", "debug",    "migrate",
    "config|set",   "config|rewrite", "acl|setuser", "acl|deluser",  "acl|load", "acl|save",
    "script|debug", "replicaof",      "slaveof",     "failover",     "sync",     "psync",
    "module|load",  "module|loadex",  "pfselftest",
};
/* The third word of these commands is the number of elements in the reply, with repetitions if negative. */
static const char *const counted_names[] = {"srandmember", "hrandfield", "zrandmember"};

static void refusedCommand(struct client *c) {
    replyError(c, "ERR not while fuzzing");
}

static void countedCommand(struct client *c) {
    int64_t n;
    if (c->argc > 2 && string2ll(c->argv[2], &n) && n < -ELEMENTS_MAX)
        refusedCommand(c);
    else if (strIs(c->argv[0], "srandmember"))
        srandmemberCommand(c);
    else if (strIs(c->argv[0], "hrandfield"))
        hrandfieldCommand(c);
    else
        zrandmemberCommand(c);
}

/* Replaces the function of a command; unknown names are ignored. */
static void replaceCommand(const char *name, commandProc *proc) {
    struct serverCommand *cmd = commandLookupName(strOf(name));
    if (!cmd) return;
    struct commandSpec *spec = zmalloc(sizeof *spec);
    *spec = *cmd->spec;
    spec->proc = proc;
    cmd->spec = spec;
}

static inline void refuseCommands(void) {
    for (size_t i = 0; i < sizeof refused_names / sizeof *refused_names; i++)
        replaceCommand(refused_names[i], refusedCommand);
    for (size_t i = 0; i < sizeof counted_names / sizeof *counted_names; i++)
        replaceCommand(counted_names[i], countedCommand);
}

/* Makes requests of lines. A line with unbalanced quotes is copied unchanged. */
static inline sds requestsOfLines(struct str text) {
    sds out = sdsempty();
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        sds line = sdsnewlen(text.ptr, len);
        int argc;
        sds *argv = sdssplitargs(line, len, &argc);
        if (argv) {
            if (argc) out = sdscatprintf(out, "*%d\r\n", argc);
            for (int i = 0; i < argc; i++) {
                out = sdscatprintf(out, "$%zu\r\n", sdslen(argv[i]));
                out = sdscatlen(out, argv[i], sdslen(argv[i]));
                out = sdscat(out, "\r\n");
            }
            sdsfreesplitres(argv, argc);
        } else {
            out = sdscatlen(out, text.ptr, len);
        }
        sdsfree(line);
        len += end != NULL;
        text = strN(text.ptr + len, text.len - len);
    }
    return out;
}
