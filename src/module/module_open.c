/* SPDX-License-Identifier: BSD-3-Clause */
/* module_open.c - opening a module's file, so that each of its names means what its author meant.
 *
 * RTLD_DEEPBIND has the dynamic linker look for a module's names in the module and its libraries first: one
 * that brings its own sds.c or its own Lua gets those, not ours of the same names. But libc is among those
 * libraries. Where the process has another allocator (jemalloc), libc itself allocates from that, so strdup()
 * returns its memory, and a module that was bound to libc's free() hands that what it never gave out.
 *
 * So the module does not come alone: a host is opened that needs it, a shared object of no code that is
 * written here, in memory. What is opened along with it looks for names in the host first, and there are
 * those of the allocator, which mean what they mean to the rest of the process:
 *
 *     host: malloc, free ... -> the module -> its libraries, libc among them -> the server and its libraries
 *
 * Of a file in memory there is one segment:
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
    int host; /* the descriptor of its memory, or -1: the linker takes what has the same name for the same
                 file */
};

#define FLAGS (RTLD_NOW | RTLD_LOCAL)

#if !defined(RTLD_DEEPBIND) || defined(LEAK_CHECKED) /* sanitizers cannot live with it */

static bool moduleOpenHosted(struct moduleFile *f, const char *path) {
    (void)f, (void)path;
    return false;
}
#define FLAGS_DEEP FLAGS

#else

#define FLAGS_DEEP (FLAGS | RTLD_DEEPBIND)

/* The allocator's; and who starts a thread tells it that there is one more (api_memory.c). */
static const char *const shared_names[] = {
    "malloc",        "calloc", "realloc", "free",  "memalign",       "posix_memalign",
    "aligned_alloc", "valloc", "pvalloc", "cfree", "pthread_create", "malloc_usable_size"};

enum { NAMES = sizeof shared_names / sizeof *shared_names, NAME_MAX_LEN = 24 };

struct hostFile {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3];
    ElfW(Dyn) dynamic[7];
    ElfW(Sym) symbols[1 + NAMES]; /* the first is nobody's, as ever */
    struct {
        uint32_t buckets, symbols, first; /* of the only bucket */
        uint32_t next[1 + NAMES];         /* behind each symbol */
    } hash;
    char names[1 + NAMES][NAME_MAX_LEN];
    char path[];
};

extern const ElfW(Ehdr) __ehdr_start
    __attribute__((visibility("hidden"))); /* ours: the linker puts it there */

static const void *moduleOpenFileOf(const void *code) {
    Dl_info info;
    return code && dladdr(code, &info) ? info.dli_fbase : NULL;
}

/* Only libc has the second one. */
static bool moduleOpenAllocatorIsLibcs(void) {
    return moduleOpenFileOf(dlsym(RTLD_DEFAULT, "malloc")) ==
           moduleOpenFileOf(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}

static void moduleOpenDescribe(struct hostFile *host, size_t bytes) {
    host->header = __ehdr_start; /* of the same machine */
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

/* Symbols at absolute addresses. Names that this system does not know are left out. */
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

/* False: it has to go without, and dlerror says nothing that matters. */
static bool moduleOpenHosted(struct moduleFile *f, const char *path) {
    if (moduleOpenAllocatorIsLibcs()) return false;
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

void *moduleFileSymbol(struct moduleFile *f, const char *name) {
    return dlsym(f->handle, name);
}

int moduleFileClose(struct moduleFile *f) {
    int result = dlclose(f->handle);
    if (f->host != -1) close(f->host);
    zfree(f);
    return result;
}
