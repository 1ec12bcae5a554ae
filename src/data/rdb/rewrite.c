/* SPDX-License-Identifier: BSD-3-Clause */
/* rewrite.c - writes commands in the format of the protocol. */
#include "data/rdb/rewrite.h"

#include "base/assert.h"
#include "base/num.h"
#include "net/resp.h"

void rewriteCommand(struct rioWriter *w, int64_t argc) {
    serverAssert(argc > 0);
    char *p = rioRoom(w, RESP_HDR_SIZE);
    rioWrote(w, (size_t)(respWriteRequestHead(p, argc) - p));
}

void rewriteArg(struct rioWriter *w, struct str arg) {
    char *p = rioRoom(w, RESP_HDR_SIZE);
    rioWrote(w, (size_t)(respWriteBulkHead(p, arg.len) - p));
    rioWriteStr(w, arg);
    rioWrite(w, "\r\n", 2);
}

void rewriteArgsOf(struct rioWriter *w, const struct str *args, size_t count) {
    for (size_t i = 0; i < count; i++) rewriteArg(w, args[i]);
}

void rewriteArgInt(struct rioWriter *w, int64_t n) {
    char text[LONG_STR_SIZE];
    rewriteArg(w, strN(text, ll2string(text, n)));
}

void rewriteArgDouble(struct rioWriter *w, double d) {
    char text[DOUBLE_STR_SIZE];
    rewriteArg(w, strN(text, d2string(text, d)));
}

void rewriteItem(struct rewriteItems *items) {
    serverAssert(items->left > 0); /* no more items than were announced */
    if (items->in_command == 0) {
        items->in_command =
            items->left < REWRITE_ITEMS_PER_COMMAND ? (int)items->left : REWRITE_ITEMS_PER_COMMAND;
        rewriteCommand(items->w, 2 + (int64_t)items->in_command * items->args_per_item);
        rewriteArg(items->w, items->name);
        rewriteArg(items->w, items->key);
    }
    items->in_command--;
    items->left--;
}
