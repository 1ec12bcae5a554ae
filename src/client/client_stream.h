/* SPDX-License-Identifier: BSD-3-Clause */
/* client_stream.h - what clients with CLIENT_REPLICA are sent behind their own output: bytes that many of
 * them share. repl/ registers the functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

struct clientStream {
    size_t (*followers)(void);       /* number of such clients */
    bool (*write)(struct client *c); /* writes until nothing is left or the socket is full; false: broken */
    bool (*waits)(const struct client *c);     /* can anything be sent now? */
    size_t (*pending)(const struct client *c); /* bytes kept for it, to which its output limit applies */
    size_t (*blocks)(const struct client *c);  /* number of blocks that hold them */
    uint64_t (*least_limit)(void);             /* in bytes; lower output limits count as this */
    /* Called when one of its commands has replied, which is dropped. error: the text of an error reply; ptr
     * NULL: any other. May be called more than once for a command. */
    void (*replied)(struct client *c, struct str error);
};
extern const struct clientStream *client_stream; /* set before the first replica exists */
