/* crash.c - the crash report.
 *
 * It runs in a signal handler of a broken process, so it tells first what is certain (signal, registers,
 * stack), and last what may fail (the running command, INFO). A second fault inside the report goes straight
 * to the default action. */
#define _GNU_SOURCE /* register names in ucontext.h */

#include "server/crash.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "core/client.h"
#include "core/command.h"
#include "core/config.h"
#include "core/info.h"
#include "core/redact.h"

#define STACK_DEPTH   100
#define ARG_SHOWN_MAX 128
#define ARGS_SHOWN    20
#define REPORT_TIME_S 20 /* a report that hangs, on a lock of the crashed code, is ended by SIGALRM */
#define REPORT_STACK  (256 * 1024) /* of its own: the crash may be a stack that is full */

static bool crash_log_enabled, memcheck_enabled, hide_user_data;
static volatile sig_atomic_t reporting;

static void reportHead(void) {
    serverLog(LL_WARNING | LL_RAW, "\n\n=== VALKEY BUG REPORT START: Cut & paste starting from here ===\n");
}

static void reportStack(void) {
    void *frames[STACK_DEPTH];
    int n = backtrace(frames, STACK_DEPTH), fd = logOpenFd();
    serverLogFromSignal("\n------ STACK TRACE ------\n");
    if (fd < 0) return;
    backtrace_symbols_fd(frames, n, fd);
    logCloseFd(fd);
}

#if defined(__x86_64__) && defined(__linux__)
static void reportRegisters(const ucontext_t *uc) {
    static const struct {
        const char *name;
        int reg;
    } regs[] = {
        {"RAX", REG_RAX}, {"RBX", REG_RBX}, {"RCX", REG_RCX}, {"RDX", REG_RDX}, {"RDI", REG_RDI},
        {"RSI", REG_RSI}, {"RBP", REG_RBP}, {"RSP", REG_RSP}, {"R8", REG_R8},   {"R9", REG_R9},
        {"R10", REG_R10}, {"R11", REG_R11}, {"R12", REG_R12}, {"R13", REG_R13}, {"R14", REG_R14},
        {"R15", REG_R15}, {"RIP", REG_RIP}, {"EFL", REG_EFL},
    };
    serverLog(LL_WARNING | LL_RAW, "\n------ REGISTERS ------\n");
    for (size_t i = 0; i < sizeof regs / sizeof *regs; i++) {
        serverLog(LL_WARNING | LL_RAW, "%s:%016llx%s", regs[i].name,
                  (unsigned long long)uc->uc_mcontext.gregs[regs[i].reg], i % 4 == 3 ? "\n" : " ");
    }
    serverLog(LL_WARNING | LL_RAW, "\n");
}
#else
static void reportRegisters(const ucontext_t *uc) {
    (void)uc;
}
#endif

static void reportClient(void) {
    struct client *c = current_client;
    if (!c) return;
    sds line = clientInfoLine(c, sdsempty());
    serverLog(LL_WARNING | LL_RAW, "\n------ CURRENT CLIENT INFO ------\n%s\n", line);
    for (int i = 0; i < c->argc && i < ARGS_SHOWN; i++) {
        struct str arg = c->cmd ? redactedArg(c->cmd, c->argv, c->argc, i) : c->argv[i];
        size_t n = arg.len < ARG_SHOWN_MAX ? arg.len : ARG_SHOWN_MAX;
        /* Arguments are users' data. */
        if (i == 0 || !hide_user_data)
            serverLog(LL_WARNING | LL_RAW, "argv[%d]: '%.*s'\n", i, (int)n, arg.ptr);
        else
            serverLog(LL_WARNING | LL_RAW, "argv[%d]: %zu bytes\n", i, c->argv[i].len);
    }
}

static void reportInfo(void) {
    struct str sections[] = {STR("everything")};
    sds info = infoText(sections, 1);
    serverLog(LL_WARNING | LL_RAW, "\n------ INFO OUTPUT ------\n%s\n", info);
}

static void reportTail(void) {
    if (memcheck_enabled) {
        serverLog(LL_WARNING | LL_RAW, "\n------ FAST MEMORY TEST ------\n");
        serverLog(LL_WARNING | LL_RAW,
                  crashTestMemory()
                      ? "!!! MEMORY ERROR DETECTED! Check your memory ASAP !!!\n"
                      : "Fast memory test PASSED, which does not prove that the memory is good.\n");
    }
    serverLog(LL_WARNING | LL_RAW,
              "\n=== VALKEY BUG REPORT END. Please keep it, with the version and what led to it. ===\n");
}

static void panicHook(const char *reason, const char *file, int line) {
    if (!crash_log_enabled || reporting) return;
    reporting = 1;
    signal(SIGALRM, SIG_DFL);
    alarm(REPORT_TIME_S);
    reportHead();
    (void)reason, (void)file, (void)line; /* base/assert.c has logged them */
    reportStack();
    reportClient();
    reportInfo();
    reportTail();
}

static void onFault(int sig, siginfo_t *info, void *context) {
    signal(sig, SIG_DFL); /* the handler's return, or a fault in it, ends the process */
    if (reporting || !crash_log_enabled) {
        raise(sig);
        return;
    }
    reporting = 1;
    signal(SIGALRM, SIG_DFL);
    alarm(REPORT_TIME_S);
    reportHead();
    serverLog(LL_WARNING, "Valkey %s crashed by signal: %d, si_code: %d", VALKEY_VERSION, sig, info->si_code);
    if (info->si_code <= 0)
        serverLog(LL_WARNING, "Killed by PID: %ld, UID: %d", (long)info->si_pid, (int)info->si_uid);
    else if (sig == SIGSEGV || sig == SIGBUS)
        serverLog(LL_WARNING, "Accessing address: %p", info->si_addr);
    reportStack();
    reportRegisters(context);
    reportClient();
    reportInfo();
    reportTail();
    raise(sig);
}

static void onOutOfMemory(size_t size) {
    serverLog(LL_WARNING, "Out Of Memory allocating %zu bytes!", size);
    serverPanic("Valkey aborting for OUT OF MEMORY. Allocating %zu bytes!", size);
}

void crashRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("crash-log-enabled", NULL, CONFIG_MODIFIABLE, &crash_log_enabled, true, NULL),
        CONFIG_BOOL("crash-memcheck-enabled", NULL, CONFIG_MODIFIABLE, &memcheck_enabled, true, NULL),
        CONFIG_BOOL("hide-user-data-from-log", NULL, CONFIG_MODIFIABLE, &hide_user_data, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}

void crashInit(void) {
    serverSetPanicHook(panicHook);
    zmallocSetOomHandler(onOutOfMemory);
    static char stack[REPORT_STACK];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    void *warm[1];
    backtrace(warm, 1); /* loads what it needs now, not in the handler */
    struct sigaction act = {.sa_sigaction = onFault, .sa_flags = SA_NODEFER | SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&act.sa_mask);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &act, NULL);
}
