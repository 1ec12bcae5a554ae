/* keyspace_info.h - INFO keyspace. */
#pragma once

void keyspaceInfoInit(void);
