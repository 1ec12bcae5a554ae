/* SPDX-License-Identifier: BSD-3-Clause */
/* api_reply.c - replies of modules: to the client of the context, or of a thread's context into a text of its
 * own, since the client's chain belongs to who holds the lock.
 *
 * A context without a client (a timer's, an event's) replies to nobody. */
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

/* ---- Where it goes ---- */

static bool toThread(const struct ValkeyModuleCtx *ctx) {
    return ctx->thread_reply != NULL;
}
static bool toNobody(const struct ValkeyModuleCtx *ctx) {
    return !ctx->thread_reply && (!ctx->client || ctx->flags & (CTX_THREAD | CTX_BORROWED));
}
static int protocol(const struct ValkeyModuleCtx *ctx) {
    return ctx->thread_reply ? ctx->thread_reply->resp : ctx->client->resp;
}

static void addText(struct ValkeyModuleCtx *ctx, const char *p, size_t n) {
    struct threadReply *r = ctx->thread_reply;
    moduleThreadEnters();
    if (!r->text) r->text = sdsempty();
    r->text = sdscatlen(r->text, p, n);
}

static void addRaw(struct ValkeyModuleCtx *ctx, const char *p, size_t n) {
    if (toThread(ctx))
        addText(ctx, p, n);
    else if (!toNobody(ctx))
        replyRaw(ctx->client, p, n);
}

static void addHeader(struct ValkeyModuleCtx *ctx, char type, int64_t n) {
    char header[RESP_HDR_SIZE];
    addRaw(ctx, header, respWriteHeader(header, type, n));
}

static int addBulk(struct ValkeyModuleCtx *ctx, struct str s) {
    if (!toThread(ctx)) {
        if (!toNobody(ctx)) replyBulk(ctx->client, s);
        return VALKEYMODULE_OK;
    }
    addHeader(ctx, '$', (int64_t)s.len);
    addText(ctx, s.ptr, s.len);
    addText(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

/* A line of RESP3; in RESP2 a bulk. */
static int addTyped(struct ValkeyModuleCtx *ctx, char type, struct str s) {
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    if (protocol(ctx) < 3) return addBulk(ctx, s);
    addRaw(ctx, &type, 1);
    addRaw(ctx, s.ptr, s.len);
    addRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

/* ---- Of threads ---- */

void threadReplySend(struct threadReply *r, struct client *c) {
    for (int i = 0; i < r->error_count; i++) replyErrorCount(c, sdsview(r->errors[i]));
    if (r->text) replyRaw(c, r->text, sdslen(r->text));
    if (r->left_open) clientCloseAfterReply(c);
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
    if (toThread(ctx))
        addHeader(ctx, ':', ll);
    else if (!toNobody(ctx))
        replyLongLong(ctx->client, ll);
    return VALKEYMODULE_OK;
}

int vmReplyWithSimpleString(struct ValkeyModuleCtx *ctx, const char *msg) {
    addRaw(ctx, "+", 1);
    addRaw(ctx, msg, strlen(msg));
    addRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}

int vmReplyWithStringBuffer(struct ValkeyModuleCtx *ctx, const char *buf, size_t len) {
    return addBulk(ctx, strN(buf, len));
}
int vmReplyWithCString(struct ValkeyModuleCtx *ctx, const char *buf) {
    return addBulk(ctx, strOf(buf));
}
int vmReplyWithString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    return addBulk(ctx, stringText(str));
}
int vmReplyWithEmptyString(struct ValkeyModuleCtx *ctx) {
    return addBulk(ctx, strN("", 0));
}

/* The type has three characters: of a shorter one the rest are blanks. */
int vmReplyWithVerbatimStringType(struct ValkeyModuleCtx *ctx, const char *buf, size_t len, const char *ext) {
    char type[VERBATIM_TYPE_LEN] = {' ', ' ', ' '};
    for (int i = 0; i < VERBATIM_TYPE_LEN && ext[i]; i++) type[i] = ext[i];
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    if (protocol(ctx) < 3) return addBulk(ctx, strN(buf, len));
    addHeader(ctx, '=', (int64_t)len + VERBATIM_TYPE_LEN + 1);
    addRaw(ctx, type, VERBATIM_TYPE_LEN);
    addRaw(ctx, ":", 1);
    addRaw(ctx, buf, len);
    addRaw(ctx, "\r\n", 2);
    return VALKEYMODULE_OK;
}
int vmReplyWithVerbatimString(struct ValkeyModuleCtx *ctx, const char *buf, size_t len) {
    return vmReplyWithVerbatimStringType(ctx, buf, len, "txt");
}

static int addNull(struct ValkeyModuleCtx *ctx, const char *resp2) {
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    const char *text = protocol(ctx) < 3 ? resp2 : "_\r\n";
    addRaw(ctx, text, strlen(text));
    return VALKEYMODULE_OK;
}
int vmReplyWithNull(struct ValkeyModuleCtx *ctx) {
    return addNull(ctx, "$-1\r\n");
}
int vmReplyWithNullArray(struct ValkeyModuleCtx *ctx) {
    return addNull(ctx, "*-1\r\n");
}
int vmReplyWithEmptyArray(struct ValkeyModuleCtx *ctx) {
    addHeader(ctx, '*', 0);
    return VALKEYMODULE_OK;
}

int vmReplyWithBool(struct ValkeyModuleCtx *ctx, int b) {
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    if (protocol(ctx) < 3)
        addHeader(ctx, ':', b != 0);
    else
        addRaw(ctx, b ? "#t\r\n" : "#f\r\n", 4);
    return VALKEYMODULE_OK;
}

int vmReplyWithDouble(struct ValkeyModuleCtx *ctx, double d) {
    char text[DOUBLE_STR_SIZE];
    return addTyped(ctx, ',', strN(text, d2string(text, d)));
}

int vmReplyWithLongDouble(struct ValkeyModuleCtx *ctx, long double ld) {
    char text[LONG_DOUBLE_STR_SIZE];
    size_t len = isfinite(ld) ? ld2string(text, sizeof text, ld) : d2string(text, (double)ld);
    return addTyped(ctx, ',', strN(text, len));
}

int vmReplyWithBigNumber(struct ValkeyModuleCtx *ctx, const char *bignum, size_t len) {
    return addTyped(ctx, '(', strN(bignum, len));
}

/* ---- Errors ---- */

/* A line, whatever the text has in it. */
static void addErrorLine(struct ValkeyModuleCtx *ctx, sds text) {
    addRaw(ctx, "-", 1);
    addRaw(ctx, text, sdslen(text));
    addRaw(ctx, "\r\n", 2);
}

static void noteThreadError(struct threadReply *r, sds text) {
    r->errors = zrealloc(r->errors, (size_t)(r->error_count + 1) * sizeof *r->errors);
    r->errors[r->error_count++] = text;
}

/* The text is the callee's. Modules give it without the dash, so that one at its beginning is part of it. */
static int addError(struct ValkeyModuleCtx *ctx, sds text, bool counts) {
    struct threadReply *r = ctx->thread_reply;
    for (size_t i = 0; i < sdslen(text); i++) {
        if (text[i] == '\r' || text[i] == '\n') text[i] = ' ';
    }
    if (r) {
        addErrorLine(ctx, text);
        if (counts) {
            noteThreadError(r, text);
            return VALKEYMODULE_OK;
        }
    } else if (!toNobody(ctx)) {
        if (counts && *text == '-') { /* of two, replyErrorStr drops one */
            sds dashed = sdscatstr(sdsnew("-"), sdsview(text));
            sdsfree(text);
            text = dashed;
        }
        if (counts)
            replyErrorStr(ctx->client, sdsview(text));
        else
            addErrorLine(ctx, text);
    }
    sdsfree(text);
    return VALKEYMODULE_OK;
}

int vmReplyWithError(struct ValkeyModuleCtx *ctx, const char *err) {
    return addError(ctx, sdsnew(err), true);
}

int vmReplyWithErrorFormat(struct ValkeyModuleCtx *ctx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    return addError(ctx, text, true);
}

int vmReplyWithCustomErrorFormat(struct ValkeyModuleCtx *ctx, int update_error_stats, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    return addError(ctx, text, update_error_stats);
}

/* ---- What others have replied ---- */

static void countError(void *priv, struct str error) {
    struct ValkeyModuleCtx *ctx = priv;
    if (ctx->thread_reply)
        noteThreadError(ctx->thread_reply, sdsnewstr(error));
    else
        replyErrorCount(ctx->client, error);
}

/* Errors in it count now: the client gets them. */
int vmReplyWithCallReply(struct ValkeyModuleCtx *ctx, struct ValkeyModuleCallReply *reply) {
    if (!reply || reply->promise) return VALKEYMODULE_ERR;
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    if (protocol(ctx) < 3 && reply->resp >= 3) {
        callReplyParse(reply);
        if (reply->has_resp3) return VALKEYMODULE_ERR;
    }
    if (reply->has_errors) callReplyErrors(reply, countError, ctx);
    reply->has_errors = false;
    addRaw(ctx, reply->proto.ptr, reply->proto.len);
    return VALKEYMODULE_OK;
}

/* Exported by this name: what runs scripts uses it. */
int VM_ReplyRaw(struct ValkeyModuleCtx *ctx, const char *bytes, size_t len);
int VM_ReplyRaw(struct ValkeyModuleCtx *ctx, const char *bytes, size_t len) {
    addRaw(ctx, bytes, len);
    return VALKEYMODULE_OK;
}

/* ---- Collections ---- */

struct postponedLength {
    struct replyMark mark; /* in the client's chain, */
    size_t at;             /* or in the thread's text */
    char type;             /* as it was begun: * % ~ | */
};

static void postpone(struct ValkeyModuleCtx *ctx, char type) {
    if (ctx->postponed_count == ctx->postponed_capacity) {
        ctx->postponed_capacity = ctx->postponed_capacity ? 2 * ctx->postponed_capacity : 4;
        ctx->postponed = zrealloc(ctx->postponed, (size_t)ctx->postponed_capacity * sizeof *ctx->postponed);
    }
    struct postponedLength *p = &ctx->postponed[ctx->postponed_count++];
    *p = (struct postponedLength){.type = type};
    if (toThread(ctx))
        p->at = ctx->thread_reply->text ? sdslen(ctx->thread_reply->text) : 0;
    else
        p->mark = replyDeferLen(ctx->client);
}

/* Maps and attributes count pairs; in RESP2 all are arrays. */
static int beginCollection(struct ValkeyModuleCtx *ctx, char type, long len) {
    if (toNobody(ctx)) return VALKEYMODULE_OK;
    bool old = protocol(ctx) < 3;
    if (type == '|' && old) return VALKEYMODULE_ERR;
    if (len == VALKEYMODULE_POSTPONED_LEN)
        postpone(ctx, type);
    else
        addHeader(ctx, old ? '*' : type, old && type == '%' ? 2 * (int64_t)len : len);
    return VALKEYMODULE_OK;
}

int vmReplyWithArray(struct ValkeyModuleCtx *ctx, long len) {
    return beginCollection(ctx, '*', len);
}
int vmReplyWithMap(struct ValkeyModuleCtx *ctx, long len) {
    return beginCollection(ctx, '%', len);
}
int vmReplyWithSet(struct ValkeyModuleCtx *ctx, long len) {
    return beginCollection(ctx, '~', len);
}
int vmReplyWithAttribute(struct ValkeyModuleCtx *ctx, long len) {
    return beginCollection(ctx, '|', len);
}

static void misused(struct ValkeyModuleCtx *ctx, const char *what) {
    serverLog(LL_WARNING, "Module %s uses the API wrongly: %s", ctx->module ? ctx->module->name : "", what);
}

static void fillText(struct threadReply *r, size_t at, char type, int64_t n) {
    char header[RESP_HDR_SIZE];
    unsigned len = respWriteHeader(header, type, n);
    if (!r->text) r->text = sdsempty();
    sds rest = sdsnewlen(r->text + at, sdslen(r->text) - at);
    sdssetlen(r->text, at);
    r->text = sdscatlen(r->text, header, len);
    r->text = sdscatlen(r->text, rest, sdslen(rest));
    sdsfree(rest);
}

static void endCollection(struct ValkeyModuleCtx *ctx, char type, long len) {
    if (toNobody(ctx)) return;
    if (!ctx->postponed_count) {
        misused(ctx, "a length has been told of a collection that nobody has begun with a postponed one");
        return;
    }
    struct postponedLength p = ctx->postponed[--ctx->postponed_count];
    bool old = protocol(ctx) < 3;
    int64_t n = old && (type == '%' || type == '|') ? 2 * (int64_t)len : len;
    if (old) type = '*';
    if (toThread(ctx))
        fillText(ctx->thread_reply, p.at, type, n);
    else
        replySetLenOf(ctx->client, p.mark, type, n);
}

void vmReplySetArrayLength(struct ValkeyModuleCtx *ctx, long len) {
    endCollection(ctx, '*', len);
}
void vmReplySetMapLength(struct ValkeyModuleCtx *ctx, long len) {
    endCollection(ctx, '%', len);
}
void vmReplySetSetLength(struct ValkeyModuleCtx *ctx, long len) {
    endCollection(ctx, '~', len);
}
void vmReplySetAttributeLength(struct ValkeyModuleCtx *ctx, long len) {
    if (!toNobody(ctx) && protocol(ctx) >= 3) endCollection(ctx, '|', len);
}

/* Whatever is in it would be taken for replies to the commands that follow. */
static void leftOpen(struct ValkeyModuleCtx *ctx) {
    misused(ctx, "a collection was begun with a postponed length, which has not been told");
    if (toThread(ctx))
        ctx->thread_reply->left_open = true;
    else if (!toNobody(ctx) && ctx->client->conn)
        clientCloseAfterReply(ctx->client);
}

void contextRepliesEnd(struct ValkeyModuleCtx *ctx) {
    if (ctx->postponed_count) leftOpen(ctx);
    while (ctx->postponed_count) endCollection(ctx, ctx->postponed[ctx->postponed_count - 1].type, 0);
    zfree(ctx->postponed);
    ctx->postponed = NULL;
}
