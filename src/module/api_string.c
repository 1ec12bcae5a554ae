/* SPDX-License-Identifier: BSD-3-Clause */
/* api_string.c - strings of modules: reference-counted, one allocation each. Only the holder of the lock may
 * use them, except that any thread may read and free a string with one reference. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "module/api.h"
#include "module/parts.h"

/* ---- Creation, references ---- */

static struct ValkeyModuleString *apiStringAllocate(size_t len) {
    struct ValkeyModuleString *s = zmalloc(sizeof *s + len + 1);
    s->refs = 1;
    s->len = len;
    s->grown = NULL;
    s->bytes[len] = '\0';
    return s;
}

struct ValkeyModuleString *stringNew(struct str text) {
    struct ValkeyModuleString *s = apiStringAllocate(text.len);
    if (text.len) memcpy(s->bytes, text.ptr, text.len);
    return s;
}

struct str *stringViews(struct ValkeyModuleString *const *strings, size_t count) {
    struct str *views = zmalloc((count + 1) * sizeof *views);
    for (size_t i = 0; i < count; i++) views[i] = stringText(strings[i]);
    return views;
}

struct ValkeyModuleString *stringFromSds(sds text) {
    struct ValkeyModuleString *s = apiStringAllocate(0);
    s->grown = text;
    s->len = sdslen(text);
    return s;
}

void stringRelease(struct ValkeyModuleString *s) {
    if (--s->refs) return;
    if (s->grown) sdsfree(s->grown);
    zfree(s);
}

static void apiStringReleaseAuto(void *what) {
    stringRelease(what);
}

static struct ValkeyModuleString *apiStringCreate(struct ValkeyModuleCtx *ctx, struct str text) {
    struct ValkeyModuleString *s = stringNew(text);
    contextAutoAdd(ctx, AUTO_STRING, s);
    return s;
}

void vmFreeString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    contextAutoRemove(ctx, AUTO_STRING, str);
    stringRelease(str);
}

/* If AutoMemory would free the string, the caller takes that reference over; else a reference is added. */
void vmRetainString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    if (!contextAutoRemove(ctx, AUTO_STRING, str)) str->refs++;
}

struct ValkeyModuleString *vmHoldString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str) {
    str->refs++;
    contextAutoAdd(ctx, AUTO_STRING, str);
    return str;
}

/* ---- Conversion to strings ---- */

struct ValkeyModuleString *vmCreateString(struct ValkeyModuleCtx *ctx, const char *ptr, size_t len) {
    return apiStringCreate(ctx, strN(ptr, len));
}

struct ValkeyModuleString *vmCreateStringPrintf(struct ValkeyModuleCtx *ctx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct ValkeyModuleString *s = stringFromSds(sdscatvprintf(sdsempty(), fmt, ap));
    va_end(ap);
    contextAutoAdd(ctx, AUTO_STRING, s);
    return s;
}

struct ValkeyModuleString *vmCreateStringFromLongLong(struct ValkeyModuleCtx *ctx, long long ll) {
    char digits[LONG_STR_SIZE];
    return apiStringCreate(ctx, strN(digits, ll2string(digits, ll)));
}

struct ValkeyModuleString *vmCreateStringFromULongLong(struct ValkeyModuleCtx *ctx, unsigned long long ull) {
    char digits[LONG_STR_SIZE];
    return apiStringCreate(ctx, strN(digits, ull2string(digits, ull)));
}

struct ValkeyModuleString *vmCreateStringFromString(struct ValkeyModuleCtx *ctx,
                                                    const struct ValkeyModuleString *str) {
    return apiStringCreate(ctx, stringText(str));
}

struct ValkeyModuleString *vmCreateStringFromStreamID(struct ValkeyModuleCtx *ctx,
                                                      const ValkeyModuleStreamID *id) {
    char text[2 * LONG_STR_SIZE];
    size_t len = ull2string(text, id->ms);
    text[len++] = '-';
    len += ull2string(text + len, id->seq);
    return apiStringCreate(ctx, strN(text, len));
}

struct ValkeyModuleString *vmCreateStringFromDouble(struct ValkeyModuleCtx *ctx, double d) {
    char text[DOUBLE_STR_SIZE];
    return apiStringCreate(ctx, strN(text, d2string(text, d)));
}

/* With humanfriendly without an exponent, else with all significant digits. */
struct ValkeyModuleString *vmCreateStringFromLongDouble(struct ValkeyModuleCtx *ctx, long double ld,
                                                        int humanfriendly) {
    char text[LONG_DOUBLE_STR_SIZE];
    size_t len = humanfriendly && isfinite(ld) ? ld2string(text, sizeof text, ld)
                                               : (size_t)snprintf(text, sizeof text, "%.17Lg", ld);
    return apiStringCreate(ctx, strN(text, len));
}

/* ---- Reading ---- */

static const char no_string[] = "(NULL string reply referenced in module)";

const char *vmStringPtrLen(const struct ValkeyModuleString *str, size_t *len) {
    struct str text = str ? stringText(str) : STR(no_string);
    if (len) *len = text.len;
    return text.ptr;
}

int vmStringCompare(const struct ValkeyModuleString *a, const struct ValkeyModuleString *b) {
    int cmp = strCmp(stringText(a), stringText(b));
    return (cmp > 0) - (cmp < 0);
}

int vmStringToLongLong(const struct ValkeyModuleString *str, long long *ll) {
    int64_t value;
    if (!string2ll(stringText(str), &value)) return VALKEYMODULE_ERR;
    *ll = value;
    return VALKEYMODULE_OK;
}

/* Accepts its own form and whatever strtoull parses completely. */
int vmStringToULongLong(const struct ValkeyModuleString *str, unsigned long long *ull) {
    uint64_t value;
    struct str text = stringText(str);
    if (string2ull(text, &value)) {
        *ull = value;
        return VALKEYMODULE_OK;
    }
    int64_t negative;
    if (string2ll(text, &negative)) return VALKEYMODULE_ERR;
    char *end;
    errno = 0;
    unsigned long long loose = strtoull(text.ptr, &end, 10);
    if (!text.len || errno || end != text.ptr + text.len) return VALKEYMODULE_ERR;
    *ull = loose;
    return VALKEYMODULE_OK;
}

int vmStringToDouble(const struct ValkeyModuleString *str, double *d) {
    return string2d(stringText(str), d) ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

int vmStringToLongDouble(const struct ValkeyModuleString *str, long double *ld) {
    return string2ld(stringText(str), ld) ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

int vmStringToStreamID(const struct ValkeyModuleString *str, ValkeyModuleStreamID *id) {
    struct str text = stringText(str), ms = text, seq = {0};
    if (strEq(text, STR("-")) || strEq(text, STR("+"))) {
        id->ms = id->seq = text.ptr[0] == '-' ? 0 : UINT64_MAX;
        return VALKEYMODULE_OK;
    }
    const char *dash = memchr(text.ptr, '-', text.len);
    if (dash) {
        ms.len = (size_t)(dash - text.ptr);
        seq = strN(dash + 1, text.len - ms.len - 1);
    }
    ValkeyModuleStreamID read = {0};
    if (!string2ull(ms, &read.ms) || (dash && !string2ull(seq, &read.seq))) return VALKEYMODULE_ERR;
    *id = read;
    return VALKEYMODULE_OK;
}

/* ---- Changing ---- */

int vmStringAppendBuffer(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *str, const char *buf,
                         size_t len) {
    if (str->refs > 1) {
        vmLog(ctx, "warning", "A string that others hold, too, cannot be appended to");
        return VALKEYMODULE_ERR;
    }
    if (!str->grown) str->grown = sdsnewlen(str->bytes, str->len);
    str->grown = sdscatlen(str->grown, buf, len);
    str->len = sdslen(str->grown);
    return VALKEYMODULE_OK;
}

void vmTrimStringAllocation(struct ValkeyModuleString *str) {
    if (str && str->grown) str->grown = sdsShrink(str->grown);
}

void stringPartInit(void) {
    contextSetAutoFree(AUTO_STRING, apiStringReleaseAuto);
}
