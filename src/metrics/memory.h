/* memory.h - where the memory is: INFO memory and the MEMORY command.
 *
 * What the process uses is split into what was there at the start, overhead (tables, client buffers, and the
 * parts that other rooms report here) and the rest, which is the users' data. */
#pragma once

#include <stddef.h>

/* Overhead that belongs to rooms above; each is reported by its room. */
enum memoryPart {
    MEMORY_REPL_BACKLOG,
    MEMORY_REPLICAS, /* buffers of replicas' connections */
    MEMORY_CLUSTER_LINKS,
    MEMORY_AOF_BUFFER,
    MEMORY_LUA_CACHES, /* scripts and their table, not Lua's own memory */
    MEMORY_FUNCTION_CACHES,
    MEMORY_PARTS
};
void memoryAddPart(enum memoryPart part, size_t (*bytes)(void));

void memoryInit(void);    /* commands, INFO fields, the watch over the peak */
void memoryStarted(void); /* the server is ready: from here on memory is the users' */
