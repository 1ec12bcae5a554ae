/* redirect.h - who may run what here, and who is sent to another node: the row RULE_CLUSTER of admission
 * (command/admission.h), READONLY, READWRITE, ASKING, and clients that wait for keys of a slot that leaves.
 */
#pragma once

void redirectInit(void);
void redirectStart(void); /* this server is a node of a cluster */
/* Owners of slots, or the state of the cluster, have changed: clients that wait for keys which are not ours
 * any more are told where they are; so are subscribers of shard channels. */
void redirectRecheck(void);
