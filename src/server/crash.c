/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c - the crash report.
 *
 * It runs in a signal handler of a broken process. Therefore it begins with what is certain (signal,
 * registers, stack) and ends with what may fail (the running command, INFO). A second fault within the
 * report causes the default action at once. Other threads that fault meanwhile wait until the report, and
 * the process, end.
 *
 * The crashed code may hold a lock that the report needs (an abort in free(), a fault in localtime_r()), so
 * the report could hang. A timer limits the time of each part. Its handler, which allocates nothing and
 * takes no lock, writes the stack if the report has not done that yet, and ends the process as the crash
 * would have. If even the handler hangs, the next SIGALRM has its default action. */
#define _GNU_SOURCE /* register names in ucontext.h */

#include "server/crash.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_log.h"
#include "command/call.h"
#include "command/command.h"
#include "command/redact.h"
#include "module/module_info.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/info.h"
#include "server/stack_trace.h"
#include "server/watchdog.h"

#define ARG_SHOWN_MAX  128
#define CODE_SHOWN_MAX 4096 /* bytes of code before the fault */
#define CODE_BEHIND    64   /* and after it */
#define RAW(...)       serverLog(LL_WARNING | LL_RAW, __VA_ARGS__)
#define ARGS_SHOWN     20
#define REPORT_PART_S  12 /* limit for a part of the report; the memory test stops earlier by itself */
#define REPORT_STACK   (256 * 1024) /* a stack of its own, since the crash may be a stack overflow */

static bool crash_log_enabled, memcheck_enabled, use_exit_on_panic;
static sds debug_context;    /* set by the operator, for the report */
static _Atomic int reporter; /* the thread that writes the report, or 0 */

static struct {
    int signal;     /* ends the process */
    const void *pc; /* address of the fault; NULL: unknown */
    volatile sig_atomic_t traced;
} report;

/* ---- Ending the process ---- */

static void crashUnblock(int sig) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

static void crashEndBy(int sig) {
    crashUnblock(sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void crashEnd(void) {
    if (use_exit_on_panic && report.signal == SIGABRT) _exit(1);
    crashEndBy(report.signal);
}

static void crashOnHang(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (info->si_code == SI_USER) return; /* a user requests a stack trace, which the report has */
    signal(sig, SIG_DFL);
    alarm(REPORT_PART_S);
    char line[128], *p = stpcpy(line, "\n=== After a crash by signal ");
    p += ll2string(p, report.signal);
    stpcpy(p, " the report goes no further: it waits for what the crashed code holds ===\n");
    serverLogFromSignal(line);
    if (!report.traced) stackTraceWrite(report.pc);
    serverLogFromSignal("\n=== VALKEY BUG REPORT END. Make sure to include from START to END. ===\n\n");
    crashEnd();
}

static void crashWatch(int sig, const void *pc) {
    report.signal = sig;
    report.pc = pc;
    watchdogStop(); /* it uses the same timer */
    struct sigaction act = {.sa_sigaction = crashOnHang, .sa_flags = SA_SIGINFO};
    sigemptyset(&act.sa_mask);
    sigaction(SIGALRM, &act, NULL);
    crashUnblock(SIGALRM); /* a thread may block signals that the main thread handles, which may hang */
    alarm(REPORT_PART_S);
}

/* ---- Parts of the report ---- */

static void crashReportHead(void) {
    serverLogFromSignal("\n\n=== VALKEY BUG REPORT START: Cut & paste starting from here ===\n");
}

#if defined(__x86_64__) && defined(__linux__)
static const unsigned char *crashFaultAddress(const ucontext_t *uc) {
    return (const unsigned char *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static void crashReportRegisters(const ucontext_t *uc) {
    static const struct {
        const char *name;
        int reg;
    } regs[] = {
        {"RAX", REG_RAX}, {"RBX", REG_RBX}, {"RCX", REG_RCX}, {"RDX", REG_RDX}, {"RDI", REG_RDI},
        {"RSI", REG_RSI}, {"RBP", REG_RBP}, {"RSP", REG_RSP}, {"R8", REG_R8},   {"R9", REG_R9},
        {"R10", REG_R10}, {"R11", REG_R11}, {"R12", REG_R12}, {"R13", REG_R13}, {"R14", REG_R14},
        {"R15", REG_R15}, {"RIP", REG_RIP}, {"EFL", REG_EFL},
    };
    RAW("\n------ REGISTERS ------\n");
    for (size_t i = 0; i < sizeof regs / sizeof *regs; i++) {
        RAW("%s:%016llx%s", regs[i].name, (unsigned long long)uc->uc_mcontext.gregs[regs[i].reg],
            i % 4 == 3 ? "\n" : " ");
    }
    RAW("\n");
}
#else
static const unsigned char *crashFaultAddress(const ucontext_t *uc) {
    (void)uc;
    return NULL;
}

static void crashReportRegisters(const ucontext_t *uc) {
    (void)uc;
}
#endif

/* Prints the instructions at the fault, for a disassembler. After a wild jump there are none. */
static void crashReportCode(const unsigned char *pc) {
    Dl_info info;
    if (!pc || !dladdr(pc, &info) || !info.dli_fname) return;
    RAW("\n------ CODE NEAR THE FAULT ------\n");
    RAW("Function: %s, which begins at %p\n", info.dli_sname ? info.dli_sname : "(none)", info.dli_saddr);
    RAW("Object: %s, which is mapped at %p\n", info.dli_fname, info.dli_fbase);
    const unsigned char *start =
        info.dli_saddr && pc - (unsigned char *)info.dli_saddr < CODE_SHOWN_MAX ? info.dli_saddr : pc;
    for (const unsigned char *p = start; p < pc + CODE_BEHIND; p++) RAW("%02x", *p);
    RAW("\n(hexadecimal, from %p on)\n------\n", (const void *)start);
}

static void crashReportListedClient(void *priv, struct client *c) {
    (void)priv;
    RAW("%s\n", clientLogLine(c, sdsempty()));
}

static void crashReportClients(void) {
    RAW("\n------ CLIENTS ------\n");
    clientForEach(crashReportListedClient, NULL);
}

static void crashReportClient(const char *title, struct client *c) {
    if (!c) return;
    RAW("\n------ %s CLIENT INFO ------\n%s\n", title, clientLogLine(c, sdsempty()));
    for (int i = 0; i < c->argc && i < ARGS_SHOWN; i++) {
        struct str arg = c->cmd ? redactedArg(c, i) : c->argv[i];
        size_t n = arg.len < ARG_SHOWN_MAX ? arg.len : ARG_SHOWN_MAX;
        /* arguments are users' data */
        if (i == 0 || !hide_user_data)
            RAW("argv[%d]: \"%.*s\"\n", i, (int)n, arg.ptr);
        else
            RAW("argv[%d]: %zu bytes\n", i, c->argv[i].len);
    }
}

static void crashReportInfo(void) {
    struct str sections[] = {STR("all")};
    sds info = infoText(sections, 1);
    RAW("\n------ INFO OUTPUT ------\n%s\n", info);
}

/* Prints settings that are often part of the cause. */
static void crashReportConfig(void) {
    static const char *const names[] = {"debug-context",
                                        "io-threads",
                                        "repl-diskless-load",
                                        "repl-diskless-sync",
                                        "replica-read-only",
                                        "dual-channel-replication-enabled",
                                        "client-query-buffer-limit",
                                        "proto-max-bulk-len",
                                        "list-compress-depth",
                                        "activedefrag",
                                        "import-mode",
                                        "lazyfree-lazy-expire",
                                        "lazyfree-lazy-eviction",
                                        "lazyfree-lazy-server-del",
                                        "lazyfree-lazy-user-del",
                                        "lazyfree-lazy-user-flush",
                                        "zset-index"};
    RAW("\n------ SETTINGS ------\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sds value = configGet(names[i]);
        RAW("%s %s\n", names[i], value && *value ? value : "\"\"");
    }
}

static void crashReportStack(void) {
    stackTraceWrite(report.pc);
    report.traced = 1;
    alarm(REPORT_PART_S);
}

static void crashReportState(void) {
    crashReportInfo();
    crashReportClients();
    crashReportClient("CURRENT", callOwner());
    crashReportClient("EXECUTING", call_running ? call_running->client : NULL);
    RAW("\n------ INFO OF MODULES ------\n");
    RAW("%s", moduleInfoForCrash());
    crashReportConfig();
}

static void crashReportTail(void) {
    alarm(REPORT_PART_S);
    if (memcheck_enabled) {
        RAW("\n------ TEST OF THE MEMORY ------\n");
        RAW(crashTestMemory()
                ? "The memory of this machine is faulty: test it before the server is started again.\n"
                : "Fast memory test PASSED, which does not prove that the memory is good.\n");
    }
    RAW("\n=== VALKEY BUG REPORT END. Make sure to include from START to END. ===\n\n"
        "  Please report it, and describe what led to it: as an issue in the tracker of the repository\n"
        "  that the server was built from, or as a bug of the package, as CONTRIBUTING.md describes. If an\n"
        "  untrusted client could cause the crash, follow SECURITY.md instead.\n"
        "  valkey-server --test-memory <megabytes> checks for faulty memory,\n"
        "  valkey-server --check-system for harmful settings of the system.\n\n");
}

/* Prints the client whose command failed, in lines that tools look for. */
static void crashReportAssertContext(void) {
    struct client *c = callOwner();
    if (!c) return;
    serverLog(LL_WARNING, "=== ASSERTION FAILED CLIENT CONTEXT ===");
    serverLog(LL_WARNING, "client->flags = %llu", (unsigned long long)c->flags);
    serverLog(LL_WARNING, "client->conn = fd=%d", c->conn ? c->conn->fd : -1);
    serverLog(LL_WARNING, "client->argc = %d", c->argc);
    for (int i = 0; i < c->argc && i < ARGS_SHOWN; i++) {
        if (i == 0 || !hide_user_data)
            serverLog(LL_WARNING, "client->argv[%d] = \"%.*s\"", i,
                      (int)(c->argv[i].len < ARG_SHOWN_MAX ? c->argv[i].len : ARG_SHOWN_MAX), c->argv[i].ptr);
        else
            serverLog(LL_WARNING, "client->argv[%d] = %zu bytes", i, c->argv[i].len);
    }
}

static bool crashIsFirst(void) {
    int first = 0, self = gettid();
    if (atomic_compare_exchange_strong(&reporter, &first, self)) return true;
    while (first != self) pause();
    return false;
}

static void crashPanicHook(const char *reason, const char *file, int line) {
    if (use_exit_on_panic && !crash_log_enabled) _exit(1);
    if (!crash_log_enabled || !crashIsFirst()) return;
    crashWatch(SIGABRT, NULL);
    crashReportHead();
    (void)file, (void)line; /* base/assert.c has logged them */
    if (strncmp(reason, "ASSERTION", strlen("ASSERTION")) == 0) crashReportAssertContext();
    crashReportStack();
    crashReportState();
    crashReportTail();
    if (use_exit_on_panic) _exit(1);
}

static void crashOnFault(int sig, siginfo_t *info, void *context) {
    if (!crash_log_enabled || !crashIsFirst()) {
        crashEndBy(sig);
        return;
    }
    crashWatch(sig, crashFaultAddress(context));
    crashReportHead();
    serverLog(LL_WARNING, "Valkey %s (%s %s) crashed by signal: %d, si_code: %d", VALKEY_VERSION,
              PRODUCT_NAME, PRODUCT_VERSION, sig, info->si_code);
    if (info->si_code <= 0)
        serverLog(LL_WARNING, "The signal was sent by process %ld of user %d", (long)info->si_pid,
                  (int)info->si_uid);
    else if (sig == SIGSEGV || sig == SIGBUS)
        serverLog(LL_WARNING, "The faulting access was to address %p", info->si_addr);
    if (crashFaultAddress(context))
        serverLog(LL_WARNING, "Crashed running the instruction at: %p",
                  (const void *)crashFaultAddress(context));
    crashReportStack();
    crashReportRegisters(context);
    crashReportState();
    crashReportCode(crashFaultAddress(context));
    crashReportTail();
    crashEndBy(sig);
}

static void crashOnOutOfMemory(size_t size) {
    serverLog(LL_WARNING, "An allocation of %zu bytes failed", size);
    serverPanic("Valkey is out of memory: %zu bytes could not be allocated.", size);
}

void crashRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("crash-log-enabled", NULL, CONFIG_MODIFIABLE, &crash_log_enabled, true, NULL),
        CONFIG_BOOL("crash-memcheck-enabled", NULL, CONFIG_MODIFIABLE, &memcheck_enabled, true, NULL),
        CONFIG_BOOL("use-exit-on-panic", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &use_exit_on_panic, false,
                    NULL),
        CONFIG_STRING("debug-context", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN | CONFIG_DEBUG, &debug_context,
                      "", NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}

void crashInit(void) {
    serverSetPanicHook(crashPanicHook);
    zmallocSetOomHandler(crashOnOutOfMemory);
    static char stack[REPORT_STACK];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    stackTraceInit();
    struct sigaction act = {.sa_sigaction = crashOnFault, .sa_flags = SA_NODEFER | SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&act.sa_mask);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &act, NULL);
}
