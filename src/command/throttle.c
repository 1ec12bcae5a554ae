/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle.c - see throttle.h.
 *
 * A client that is woken has a token reserved for it (client->throttle_turn), so that one which has just sent
 * its command cannot take it away. */
#include "command/throttle.h"

#include "base/clock.h"
#include "client/client.h"
#include "client/client_info.h"
#include "command/admission.h"
#include "command/command.h"
#include "command/turn.h"
#include "commands/cmd_transactions.h"
#include "net/ae.h"
#include "registry/config.h"
#include "registry/info.h"

#define BURST_S 0.1 /* the bucket holds the tokens of so many seconds, and at least one */

static double rate = -1; /* tokens a second; negative: no limit */
static double tokens;
static uint64_t filled_us;  /* when tokens were last added */
static struct list waiting; /* clients with `throttled`, in order of arrival */
static int64_t timer;       /* for the next token; 0: none */
static uint64_t run, throttled;

/* ---- The bucket ---- */

static void throttleFill(void) {
    uint64_t now_us = monotonicUs();
    double most = rate * BURST_S < 1 ? 1 : rate * BURST_S;
    tokens += rate * (double)(now_us - filled_us) / 1e6;
    if (tokens > most) tokens = most;
    filled_us = now_us;
}

/* Returns in how many milliseconds there is a whole token. */
static int64_t throttleNextTokenMs(void) {
    return (int64_t)((1 - tokens) * 1000 / rate) + 1;
}

/* ---- Clients that wait ---- */

static void throttleRelease(struct client *c) {
    c->throttled = false;
    c->flags &= ~(uint32_t)CLIENT_PAUSED;
    listRemove(&waiting, &c->paused_node);
}

/* Wakes the clients for which there are tokens, and returns whether others still wait. */
static bool throttleWake(void) {
    while (waiting.length && (rate < 0 || tokens >= 1)) {
        struct client *c = listEntry(listFirst(&waiting), struct client, paused_node);
        throttleRelease(c);
        c->throttle_turn = true;
        if (rate >= 0) tokens--;
        turnQueueClient(c);
    }
    return waiting.length > 0;
}

static int64_t throttleTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    timer = 0;
    if (rate >= 0) throttleFill();
    if (!throttleWake()) return AE_NOMORE;
    timer = id;
    return throttleNextTokenMs();
}

static void throttleWaitForToken(void) {
    if (!timer) timer = aeCreateTimeEvent(server_el, throttleNextTokenMs(), throttleTimer, NULL);
}

static void throttleFreeClient(struct client *c) {
    if (c->throttled) throttleRelease(c);
}

/* ---- The rule ---- */

static bool throttleApplies(const struct client *c, const struct request *r) {
    if (!c->conn || clientClassOf(c) == CLIENT_CLASS_REPLICA) return false;
    if (c->flags & CLIENT_MULTI && r->cmd->spec->proc != execCommand) return false;
    return commandFlags(c, r->cmd) & (CMD_WRITE | CMD_MAY_REPLICATE);
}

static enum admission throttleCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!throttleApplies(c, r)) return ADMITTED;
    bool turn = c->throttle_turn;
    c->throttle_turn = false;
    if (rate >= 0 && !turn) {
        throttleFill();
        if (waiting.length || tokens < 1) {
            throttled++;
            c->throttled = true;
            c->flags |= CLIENT_PAUSED;
            listAddTail(&waiting, &c->paused_node);
            throttleWaitForToken();
            return DEFERRED;
        }
        tokens--;
    }
    run++;
    return ADMITTED;
}

/* ---- The rate ---- */

void throttleEnable(bool on) {
    if (!on) throttleSetRate(-1);
    admissionIdle(RULE_THROTTLED, !on);
}

void throttleSetRate(double per_second) {
    if (per_second >= 0 && rate < 0) {
        tokens = 0;
        filled_us = monotonicUs();
    } else if (rate >= 0) {
        throttleFill(); /* at the old rate */
    }
    rate = per_second < 0 ? -1 : per_second;
    throttleWake();
}

uint64_t throttleCountRun(void) {
    return run;
}
uint64_t throttleCountThrottled(void) {
    return throttled;
}
size_t throttleCountWaiting(void) {
    return waiting.length;
}

/* ---- Registration ---- */

static bool throttleShows(const struct client *c) {
    return c->throttled;
}

static sds throttleInfo(sds s) {
    return infoField(s, "throttle_total_throttled_commands:%llu", (unsigned long long)throttled);
}

static void throttleResetStats(void) {
    throttled = 0;
}

void throttleInit(void) {
    listInit(&waiting);
    admissionFill(RULE_THROTTLED, throttleCheck);
    admissionIdle(RULE_THROTTLED, true);
    clientOnFree(throttleFreeClient);
    clientInfoLetter('h', throttleShows);
    infoRegister("throttling", throttleInfo);
    configOnResetStat(throttleResetStats);
}
