/* SPDX-License-Identifier: BSD-3-Clause */
/* rewrite.c - writes commands in the format of the protocol. */
#include "data/rdb/rewrite.h"

#include "base/assert.h"
#include "base/num.h"
#include "data/type.h"
#include "net/resp.h"

void rewriteCommand(struct rioWriter *w, int64_t argc) {
    serverAssert(argc > 0);
    char *p = rioRoom(w, RESP_HDR_SIZE);
    rioWrote(w, (size_t)(respWriteRequestHead(p, argc) - p));
}

void rewriteArgBegin(struct rioWriter *w, size_t len) {
    char *p = rioRoom(w, RESP_HDR_SIZE);
    rioWrote(w, (size_t)(respWriteBulkHead(p, len) - p));
}

void rewriteArgEnd(struct rioWriter *w) {
    rioWrite(w, "\r\n", 2);
}

void rewriteArg(struct rioWriter *w, struct str arg) {
    rewriteArgBegin(w, arg.len);
    rioWriteStr(w, arg);
    rewriteArgEnd(w);
}

void rewriteArgsOf(struct rioWriter *w, const struct str *args, size_t count) {
    for (size_t i = 0; i < count; i++) rewriteArg(w, args[i]);
}

void rewriteArgInt(struct rioWriter *w, int64_t n) {
    char text[LONG_STR_SIZE];
    rewriteArg(w, strN(text, ll2string(text, n)));
}

void rewriteSelectDb(struct rioWriter *w, int dbid) {
    rewriteCommand(w, 2);
    rewriteWord(w, "SELECT");
    rewriteArgInt(w, dbid);
}

void rewriteExpiry(struct rioWriter *w, struct str key, int64_t when_ms) {
    rewriteCommand(w, 3);
    rewriteWord(w, "PEXPIREAT");
    rewriteArg(w, key);
    rewriteArgInt(w, when_ms);
}

void rewriteKey(struct rioWriter *w, const struct object *o) {
    struct str key = objectKey(o);
    objectTypeOf(o)->rewrite(w, key, o);
    if (objectHasExpire(o)) rewriteExpiry(w, key, objectExpire(o));
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
