/* rewrite.c - writing commands down in the protocol's own form. */
#include "data/rewrite.h"

#include "base/num.h"

static void prefixed(struct rioWriter *w, char mark, uint64_t n) {
    char *p = rioRoom(w, LONG_STR_SIZE + 3);
    p[0] = mark;
    unsigned len = ull2string(p + 1, n);
    p[len + 1] = '\r';
    p[len + 2] = '\n';
    rioWrote(w, len + 3);
}

void rewriteCommand(struct rioWriter *w, int64_t argc) {
    prefixed(w, '*', (uint64_t)argc);
}

void rewriteArg(struct rioWriter *w, struct str arg) {
    prefixed(w, '$', arg.len);
    rioWriteStr(w, arg);
    rioWrite(w, "\r\n", 2);
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
