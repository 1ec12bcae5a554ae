/* SPDX-License-Identifier: BSD-3-Clause */
/* ack_pause.h - a replica stops acknowledging to its primary, because a Sentinel is about to promote a
 * replica.
 *
 *     REPLICAOF ACK PAUSE     from now on nothing is acknowledged; what comes is still applied
 *     REPLICAOF ACK RESUME    ends the pause of this connection
 *     REPLICAOF ACK RELEASE   ends all pauses
 *
 * An INFO behind the first one therefore reports at least what has ever been acknowledged to this primary. So
 * a primary that was taken for dead and goes on gets no acknowledgement that the Sentinel has not seen
 * (min-replicas-sync; the argument is in decisions.md). Other servers answer all three with an error and
 * change nothing, because the last word is no port.
 *
 * A pause belongs to the connection that asked for it, and ends with RESUME or with another REPLICAOF on that
 * connection. So a Sentinel that gives up does not end the pause of another one, nor does a Sentinel that
 * does not know of the failover yet, when it makes a server a replica of the old primary. For the same reason
 * a server that is a primary at the moment can be paused. When a Sentinel has died, others RELEASE; for the
 * case that there are none, a pause ends ACK_PAUSE_MS after it was asked for last.
 *
 * In a cluster, its elections decide (cluster_engine_fence.c). */
#pragma once

#include <stdbool.h>

#include "client/client.h"

#define ACK_PAUSE_MS 600000

/* Handles the three orders, with a reply. Returns false, without one, for any other words. */
bool ackPauseCommand(struct client *c);

void ackPauseForElection(bool pause);
void ackPauseEnd(struct client *c); /* the pause of this connection, if there is one */
void ackPauseInit(void);            /* the job that ends old pauses, the INFO field */
