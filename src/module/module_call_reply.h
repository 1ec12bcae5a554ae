/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_reply.h - the reply of a command that a module has called: a tree over the bytes of the reply,
 * built when the module first looks at it. */
#pragma once

#include "module/api.h"

struct ValkeyModuleCallReply {
    struct ValkeyModuleCtx *ctx;
    sds bytes; /* of the root; NULL: this is an element */
    struct str proto;
    int type; /* VALKEYMODULE_REPLY_... */
    bool parsed, exact;
    bool nested;     /* an element has elements or an attribute */
    bool has_resp3;  /* this or a nested element has a type of RESP3 */
    uint8_t resp;    /* the protocol that was requested */
    bool has_errors; /* of the root: it has errors that the statistics have not counted */
    long long integer;
    double real;
    struct str text; /* without the format of a verbatim string */
    const char *format;
    size_t count;                            /* of elements; of maps and attributes: of pairs */
    struct ValkeyModuleCallReply *elements;  /* of maps: key, value, key, value ... */
    struct ValkeyModuleCallReply *attribute; /* NULL: none */
    struct promise *promise;        /* of a root without bytes: the command is blocked (module_call.h) */
    struct unblockHandler *handler; /* of the promise */
};

/* Makes a tree of one complete reply and takes its bytes over. */
struct ValkeyModuleCallReply *callReplyNew(struct ValkeyModuleCtx *ctx, sds bytes, bool exact);
struct ValkeyModuleCallReply *callReplyPromise(struct ValkeyModuleCtx *ctx, struct promise *p, bool exact);
void callReplyParse(struct ValkeyModuleCallReply *r); /* does nothing if it has been parsed */
void callReplyFree(struct ValkeyModuleCallReply *r);  /* r is a root */
/* Calls fn for each error in the reply. */
void callReplyErrors(struct ValkeyModuleCallReply *r, void (*fn)(void *priv, struct str error), void *priv);
