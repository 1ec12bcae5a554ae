/* SPDX-License-Identifier: BSD-3-Clause */
/* api_yield.c - letting others have answers in the middle of something long.
 *
 * The main thread runs a nested round, as scripts do that take long. A thread that has the lock lends it to
 * the main thread for a turn. Clients whose commands are not allowed meanwhile hear BUSY; unless the module
 * wants them to wait, which they do anyway. */
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

/* A context begins when its command does: nobody asks the clock for each. Once it has waited for the
 * threshold, it lets others have a turn as often as cron has. */
static bool apiYieldIsTime(struct ValkeyModuleCtx *ctx) {
    uint64_t now = (uint64_t)monotonicUs();
    uint64_t step_us = 1000000 / (uint64_t)server_hz;
    uint64_t first_us = loadingActive() ? step_us : (uint64_t)busy_threshold_ms * 1000;
    if (!ctx->yield_at_us) ctx->yield_at_us = now + first_us - (uint64_t)(mstime() - cmd_time_ms) * 1000;
    if ((int64_t)(now - ctx->yield_at_us) < 0) return false;
    ctx->yield_at_us = now + step_us;
    return true;
}

void moduleLetOthers(void) {
    if (moduleIsMainThread()) {
        turnNested();
    } else {
        aeWakeup(server_el);
        moduleLockLend();
    }
}

void vmYield(struct ValkeyModuleCtx *ctx, int flags, const char *busy_reply) {
    bool clients = flags & VALKEYMODULE_YIELD_FLAG_CLIENTS;
    if (yields || busyIsActive() || !apiYieldIsTime(ctx)) return;
    yields = true;
    if (loadingActive() && moduleIsMainThread()) {
        turnNested(); /* they are answered that it loads */
    } else if (clients) {
        busy_text = busy_reply;
        busyBegin(apiYieldReplyText);
        moduleLetOthers();
        busyEnd();
    }
    yields = false;
}
