/* eviction_clock.c - a library for LD_PRELOAD that makes the clock of the day faster, by the factor in
 * CLOCK_SPEED. Steady clocks stay as they are. See utils/bench/eviction. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The functions of libc that these replace. */
int evictionClockGettimeofday(struct timeval *tv, void *zone) __asm__("gettimeofday");
time_t evictionClockTime(time_t *to) __asm__("time");
int evictionClockGettime(clockid_t clock, struct timespec *t) __asm__("clock_gettime");

static long long evictionClockNs(void) {
    static long long start, factor;
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    long long now = t.tv_sec * 1000000000ll + t.tv_nsec;
    if (!start) {
        const char *speed = getenv("CLOCK_SPEED");
        factor = speed ? atoll(speed) : 1;
        start = now;
    }
    return start + (now - start) * factor;
}

int evictionClockGettimeofday(struct timeval *tv, void *zone) {
    (void)zone;
    long long now = evictionClockNs();
    *tv = (struct timeval){now / 1000000000, now / 1000 % 1000000};
    return 0;
}

time_t evictionClockTime(time_t *to) {
    time_t now = evictionClockNs() / 1000000000;
    if (to) *to = now;
    return now;
}

int evictionClockGettime(clockid_t clock, struct timespec *t) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, t);
    long long now = evictionClockNs();
    *t = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}
