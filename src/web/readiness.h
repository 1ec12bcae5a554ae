/* SPDX-License-Identifier: BSD-3-Clause */
/* readiness.h - whether clients can be sent to this server. */
#pragma once

#include "base/sds.h"

/* Returns a line for each reason against it, or "". The caller frees it. */
sds readinessListReasons(void);
