/* SPDX-License-Identifier: BSD-3-Clause */
/* api_job.c - jobs that a module adds while it is notified of an event. They run after the command that
 * caused the event, in the same execution unit, when the command has changed the keyspace completely. */
#include "base/zmalloc.h"
#include "client/client.h"
#include "command/loading.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "data/server_state/role.h"
#include "module/api.h"
#include "module/lock.h"
#include "module/parts.h"

struct moduleJob {
    struct moduleJob *next;
    struct module *module;
    ValkeyModulePostNotificationJobFunc fn;
    void *data;
    void (*free_data)(void *data);
    int dbid;
};
static struct moduleJob *first, **end = &first;

static struct moduleJob *apiJobTake(void) {
    struct moduleJob *j = first;
    first = j->next;
    if (!first) end = &first;
    return j;
}

static void apiJobDrop(struct moduleJob *j) {
    if (j->free_data) j->free_data(j->data);
    zfree(j);
}

/* Runs all jobs, including jobs that jobs add. */
static void apiJobRunJobs(void) {
    while (first) {
        struct moduleJob *j = apiJobTake();
        struct ValkeyModuleCtx ctx;
        contextOpen(&ctx, j->module, NULL, 0);
        ctx.dbid = j->dbid;
        j->fn(&ctx, j->data);
        contextClose(&ctx);
        apiJobDrop(j);
    }
}

/* Runs jobs of notifications that came outside of an execution unit. */
static void apiJobRunLate(void *nothing) {
    (void)nothing;
    moduleUnitBegin();
    apiJobRunJobs();
    moduleUnitEnd();
}

int vmAddPostNotificationJob(struct ValkeyModuleCtx *ctx, ValkeyModulePostNotificationJobFunc callback,
                             void *pd, void (*free_pd)(void *)) {
    if (loadingActive() || (roleIsReplica() && role_read_only)) return VALKEYMODULE_ERR;
    struct moduleJob *j = zmalloc(sizeof *j);
    *j = (struct moduleJob){.module = ctx->module, .fn = callback, .data = pd, .free_data = free_pd};
    j->dbid = contextDb(ctx)->id;
    bool alone = !first;
    *end = j;
    end = &j->next;
    if (propagation.depth)
        propagateAtUnitEnd(apiJobRunJobs);
    else if (alone)
        mainThreadPost(apiJobRunLate, NULL);
    return VALKEYMODULE_OK;
}

static void apiJobForgetModule(struct module *m) {
    moduleListRemoveIf(struct moduleJob, j, first, j->module == m) {
        apiJobDrop(j);
    }
    end = &first;
    while (*end) end = &(*end)->next;
}

void jobPartInit(void) {
    moduleOnUnload(apiJobForgetModule);
}
