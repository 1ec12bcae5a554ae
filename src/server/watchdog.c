/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.c - see watchdog.h.
 *
 * The main thread restarts a timer at every tick of hz. If the timer expires, SIGALRM interrupts the main
 * thread wherever it is, and the handler, which runs on its stack, logs it. SIGALRM from another process
 * does the same. */
#define _GNU_SOURCE

#include "server/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/log.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "server/stack_trace.h"

static int64_t period_ms; /* 0: off */
static pthread_t main_thread;

static void watchdogOnAlarm(int sig, siginfo_t *info, void *context) {
    static volatile sig_atomic_t from_timer;
    (void)context;
    if (info->si_code == SI_KERNEL) from_timer = 1;
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, sig);
        return;
    }
    int interrupted = errno;
    serverLogFromSignal(from_timer ? "\n--- WATCHDOG TIMER EXPIRED ---\n" : "\nSIGALRM came from outside\n");
    from_timer = 0;
    stackTraceWrite(NULL);
    serverLogFromSignal("--------\n\n");
    errno = interrupted;
}

static void watchdogStartTimer(int64_t ms) {
    struct itimerval timer = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void watchdogTick(void) {
    if (period_ms) watchdogStartTimer(period_ms);
}

void watchdogStop(void) {
    period_ms = 0;
    watchdogStartTimer(0);
}

/* Periods shorter than two ticks would expire although nothing is wrong. */
static bool watchdogApplyPeriod(const char **err) {
    (void)err;
    int64_t least = 2 * 1000 / server_hz;
    if (period_ms && period_ms < least) period_ms = least;
    watchdogStartTimer(period_ms);
    return true;
}

void watchdogInit(void) {
    main_thread = pthread_self();
    struct sigaction act = {.sa_sigaction = watchdogOnAlarm, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&act.sa_mask);
    sigaction(SIGALRM, &act, NULL);
}

void watchdogRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("watchdog-period", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &period_ms, 0, 0, INT32_MAX,
                   watchdogApplyPeriod),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(watchdogTick, 0);
}
