/* turns.c - a library for LD_PRELOAD that finds the longest turn of a server's event loop: the CPU time of the
 * main thread between two calls of epoll_wait(2). CPU time, as a shared machine takes the processor away for
 * longer than a turn lasts. The file named by TURNS holds the figure in nanoseconds and how many turns were longer than
 * LONG_NS, two numbers of 8 bytes in the machine's order; the reader sets them to 0. See utils/bench/snapshot. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The function of libc that this replaces. */
int turnsEpollWait(int epfd, struct epoll_event *events, int max, int timeout_ms) __asm__("epoll_wait");

#define LONG_NS 2000000

static volatile struct {
    uint64_t worst_ns, long_turns;
} *figures;
static uint64_t woken_ns;

static uint64_t turnsCpuNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((constructor)) static void turnsOpen(void) {
    const char *path = getenv("TURNS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd == -1) return;
    void *p = mmap(NULL, sizeof(*figures), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED) figures = p;
}

/* The loop's own descriptor is the one that is waited for; others may be looked at within a turn. */
static bool turnsIsLoop(int epfd, bool waits) {
    static int loop = -1;
    if (!figures || getpid() != (pid_t)syscall(SYS_gettid)) return false;
    if (loop == -1 && waits) loop = epfd;
    return epfd == loop;
}

static void turnsEnd(void) {
    uint64_t took_ns = woken_ns ? turnsCpuNs() - woken_ns : 0;
    if (took_ns > figures->worst_ns) figures->worst_ns = took_ns;
    if (took_ns > LONG_NS) figures->long_turns++;
}

int turnsEpollWait(int epfd, struct epoll_event *events, int max, int timeout_ms) {
    bool loop = turnsIsLoop(epfd, timeout_ms != 0);
    if (loop) turnsEnd();
    int n = (int)syscall(SYS_epoll_pwait, epfd, events, max, timeout_ms, NULL, 0);
    if (loop) woken_ns = turnsCpuNs();
    return n;
}
