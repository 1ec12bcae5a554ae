/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_scan.c - --scan: the names of the keys, and the steps that the other modes share. Part of cli.h. */
#include <stdio.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli.h"

void cliScanRequest(struct cli *c, const sds cursor) {
    struct str words[6] = {STR("SCAN"), sdsview(cursor)};
    char number[LONG_STR_SIZE];
    int argc = 2;
    if (c->pattern) {
        words[argc++] = STR("MATCH");
        words[argc++] = sdsview(c->pattern);
    }
    if (c->scan_count) {
        words[argc++] = STR("COUNT");
        words[argc++] = strN(number, ll2string(number, c->scan_count));
    }
    cliQueueWords(c, argc, words);
}

sds *cliScanReadStep(struct cli *c, sds *cursor, int *count) {
    struct respReply reply;
    cliExpect(c, &reply);
    if (reply.elements != 2) cliFail("%s", "The server's reply to SCAN is invalid.");
    const struct respReply *list = &reply.element[1];
    cliSetText(cursor, sdsnewstr(reply.element[0].str));
    sds *keys = zmalloc((list->elements + 1) * sizeof(keys[0]));
    for (size_t i = 0; i < list->elements; i++) keys[i] = sdsnewstr(list->element[i].str);
    *count = (int)list->elements;
    respReplyFree(&reply);
    return keys;
}

/* Prints the keys, in quotes on a terminal. */
int cliScan(struct cli *c) {
    if (c->output != CLI_TTY) c->output = CLI_RAW;
    sds cursor = sdsnew("0");
    do {
        int count;
        cliScanRequest(c, cursor);
        sds *keys = cliScanReadStep(c, &cursor, &count);
        for (int i = 0; i < count; i++) {
            struct respReply key = {.type = RESP_T_STRING, .str = sdsview(keys[i])};
            sds line = cliFormatReply(c, &key, false);
            fwrite(line, 1, sdslen(line), stdout);
            sdsfree(line);
        }
        sdsfreesplitres(keys, count);
        if (c->interval_us) fflush(stdout);
        cliPause(c);
    } while (strcmp(cursor, "0") != 0);
    sdsfree(cursor);
    return 0;
}
