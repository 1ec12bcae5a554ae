/* system_check.c - see system_check.h. A check that cannot find out says so, and is not a warning. */
#include "server/system_check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define CLOCK_READINGS 200000
#define SLOW_CLOCK_NS  500 /* for one reading: it goes through the kernel, and is done for many commands */
#define CLOCK_SOURCE   "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* ---- The checks ---- */

static const char unknown[] = "?"; /* instead of advice */

static bool readWord(const char *path, char *dst, int size) {
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(dst, size, f);
    if (f) fclose(f);
    if (ok) dst[strcspn(dst, "\n")] = 0;
    return ok;
}

static const char *slowClock(void) {
    struct timespec now;
    int64_t start = monotonicUs();
    for (int i = 0; i < CLOCK_READINGS; i++) clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (monotonicUs() - start) * 1000 / CLOCK_READINGS;
    if (ns < SLOW_CLOCK_NS) return NULL;
    return "Reading the clock is slow here, as the kernel's clock source cannot be read without a system call. "
           "Write 'tsc' (on x86) to " CLOCK_SOURCE ".";
}

static const char *xenClock(void) {
    char source[64];
    if (!readWord(CLOCK_SOURCE, source, sizeof source)) return unknown;
    if (strcmp(source, "xen") != 0) return NULL;
    return "The clock source is 'xen', which is slow. Write 'tsc' to " CLOCK_SOURCE ".";
}

const char *systemOvercommitAdvice(void) {
    char policy[16];
    if (!readWord("/proc/sys/vm/overcommit_memory", policy, sizeof policy) || strcmp(policy, "1") == 0)
        return NULL;
    return "Memory overcommit must be enabled! Otherwise background saves and replication may fail although there "
           "is memory. To enable it, add 'vm.overcommit_memory = 1' to /etc/sysctl.conf, and run 'sysctl "
           "vm.overcommit_memory=1'.";
}

static const char *hugePages(void) {
    char modes[128];
    if (!readWord("/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof modes)) return unknown;
    if (!strstr(modes, "[always]")) return NULL;
    return "Transparent huge pages are on for every process: forks then copy 2 MB for a byte that changes. Run 'echo "
           "madvise > /sys/kernel/mm/transparent_hugepage/enabled', also when the machine starts. (With disable-thp "
           "yes, the default, the server leaves them off for itself.)";
}

int systemCheckMain(void) {
    static const struct {
        const char *name;
        const char *(*advice)(void);
    } checks[] = {{"slow-clocksource", slowClock},
                  {"xen-clocksource", xenClock},
                  {"overcommit", systemOvercommitAdvice},
                  {"THP", hugePages}};
    int code = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const char *advice = checks[i].advice();
        if (!advice) {
            printf("[%s]...OK\n", checks[i].name);
        } else if (advice == unknown) {
            printf("[%s]...skipped\n", checks[i].name);
        } else {
            printf("[%s]...WARNING:\n%s\n", checks[i].name, advice);
            code = 1;
        }
    }
    return code;
}

/* ---- Memory ---- */

#define PASSES 4

static uint64_t wordAt(size_t i, unsigned pass) {
    static const uint64_t patterns[PASSES] = {0, UINT64_MAX, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa};
    return patterns[pass] ^ i; /* an address line that is broken makes two words one */
}

static size_t testPass(volatile uint64_t *words, size_t count, unsigned pass) {
    size_t errors = 0;
    for (size_t i = 0; i < count; i++) words[i] = wordAt(i, pass);
    for (size_t i = count; i-- > 0;) errors += words[i] != wordAt(i, pass);
    return errors;
}

int testMemoryMain(int argc, char **argv) {
    int64_t megabytes = 0;
    if (argc < 1 || !string2ll(strOf(argv[0]), &megabytes) || megabytes < 1 || megabytes > INT64_MAX >> 20) {
        fprintf(stderr, "--test-memory wants to know how many megabytes to test, e.g. --test-memory 4096\n");
        return 1;
    }
    size_t bytes = (size_t)megabytes << 20, errors = 0;
    uint64_t *words = ztrymalloc(bytes);
    if (!words) {
        fprintf(stderr, "There are no %lld MB to be had\n", (long long)megabytes);
        return 1;
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        printf("Pass %u of %d over %lld MB ... ", pass + 1, PASSES, (long long)megabytes);
        fflush(stdout);
        size_t found = testPass(words, bytes / sizeof *words, pass);
        printf("%zu errors\n", found);
        errors += found;
    }
    zfree(words);
    if (errors)
        printf("This memory is broken: %zu words did not keep what was written to them.\n", errors);
    else
        printf(
            "No error was found. That proves little until it has run for hours over most of the memory.\n");
    return errors != 0;
}
