/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_replicate.h - DEBUG REPLICATE: a command of the tester's in the stream, without being run here. */
#pragma once

void debugReplicateInit(void);
