/* SPDX-License-Identifier: BSD-3-Clause */
/* client_offload.h - clients with CLIENT_OFFLOADED: an I/O thread reads and sends for them. What the sending
 * of output asks of the room that has them (command/io_client.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client;

struct clientOffload {
    void (*send)(struct client *c);            /* its chain, which is the thread's from then on */
    void (*flush)(void);                       /* all that threads were given in this turn: they go on */
    size_t (*pending)(const struct client *c); /* bytes given and not sent yet */
    size_t (*at_most)(const struct client *c); /* the same, or less than a reply block more; costs less */
    size_t (*kept)(const struct client *c);    /* bytes of a request that is not whole */
    bool (*progress)(const struct client *c);  /* some of what is pending was sent since the last call */
};
extern const struct clientOffload *client_offload; /* client_output.c; there before the first such client */
