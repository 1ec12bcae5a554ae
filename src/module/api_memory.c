/* SPDX-License-Identifier: BSD-3-Clause */
/* api_memory.c - memory for modules, from the server's allocator and counted with the server's own. All
 * functions may be called by any thread. A thread that the server has not started is registered with the
 * allocator when it starts or first comes here.
 *
 * Sizes above 8 are rounded up to multiples of 16, so that addresses are aligned as malloc's are. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "data/lifetime/evict.h"
#include "module/api.h"
#include "module/parts.h"

#define ALIGNMENT 16
#define SMALLEST  8 /* objects of this size need no greater alignment */

static __thread bool thread_known;
static pthread_key_t thread_end;
static bool thread_end_made;

static void apiMemoryThreadEnds(void *known) {
    (void)known;
    zmallocThreadExit();
}

static void apiMemoryRegisterThread(void) {
    thread_known = true;
    zmallocThreadStart();
    pthread_setspecific(thread_end, &thread_known);
}

void moduleThreadRegister(void) {
    if (__builtin_expect(!thread_known, 0)) apiMemoryRegisterThread();
}

#if defined(USE_JEMALLOC) && !defined(LEAK_CHECKED)
/* Registers threads when they start. Memory that a module allocates through malloc (module_open.c) is
 * counted by the thread that allocates or frees it, so the sum is only right if all threads are known,
 * including those of modules' libraries. Therefore pthread_create is replaced. */
struct threadStart {
    void *(*fn)(void *arg);
    void *arg;
};

static void *apiMemoryThreadStarts(void *arg) {
    struct threadStart start = *(struct threadStart *)arg;
    moduleThreadRegister();
    zfree(arg);
    return start.fn(start.arg);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
                                                          const pthread_attr_t *restrict attr,
                                                          void *(*fn)(void *), void *restrict arg) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!create) *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (!thread_end_made) return create(thread, attr, fn, arg);
    moduleThreadRegister();
    struct threadStart *start = zmalloc(sizeof *start);
    *start = (struct threadStart){fn, arg};
    int err = create(thread, attr, apiMemoryThreadStarts, start);
    if (err) zfree(start);
    return err;
}
#endif

/* Returns SIZE_MAX if the size is too large. */
static size_t apiMemoryAligned(size_t bytes) {
    moduleThreadRegister();
    if (bytes <= SMALLEST) return SMALLEST;
    return bytes > SIZE_MAX - ALIGNMENT ? SIZE_MAX : (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *vmAlloc(size_t bytes) {
    return zmalloc(apiMemoryAligned(bytes));
}
void *vmTryAlloc(size_t bytes) {
    return ztrymalloc(apiMemoryAligned(bytes));
}
void *vmRealloc(void *ptr, size_t bytes) {
    return zrealloc(ptr, apiMemoryAligned(bytes));
}
void *vmTryRealloc(void *ptr, size_t bytes) {
    return ztryrealloc(ptr, apiMemoryAligned(bytes));
}
void vmFree(void *ptr) {
    moduleThreadRegister();
    zfree(ptr);
}

/* Returns SIZE_MAX if the product overflows, which the allocator refuses. */
static size_t apiMemoryProductOf(size_t nmemb, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(nmemb, size, &bytes) ? SIZE_MAX : apiMemoryAligned(bytes);
}
void *vmCalloc(size_t nmemb, size_t size) {
    return zcalloc(1, apiMemoryProductOf(nmemb, size));
}
void *vmTryCalloc(size_t nmemb, size_t size) {
    size_t bytes = apiMemoryProductOf(nmemb, size);
    void *p = ztrymalloc(bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

char *vmStrdup(const char *str) {
    size_t bytes = strlen(str) + 1;
    return memcpy(vmAlloc(bytes), str, bytes);
}

/* ---- Sizes ---- */

size_t vmMallocUsableSize(void *ptr) {
    return zmallocSize(ptr);
}
size_t vmMallocSize(void *ptr) {
    return zmallocSize(ptr);
}
size_t vmMallocSizeString(struct ValkeyModuleString *str) {
    return zmallocSize(str) + (str->grown ? sdsAllocSize(str->grown) : 0);
}

float vmGetUsedMemoryRatio(void) {
    size_t limit = evictLimit();
    return limit ? (float)((double)zmallocUsedMemory() / (double)limit) : 0;
}

void memoryPartInit(void) {
    thread_known = true; /* of the main thread */
    thread_end_made = pthread_key_create(&thread_end, apiMemoryThreadEnds) == 0;
}
