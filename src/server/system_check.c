/* SPDX-License-Identifier: BSD-3-Clause */
/* system_check.c - see system_check.h. A check that cannot determine its result is skipped,
 * without a warning. */
#include "server/system_check.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define CLOCK_READINGS 200000
#define SLOW_CLOCK_NS  500 /* for one reading; more means a system call, and many commands read the clock */
#define CLOCK_SOURCE   "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define BACKLOG        511   /* default of tcp-backlog */
#define FILES          10032 /* maxclients and the server's own files */
#define SWAPPINESS     10    /* with more, the kernel swaps memory out to keep files cached */
#define ADVICE_MAX     1024
#define TEXT_MAX       4096

/* ---- The checks ---- */

static const char unknown[] = "?"; /* result of a check that cannot tell */

/* Reads a file below root. Returns false if there is none. */
static bool systemCheckReadText(const char *root, const char *path, char *text, size_t size) {
    char whole[PATH_MAX];
    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole) return false;
    FILE *f = fopen(whole, "re");
    if (!f) return false;
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = 0;
    return n > 0;
}

/* Returns the number at the beginning of a file, or -1. */
static int64_t systemCheckReadNumber(const char *root, const char *path) {
    char text[64];
    return systemCheckReadText(root, path, text, sizeof text) && isdigit((unsigned char)*text) ? atoll(text)
                                                                                               : -1;
}

static const char *systemCheckSlowClock(const char *root) {
    (void)root;
    struct timespec now;
    int64_t start = monotonicUs();
    for (int i = 0; i < CLOCK_READINGS; i++) clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (monotonicUs() - start) * 1000 / CLOCK_READINGS;
    if (ns < SLOW_CLOCK_NS) return NULL;
    return "Reading the clock is slow here, as the kernel's clock source cannot be read without a system call. "
           "Write 'tsc' (on x86) to " CLOCK_SOURCE ".";
}

static const char *systemCheckXenClock(const char *root) {
    char source[64];
    if (!systemCheckReadText(root, CLOCK_SOURCE, source, sizeof source)) return unknown;
    if (strcmp(source, "xen\n") != 0) return NULL;
    return "The clock source is 'xen', which is slow. Write 'tsc' to " CLOCK_SOURCE ".";
}

static const char *systemCheckOvercommit(const char *root) {
    int64_t policy = systemCheckReadNumber(root, "/proc/sys/vm/overcommit_memory");
    if (policy == -1) return unknown;
    if (policy == 1) return NULL;
    return "Memory overcommit must be enabled! Otherwise background saves and replication may fail although there "
           "is memory. To enable it, add 'vm.overcommit_memory = 1' to /etc/sysctl.conf, and run 'sysctl "
           "vm.overcommit_memory=1'.";
}

const char *systemOvercommitAdvice(void) {
    const char *advice = systemCheckOvercommit("");
    return advice == unknown ? NULL : advice;
}

static const char *systemCheckHugePages(const char *root) {
    char modes[128];
    if (!systemCheckReadText(root, "/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof modes))
        return unknown;
    if (!strstr(modes, "[always]")) return NULL;
    return "Transparent huge pages are on for every process: after a fork each changed byte copies 2 MB. Run 'echo "
           "madvise > /sys/kernel/mm/transparent_hugepage/enabled', also when the machine starts. (With disable-thp "
           "yes, the default, the server disables them for itself.)";
}

static char advice[ADVICE_MAX]; /* for advice with numbers */

static const char *systemCheckQueueOfConnections(const char *root) {
    int64_t most = systemCheckReadNumber(root, "/proc/sys/net/core/somaxconn");
    if (most == -1) return unknown;
    if (most >= BACKLOG) return NULL;
    snprintf(
        advice, sizeof advice,
        "Only %lld connections may wait until the server accepts them, but tcp-backlog is %d: when many "
        "clients connect at once, some have to try again after a second. Add 'net.core.somaxconn = %d' to "
        "/etc/sysctl.conf, and run 'sysctl net.core.somaxconn=%d'.",
        (long long)most, BACKLOG, BACKLOG, BACKLOG);
    return advice;
}

static const char *systemCheckOpenFiles(const char *root) {
    (void)root;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return unknown;
    if (limit.rlim_max >= FILES) return NULL;
    snprintf(
        advice, sizeof advice,
        "A process of this user may have %lld files open: too few for 10000 clients (maxclients), so the server "
        "will accept fewer. Start it with 'ulimit -n %d', or set LimitNOFILE=%d in its systemd unit.",
        (long long)limit.rlim_max, FILES, FILES);
    return advice;
}

static const char *systemCheckSwap(const char *root) {
    char text[TEXT_MAX];
    if (!systemCheckReadText(root, "/proc/swaps", text, sizeof text)) return unknown;
    const char *second = strchr(text, '\n'); /* below the heading */
    int64_t swappiness = systemCheckReadNumber(root, "/proc/sys/vm/swappiness");
    if (!second || !second[1] || swappiness <= SWAPPINESS) return NULL;
    snprintf(
        advice, sizeof advice,
        "There is swap, and vm.swappiness is %lld: data that has not been used for a while is written to the disk "
        "to free memory for files, and commands that use it wait for the disk. Add 'vm.swappiness = 1' to "
        "/etc/sysctl.conf, and run 'sysctl vm.swappiness=1'; keep some swap, in case memory runs out.",
        (long long)swappiness);
    return advice;
}

static const char *systemCheckZoneReclaim(const char *root) {
    int64_t mode = systemCheckReadNumber(root, "/proc/sys/vm/zone_reclaim_mode");
    if (mode <= 0) return mode ? unknown : NULL;
    return "When a NUMA node is full, the kernel stops programs to free memory there, although other nodes have free memory. "
           "Run 'sysctl vm.zone_reclaim_mode=0', and add it to /etc/sysctl.conf.";
}

/* Returns the memory limit of the control group (of a container), or -1 if there is none below the memory
 * of the machine. */
static int64_t systemCheckMemoryLimit(const char *root) {
    char text[TEXT_MAX];
    int64_t limit = systemCheckReadNumber(root, "/sys/fs/cgroup/memory.max");
    if (limit == -1) limit = systemCheckReadNumber(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    long long total_kb;
    if (!systemCheckReadText(root, "/proc/meminfo", text, sizeof text) ||
        sscanf(text, "MemTotal: %lld", &total_kb) != 1)
        return -1;
    return limit / 1024 < total_kb ? limit : -1;
}

static const char *systemCheckMemoryOfContainer(const char *root) {
    int64_t limit = systemCheckMemoryLimit(root);
    if (limit == -1) return NULL;
    snprintf(
        advice, sizeof advice,
        "This container may use %lld MB, and the kernel kills a process that takes more. Set maxmemory to %lldmb or less: the "
        "rest is for copies of pages that change during a background save, and for clients' buffers.",
        (long long)(limit >> 20), (long long)(limit >> 20) * 3 / 4);
    return advice;
}

static const char *systemCheckClockOfDay(const char *root) {
    (void)root;
    struct timex now = {0};
    int state = adjtimex(&now);
    if (state == -1) return unknown;
    if (state != TIME_ERROR && !(now.status & STA_UNSYNC)) return NULL;
    return "The clock is not synchronized. Keys expire by it, on each replica by its own; logs are compared by it. "
           "Run an NTP client, such as chrony or systemd-timesyncd.";
}

static const struct systemCheckItem {
    const char *name;
    const char *(*advice)(const char *root); /* returns NULL if all is well, or `unknown` */
    bool note;                               /* useful to know, but not a warning */
    bool measures;                           /* takes milliseconds */
} checks[] = {
    {"slow-clocksource", systemCheckSlowClock, false, true},
    {"xen-clocksource", systemCheckXenClock, false, false},
    {"overcommit", systemCheckOvercommit, false, false},
    {"THP", systemCheckHugePages, false, false},
    {"somaxconn", systemCheckQueueOfConnections, false, false},
    {"open-files", systemCheckOpenFiles, false, false},
    {"zone-reclaim", systemCheckZoneReclaim, false, false},
    {"swap", systemCheckSwap, true, false},
    {"container-memory", systemCheckMemoryOfContainer, true, false},
    {"clock-synchronized", systemCheckClockOfDay, true, false},
};

void systemCheckForEach(void (*fn)(void *priv, const char *name, const char *advice, bool note), void *priv) {
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const char *found = checks[i].measures ? NULL : checks[i].advice("");
        if (found && found != unknown) fn(priv, checks[i].name, found, checks[i].note);
    }
}

int systemCheck(const char *root, FILE *out) {
    int code = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const struct systemCheckItem *check = &checks[i];
        const char *found = check->advice(root);
        if (!found) {
            fprintf(out, "[%s]...OK\n", check->name);
        } else if (found == unknown) {
            fprintf(out, "[%s]...skipped\n", check->name);
        } else {
            fprintf(out, "[%s]...%s:\n%s\n", check->name, check->note ? "NOTE" : "WARNING", found);
            code |= !check->note;
        }
    }
    return code;
}

/* ---- Memory ---- */

#define PASSES 4

static uint64_t systemCheckWordAt(size_t i, unsigned pass) {
    static const uint64_t patterns[PASSES] = {0, UINT64_MAX, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa};
    return patterns[pass] ^ i; /* a broken address line would make two words one */
}

static size_t systemCheckTestPass(volatile uint64_t *words, size_t count, unsigned pass) {
    size_t errors = 0;
    for (size_t i = 0; i < count; i++) words[i] = systemCheckWordAt(i, pass);
    for (size_t i = count; i-- > 0;) errors += words[i] != systemCheckWordAt(i, pass);
    return errors;
}

int testMemoryMain(int argc, char **argv) {
    int64_t megabytes = 0;
    if (argc < 1 || !string2ll(strOf(argv[0]), &megabytes) || megabytes < 1 || megabytes > INT64_MAX >> 20) {
        fprintf(stderr, "--test-memory needs the number of megabytes to test, e.g. --test-memory 4096\n");
        return 1;
    }
    size_t bytes = (size_t)megabytes << 20, errors = 0;
    uint64_t *words = ztrymalloc(bytes);
    if (!words) {
        fprintf(stderr, "%lld MB could not be allocated\n", (long long)megabytes);
        return 1;
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        printf("Pass %u of %d over %lld MB ... ", pass + 1, PASSES, (long long)megabytes);
        fflush(stdout);
        size_t found = systemCheckTestPass(words, bytes / sizeof *words, pass);
        printf("%zu errors\n", found);
        errors += found;
    }
    zfree(words);
    if (errors)
        printf("This memory is faulty: %zu words did not keep the written value.\n", errors);
    else
        printf(
            "No error was found. To be conclusive, the test must run for hours over most of the memory.\n");
    return errors != 0;
}
