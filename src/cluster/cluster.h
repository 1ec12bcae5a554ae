/* cluster.h - the commands of a cluster, on a server that is in none. */
#pragma once

void clusterInit(void);
