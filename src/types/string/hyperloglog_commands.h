/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog_commands.h - PFADD and its family, on strings that hold a HyperLogLog (ds/hyperloglog.h). */
#pragma once

void hyperloglogInit(void); /* commands, directive hll-sparse-max-bytes */
