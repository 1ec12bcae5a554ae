/* SPDX-License-Identifier: BSD-3-Clause */
/* product.h - what the server calls itself where clients ask, and in some errors: Valkey or, for clients that
 * know nothing else (extended-redis-compatibility), Redis. */
#pragma once

#include <stdbool.h>

const char *productTitle(void);   /* "Valkey", "Redis" */
const char *productName(void);    /* the same in small letters */
const char *productVersion(void); /* of Valkey, or of the Redis whose interface it has */
bool productIsRedis(void);
void productInit(void);
