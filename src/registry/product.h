/* SPDX-License-Identifier: BSD-3-Clause */
/* product.h - the name of the server where clients see it, and in some errors: Valkey, or Redis for clients
 * that know nothing else (extended-redis-compatibility). */
#pragma once

#include <stdbool.h>

const char *productTitle(void);        /* "Valkey", "Redis" */
const char *productName(void);         /* in lower case */
const char *productVersion(void);      /* Valkey's, or productRedisVersion() */
const char *productRedisVersion(void); /* reported-redis-version: of the Redis whose interface it has */
bool productIsRedis(void);
void productInit(void);
