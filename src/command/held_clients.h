/* SPDX-License-Identifier: BSD-3-Clause */
/* held_clients.h - clients whose replies wait in the gate (client/reply_gate.h): how much may wait for one of
 * them, and which replies need not wait for replicas.
 *
 * A client that sends on while its replies are held back would fill the memory. When HELD_OUTPUT_MAX bytes of
 * its output wait, its next command waits too, as in a pause (command/pause.h), until some of them have left;
 * what it sends meanwhile is bounded as for any client that cannot run.
 *
 * Monitoring, Sentinels and replicas that connect must get their answers while no replica acknowledges
 * anything. A connection that has only sent commands whose replies tell nothing about the data (PING, INFO,
 * ROLE, CONFIG, PSYNC, CLUSTER ...) does not wait for replicas. It does wait for the disk. */
#pragma once

void heldClientsInit(void);
