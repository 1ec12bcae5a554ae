/* SPDX-License-Identifier: BSD-3-Clause */
/* base64.h - base64 (RFC 4648), for HTTP Basic and for the hashes of a page's own scripts. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

sds base64Encode(struct str bytes);
/* Returns NULL if text is not base64. Padding may be missing; other characters are not allowed anywhere. */
sds base64Decode(struct str text);
