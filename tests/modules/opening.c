/* SPDX-License-Identifier: BSD-3-Clause */
/* opening.c - resolution of a module's symbols: functions that the server has under the same name,
 * memory that one library allocates and another frees, threads; for tests/unit/modules/opening.tcl. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)

enum { BLOCKS = 1024 };

/* The server has one, too. */
size_t zmallocUsedMemory(void);
size_t zmallocUsedMemory(void) {
    return 4711;
}

/* opening.own */
COMMAND(ownCommand) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithLongLong(ctx, (long long)zmallocUsedMemory());
}

/* opening.borrowed: what libc allocates, the module frees. The reply is how much there was. */
COMMAND(borrowedCommand) {
    (void)argv, (void)argc;
    long long got = 0;
    char *text = strdup("some text that is longer than the smallest of sizes");
    got += !!text;
    text = realloc(text, 10000);
    free(text);
    got += asprintf(&text, "%1000d", 7) == 1000;
    free(text);
    text = realpath("/", NULL);
    got += text && !strcmp(text, "/");
    free(text);
    struct dirent **names;
    int count = scandir("/", &names, NULL, alphasort);
    got += count > 0;
    while (count-- > 0) free(names[count]);
    free(names);
    size_t len = 0;
    text = NULL;
    FILE *f = fopen("/proc/self/status", "r");
    got += f && getline(&text, &len, f) > 0;
    if (f) fclose(f);
    free(text);
    return ValkeyModule_ReplyWithLongLong(ctx, got);
}

static void *openingAllocateThread(void *size) {
    void **blocks = malloc(BLOCKS * sizeof *blocks);
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(*(size_t *)size);
    return blocks;
}
static void *openingFreeThread(void *arg) {
    void **blocks = arg;
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    free(blocks);
    return NULL;
}
static void *inThread(void *fn(void *), void *arg) {
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, fn, arg) == 0) pthread_join(thread, &result);
    return result;
}

static void *kept;

/* opening.keep KIB thread|here - allocates so much, without the server */
COMMAND(keepCommand) {
    long long size;
    if (argc != 3 || ValkeyModule_StringToLongLong(argv[1], &size)) return ValkeyModule_WrongArity(ctx);
    size_t bytes = (size_t)size;
    int there = *ValkeyModule_StringPtrLen(argv[2], NULL) == 't';
    kept = there ? inThread(openingAllocateThread, &bytes) : openingAllocateThread(&bytes);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* opening.release thread|here */
COMMAND(releaseCommand) {
    if (argc != 2 || !kept) return ValkeyModule_WrongArity(ctx);
    int there = *ValkeyModule_StringPtrLen(argv[1], NULL) == 't';
    there ? inThread(openingFreeThread, kept) : openingFreeThread(kept);
    kept = NULL;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "opening", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    return ValkeyModule_CreateCommand(ctx, "opening.own", ownCommand, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "opening.borrowed", borrowedCommand, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "opening.keep", keepCommand, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "opening.release", releaseCommand, "", 0, 0, 0);
}
