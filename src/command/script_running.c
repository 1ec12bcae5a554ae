/* SPDX-License-Identifier: BSD-3-Clause */
/* script_running.c - see script_running.h. */
#include "command/script_running.h"

#include "base/log.h"
#include "base/ticks.h"
#include "client/reply.h"
#include "command/busy.h"
#include "command/turn.h"
#include "registry/product.h"

struct scriptRun script_run;
void (*scriptServeOthers)(void) = turnNested;

/* ---- Time limit ---- */

uint64_t scriptRunUs(void) {
    return (ticksNow() - script_run.start) / ticks_per_us;
}

const char *scriptKillerName(void) {
    return script_run.kind == SCRIPT_FUNCTION ? "FUNCTION KILL" : "SCRIPT KILL";
}

void scriptReplyBusy(struct client *c) {
    replyErrorFmt(c, "BUSY %s is busy running a script. You can only call %s or SHUTDOWN NOSAVE.",
                  productTitle(), scriptKillerName());
}

void scriptSetBusy(bool busy) {
    script_run.busy = busy;
    if (busy)
        busyBegin(scriptReplyBusy);
    else
        busyEnd();
}

bool scriptTick(void) {
    if (script_run.killed) return true;
    if (!script_run.busy) {
        if (busyIsActive()) return false; /* started by a module, which handles the time limit */
        if (busy_threshold_ms == 0 || scriptRunUs() / 1000 < (uint64_t)busy_threshold_ms) return false;
        scriptSetBusy(true);
        serverLog(LL_WARNING,
                  "Slow script detected: still in execution after %llu milliseconds. You can try killing "
                  "the script using the %s command. Script name is: %s.",
                  (unsigned long long)(scriptRunUs() / 1000), scriptKillerName(), script_run.name);
    }
    scriptServeOthers();
    return script_run.killed;
}

void scriptKill(struct client *c, enum scriptKind kind) {
    if (!script_run.name) {
        replyError(c, "NOTBUSY No scripts in execution right now.");
    } else if (script_run.wrote) {
        replyError(c,
                   "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
                   "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
                   "NOSAVE command.");
    } else if (script_run.kind != kind) {
        scriptReplyBusy(c);
    } else {
        script_run.killed = true;
        replyOk(c);
    }
}

void scriptRunStart(void) {
    script_run.client = clientCreate(NULL);
    script_run.client->script = &script_run;
}
