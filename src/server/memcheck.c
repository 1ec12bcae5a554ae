/* SPDX-License-Identifier: BSD-3-Clause */
/* memcheck.c - a memory test for the crash report. Part of crash.h.
 *
 * Each resident page of the process that belongs to no file is written with patterns and read back; then its
 * contents are restored. This finds stuck bits if the caches write through; passing proves nothing. It is
 * only for a process that ends anyway, since other threads may read the patterns. */
#define _GNU_SOURCE /* mincore */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/crash.h"

#define REGIONS_MAX 1024
#define PAGE        4096
#define CHUNK_PAGES 4096
#define TIME_MAX_US 10000000 /* crash.c gives the test little more */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

struct memcheckRegion {
    uintptr_t start, end;
};

struct memcheckResult {
    size_t errors, pages;
    int64_t deadline_us;
};

static struct memcheckRegion regions[REGIONS_MAX];
static uint64_t saved[PAGE / sizeof(uint64_t)];

/* Parses "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 [name]". */
static bool memcheckParseLine(const char *line, struct memcheckRegion *r) {
    char permissions[8], name[64] = "";
    unsigned long start, end, inode;
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %63s", &start, &end, permissions, &inode, name) < 4)
        return false;
    *r = (struct memcheckRegion){start, end};
    return permissions[0] == 'r' && permissions[1] == 'w' && inode == 0 && name[0] == 0;
}

static bool memcheckContains(const struct memcheckRegion *r, const void *p) {
    return (uintptr_t)p >= r->start && (uintptr_t)p < r->end;
}

static int memcheckFindRegions(void) {
    static char line[512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return 0;
    while (count < REGIONS_MAX && fgets(line, sizeof line, f)) {
        struct memcheckRegion *r = &regions[count];
        /* without our own stack and data */
        if (memcheckParseLine(line, r) && !memcheckContains(r, &count) && !memcheckContains(r, saved))
            count++;
    }
    fclose(f);
    return count;
}

static uint64_t memcheckPatternAt(const volatile uint64_t *p, uint64_t pattern) {
    return (uint64_t)(uintptr_t)p ^ pattern;
}

static size_t memcheckTestPage(uint64_t *page) {
    static const uint64_t patterns[] = {0, UINT64_MAX, 0x5555555555555555};
    volatile uint64_t *p = page;
    size_t words = PAGE / sizeof *page, errors = 0;
    memcpy(saved, page, PAGE);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        for (size_t i = 0; i < words; i++) p[i] = memcheckPatternAt(&p[i], patterns[k]);
        atomic_thread_fence(memory_order_seq_cst);
        for (size_t i = 0; i < words; i++) errors += p[i] != memcheckPatternAt(&p[i], patterns[k]);
    }
    memcpy(page, saved, PAGE);
    return errors;
}

/* Tests the resident pages of a region; mincore finds them for many pages at a time. Returns false if time
 * has run out. */
static bool memcheckTestRegion(const struct memcheckRegion *r, struct memcheckResult *result) {
    static unsigned char resident[CHUNK_PAGES];
    for (uintptr_t chunk = r->start; chunk < r->end; chunk += CHUNK_PAGES * PAGE) {
        size_t left = (r->end - chunk) / PAGE, n = left < CHUNK_PAGES ? left : CHUNK_PAGES;
        if (monotonicUs() > result->deadline_us) return false;
        if (mincore((void *)chunk, n * PAGE, resident) != 0) continue;
        for (size_t i = 0; i < n; i++) {
            if (!(resident[i] & 1)) continue;
            result->errors += memcheckTestPage((uint64_t *)(chunk + i * PAGE));
            result->pages++;
        }
    }
    return true;
}

size_t crashTestMemory(void) {
    struct memcheckResult result = {.deadline_us = monotonicUs() + TIME_MAX_US};
    /* A sanitizer's tables must not change, and are as large as the address space. */
    int count = SANITIZED ? 0 : memcheckFindRegions(), done = 0;
    while (done < count && memcheckTestRegion(&regions[done], &result)) done++;
    serverLog(LL_WARNING | LL_RAW, "Tested %zu pages in %d of %d regions: %zu errors.\n", result.pages, done,
              count, result.errors);
    return result.errors;
}
