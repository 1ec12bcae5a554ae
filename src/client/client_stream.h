/* SPDX-License-Identifier: BSD-3-Clause */
/* client_stream.h - what clients with CLIENT_REPLICA are sent behind their own output: bytes that many of
 * them share. The room of replication (repl/) says how. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

struct clientStream {
    size_t (*followers)(void);             /* how many such clients there are */
    bool (*write)(struct client *c);       /* until there is nothing, or the socket is full; false: broken */
    bool (*waits)(const struct client *c); /* is there something that can be sent? */
    size_t (*pending)(const struct client *c); /* bytes that are kept for it: what its limit is about */
    size_t (*blocks)(const struct client *c);  /* in how many pieces */
    uint64_t (*least_limit)(void);             /* bytes; lower limits count as that */
    /* A command of its has made a reply, which is dropped (error: the text of one; ptr NULL: any reply). May
     * come more than once for a command. */
    void (*replied)(struct client *c, struct str error);
};
extern const struct clientStream *client_stream; /* client_output.c; there before the first replica */
