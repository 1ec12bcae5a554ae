/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_fuzz.h - random commands, made from the server's description of its commands. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "net/resp.h"

/* A command: its name, and the grammar of its arguments as COMMAND DOCS gives it. */
struct fuzzCommand {
    struct str name, subcommand; /* subcommand may be empty */
    struct str group;            /* "string", "sorted-set" ...; each group has its own keys */
    const struct respReply *args;
};

struct fuzzGrammar {
    sds docs_bytes, flags_bytes, config_bytes; /* replies, which the other fields point into */
    struct respReply docs, flags, config;
    struct fuzzCommand *commands;
    int count;
    bool malformed, set_config; /* also sends invalid commands; also sends CONFIG SET */
};

/* Fills a struct that is zero but for its modes. Takes over the replies to COMMAND DOCS, COMMAND, and
 * CONFIG GET * (of directives that may be set). Leaves out commands that block, change the connection,
 * or are for administrators. Returns false when the replies cannot be understood. */
bool fuzzGrammarInit(struct fuzzGrammar *g, sds docs, sds flags, sds config);
void fuzzGrammarFree(struct fuzzGrammar *g);

/* Makes one command as a request; *shown is the same in readable form. The caller owns both. */
sds fuzzCommandMake(const struct fuzzGrammar *g, sds *shown);
