/* SPDX-License-Identifier: BSD-3-Clause */
/* process_title.c - the title that ps shows. Part of process.h.
 *
 *     argv[0] \0 argv[1] \0 ... environ[0] \0 environ[1] \0 ...     one piece of memory, made by the kernel
 *     title .......................................... \0 \0 \0
 *
 * The kernel shows the contents of that memory. The arguments and the environment are copied elsewhere
 * first, so that both stay valid. */
#define _GNU_SOURCE /* environ, program_invocation_name */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/process.h"

static char *title_start;
static size_t title_size;
static const char *program = "valkey-server";

/* Returns how far the strings of a vector follow each other from `end` on. */
static char *processTitleFindEnd(char **vector, char *end) {
    for (int i = 0; vector[i]; i++) {
        if (vector[i] == end) end += strlen(vector[i]) + 1;
    }
    return end;
}

/* Replaces the strings by copies that are never freed. Returns 0, having changed only what it copied, if
 * memory is lacking. */
static int processTitleCopyStrings(char **vector) {
    for (int i = 0; vector[i]; i++) {
        char *copy = strdup(vector[i]);
        if (!copy) return 0;
        vector[i] = copy;
    }
    return 1;
}

void processInit(int argc, char **argv) {
    if (argc < 1) return;
    char *start = argv[0], *end = processTitleFindEnd(environ, processTitleFindEnd(argv, start));
    char *name = strdup(program_invocation_name), *short_name = strdup(program_invocation_short_name);
    if (!name || !short_name || !processTitleCopyStrings(environ) || !processTitleCopyStrings(argv)) return;
    program_invocation_name = name;
    program_invocation_short_name = short_name;
    program = argv[0];
    title_start = start;
    title_size = (size_t)(end - start);
}

const char *processProgram(void) {
    return program;
}

void processSetTitle(const char *title) {
    if (!title_size) return;
    size_t n = strlen(title);
    if (n > title_size - 1) n = title_size - 1;
    memset(title_start, 0, title_size);
    memcpy(title_start, title, n);
}
