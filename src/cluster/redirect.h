/* SPDX-License-Identifier: BSD-3-Clause */
/* redirect.h - which requests run on this node and which are redirected: the rule RULE_CLUSTER of admission
 * (command/admission.h), READONLY, READWRITE, ASKING, and blocked clients whose slot leaves. */
#pragma once

#include "client/client.h"

void redirectInit(void);
/* Switches redirection off: from now on every request runs here, because a module takes care of routing. */
void redirectDisable(void);
void redirectStart(void); /* this server is a node of a cluster */
/* Lets c use an importing slot in its next command. */
void redirectAllowAsking(struct client *c);
/* Called after owners of slots or the state of the cluster have changed. Redirects clients that are blocked
 * on keys which this node does not own any more, and unsubscribes clients from shard channels that left. */
void redirectRecheck(void);
