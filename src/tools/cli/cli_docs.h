/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_docs.h - the documentation of the server's commands (COMMAND DOCS), and what it says about a line
 * that is being typed. In RESP2 a map comes as an array of names and values, so that maps and arrays are
 * read alike. This module works on texts only, without connections or terminals. */
#pragma once

#include "base/sds.h"
#include "net/resp.h"

struct cliDocs {
    sds bytes; /* the reply; NULL if there is none */
    struct respReply tree;
};

/* Takes over `bytes`, a whole reply to COMMAND DOCS. Returns false, and keeps nothing, when it is
 * another reply. */
bool cliDocsSet(struct cliDocs *d, sds bytes);
void cliDocsFree(struct cliDocs *d);

/* Returns the groups of commands in order, *count of them; free them with zfree. */
struct cliDocsGroupCount {
    struct str name;
    int commands;
};
struct cliDocsGroupCount *cliDocsGroups(const struct cliDocs *d, int *count);
/* Finds the group by any of its names: "@sorted-set", "Sorted Sets", "sorted_set" and "zset" are the
 * same. Empty if there is none. */
struct str cliDocsFindGroup(const struct cliDocs *d, const char *word);
/* Appends the arguments in the usual notation: "key [NX|XX] [EX seconds]". */
sds cliDocsSynopsis(sds out, const struct respReply *args);
/* Returns CONFIG SET for "config|set". */
sds cliDocsTitle(struct str name);

/* Returns where the last word of a line that is being typed begins; the line's end when the next word
 * has not begun. */
size_t cliLastWordAt(const char *line);
/* Splits like sdssplitargs, but the last quotes may still be open. */
sds *cliSplitTyped(const char *line, size_t len, int *count);
/* Returns how many words come before the command: 1 when the first one is a number, which says how often
 * to run it. */
int cliRepeatCount(const sds *words, int count);
/* Returns the group of the command that the words begin with; empty if there is none. */
struct str cliDocsGroup(const struct cliDocs *d, const sds *words, int count);

/* Returns what may follow on the line, or NULL: for "set a" it is "value [NX|XX] ...". Options that the
 * line has are not named again. */
sds cliHint(const struct cliDocs *d, const char *line);

/* Returns the lines that `line` can be completed to, *count of them, in order: names of commands and
 * subcommands, tokens of arguments, and after "help " commands and groups. Free them with
 * sdsfreesplitres. */
sds *cliCompletions(const struct cliDocs *d, const char *line, int *count);
