/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_uri.h - code that both tools' readers of URIs use. */
#pragma once

#include <stddef.h>

#include "base/sds.h"

/* Decodes percent-encoding ("%41" is A). The caller owns the result. */
sds toolPercentDecode(const char *p, size_t len);
