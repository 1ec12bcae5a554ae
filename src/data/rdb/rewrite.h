/* SPDX-License-Identifier: BSD-3-Clause */
/* rewrite.h - commands as text, for the append-only file: what a type's `rewrite` hook writes so that running
 * it brings the value back. */
#pragma once

#include "data/rdb/rio.h"

/* At most this many elements in one command, so that no single command blocks the one who loads it. */
#define REWRITE_ITEMS_PER_COMMAND 64

/* A command of argc arguments follows: exactly so many of the calls below. */
void rewriteCommand(struct rioWriter *w, int64_t argc);
void rewriteArg(struct rioWriter *w, struct str arg);
void rewriteArgInt(struct rioWriter *w, int64_t n);
void rewriteArgDouble(struct rioWriter *w, double d); /* shortest text that reads back equal */
#define rewriteWord(w, literal) rewriteArg(w, STR(literal))
/* Several arguments at once, each a struct str. */
#define rewriteArgs(w, ...)                                                                                  \
    rewriteArgsOf(w, (const struct str[]){__VA_ARGS__},                                                      \
                  sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
void rewriteArgsOf(struct rioWriter *w, const struct str *args, size_t count);
/* Elements in several commands, each as: head's words, then up to REWRITE_ITEMS_PER_COMMAND items of
 * `args_per_item` arguments.
 *
 *     struct rewriteItems items = {
 *         .w = w, .left = count, .args_per_item = 2, .name = STR("ZADD"), .key = key};
 *     for each element: rewriteItem(&items); rewriteArgDouble(...); rewriteArg(...); */
struct rewriteItems {
    struct rioWriter *w;
    uint64_t left; /* items still to come */
    int args_per_item;
    struct str name, key;
    int in_command; /* private: items left in the present command */
};
void rewriteItem(struct rewriteItems *items);
