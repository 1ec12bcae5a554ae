/* watchdog.c - see watchdog.h.
 *
 * A timer that the main thread winds up at every tick of hz. When it runs down, SIGALRM interrupts whatever
 * keeps the thread, and the handler, which runs on its stack, logs that. */
#define _GNU_SOURCE

#include "server/watchdog.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/log.h"
#include "core/child.h"
#include "core/config.h"
#include "core/cron.h"

#define STACK_DEPTH 100

static int64_t period_ms; /* 0: off */
static bool installed;
static pthread_t main_thread;

static void onAlarm(int sig) {
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, sig);
        return;
    }
    void *frames[STACK_DEPTH];
    int n = backtrace(frames, STACK_DEPTH), fd = logOpenFd();
    serverLogFromSignal("\n--- WATCHDOG TIMER EXPIRED ---\n");
    if (fd >= 0) {
        backtrace_symbols_fd(frames, n, fd);
        logCloseFd(fd);
    }
    serverLogFromSignal("--------\n\n");
}

static void windUp(int64_t ms) {
    struct itimerval timer = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void install(void) {
    if (installed) return;
    main_thread = pthread_self();
    void *warm[1];
    backtrace(warm, 1); /* loads what it needs now, not in the handler */
    struct sigaction act = {.sa_handler = onAlarm, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGALRM, &act, NULL);
    installed = true;
}

static void tick(void) {
    if (!period_ms) return;
    install();
    windUp(period_ms);
}

/* Shorter than two ticks it would bite although nothing is wrong. */
static bool applyPeriod(const char **err) {
    (void)err;
    int64_t least = 2 * 1000 / server_hz;
    if (period_ms && period_ms < least) period_ms = least;
    if (period_ms)
        tick();
    else if (installed)
        windUp(0);
    return true;
}

void watchdogRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("watchdog-period", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &period_ms, 0, 0, INT32_MAX,
                   applyPeriod),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(tick, 0);
}
