/* SPDX-License-Identifier: BSD-3-Clause */
/* api_yield.c - Yield: other clients are served in the middle of a long operation.
 *
 * The main thread runs a nested turn, as long scripts do. A thread that has the lock lends it to the
 * main thread for a turn. Clients get BUSY for commands that are not allowed meanwhile, or wait if the
 * module wants that. */
#include "base/clock.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/busy.h"
#include "command/loading.h"
#include "command/turn.h"
#include "module/api.h"
#include "module/lock.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "registry/product.h"

static const char *busy_text;
static bool yields;

static void apiYieldReplyText(struct client *c) {
    if (busy_text)
        replyErrorFmt(c, "BUSY %s", busy_text);
    else
        replyErrorFmt(c, "BUSY %s is busy running a module command.", productTitle());
}

/* The context's command began at cmd_time_ms, so no context has to read the clock when it is opened. After
 * the threshold, the function yields as often as cron runs. */
static bool apiYieldIsTime(struct ValkeyModuleCtx *ctx) {
    uint64_t now = (uint64_t)monotonicUs();
    uint64_t step_us = 1000000 / (uint64_t)server_hz;
    uint64_t first_us = loadingActive() ? step_us : (uint64_t)busy_threshold_ms * 1000;
    if (!ctx->yield_at_us) ctx->yield_at_us = now + first_us - (uint64_t)(mstime() - cmd_time_ms) * 1000;
    if ((int64_t)(now - ctx->yield_at_us) < 0) return false;
    ctx->yield_at_us = now + step_us;
    return true;
}

void moduleYieldToOthers(void) {
    if (moduleIsMainThread()) {
        turnNested();
    } else {
        aeWakeup(server_el);
        moduleLockYield();
    }
}

void vmYield(struct ValkeyModuleCtx *ctx, int flags, const char *busy_reply) {
    bool clients = flags & VALKEYMODULE_YIELD_FLAG_CLIENTS;
    if (yields || busyIsActive() || !apiYieldIsTime(ctx)) return;
    yields = true;
    if (loadingActive() && moduleIsMainThread()) {
        turnNested(); /* clients are told that the server is loading */
    } else if (clients) {
        busy_text = busy_reply;
        busyBegin(apiYieldReplyText);
        moduleYieldToOthers();
        busyEnd();
    }
    yields = false;
}
