/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.c - see symbols.h.
 *
 * The dynamic linker knows exported names only. All functions are in the section .symtab of the program's
 * file, which is not loaded. The file is mapped when the server starts, which costs no memory until it is
 * read, and searched linearly. */
#define _GNU_SOURCE

#include "server/symbols.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file; /* the mapping; NULL: not mapped */
static size_t file_size;
static const ElfW(Sym) * symbols;
static size_t symbol_count;
static const char *names;
static size_t names_size;

extern const char __executable_start[], etext[]; /* defined by the linker */

static bool symbolsIsInFile(size_t offset, size_t size) {
    return offset <= file_size && size <= file_size - offset;
}

static bool symbolsMapFile(void) {
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    void *map =
        fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return false;
    file = map;
    file_size = (size_t)st.st_size;
    return true;
}

static void symbolsUseTable(const ElfW(Shdr) * table, const ElfW(Shdr) * strings) {
    if (!symbolsIsInFile(table->sh_offset, table->sh_size) ||
        !symbolsIsInFile(strings->sh_offset, strings->sh_size))
        return;
    if (!strings->sh_size || file[strings->sh_offset + strings->sh_size - 1]) return;
    symbols = (const void *)(file + table->sh_offset);
    symbol_count = table->sh_size / sizeof *symbols;
    names = file + strings->sh_offset;
    names_size = strings->sh_size;
}

void symbolsOpen(void) {
    if (!symbolsMapFile()) return;
    const ElfW(Ehdr) *head = (const void *)file;
    if (!symbolsIsInFile(0, sizeof *head) ||
        !symbolsIsInFile(head->e_shoff, (size_t)head->e_shnum * sizeof(ElfW(Shdr))))
        return;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum) continue;
        symbolsUseTable(&sections[i], &sections[sections[i].sh_link]);
    }
}

const char *symbolsFind(const void *pc, size_t *offset) {
    if ((const char *)pc < __executable_start || (const char *)pc >= etext) return NULL;
    bool moves = file && ((const ElfW(Ehdr) *)(const void *)file)->e_type == ET_DYN;
    uintptr_t at = (uintptr_t)pc - (moves ? (uintptr_t)__executable_start : 0);
    for (size_t i = 0; i < symbol_count; i++) {
        const ElfW(Sym) *s = &symbols[i];
        if ((s->st_info & 0xf) != STT_FUNC || s->st_name >= names_size) continue; /* ELFxx_ST_TYPE */
        if (at < s->st_value || at - s->st_value >= s->st_size) continue;
        *offset = at - s->st_value;
        return names + s->st_name;
    }
    return NULL;
}
