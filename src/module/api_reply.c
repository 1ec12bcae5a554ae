/* SPDX-License-Identifier: BSD-3-Clause */
/* api_reply.c - replies of modules. They go to the client of the context; in a thread's context they are
 * collected as text, because only the holder of the lock may use the client's reply chain.
 *
 * Replies in a context without a client (a timer's, an event's) are dropped. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "module/api.h"
#include "module/module_call_reply.h"
#include "module/parts.h"
#include "net/resp.h"

#define VERBATIM_TYPE_LEN 3

/* ---- Destination ---- */

static bool apiReplyIsToThread(const struct ValkeyModuleCtx *ctx) {
    return ctx->thread_reply != NULL;
}
static bool apiReplyIsDropped(const struct ValkeyModuleCtx *ctx) {
    return !ctx->thread_reply && (!ctx->client || ctx->flags & (CTX_THREAD | CTX_BORROWED));
}
static int apiReplyProtocol(const struct ValkeyModuleCtx *ctx) {
    return ctx->thread_reply ? ctx->thread_reply->resp : ctx->client->resp;
}

static void apiReplyAddText(struct ValkeyModuleCtx *ctx, const char *p, size_t n) {
    struct threadReply *r = ctx->thread_reply;
    moduleThreadRegister();
    if (!r->text) r->text = sdsempty();
    r->text = sdscatlen(r->text, p, n);
}

static void apiReplyAddRaw(struct ValkeyModuleCtx *ctx, const char *p, size_t n) {
    if (apiReplyIsToThread(ctx))
        apiReplyAddText(ctx, p, n);
    else if (!apiReplyIsDropped(ctx))
        replyRaw(ctx->client, p, n);
}

static void apiReplyAddHeader(struct ValkeyModuleCtx *ctx, char type, int64_t n) {
    char header[RESP_HDR_SIZE];
    apiReplyAddRaw(ctx, header, respWriteHeader(header, type, n));
}

static int apiReplyAddBulk(struct ValkeyModuleCtx *ctx, struct str s) {
    if (!apiReplyIsToThread(ctx)) {
        if (!apiReplyIsDropped(ctx)) replyBulk(ctx->client, s);
        return VALKEYMODULE_OK;
    }
    apiReplyAddHeader(ctx, '$', (int64_t)s.len);
    apiReplyAddText(ctx, s.ptr, s.len);
    apiReplyAddText(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

/* Appends a line of RESP3; in RESP2 a bulk string. */
static int apiReplyAddTyped(struct ValkeyModuleCtx *ctx, char type, struct str s) {
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    if (apiReplyProtocol(ctx) < 3) return apiReplyAddBulk(ctx, s);
    apiReplyAddRaw(ctx, &type, 1);
    apiReplyAddRaw(ctx, s.ptr, s.len);
    apiReplyAddRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

/* ---- Replies of threads ---- */

void threadReplySend(struct threadReply *r, struct client *c) {
    for (int i = 0; i < r->error_count; i++) replyErrorCount(c, sdsview(r->errors[i]));
    if (r->text) replyRaw(c, r->text, sdslen(r->text));
    if (r->incomplete) clientCloseAfterReply(c);
    threadReplyFree(r);
}

void threadReplyFree(struct threadReply *r) {
    for (int i = 0; i < r->error_count; i++) sdsfree(r->errors[i]);
    zfree(r->errors);
    sdsfree(r->text);
    *r = (struct threadReply){.resp = r->resp};
}

/* ---- Simple elements ---- */

int vmReplyWithLongLong(struct ValkeyModuleCtx *ctx, long long ll) {
    if (apiReplyIsToThread(ctx))
        apiReplyAddHeader(ctx, ':', ll);
    else if (!apiReplyIsDropped(ctx))
        replyLongLong(ctx->client, ll);
    return VALKEYMODULE_OK;
}

int vmReplyWithSimpleString(struct ValkeyModuleCtx *ctx, const char *msg) {
    apiReplyAddRaw(ctx, "+", 1);
    apiReplyAddRaw(ctx, msg, strlen(msg));
    apiReplyAddRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

int vmReplyWithStringBuffer(struct ValkeyModuleCtx *ctx, const char *buf, size_t len) {
    return apiReplyAddBulk(ctx, strN(buf, len));
}
int vmReplyWithCString(struct ValkeyModuleCtx *ctx, const char *buf) {
    return apiReplyAddBulk(ctx, strOf(buf));
}
int vmReplyWithString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    return apiReplyAddBulk(ctx, stringText(str));
}
int vmReplyWithEmptyString(struct ValkeyModuleCtx *ctx) {
    return apiReplyAddBulk(ctx, strN("", 0));
}

/* The type is padded with blanks to three characters. */
int vmReplyWithVerbatimStringType(struct ValkeyModuleCtx *ctx, const char *buf, size_t len, const char *ext) {
    char type[VERBATIM_TYPE_LEN] = {' ', ' ', ' '};
    for (int i = 0; i < VERBATIM_TYPE_LEN && ext[i]; i++) type[i] = ext[i];
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    if (apiReplyProtocol(ctx) < 3) return apiReplyAddBulk(ctx, strN(buf, len));
    apiReplyAddHeader(ctx, '=', (int64_t)len + VERBATIM_TYPE_LEN + 1);
    apiReplyAddRaw(ctx, type, VERBATIM_TYPE_LEN);
    apiReplyAddRaw(ctx, ":", 1);
    apiReplyAddRaw(ctx, buf, len);
    apiReplyAddRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}
int vmReplyWithVerbatimString(struct ValkeyModuleCtx *ctx, const char *buf, size_t len) {
    return vmReplyWithVerbatimStringType(ctx, buf, len, "txt");
}

static int apiReplyAddNull(struct ValkeyModuleCtx *ctx, const char *resp2) {
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    const char *text = apiReplyProtocol(ctx) < 3 ? resp2 : "_\r\n";
    apiReplyAddRaw(ctx, text, strlen(text));
    return VALKEYMODULE_OK;
}
int vmReplyWithNull(struct ValkeyModuleCtx *ctx) {
    return apiReplyAddNull(ctx, "$-1\r\n");
}
int vmReplyWithNullArray(struct ValkeyModuleCtx *ctx) {
    return apiReplyAddNull(ctx, "*-1\r\n");
}
int vmReplyWithEmptyArray(struct ValkeyModuleCtx *ctx) {
    apiReplyAddHeader(ctx, '*', 0);
    return VALKEYMODULE_OK;
}

int vmReplyWithBool(struct ValkeyModuleCtx *ctx, int b) {
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    if (apiReplyProtocol(ctx) < 3)
        apiReplyAddHeader(ctx, ':', b != 0);
    else
        apiReplyAddRaw(ctx, b ? "#t\r\n" : "#f\r\n", 4);
    return VALKEYMODULE_OK;
}

int vmReplyWithDouble(struct ValkeyModuleCtx *ctx, double d) {
    char text[DOUBLE_STR_SIZE];
    return apiReplyAddTyped(ctx, ',', strN(text, d2string(text, d)));
}

int vmReplyWithLongDouble(struct ValkeyModuleCtx *ctx, long double ld) {
    char text[LONG_DOUBLE_STR_SIZE];
    size_t len = isfinite(ld) ? ld2string(text, sizeof text, ld) : d2string(text, (double)ld);
    return apiReplyAddTyped(ctx, ',', strN(text, len));
}

int vmReplyWithBigNumber(struct ValkeyModuleCtx *ctx, const char *bignum, size_t len) {
    return apiReplyAddTyped(ctx, '(', strN(bignum, len));
}

/* ---- Errors ---- */

/* Appends an error as one line. */
static void apiReplyAddErrorLine(struct ValkeyModuleCtx *ctx, sds text) {
    apiReplyAddRaw(ctx, "-", 1);
    apiReplyAddRaw(ctx, text, sdslen(text));
    apiReplyAddRaw(ctx, "\r\n", 2);
}

static void apiReplyAddThreadError(struct threadReply *r, sds text) {
    r->errors = zrealloc(r->errors, (size_t)(r->error_count + 1) * sizeof *r->errors);
    r->errors[r->error_count++] = text;
}

/* Replies with an error. Takes text over, which comes without the dash: a dash at its beginning is part
 * of the text. */
static int apiReplyAddError(struct ValkeyModuleCtx *ctx, sds text, bool counts) {
    struct threadReply *r = ctx->thread_reply;
    for (size_t i = 0; i < sdslen(text); i++) {
        if (text[i] == '\r' || text[i] == '\n') text[i] = ' ';
    }
    if (r) {
        apiReplyAddErrorLine(ctx, text);
        if (counts) {
            apiReplyAddThreadError(r, text);
            return VALKEYMODULE_OK;
        }
    } else if (!apiReplyIsDropped(ctx)) {
        if (counts && *text == '-') { /* replyErrorStr drops the first of two dashes */
            sds dashed = sdscatstr(sdsnew("-"), sdsview(text));
            sdsfree(text);
            text = dashed;
        }
        if (counts)
            replyErrorStr(ctx->client, sdsview(text));
        else
            apiReplyAddErrorLine(ctx, text);
    }
    sdsfree(text);
    return VALKEYMODULE_OK;
}

int vmReplyWithError(struct ValkeyModuleCtx *ctx, const char *err) {
    return apiReplyAddError(ctx, sdsnew(err), true);
}

int vmReplyWithErrorFormat(struct ValkeyModuleCtx *ctx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    return apiReplyAddError(ctx, text, true);
}

int vmReplyWithCustomErrorFormat(struct ValkeyModuleCtx *ctx, int update_error_stats, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    return apiReplyAddError(ctx, text, update_error_stats);
}

/* ---- Replies of called commands ---- */

static void apiReplyCountError(void *priv, struct str error) {
    struct ValkeyModuleCtx *ctx = priv;
    if (ctx->thread_reply)
        apiReplyAddThreadError(ctx->thread_reply, sdsnewstr(error));
    else
        replyErrorCount(ctx->client, error);
}

/* Passes a reply on. Its errors are counted now, as the client gets them. */
int vmReplyWithCallReply(struct ValkeyModuleCtx *ctx, struct ValkeyModuleCallReply *reply) {
    if (!reply || reply->promise) return VALKEYMODULE_ERR;
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    if (apiReplyProtocol(ctx) < 3 && reply->resp >= 3) {
        callReplyParse(reply);
        if (reply->has_resp3) return VALKEYMODULE_ERR;
    }
    if (reply->has_errors) callReplyErrors(reply, apiReplyCountError, ctx);
    reply->has_errors = false;
    apiReplyAddRaw(ctx, reply->proto.ptr, reply->proto.len);
    return VALKEYMODULE_OK;
}

/* Script engines look this name up in the executable. */
int VM_ReplyRaw(struct ValkeyModuleCtx *ctx, const char *bytes, size_t len);
int VM_ReplyRaw(struct ValkeyModuleCtx *ctx, const char *bytes, size_t len) {
    apiReplyAddRaw(ctx, bytes, len);
    return VALKEYMODULE_OK;
}

/* ---- Collections ---- */

struct postponedLength {
    struct replyMark mark; /* position in the client's chain, */
    size_t at;             /* or in the thread's text */
    char type;             /* the type of the collection: * % ~ | */
};

static void apiReplyPostpone(struct ValkeyModuleCtx *ctx, char type) {
    if (ctx->postponed_count == ctx->postponed_capacity) {
        ctx->postponed_capacity = ctx->postponed_capacity ? 2 * ctx->postponed_capacity : 4;
        ctx->postponed = zrealloc(ctx->postponed, (size_t)ctx->postponed_capacity * sizeof *ctx->postponed);
    }
    struct postponedLength *p = &ctx->postponed[ctx->postponed_count++];
    *p = (struct postponedLength){.type = type};
    if (apiReplyIsToThread(ctx))
        p->at = ctx->thread_reply->text ? sdslen(ctx->thread_reply->text) : 0;
    else
        p->mark = replyDeferLen(ctx->client);
}

/* Begins a collection. Maps and attributes count pairs; in RESP2 all are arrays. */
static int apiReplyBeginCollection(struct ValkeyModuleCtx *ctx, char type, long len) {
    if (apiReplyIsDropped(ctx)) return VALKEYMODULE_OK;
    bool old = apiReplyProtocol(ctx) < 3;
    if (type == '|' && old) return VALKEYMODULE_ERR;
    if (len == VALKEYMODULE_POSTPONED_LEN)
        apiReplyPostpone(ctx, type);
    else
        apiReplyAddHeader(ctx, old ? '*' : type, old && type == '%' ? 2 * (int64_t)len : len);
    return VALKEYMODULE_OK;
}

int vmReplyWithArray(struct ValkeyModuleCtx *ctx, long len) {
    return apiReplyBeginCollection(ctx, '*', len);
}
int vmReplyWithMap(struct ValkeyModuleCtx *ctx, long len) {
    return apiReplyBeginCollection(ctx, '%', len);
}
int vmReplyWithSet(struct ValkeyModuleCtx *ctx, long len) {
    return apiReplyBeginCollection(ctx, '~', len);
}
int vmReplyWithAttribute(struct ValkeyModuleCtx *ctx, long len) {
    return apiReplyBeginCollection(ctx, '|', len);
}

static void apiReplyLogMisuse(struct ValkeyModuleCtx *ctx, const char *what) {
    serverLog(LL_WARNING, "Module %s uses the API wrongly: %s", ctx->module ? ctx->module->name : "", what);
}

static void apiReplyInsertHeader(struct threadReply *r, size_t at, char type, int64_t n) {
    char header[RESP_HDR_SIZE];
    unsigned len = respWriteHeader(header, type, n);
    if (!r->text) r->text = sdsempty();
    sds rest = sdsnewlen(r->text + at, sdslen(r->text) - at);
    sdssetlen(r->text, at);
    r->text = sdscatlen(r->text, header, len);
    r->text = sdscatlen(r->text, rest, sdslen(rest));
    sdsfree(rest);
}

static void apiReplyEndCollection(struct ValkeyModuleCtx *ctx, char type, long len) {
    if (apiReplyIsDropped(ctx)) return;
    if (!ctx->postponed_count) {
        apiReplyLogMisuse(
            ctx, "a length has been told of a collection that nobody has begun with a postponed one");
        return;
    }
    struct postponedLength p = ctx->postponed[--ctx->postponed_count];
    bool old = apiReplyProtocol(ctx) < 3;
    int64_t n = old && (type == '%' || type == '|') ? 2 * (int64_t)len : len;
    if (old) type = '*';
    if (apiReplyIsToThread(ctx))
        apiReplyInsertHeader(ctx->thread_reply, p.at, type, n);
    else
        replySetLenOf(ctx->client, p.mark, type, n);
}

void vmReplySetArrayLength(struct ValkeyModuleCtx *ctx, long len) {
    apiReplyEndCollection(ctx, '*', len);
}
void vmReplySetMapLength(struct ValkeyModuleCtx *ctx, long len) {
    apiReplyEndCollection(ctx, '%', len);
}
void vmReplySetSetLength(struct ValkeyModuleCtx *ctx, long len) {
    apiReplyEndCollection(ctx, '~', len);
}
void vmReplySetAttributeLength(struct ValkeyModuleCtx *ctx, long len) {
    if (!apiReplyIsDropped(ctx) && apiReplyProtocol(ctx) >= 3) apiReplyEndCollection(ctx, '|', len);
}

/* Handles a postponed length that was never set: the client would take the elements for replies
 * to later commands. */
static void apiReplyCloseClient(struct ValkeyModuleCtx *ctx) {
    apiReplyLogMisuse(ctx, "a collection was begun with a postponed length, which has not been told");
    if (apiReplyIsToThread(ctx))
        ctx->thread_reply->incomplete = true;
    else if (!apiReplyIsDropped(ctx) && ctx->client->conn)
        clientCloseAfterReply(ctx->client);
}

void contextFinishReplies(struct ValkeyModuleCtx *ctx) {
    if (ctx->postponed_count) apiReplyCloseClient(ctx);
    while (ctx->postponed_count) apiReplyEndCollection(ctx, ctx->postponed[ctx->postponed_count - 1].type, 0);
    zfree(ctx->postponed);
    ctx->postponed = NULL;
}
