/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_reply.h - what a command that a module has called replied: a tree over the bytes, built when
 * somebody looks. */
#pragma once

#include "module/api.h"

struct ValkeyModuleCallReply {
    struct ValkeyModuleCtx *ctx;
    sds bytes; /* the root's; NULL: it is an element */
    struct str proto;
    int type; /* VALKEYMODULE_REPLY_... */
    bool parsed, exact;
    bool nested;     /* an element of it has elements or an attribute of its own */
    bool has_resp3;  /* it, or something in it, is of RESP3 */
    uint8_t resp;    /* what it was asked for in */
    bool has_errors; /* a root: there are some in it, and nobody has counted them */
    long long integer;
    double real;
    struct str text; /* of a verbatim string without its format */
    const char *format;
    size_t count;                            /* elements; of maps and attributes pairs */
    struct ValkeyModuleCallReply *elements;  /* of pairs key, value, key, value ... */
    struct ValkeyModuleCallReply *attribute; /* NULL: none */
    struct promise *promise;                 /* of a root without bytes: the command waits (module_call.h) */
    struct unblockHandler *handler;          /* the promise's */
};

/* Takes the bytes over: one whole reply. */
struct ValkeyModuleCallReply *callReplyNew(struct ValkeyModuleCtx *ctx, sds bytes, bool exact);
struct ValkeyModuleCallReply *callReplyPromise(struct ValkeyModuleCtx *ctx, struct promise *p, bool exact);
void callReplyParse(struct ValkeyModuleCallReply *r); /* if it has not been */
void callReplyFree(struct ValkeyModuleCallReply *r);  /* a root */
/* Calls fn for each error in it. */
void callReplyErrors(struct ValkeyModuleCallReply *r, void (*fn)(void *priv, struct str error), void *priv);
