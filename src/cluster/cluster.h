/* cluster.h - the commands of a cluster, on a server that is in none. */
#pragma once

#include "base/str.h"

#define CLUSTER_SLOTS 16384

int clusterKeySlot(struct str key); /* of the part between the first { and the next }, unless that is empty */

void clusterInit(void);
