/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_report.h - memory overhead that modules report: what is neither users' data nor a table or a
 * client's buffer, which INFO memory and MEMORY can count themselves (metrics/memory.c). */
#pragma once

#include <stddef.h>

enum memoryPart {
    MEMORY_REPL_BACKLOG,
    MEMORY_REPLICAS,       /* buffers of connections to replicas */
    MEMORY_PRIMARY_STREAM, /* the stream that a replica keeps while its snapshot arrives */
    MEMORY_CLUSTER_LINKS,
    MEMORY_SLOT_IMPORT, /* clients that import keys of slots; not included in other parts */
    MEMORY_SLOT_EXPORT,
    MEMORY_AOF_BUFFER,
    MEMORY_SNAPSHOT,   /* old values that wait for the thread of a snapshot without a fork */
    MEMORY_LUA_CACHES, /* scripts and their table, without Lua's own memory */
    MEMORY_FUNCTION_CACHES,
    MEMORY_IO_THREADS,
    MEMORY_PARTS
};
/* Registers the function that returns a part's bytes. Each part has one. */
void memoryAddPart(enum memoryPart part, size_t (*bytes)(void));
size_t memoryPartBytes(enum memoryPart part); /* 0 when it is not registered */
