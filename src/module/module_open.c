/* SPDX-License-Identifier: BSD-3-Clause */
/* module_open.c - opening a module's shared object so that its names are bound as its author expects.
 *
 * RTLD_DEEPBIND has the dynamic linker look a module's names up in the module and its libraries first. A
 * module that brings its own sds.c or its own Lua gets those and not ours of the same names. However, libc
 * is among those libraries. If the process has another allocator (jemalloc), libc allocates from that,
 * too: strdup() returns its memory, and a module that is bound to libc's free() would pass libc memory
 * that it never allocated.
 *
 * Therefore the module is opened by way of a host: a shared object without code, written here into memory,
 * that needs the module. Names of objects that are opened with the host are looked up in the host first,
 * which defines the allocator's names as the rest of the process knows them:
 *
 *     host: malloc, free ... -> the module -> its libraries, libc among them -> the server and its libraries
 *
 * The file in memory has one segment:
 *
 *     header | 3 program headers | dynamic section | symbols | hash table | names, the module's path the last
 */
#define _GNU_SOURCE /* dladdr, memfd_create, RTLD_DEEPBIND */
#include "module/module_open.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/zmalloc.h"

struct moduleFile {
    void *handle;
    int host; /* descriptor of the host's memory, or -1. It stays open because the linker takes files of the
                 same name for the same file */
};

#define FLAGS (RTLD_NOW | RTLD_LOCAL)

#if !defined(RTLD_DEEPBIND) || defined(LEAK_CHECKED) /* sanitizers do not work with it */

static bool moduleOpenHosted(struct moduleFile *f, const char *path) {
    (void)f, (void)path;
    return false;
}
#define FLAGS_DEEP FLAGS

#else

#define FLAGS_DEEP (FLAGS | RTLD_DEEPBIND)

/* Functions of the allocator, and pthread_create, which registers threads with it (api_memory.c). */
static const char *const shared_names[] = {
    "malloc",        "calloc", "realloc", "free",  "memalign",       "posix_memalign",
    "aligned_alloc", "valloc", "pvalloc", "cfree", "pthread_create", "malloc_usable_size"};

enum { NAMES = sizeof shared_names / sizeof *shared_names, NAME_MAX_LEN = 24 };

struct hostFile {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3];
    ElfW(Dyn) dynamic[7];
    ElfW(Sym) symbols[1 + NAMES]; /* the first one is empty by definition */
    struct {
        uint32_t buckets, symbols, first; /* first symbol of the only bucket */
        uint32_t next[1 + NAMES];         /* next symbol of the bucket */
    } hash;
    char names[1 + NAMES][NAME_MAX_LEN];
    char path[];
};

extern const ElfW(Ehdr) __ehdr_start
    __attribute__((visibility("hidden"))); /* our own header; the linker defines it */

static const void *moduleOpenFileOf(const void *code) {
    Dl_info info;
    return code && dladdr(code, &info) ? info.dli_fbase : NULL;
}

/* Tells whether malloc is libc's. Only libc defines the second function. */
static bool moduleOpenAllocatorIsLibc(void) {
    return moduleOpenFileOf(dlsym(RTLD_DEFAULT, "malloc")) ==
           moduleOpenFileOf(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}

static void moduleOpenDescribe(struct hostFile *host, size_t bytes) {
    host->header = __ehdr_start; /* for the machine's fields */
    host->header.e_type = ET_DYN;
    host->header.e_entry = host->header.e_shoff = 0;
    host->header.e_phoff = offsetof(struct hostFile, segments);
    host->header.e_phnum = 3;
    host->header.e_shnum = host->header.e_shstrndx = host->header.e_shentsize = 0;
    host->segments[0] =
        (ElfW(Phdr)){.p_type = PT_LOAD,
                     .p_flags = PF_R | PF_W, /* older linkers write into the dynamic section */
                     .p_filesz = bytes,
                     .p_memsz = bytes,
                     .p_align = (size_t)sysconf(_SC_PAGESIZE)};
    size_t dynamic = offsetof(struct hostFile, dynamic);
    host->segments[1] = (ElfW(Phdr)){.p_type = PT_DYNAMIC,
                                     .p_flags = PF_R | PF_W,
                                     .p_offset = dynamic,
                                     .p_vaddr = dynamic,
                                     .p_paddr = dynamic,
                                     .p_filesz = sizeof host->dynamic,
                                     .p_memsz = sizeof host->dynamic,
                                     .p_align = sizeof(ElfW(Addr))};
    host->segments[2] = (ElfW(Phdr)){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
}

static void moduleOpenListParts(struct hostFile *host, size_t path_size) {
    size_t names = offsetof(struct hostFile, names), path = offsetof(struct hostFile, path);
    ElfW(Dyn) *d = host->dynamic;
    *d++ = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = path - names};
    *d++ = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = names};
    *d++ = (ElfW(Dyn)){.d_tag = DT_STRSZ, .d_un.d_val = path - names + path_size};
    *d++ = (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = offsetof(struct hostFile, symbols)};
    *d++ = (ElfW(Dyn)){.d_tag = DT_SYMENT, .d_un.d_val = sizeof *host->symbols};
    *d++ = (ElfW(Dyn)){.d_tag = DT_HASH, .d_un.d_ptr = offsetof(struct hostFile, hash)};
    *d = (ElfW(Dyn)){.d_tag = DT_NULL};
}

/* Defines symbols at absolute addresses, without names that this system does not know. */
static void moduleOpenDefineNames(struct hostFile *host) {
    uint32_t count = 1;
    for (int i = 0; i < NAMES; i++) {
        void *address = dlsym(RTLD_DEFAULT, shared_names[i]);
        if (!address) continue;
        strcpy(host->names[count], shared_names[i]);
        host->symbols[count] = (ElfW(Sym)){.st_name = count * NAME_MAX_LEN,
                                           .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                           .st_shndx = SHN_ABS,
                                           .st_value = (ElfW(Addr))address};
        host->hash.next[count] = host->hash.first;
        host->hash.first = count++;
    }
    host->hash.buckets = 1;
    host->hash.symbols = count;
}

/* Opens the module by way of a host. Returns false if that is not needed or fails; the caller then opens the
 * module directly, which sets dlerror. */
static bool moduleOpenHosted(struct moduleFile *f, const char *path) {
    if (moduleOpenAllocatorIsLibc()) return false;
    size_t path_size = strlen(path) + 1, bytes = sizeof(struct hostFile) + path_size;
    struct hostFile *host = zcalloc(1, bytes);
    moduleOpenDescribe(host, bytes);
    moduleOpenListParts(host, path_size);
    moduleOpenDefineNames(host);
    memcpy(host->path, path, path_size);
    f->host = memfd_create("module", MFD_CLOEXEC);
    bool written = f->host != -1 && write(f->host, host, bytes) == (ssize_t)bytes;
    zfree(host);
    if (written) {
        char name[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", f->host);
        f->handle = dlopen(name, FLAGS_DEEP);
    }
    if (!f->handle && f->host != -1) close(f->host);
    return f->handle != NULL;
}
#endif

struct moduleFile *moduleFileOpen(const char *path) {
    struct moduleFile f = {NULL, -1};
    if (!moduleOpenHosted(&f, path)) f = (struct moduleFile){dlopen(path, FLAGS_DEEP), -1};
    if (!f.handle) return NULL;
    struct moduleFile *file = zmalloc(sizeof *file);
    *file = f;
    return file;
}

void *moduleFileEntry(struct moduleFile *f, const char *name, bool *redis) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "ValkeyModule_%s", name);
    void *entry = dlsym(f->handle, symbol);
    if (redis) *redis = !entry;
    if (entry) return entry;
    snprintf(symbol, sizeof symbol, "RedisModule_%s", name);
    return dlsym(f->handle, symbol);
}

int moduleFileClose(struct moduleFile *f) {
    int result = dlclose(f->handle);
    if (f->host != -1) close(f->host);
    zfree(f);
    return result;
}
