/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_private.h - what tls.c and tls_context.c share. Part of tls.h. */
#pragma once

#include "base/sds.h"

void tlsPrepare(void);  /* to be called before the first connection, by one thread */
sds tlsTakeError(void); /* returns and clears OpenSSL's error text */
