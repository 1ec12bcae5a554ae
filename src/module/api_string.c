/* api_string.c - strings of modules: counted, one allocation each. They belong to who holds the lock; one
 * with a single owner may be read and freed by any thread. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "module/api.h"
#include "module/parts.h"

/* ---- Life ---- */

static struct ValkeyModuleString *stringSpace(size_t len) {
    struct ValkeyModuleString *s = zmalloc(sizeof *s + len + 1);
    s->refs = 1;
    s->len = len;
    s->grown = NULL;
    s->bytes[len] = '\0';
    return s;
}

struct ValkeyModuleString *stringNew(struct str text) {
    struct ValkeyModuleString *s = stringSpace(text.len);
    if (text.len) memcpy(s->bytes, text.ptr, text.len);
    return s;
}

struct ValkeyModuleString *stringTake(sds text) {
    struct ValkeyModuleString *s = stringSpace(0);
    s->grown = text;
    s->len = sdslen(text);
    return s;
}

void stringRelease(struct ValkeyModuleString *s) {
    if (--s->refs) return;
    if (s->grown) sdsfree(s->grown);
    zfree(s);
}

static void releaseOne(void *what) {
    stringRelease(what);
}

static struct ValkeyModuleString *made(struct ValkeyModuleCtx *ctx, struct str text) {
    struct ValkeyModuleString *s = stringNew(text);
    contextAuto(ctx, AUTO_STRING, s);
    return s;
}

void vmFreeString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    contextAutoForget(ctx, AUTO_STRING, str);
    stringRelease(str);
}

/* What AutoMemory would free is the caller's now: one reference all the same. */
void vmRetainString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    if (!contextAutoForget(ctx, AUTO_STRING, str)) str->refs++;
}

struct ValkeyModuleString *vmHoldString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    str->refs++;
    contextAuto(ctx, AUTO_STRING, str);
    return str;
}

/* ---- Making ---- */

struct ValkeyModuleString *vmCreateString(struct ValkeyModuleCtx *ctx, const char *ptr, size_t len) {
    return made(ctx, strN(ptr, len));
}

struct ValkeyModuleString *vmCreateStringPrintf(struct ValkeyModuleCtx *ctx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct ValkeyModuleString *s = stringTake(sdscatvprintf(sdsempty(), fmt, ap));
    va_end(ap);
    contextAuto(ctx, AUTO_STRING, s);
    return s;
}

struct ValkeyModuleString *vmCreateStringFromLongLong(struct ValkeyModuleCtx *ctx, long long ll) {
    char digits[LONG_STR_SIZE];
    return made(ctx, strN(digits, ll2string(digits, ll)));
}

struct ValkeyModuleString *vmCreateStringFromULongLong(struct ValkeyModuleCtx *ctx, unsigned long long ull) {
    char digits[LONG_STR_SIZE];
    return made(ctx, strN(digits, ull2string(digits, ull)));
}

struct ValkeyModuleString *vmCreateStringFromString(struct ValkeyModuleCtx *ctx,
                                                    const struct ValkeyModuleString *str) {
    return made(ctx, stringView(str));
}

struct ValkeyModuleString *vmCreateStringFromStreamID(struct ValkeyModuleCtx *ctx,
                                                      const ValkeyModuleStreamID *id) {
    char text[2 * LONG_STR_SIZE];
    size_t len = ull2string(text, id->ms);
    text[len++] = '-';
    len += ull2string(text + len, id->seq);
    return made(ctx, strN(text, len));
}

void stringsInit(void) {
    contextSetRelease(AUTO_STRING, releaseOne);
}
