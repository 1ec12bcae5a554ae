/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_replicate.h - DEBUG REPLICATE: puts a command into the stream without running it here. */
#pragma once

void debugReplicateInit(void);
