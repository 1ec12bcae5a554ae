/* SPDX-License-Identifier: BSD-3-Clause */
/* client_offload.h - clients with CLIENT_OFFLOADED, for which an I/O thread reads and sends: the functions
 * that sending output needs from command/io_client.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client;

struct clientOffload {
    void (*send)(struct client *c);            /* passes its chain to the thread, which then owns it */
    void (*flush)(void);                       /* makes threads see what they were given in this turn */
    size_t (*pending)(const struct client *c); /* bytes passed and not sent yet */
    /* Upper bound of `pending`, by less than a reply block; cheaper. */
    size_t (*at_most)(const struct client *c);
    size_t (*kept)(const struct client *c);   /* bytes of an incomplete request */
    bool (*progress)(const struct client *c); /* was anything pending sent since the last call? */
};
extern const struct clientOffload *client_offload; /* set before the first such client exists */
