/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_report.h - overhead that rooms report: memory which is neither the users' data nor a table or a
 * client's buffer, which INFO memory and MEMORY know how to find (metrics/memory.c). */
#pragma once

#include <stddef.h>

enum memoryPart {
    MEMORY_REPL_BACKLOG,
    MEMORY_REPLICAS,       /* buffers of replicas' connections */
    MEMORY_PRIMARY_STREAM, /* what a replica keeps while its snapshot comes in */
    MEMORY_CLUSTER_LINKS,
    MEMORY_SLOT_IMPORT, /* clients that bring keys of slots that move: no others' */
    MEMORY_SLOT_EXPORT,
    MEMORY_AOF_BUFFER,
    MEMORY_LUA_CACHES, /* scripts and their table, not Lua's own memory */
    MEMORY_FUNCTION_CACHES,
    MEMORY_IO_THREADS,
    MEMORY_PARTS
};
/* Each part has one room, which says how many bytes it takes now. */
void memoryAddPart(enum memoryPart part, size_t (*bytes)(void));
size_t memoryPartBytes(enum memoryPart part); /* 0 when nobody reports it */
