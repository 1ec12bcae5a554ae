/* replication.h - the commands of replication, on a server that neither follows another nor is followed. */
#pragma once

void replicationInit(void);
