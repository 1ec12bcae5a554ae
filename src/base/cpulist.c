/* SPDX-License-Identifier: BSD-3-Clause */
/* cpulist.c - see cpulist.h. */
#define _GNU_SOURCE /* sched_setaffinity */

#include "base/cpulist.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"

/* Parses a number and moves *p behind it. */
static bool cpulistParseNumber(const char **p, long *n) {
    char *end;
    if (**p < '0' || **p > '9') return false;
    *n = strtol(*p, &end, 10);
    *p = end;
    return *n < CPU_SETSIZE;
}

/* Parses first[-last[:step]]. */
static bool cpulistAddRange(const char **p, cpu_set_t *set) {
    long first, last, step = 1;
    if (!cpulistParseNumber(p, &first)) return false;
    last = first;
    if (**p == '-') {
        ++*p;
        if (!cpulistParseNumber(p, &last)) return false;
        if (**p == ':') {
            ++*p;
            if (!cpulistParseNumber(p, &step) || step == 0) return false;
        }
    }
    for (long cpu = first; cpu <= last; cpu += step) CPU_SET(cpu, set);
    return first <= last;
}

void cpulistApply(const char *list) {
    const char *p = list;
    if (!p) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    bool ok = cpulistAddRange(&p, &set);
    while (ok && *p == ',') {
        p++;
        ok = cpulistAddRange(&p, &set);
    }
    if (!ok || *p || sched_setaffinity(0, sizeof set, &set) != 0)
        serverLog(LL_WARNING, "The list of processors '%s' cannot be used: it is ignored.", list);
}
