/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_fuzz.h - commands made up at random, out of what the server tells about its commands. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "net/resp.h"

/* What a command looks like: its name, and the grammar of its arguments as COMMAND DOCS gives it. */
struct fuzzCommand {
    struct str name, subcommand; /* the latter may be empty */
    struct str group;            /* "string", "sorted-set" ...: each has keys of its own */
    const struct respReply *args;
};

struct fuzzGrammar {
    sds docs_bytes, flags_bytes, config_bytes; /* replies, which all else points into */
    struct respReply docs, flags, config;
    struct fuzzCommand *commands;
    int count;
    bool malformed, set_config; /* also what is no command, and CONFIG SET */
};

/* Fills a struct that is zero but for its modes. Takes over the replies to COMMAND DOCS, COMMAND, and CONFIG
 * GET * (of names that may be set). False: they cannot be understood. Left out is what blocks, changes the
 * connection, or is for administrators. */
bool fuzzGrammarInit(struct fuzzGrammar *g, sds docs, sds flags, sds config);
void fuzzGrammarFree(struct fuzzGrammar *g);

/* One command as a request; *shown is the same for people. Both are the caller's. */
sds fuzzCommandMake(const struct fuzzGrammar *g, sds *shown);
