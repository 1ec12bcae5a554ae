/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_stat.c - --stat: prints the load of the server line by line. Part of cli.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "tools/cli/cli.h"

#define HEADER_EVERY 20 /* lines */

void cliPause(const struct cli *c) {
    if (c->interval_us) usleep((useconds_t)c->interval_us);
}

int64_t cliInfoNumber(struct str info, const char *field) {
    size_t len = strlen(field);
    for (const char *at = info.ptr, *end = at + info.len; at && at + len < end;) {
        bool here = strncmp(at, field, len) == 0;
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const char *value = at + len;
        if (here && *value == ':') {
            int64_t n = 0;
            size_t digits = 0;
            value++;
            while (value + digits < stop && (unsigned char)(value[digits] - '0') < 10) digits++;
            return string2ll(strN(value, digits), &n) ? n : 0;
        }
        at = newline ? newline + 1 : NULL;
    }
    return 0;
}

/* Adds up the keys of lines such as "db0:keys=10,expires=0,avg_ttl=0". */
int64_t cliInfoKeys(const char *info) {
    int64_t keys = 0;
    for (const char *at = info; (at = strstr(at, ":keys="));) {
        long long n = 0;
        at += strlen(":keys=");
        if (sscanf(at, "%lld", &n) == 1) keys += n;
    }
    return keys;
}

static const char *cliStatChildOf(struct str info) {
    bool save = cliInfoNumber(info, "rdb_bgsave_in_progress");
    bool rewrite = cliInfoNumber(info, "aof_rewrite_in_progress");
    bool load = cliInfoNumber(info, "loading");
    return load ? "LOAD" : save && rewrite ? "SAVE+AOF" : save ? "SAVE" : rewrite ? "AOF" : "";
}

static void cliStatPrintLine(struct str info, int64_t *requests_before) {
    char memory[64], requests[64];
    sds text = sdsnewstr(info);
    int64_t now = cliInfoNumber(info, "total_commands_processed");
    bytesToHuman(memory, sizeof(memory), (uint64_t)cliInfoNumber(info, "used_memory"));
    snprintf(requests, sizeof(requests), "%lld (+%lld)", (long long)now,
             (long long)(*requests_before < 0 ? 0 : now - *requests_before));
    *requests_before = now;
    printf("%-11lld%-9s%-8lld%-8lld%-20s%-12lld%s\n", (long long)cliInfoKeys(text), memory,
           (long long)cliInfoNumber(info, "connected_clients"),
           (long long)cliInfoNumber(info, "blocked_clients"), requests,
           (long long)cliInfoNumber(info, "total_connections_received"), cliStatChildOf(info));
    fflush(stdout);
    sdsfree(text);
}

int cliStat(struct cli *c) {
    static const struct str info[] = {{"INFO", 4}};
    int64_t requests = -1;
    if (c->interval_us == 0) c->interval_us = 1000000;
    for (int line = 0;; line = (line + 1) % HEADER_EVERY) {
        struct respReply reply;
        cliSendWords(c, 1, info);
        cliExpect(c, &reply);
        if (line == 0)
            printf("------- data ------ --------------------- load -------------------- - child -\n"
                   "keys       mem      clients blocked requests            connections          \n");
        cliStatPrintLine(reply.str, &requests);
        respReplyFree(&reply);
        cliPause(c);
    }
}
