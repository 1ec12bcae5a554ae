/* memcheck.c - Part of crash.h: is the memory itself broken?
 *
 * Each page of the process that is in memory and belongs to no file is written with patterns, read back, and
 * gets its contents back. That finds bits that are stuck, when the caches let the writes through; passing
 * proves nothing. Only for a process that ends anyway: other threads may stumble over the patterns. */
#define _GNU_SOURCE /* mincore */

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "server/crash.h"

#define REGIONS_MAX 1024
#define PAGE        4096

struct region {
    uintptr_t start, end;
};

static struct region regions[REGIONS_MAX];
static uint64_t saved[PAGE / sizeof(uint64_t)];

/* "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 [name]" */
static bool parseLine(const char *line, struct region *r) {
    char permissions[8], name[64] = "";
    unsigned long start, end, inode;
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %63s", &start, &end, permissions, &inode, name) < 4)
        return false;
    *r = (struct region){start, end};
    return permissions[0] == 'r' && permissions[1] == 'w' && inode == 0 && name[0] == 0;
}

static bool contains(const struct region *r, const void *p) {
    return (uintptr_t)p >= r->start && (uintptr_t)p < r->end;
}

static int findRegions(void) {
    static char line[512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return 0;
    while (count < REGIONS_MAX && fgets(line, sizeof line, f)) {
        struct region *r = &regions[count];
        /* Not what we stand on ourselves: our stack and our own data. */
        if (parseLine(line, r) && !contains(r, &count) && !contains(r, saved)) count++;
    }
    fclose(f);
    return count;
}

static uint64_t patternAt(const volatile uint64_t *p, uint64_t pattern) {
    return (uint64_t)(uintptr_t)p ^ pattern;
}

static size_t testPage(uint64_t *page) {
    static const uint64_t patterns[] = {0, UINT64_MAX, 0x5555555555555555};
    volatile uint64_t *p = page;
    size_t words = PAGE / sizeof *page, errors = 0;
    memcpy(saved, page, PAGE);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        for (size_t i = 0; i < words; i++) p[i] = patternAt(&p[i], patterns[k]);
        atomic_thread_fence(memory_order_seq_cst);
        for (size_t i = 0; i < words; i++) errors += p[i] != patternAt(&p[i], patterns[k]);
    }
    memcpy(page, saved, PAGE);
    return errors;
}

size_t crashTestMemory(void) {
    size_t errors = 0, pages = 0;
    int count = findRegions();
    for (int i = 0; i < count; i++) {
        for (uintptr_t at = regions[i].start; at < regions[i].end; at += PAGE) {
            unsigned char resident;
            if (mincore((void *)at, PAGE, &resident) != 0 || !(resident & 1)) continue;
            errors += testPage((uint64_t *)at);
            pages++;
        }
    }
    serverLog(LL_WARNING | LL_RAW, "Tested %zu pages in %d regions: %zu errors.\n", pages, count, errors);
    return errors;
}
