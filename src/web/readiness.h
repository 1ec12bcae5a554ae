/* SPDX-License-Identifier: BSD-3-Clause */
/* readiness.h - may clients be sent here? */
#pragma once

#include "base/sds.h"

/* Why not, a line for each reason; empty: they may. The caller's. */
sds readinessReasons(void);
