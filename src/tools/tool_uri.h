/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_uri.h - what the tools' two readers of URIs share. */
#pragma once

#include <stddef.h>

#include "base/sds.h"

/* "%41" is A. The caller's. */
sds toolPercentDecode(const char *p, size_t len);
