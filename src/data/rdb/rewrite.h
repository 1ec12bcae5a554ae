/* SPDX-License-Identifier: BSD-3-Clause */
/* rewrite.h - commands as text for the append-only file. A type's `rewrite` hook writes commands that create
 * the value again. */
#pragma once

#include "data/object.h"
#include "data/rdb/rio.h"

/* At most this many elements go into one command, so that no single command blocks the server that loads
 * it for long. */
#define REWRITE_ITEMS_PER_COMMAND 64

/* Begins a command of argc arguments; exactly so many of the calls below follow. */
void rewriteCommand(struct rioWriter *w, int64_t argc);
void rewriteArg(struct rioWriter *w, struct str arg);
/* An argument in pieces: its bytes are written between these two calls. */
void rewriteArgBegin(struct rioWriter *w, size_t len);
void rewriteArgEnd(struct rioWriter *w);
void rewriteArgInt(struct rioWriter *w, int64_t n);
#define rewriteWord(w, literal) rewriteArg(w, STR(literal))
/* Writes several arguments at once, each a struct str. */
#define rewriteArgs(w, ...)                                                                                  \
    rewriteArgsOf(w, (const struct str[]){__VA_ARGS__},                                                      \
                  sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
void rewriteArgsOf(struct rioWriter *w, const struct str *args, size_t count);
void rewriteSelectDb(struct rioWriter *w, int dbid);                      /* SELECT */
void rewriteExpiry(struct rioWriter *w, struct str key, int64_t when_ms); /* PEXPIREAT */
/* Writes a key with its value and its expiry. */
void rewriteKey(struct rioWriter *w, const struct object *o);
/* Writes elements in several commands, each of `name`, `key` and up to REWRITE_ITEMS_PER_COMMAND items
 * of `args_per_item` arguments:
 *
 *     struct rewriteItems items = {
 *         .w = w, .left = count, .args_per_item = 2, .name = STR("ZADD"), .key = key};
 *     for each element: rewriteItem(&items); rewriteArg(...); rewriteArg(...);
 */
struct rewriteItems {
    struct rioWriter *w;
    uint64_t left; /* items still to come */
    int args_per_item;
    struct str name, key;
    int in_command; /* private: items left in the present command */
};
void rewriteItem(struct rewriteItems *items);
