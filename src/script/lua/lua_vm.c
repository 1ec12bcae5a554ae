/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_vm.c - the two interpreters: one for scripts, one for functions (see lua_private.h).
 *
 * They share nothing, so a flush of either drops a whole interpreter, in the background if requested.
 *
 * Lua collects garbage when it allocates, so the garbage of the last script would stay until the next one.
 * While no script runs, a job collects in small steps until two cycles after the last use are complete: the
 * cycle that was under way may have missed objects that became garbage since. */
#include "base/assert.h"
#include "base/clock.h"
#include "registry/cron.h"
#include "script/lua/lua_private.h"

#define GC_PERIOD_MS 100
#define GC_STEP_KB   64
#define GC_BUDGET_US 1000
#define GC_CYCLES    2

static struct {
    lua_State *main;
    int gc_cycles; /* cycles that are still to be done */
} vms[SCRIPT_KINDS];

lua_State *luaVm(enum scriptKind kind) {
    return vms[kind].main;
}

lua_State *luaVmReplace(enum scriptKind kind) {
    lua_State *old = vms[kind].main;
    vms[kind].main = luaVmCreate(kind);
    vms[kind].gc_cycles = GC_CYCLES;
    luaArmHook(vms[kind].main);
    return old;
}

void luaVmClose(enum scriptKind kind) {
    lua_close(vms[kind].main);
    vms[kind].main = NULL;
    vms[kind].gc_cycles = 0;
}

void luaVmMarkUsed(enum scriptKind kind) {
    vms[kind].gc_cycles = GC_CYCLES;
}

size_t luaVmMemory(enum scriptKind kind) {
    lua_State *L = vms[kind].main;
    if (!L) return 0;
    return (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
}

static void luaVmCollectGarbage(void) {
    if (script_run.name) return;
    int64_t end = monotonicUs() + GC_BUDGET_US;
    for (int kind = 0; kind < SCRIPT_KINDS; kind++) {
        while (vms[kind].gc_cycles && monotonicUs() < end) {
            vms[kind].gc_cycles -= lua_gc(vms[kind].main, LUA_GCSTEP, GC_STEP_KB);
        }
    }
}

void luaVmInit(void) {
    cronRegister(luaVmCollectGarbage, GC_PERIOD_MS);
}

/* ---- Errors under ThreadSanitizer ---- */

/* ThreadSanitizer keeps a stack of calls per thread and takes back what longjmp leaves, but it does not know
 * __longjmp_chk, which a Lua that was compiled with _FORTIFY_SOURCE calls for each error. Without this the
 * calls would stay on that stack, and its memory would grow, as no two allocations would have the same stack.
 */
#ifdef __SANITIZE_THREAD__
__attribute__((noreturn)) void luaVmLongjmp(void *env, int value) __asm__("longjmp");
__attribute__((noreturn)) void __longjmp_chk(void *env, int value);

void __longjmp_chk(void *env, int value) {
    luaVmLongjmp(env, value);
}
#endif
