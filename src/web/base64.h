/* SPDX-License-Identifier: BSD-3-Clause */
/* base64.h - base64 (RFC 4648): what HTTP Basic comes in, and how a page's own scripts are named. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

sds base64Encode(struct str bytes);
/* NULL: it is none. Padding may be missing; nothing else may be between or behind. */
sds base64Decode(struct str text);
