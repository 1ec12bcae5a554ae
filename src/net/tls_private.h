/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_private.h - what tls.c and tls_context.c share. Part of tls.h. */
#pragma once

#include "base/sds.h"

void tlsPrepare(void);  /* once before the first connection; of one thread */
sds tlsTakeError(void); /* OpenSSL's own text of what went wrong; forgets it */
