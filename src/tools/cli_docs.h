/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_docs.h - what the server tells about its commands (COMMAND DOCS), and what can be said from that about
 * a line that is being typed.
 *
 * Only texts go in and out: nothing here knows of connections or terminals. In RESP2 a map comes as an array
 * of names and values, so a map and an array are read alike. */
#pragma once

#include "base/sds.h"
#include "net/resp.h"

struct cliDocs {
    sds bytes; /* the reply; NULL: there is none */
    struct respReply tree;
};

/* Takes over `bytes`, a whole reply to COMMAND DOCS. False, and nothing kept, when it is not one. */
bool cliDocsSet(struct cliDocs *d, sds bytes);
void cliDocsFree(struct cliDocs *d);

/* The groups of commands in order, *count of them; free them with zfree. */
struct cliDocsGroupCount {
    struct str name;
    int commands;
};
struct cliDocsGroupCount *cliDocsGroups(const struct cliDocs *d, int *count);
/* The group that is meant: "@sorted-set", "Sorted Sets", "sorted_set" and "zset" are the same. Empty: none.
 */
struct str cliDocsFindGroup(const struct cliDocs *d, const char *word);
/* The arguments as people write them down: "key [NX|XX] [EX seconds]". */
sds cliDocsSynopsis(sds out, const struct respReply *args);
/* "config|set" as CONFIG SET. */
sds cliDocsTitle(struct str name);

/* Where on a line that is being typed the last word begins: its end, when the next word has not begun. */
size_t cliLastWordAt(const char *line);
/* sdssplitargs, for a line whose last quotes may be open yet. */
sds *cliSplitTyped(const char *line, size_t len, int *count);
/* How many words come before the command: 1 when the first is a number, how often to run it. */
int cliRepeatCount(const sds *words, int count);
/* Of the command that the words begin with; empty: there is none. */
struct str cliDocsGroup(const struct cliDocs *d, const sds *words, int count);

/* What may follow on the line, or NULL: for "set a" it is "value [NX|XX] ...". Options that were given are
 * not named again. */
sds cliHint(const struct cliDocs *d, const char *line);

/* The whole lines that `line` can be completed to: names of commands, of subcommands, tokens of arguments,
 * and behind "help " commands and groups. *count of them, in order; free them with sdsfreesplitres. */
sds *cliCompletions(const struct cliDocs *d, const char *line, int *count);
