/* SPDX-License-Identifier: BSD-3-Clause */
/* redirect.h - who may run what here, and who is sent to another node: the row RULE_CLUSTER of admission
 * (command/admission.h), READONLY, READWRITE, ASKING, and clients that wait for keys of a slot that leaves.
 */
#pragma once

#include "client/client.h"

void redirectInit(void);
/* From now on whatever comes is run here: a module of ours sees to it that it is right. */
void redirectNobody(void);
void redirectStart(void); /* this server is a node of a cluster */
/* ASKING: c may use a slot that is imported, in its next command. */
void redirectAsking(struct client *c);
/* Owners of slots, or the state of the cluster, have changed: clients that wait for keys which are not ours
 * any more are told where they are; so are subscribers of shard channels. */
void redirectRecheck(void);
