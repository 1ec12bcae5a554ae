/* SPDX-License-Identifier: BSD-3-Clause */
/* api_fork.c - child processes of modules (data/child.h); only one child of any kind runs at a time. */
#define _GNU_SOURCE /* dladdr */

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"
#include "data/child.h"
#include "module/api.h"
#include "module/module_open.h"
#include "module/parts.h"

static struct {
    pid_t pid;
    ValkeyModuleForkDoneHandler done; /* NULL: there is no callback */
    void *data;
} forked;

static void apiForkChildEnded(int code, int signal, void *priv) {
    (void)priv;
    serverLog(LL_NOTICE, "The child process %ld of a module has ended with exit code %d, signal %d",
              (long)forked.pid, code, signal);
    if (forked.done) forked.done(code, signal, forked.data);
}

int vmFork(ValkeyModuleForkDoneHandler cb, void *user_data) {
    const char *err;
    pid_t pid = childFork(apiForkChildEnded, NULL, &err);
    if (pid < 0) serverLog(LL_WARNING, "Can't fork for module: %s", err);
    if (pid <= 0) return pid;
    forked.pid = pid;
    forked.done = cb;
    forked.data = user_data;
    serverLog(LL_VERBOSE, "A module has started the child process %ld", (long)pid);
    return pid;
}

void vmSendChildHeartbeat(double progress) {
    childReportShare(progress);
}

int vmExitFromChild(int retcode) {
    if (childIs()) childExit(retcode);
    return VALKEYMODULE_ERR; /* this process is no child */
}

int vmKillForkChild(int child_pid) {
    if (childRunning() != CHILD_MODULE || child_pid != forked.pid) return VALKEYMODULE_ERR;
    forked.done = NULL;
    childKill();
    return VALKEYMODULE_OK;
}

/* Tells whether m has made the child. Its callback shows it: it lies in the module's file. */
static bool apiForkBelongsTo(void *code, const struct module *m) {
    Dl_info of_code, of_module;
    void *entry = m->file ? moduleFileEntry(m->file, "OnLoad", NULL) : NULL;
    return entry && dladdr(code, &of_code) && dladdr(entry, &of_module) &&
           of_code.dli_fbase == of_module.dli_fbase;
}

static void apiForkForgetModule(struct module *m) {
    if (childRunning() == CHILD_MODULE && forked.done && apiForkBelongsTo((void *)forked.done, m))
        forked.done = NULL;
}

void forkPartInit(void) {
    moduleOnUnload(apiForkForgetModule);
}
