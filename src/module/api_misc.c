/* SPDX-License-Identifier: BSD-3-Clause */
/* api_misc.c - for modules: time, random bytes, the log, constants of the interface, INFO. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/random.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "module/api.h"
#include "module/parts.h"
#include "registry/info.h"
#include "registry/latency.h"

#define LOG_LINE_MAX 1024

/* ---- Time, random ---- */

mstime_t vmMilliseconds(void) {
    return mstime();
}
ustime_t vmMicroseconds(void) {
    return ustime();
}
uint64_t vmMonotonicMicroseconds(void) {
    return (uint64_t)monotonicUs();
}
void vmGetRandomBytes(unsigned char *dst, size_t len) {
    randomBytes(dst, len);
}
void vmGetRandomHexChars(char *dst, size_t len) {
    randomHexChars(dst, len);
}

/* ---- Constants of this version ---- */

int vmGetServerVersion(void) {
    return VALKEY_VERSION_NUM;
}
int vmGetTypeMethodVersion(void) {
    return VALKEYMODULE_TYPE_METHOD_VERSION;
}
int vmGetContextFlagsAll(void) {
    return 2 * VALKEYMODULE_CTX_FLAGS_SLOT_EXPORT_CLIENT - 1;
}
int vmGetKeyspaceNotificationFlagsAll(void) {
    return _VALKEYMODULE_NOTIFY_NEXT - 1;
}
int vmGetModuleOptionsAll(void) {
    return _VALKEYMODULE_OPTIONS_FLAGS_NEXT - 1;
}
int vmGetOpenKeyModesAll(void) {
    /* All bits from the first to the last flag. */
    int effects = 2 * VALKEYMODULE_OPEN_KEY_NOEFFECTS - VALKEYMODULE_OPEN_KEY_NOTOUCH;
    return VALKEYMODULE_READ | VALKEYMODULE_WRITE | effects;
}

/* ---- The log ---- */

static int apiMiscParseLevel(const char *level) {
    if (!strcasecmp(level, VALKEYMODULE_LOGLEVEL_DEBUG)) return LL_DEBUG;
    if (!strcasecmp(level, VALKEYMODULE_LOGLEVEL_NOTICE)) return LL_NOTICE;
    if (!strcasecmp(level, VALKEYMODULE_LOGLEVEL_WARNING)) return LL_WARNING;
    return LL_VERBOSE;
}

void moduleLogV(const struct module *m, const char *level, const char *fmt, va_list ap) {
    char line[LOG_LINE_MAX];
    int severity = apiMiscParseLevel(level);
    if (severity < logGetLevel()) return;
    size_t n = (size_t)snprintf(line, sizeof line, "<%s> ", m ? m->name : "module");
    if (n >= sizeof line) n = sizeof line - 1;
    vsnprintf(line + n, sizeof line - n, fmt, ap);
    serverLog(severity, "%s", line);
}

void vmLog(struct ValkeyModuleCtx *ctx, const char *level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    moduleLogV(ctx ? ctx->module : NULL, level, fmt, ap);
    va_end(ap);
}

void vm_Assert(const char *estr, const char *file, int line) {
    serverAssertFailed(estr, file, line);
}

void vmLatencyAddSample(const char *event, mstime_t latency) {
    latencyAddSampleIfNeeded(event, latency);
}

/* ---- INFO ---- */

struct ValkeyModuleServerInfoData {
    sds text; /* lines of INFO; a value that was returned as a C string ends with NUL */
};

struct ValkeyModuleServerInfoData *vmGetServerInfo(struct ValkeyModuleCtx *ctx, const char *section) {
    struct ValkeyModuleServerInfoData *data = zmalloc(sizeof *data);
    struct str name = section ? strOf(section) : strN(NULL, 0);
    data->text = infoText(&name, section ? 1 : 0);
    contextAutoAdd(ctx, AUTO_SERVER_INFO, data);
    return data;
}

static void apiMiscFreeServerInfo(void *what) {
    struct ValkeyModuleServerInfoData *data = what;
    sdsfree(data->text);
    zfree(data);
}

void vmFreeServerInfo(struct ValkeyModuleCtx *ctx, struct ValkeyModuleServerInfoData *data) {
    contextAutoRemove(ctx, AUTO_SERVER_INFO, data);
    apiMiscFreeServerInfo(data);
}

/* Finds a field at the beginning of a line: in "db0:keys=1,expires=0" only db0 is one. */
static struct str apiMiscInfoFind(const struct ValkeyModuleServerInfoData *data, const char *field) {
    size_t len = strlen(field);
    for (const char *p = data->text, *end = p + sdslen(data->text); p < end;) {
        const char *stop = p;
        while (stop < end && *stop != '\r' && *stop != '\n' && *stop) stop++;
        if ((size_t)(stop - p) > len && p[len] == ':' && memcmp(p, field, len) == 0)
            return strN(p + len + 1, (size_t)(stop - p) - len - 1);
        p = stop + 1;
    }
    return strN(NULL, 0);
}

struct ValkeyModuleString *vmServerInfoGetField(struct ValkeyModuleCtx *ctx,
                                                struct ValkeyModuleServerInfoData *data, const char *field) {
    struct str value = apiMiscInfoFind(data, field);
    return value.ptr ? vmCreateString(ctx, value.ptr, value.len) : NULL;
}

const char *vmServerInfoGetFieldC(struct ValkeyModuleServerInfoData *data, const char *field) {
    struct str value = apiMiscInfoFind(data, field);
    if (value.ptr) data->text[value.ptr - data->text + (ptrdiff_t)value.len] = '\0';
    return value.ptr;
}

/* Stores the result code, if out_err is not NULL, and returns ok. */
static bool apiMiscSetResult(bool ok, int *out_err) {
    if (out_err) *out_err = ok ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
    return ok;
}

long long vmServerInfoGetFieldSigned(struct ValkeyModuleServerInfoData *data, const char *field,
                                     int *out_err) {
    int64_t value;
    struct str text = apiMiscInfoFind(data, field);
    return apiMiscSetResult(text.ptr && string2ll(text, &value), out_err) ? value : 0;
}

unsigned long long vmServerInfoGetFieldUnsigned(struct ValkeyModuleServerInfoData *data, const char *field,
                                                int *out_err) {
    uint64_t value;
    struct str text = apiMiscInfoFind(data, field);
    return apiMiscSetResult(text.ptr && string2ull(text, &value), out_err) ? value : 0;
}

double vmServerInfoGetFieldDouble(struct ValkeyModuleServerInfoData *data, const char *field, int *out_err) {
    double value;
    struct str text = apiMiscInfoFind(data, field);
    return apiMiscSetResult(text.ptr && string2d(text, &value), out_err) ? value : 0;
}

void miscPartInit(void) {
    contextSetAutoFree(AUTO_SERVER_INFO, apiMiscFreeServerInfo);
}
