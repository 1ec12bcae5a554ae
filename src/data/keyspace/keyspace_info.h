/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_info.h - INFO keyspace. */
#pragma once

void keyspaceInfoInit(void);
