/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_admission.c - see evict_admission.h. */
#include "command/evict_admission.h"

#include "client/client_evict.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/busy.h"
#include "command/call.h"
#include "command/turn.h"
#include "data/lifetime/evict.h"

/* ---- Keys ---- */

/* Active only while there is a limit. Writes of our primary evict keys here, but are never refused. */
static enum admission evictAdmissionCheckMemory(struct client *c, struct request *r,
                                                enum requestOrigin origin) {
    if (evictNow() || origin == ORIGIN_PRIMARY || !(commandFlags(c, r->cmd) & CMD_DENYOOM)) return ADMITTED;
    replyError(c, err_oom);
    return REFUSED;
}

static void evictAdmissionLimitChanged(void) {
    admissionIdle(RULE_OOM, !evictLimit());
}

/* ---- Clients ---- */

static enum admission evictAdmissionCheckEvicted(struct client *c, struct request *r,
                                                 enum requestOrigin origin) {
    (void)r, (void)origin;
    return clientEvict(c) ? DEFERRED : ADMITTED;
}

static void evictAdmissionAccountingChanged(bool on) {
    admissionIdle(RULE_EVICTED, !on);
    callHookIdle(clientAccountMemory, !on);
}

void evictAdmissionInit(void) {
    admissionFill(RULE_OOM, evictAdmissionCheckMemory);
    admissionFillRead(RULE_OOM, admissionNoRead);
    admissionIdle(RULE_OOM, true);
    evictOnLimitChange(evictAdmissionLimitChanged);
    evictAddVeto(turnIsNested); /* keys must not disappear while a script runs */
    evictAddVeto(busyIsActive); /* nor while a module's thread runs one, with turns in between */
    admissionFill(RULE_EVICTED, evictAdmissionCheckEvicted);
    callAddHook(BETWEEN_CALLS, clientAccountMemory, true);
    evictAdmissionAccountingChanged(false);
    clientOnAccounting(evictAdmissionAccountingChanged);
}
