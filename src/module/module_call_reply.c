/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_reply.c - access to replies of called commands; see module_call_reply.h. The bytes come from
 * this server or from commands of modules. */
#include "module/module_call_reply.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "module/module_call.h"
#include "module/parts.h"

/* ---- Parsing ---- */

static const char *moduleCallReplyParse(struct ValkeyModuleCallReply *r, const char *p);

#define DEPTH_MAX    4096
#define ELEMENT_MIN  3 /* bytes: "_\r\n" */
#define SHORT_LENGTH 4 /* digits */

/* State of the parser. Commands of the server reply correctly, but a module's may not: after the first fault
 * the tree is empty, and nothing beyond the end is read. */
static struct {
    const char *end;
    bool broken;
    int depth;
} parsing;

static size_t moduleCallReplyRemaining(const char *p) {
    return (size_t)(parsing.end - p);
}

static const char *moduleCallReplyLineEnd(const char *p) {
    for (; (p = memchr(p, '\r', moduleCallReplyRemaining(p))); p++) {
        if (moduleCallReplyRemaining(p) >= 2 && p[1] == '\n') return p;
    }
    return NULL;
}

/* Returns the line at p without its end; *next is what follows. */
static struct str moduleCallReplyLine(const char *p, const char **next) {
    const char *end = parsing.broken ? NULL : moduleCallReplyLineEnd(p);
    *next = end ? end + 2 : parsing.end;
    if (end) return strN(p, (size_t)(end - p));
    parsing.broken = true;
    return strN(parsing.end, 0);
}

static long long moduleCallReplyLineNumber(const char *p, const char **next) {
    int64_t n = 0;
    struct str digits = moduleCallReplyLine(p, next);
    parsing.broken |= !string2ll(digits, &n);
    return n;
}

/* Reads the length of a string, which mostly has few digits. */
static inline long long moduleCallReplyLineLength(const char *p, const char **next) {
    unsigned n = 0;
    for (size_t i = 0; i < SHORT_LENGTH + 1 && i + 1 < moduleCallReplyRemaining(p) && !parsing.broken; i++) {
        unsigned digit = (unsigned char)p[i] - (unsigned)'0';
        if (digit <= 9) {
            n = 10 * n + digit;
            continue;
        }
        if (!i || p[i] != '\r' || p[i + 1] != '\n') break;
        *next = p + i + 2;
        return n;
    }
    return moduleCallReplyLineNumber(p, next);
}

static struct ValkeyModuleCallReply *moduleCallReplyChild(struct ValkeyModuleCallReply *parent,
                                                          struct ValkeyModuleCallReply *at) {
    memset(at, 0, sizeof *at);
    at->ctx = parent->ctx;
    at->resp = parent->resp;
    at->parsed = true;
    return at;
}

static const char *moduleCallReplyParseElements(struct ValkeyModuleCallReply *r, const char *p, size_t each) {
    parsing.broken |=
        r->count > moduleCallReplyRemaining(p) / (each * ELEMENT_MIN) || ++parsing.depth > DEPTH_MAX;
    if (parsing.broken) r->count = 0;
    r->elements = zmalloc((r->count * each + 1) * sizeof *r->elements);
    for (size_t i = 0; i < r->count * each; i++) {
        p = moduleCallReplyParse(moduleCallReplyChild(r, &r->elements[i]), p);
        r->has_resp3 |= r->elements[i].has_resp3;
        r->nested |= r->elements[i].elements || r->elements[i].attribute;
    }
    parsing.depth--;
    return p;
}

static const char *moduleCallReplyParseBulk(struct ValkeyModuleCallReply *r, const char *p) {
    long long len = moduleCallReplyLineLength(p, &p);
    r->type = len < 0 ? VALKEYMODULE_REPLY_NULL : VALKEYMODULE_REPLY_STRING;
    if (len < 0) return p;
    if (moduleCallReplyRemaining(p) < 2 || (size_t)len > moduleCallReplyRemaining(p) - 2) {
        parsing.broken = true;
        return parsing.end;
    }
    r->text = strN(p, (size_t)len);
    return p + len + 2;
}

static const char *moduleCallReplyParseVerbatim(struct ValkeyModuleCallReply *r, const char *p) {
    p = moduleCallReplyParseBulk(r, p);
    r->type = VALKEYMODULE_REPLY_VERBATIM_STRING;
    parsing.broken |= r->text.len < 4;
    if (parsing.broken) return p;
    r->format = r->text.ptr;
    r->text = strN(r->text.ptr + 4, r->text.len - 4);
    return p;
}

static const char *moduleCallReplyParseArray(struct ValkeyModuleCallReply *r, const char *p, int type,
                                             size_t each) {
    long long n = moduleCallReplyLineNumber(p, &p);
    r->type = n < 0 ? (r->exact ? VALKEYMODULE_REPLY_ARRAY_NULL : VALKEYMODULE_REPLY_NULL) : type;
    if (n < 0) return p;
    r->count = (size_t)n;
    return moduleCallReplyParseElements(r, p, each);
}

static const char *moduleCallReplyParseText(struct ValkeyModuleCallReply *r, const char *p, int type) {
    r->type = type;
    r->text = moduleCallReplyLine(p, &p);
    return p;
}

static const char *moduleCallReplyParseDouble(struct ValkeyModuleCallReply *r, const char *p) {
    struct str text = moduleCallReplyLine(p, &p);
    r->type = VALKEYMODULE_REPLY_DOUBLE;
    if (!string2dSaturating(text, &r->real)) r->real = strtod(text.ptr, NULL); /* nan */
    return p;
}

static const char *moduleCallReplyParseAttribute(struct ValkeyModuleCallReply *r, const char *p) {
    r->attribute = moduleCallReplyChild(r, zmalloc(sizeof *r->attribute));
    r->attribute->type = VALKEYMODULE_REPLY_ATTRIBUTE;
    r->attribute->proto.ptr = p - 1;
    r->attribute->count = (size_t)moduleCallReplyLineNumber(p, &p);
    p = moduleCallReplyParseElements(r->attribute, p, 2);
    r->attribute->proto.len = (size_t)(p - r->attribute->proto.ptr);
    return p;
}

static const char *moduleCallReplyParseTyped(struct ValkeyModuleCallReply *r, char type, const char *p) {
    switch (type) {
    case '+':
        return moduleCallReplyParseText(
            r, p, r->exact ? VALKEYMODULE_REPLY_SIMPLE_STRING : VALKEYMODULE_REPLY_STRING);
    case '-': return moduleCallReplyParseText(r, p, VALKEYMODULE_REPLY_ERROR);
    case '$': return moduleCallReplyParseBulk(r, p);
    case '*': return moduleCallReplyParseArray(r, p, VALKEYMODULE_REPLY_ARRAY, 1);
    case ':':
        r->type = VALKEYMODULE_REPLY_INTEGER;
        r->integer = moduleCallReplyLineNumber(p, &p);
        return p;
    default: break;
    }
    r->has_resp3 = true;
    switch (type) {
    case '_': return moduleCallReplyParseText(r, p, VALKEYMODULE_REPLY_NULL);
    case '#':
        r->type = VALKEYMODULE_REPLY_BOOL;
        r->integer = *p == 't';
        moduleCallReplyLine(p, &p);
        return p;
    case ',': return moduleCallReplyParseDouble(r, p);
    case '(': return moduleCallReplyParseText(r, p, VALKEYMODULE_REPLY_BIG_NUMBER);
    case '=': return moduleCallReplyParseVerbatim(r, p);
    case '%': return moduleCallReplyParseArray(r, p, VALKEYMODULE_REPLY_MAP, 2);
    case '~': return moduleCallReplyParseArray(r, p, VALKEYMODULE_REPLY_SET, 1);
    case '>': return moduleCallReplyParseArray(r, p, VALKEYMODULE_REPLY_ARRAY, 1);
    default: parsing.broken = true; return parsing.end;
    }
}

/* Parses an element and returns what follows it. */
static const char *moduleCallReplyParse(struct ValkeyModuleCallReply *r, const char *p) {
    bool resp3 = *p == '|';
    if (resp3) p = moduleCallReplyParseAttribute(r, p + 1);
    r->proto.ptr = p;
    parsing.broken |= !moduleCallReplyRemaining(p);
    p = parsing.broken ? parsing.end : moduleCallReplyParseTyped(r, *p, p + 1);
    r->proto.len = (size_t)(p - r->proto.ptr);
    r->has_resp3 |= resp3;
    return p;
}

static void moduleCallReplyFreeParts(struct ValkeyModuleCallReply *r) {
    bool pairs = r->type == VALKEYMODULE_REPLY_MAP || r->type == VALKEYMODULE_REPLY_ATTRIBUTE;
    for (size_t i = 0; r->nested && i < r->count * (pairs ? 2u : 1u); i++)
        moduleCallReplyFreeParts(&r->elements[i]);
    if (r->elements) zfree(r->elements);
    if (!r->attribute) return;
    moduleCallReplyFreeParts(r->attribute);
    zfree(r->attribute);
}

/* Makes the reply one of unknown type. */
static void moduleCallReplyMakeUnknown(struct ValkeyModuleCallReply *r) {
    moduleCallReplyFreeParts(r);
    r->elements = r->attribute = NULL;
    r->type = VALKEYMODULE_REPLY_UNKNOWN;
    r->count = 0;
    r->text = strN("", 0);
}

void callReplyParse(struct ValkeyModuleCallReply *r) {
    if (r->parsed) return;
    r->parsed = true;
    parsing.end = r->bytes + sdslen(r->bytes);
    parsing.broken = false;
    parsing.depth = 0;
    moduleCallReplyParse(r, r->bytes);
    if (parsing.broken) moduleCallReplyMakeUnknown(r);
    r->proto = sdsview(r->bytes); /* including the attribute */
}

/* ---- Creation, freeing ---- */

/* Only a reply that AutoMemory frees keeps its context, because any other may outlive it. */
static struct ValkeyModuleCtx *moduleCallReplyOwnerOf(struct ValkeyModuleCtx *ctx) {
    return ctx && ctx->flags & CTX_AUTO_MEMORY ? ctx : NULL;
}

struct ValkeyModuleCallReply *callReplyNew(struct ValkeyModuleCtx *ctx, sds bytes, bool exact) {
    struct ValkeyModuleCallReply *r = zcalloc(1, sizeof *r);
    r->ctx = moduleCallReplyOwnerOf(ctx);
    r->bytes = bytes;
    r->proto = sdsview(bytes);
    r->exact = exact;
    r->resp = 2;
    if (sdslen(bytes)) return r;
    r->type = VALKEYMODULE_REPLY_UNKNOWN; /* no reply: the command replied nothing, or did not run */
    r->parsed = true;
    return r;
}

struct ValkeyModuleCallReply *callReplyPromise(struct ValkeyModuleCtx *ctx, struct promise *p, bool exact) {
    struct ValkeyModuleCallReply *r = zcalloc(1, sizeof *r);
    r->ctx = moduleCallReplyOwnerOf(ctx);
    r->exact = exact;
    r->type = VALKEYMODULE_REPLY_PROMISE;
    r->parsed = true;
    r->promise = p;
    return r;
}

void callReplyErrors(struct ValkeyModuleCallReply *r, void (*fn)(void *priv, struct str error), void *priv) {
    callReplyParse(r);
    bool pairs = r->type == VALKEYMODULE_REPLY_MAP || r->type == VALKEYMODULE_REPLY_ATTRIBUTE;
    if (r->type == VALKEYMODULE_REPLY_ERROR) fn(priv, r->text);
    for (size_t i = 0; r->elements && i < r->count * (pairs ? 2u : 1u); i++)
        callReplyErrors(&r->elements[i], fn, priv);
}

void callReplyFree(struct ValkeyModuleCallReply *r) {
    moduleCallReplyFreeParts(r);
    if (r->promise) promiseRelease(r->promise);
    sdsfree(r->bytes);
    zfree(r);
}

static void moduleCallReplyReleaseAuto(void *what) {
    callReplyFree(what);
}

/* Frees a root. Elements are freed with their root, so for them this does nothing. */
void vmFreeCallReply(struct ValkeyModuleCallReply *reply) {
    if (!reply || (!reply->bytes && !reply->promise)) return;
    contextAutoRemove(reply->ctx, AUTO_REPLY, reply);
    callReplyFree(reply);
}

/* ---- Access ---- */

int vmCallReplyType(struct ValkeyModuleCallReply *reply) {
    if (!reply) return VALKEYMODULE_REPLY_UNKNOWN;
    callReplyParse(reply);
    return reply->type;
}

static bool moduleCallReplyIs(struct ValkeyModuleCallReply *reply, int type) {
    return vmCallReplyType(reply) == type;
}

static bool moduleCallReplyIsText(struct ValkeyModuleCallReply *reply) {
    return moduleCallReplyIs(reply, VALKEYMODULE_REPLY_STRING) ||
           moduleCallReplyIs(reply, VALKEYMODULE_REPLY_SIMPLE_STRING) ||
           moduleCallReplyIs(reply, VALKEYMODULE_REPLY_ERROR);
}

const char *vmCallReplyProto(struct ValkeyModuleCallReply *reply, size_t *len) {
    if (len) *len = reply->proto.len;
    return reply->proto.ptr;
}

size_t vmCallReplyLength(struct ValkeyModuleCallReply *reply) {
    bool counts = moduleCallReplyIs(reply, VALKEYMODULE_REPLY_STRING) ||
                  moduleCallReplyIs(reply, VALKEYMODULE_REPLY_ERROR);
    return counts ? reply->text.len : reply ? reply->count : 0;
}

long long vmCallReplyInteger(struct ValkeyModuleCallReply *reply) {
    return moduleCallReplyIs(reply, VALKEYMODULE_REPLY_INTEGER) ? reply->integer : LLONG_MIN;
}

double vmCallReplyDouble(struct ValkeyModuleCallReply *reply) {
    return moduleCallReplyIs(reply, VALKEYMODULE_REPLY_DOUBLE) ? reply->real : (double)LLONG_MIN;
}

int vmCallReplyBool(struct ValkeyModuleCallReply *reply) {
    return moduleCallReplyIs(reply, VALKEYMODULE_REPLY_BOOL) ? (int)reply->integer : INT_MIN;
}

static const char *moduleCallReplyTextOf(struct ValkeyModuleCallReply *reply, size_t *len) {
    if (len) *len = reply->text.len;
    return reply->text.ptr;
}

const char *vmCallReplyStringPtr(struct ValkeyModuleCallReply *reply, size_t *len) {
    return moduleCallReplyIsText(reply) ? moduleCallReplyTextOf(reply, len) : NULL;
}
const char *vmCallReplyBigNumber(struct ValkeyModuleCallReply *reply, size_t *len) {
    return moduleCallReplyIs(reply, VALKEYMODULE_REPLY_BIG_NUMBER) ? moduleCallReplyTextOf(reply, len) : NULL;
}
const char *vmCallReplyVerbatim(struct ValkeyModuleCallReply *reply, size_t *len, const char **format) {
    if (!moduleCallReplyIs(reply, VALKEYMODULE_REPLY_VERBATIM_STRING)) return NULL;
    if (format) *format = reply->format;
    return moduleCallReplyTextOf(reply, len);
}

static struct ValkeyModuleCallReply *moduleCallReplyElement(struct ValkeyModuleCallReply *reply, int type,
                                                            size_t idx) {
    return moduleCallReplyIs(reply, type) && idx < reply->count ? &reply->elements[idx] : NULL;
}
struct ValkeyModuleCallReply *vmCallReplyArrayElement(struct ValkeyModuleCallReply *reply, size_t idx) {
    return moduleCallReplyElement(reply, VALKEYMODULE_REPLY_ARRAY, idx);
}
struct ValkeyModuleCallReply *vmCallReplySetElement(struct ValkeyModuleCallReply *reply, size_t idx) {
    return moduleCallReplyElement(reply, VALKEYMODULE_REPLY_SET, idx);
}

static int moduleCallReplyPairAt(struct ValkeyModuleCallReply *reply, int type, size_t idx,
                                 struct ValkeyModuleCallReply **key, struct ValkeyModuleCallReply **val) {
    if (!moduleCallReplyIs(reply, type) || idx >= reply->count) return VALKEYMODULE_ERR;
    if (key) *key = &reply->elements[2 * idx];
    if (val) *val = &reply->elements[2 * idx + 1];
    return VALKEYMODULE_OK;
}
int vmCallReplyMapElement(struct ValkeyModuleCallReply *reply, size_t idx, struct ValkeyModuleCallReply **key,
                          struct ValkeyModuleCallReply **val) {
    return moduleCallReplyPairAt(reply, VALKEYMODULE_REPLY_MAP, idx, key, val);
}
int vmCallReplyAttributeElement(struct ValkeyModuleCallReply *reply, size_t idx,
                                struct ValkeyModuleCallReply **key, struct ValkeyModuleCallReply **val) {
    return moduleCallReplyPairAt(reply, VALKEYMODULE_REPLY_ATTRIBUTE, idx, key, val);
}

struct ValkeyModuleCallReply *vmCallReplyAttribute(struct ValkeyModuleCallReply *reply) {
    return reply && vmCallReplyType(reply) != VALKEYMODULE_REPLY_UNKNOWN ? reply->attribute : NULL;
}

struct ValkeyModuleString *vmCreateStringFromCallReply(struct ValkeyModuleCallReply *reply) {
    if (moduleCallReplyIs(reply, VALKEYMODULE_REPLY_INTEGER))
        return vmCreateStringFromLongLong(reply->ctx, reply->integer);
    return moduleCallReplyIsText(reply) ? vmCreateString(reply->ctx, reply->text.ptr, reply->text.len) : NULL;
}

void callReplyPartInit(void) {
    contextSetAutoFree(AUTO_REPLY, moduleCallReplyReleaseAuto);
}
