/* SPDX-License-Identifier: BSD-3-Clause */
/* product.c - see product.h. */
#include "registry/product.h"

#include "base/version.h"
#include "registry/config.h"

static bool as_redis; /* extended-redis-compatibility */

bool productIsRedis(void) {
    return as_redis;
}

const char *productTitle(void) {
    return as_redis ? "Redis" : "Valkey";
}

const char *productName(void) {
    return as_redis ? "redis" : SERVER_NAME;
}

const char *productVersion(void) {
    return as_redis ? REDIS_VERSION : VALKEY_VERSION;
}

void productInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("extended-redis-compatibility", NULL, CONFIG_MODIFIABLE, &as_redis, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
