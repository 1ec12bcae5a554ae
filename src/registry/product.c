/* SPDX-License-Identifier: BSD-3-Clause */
/* product.c - see product.h. */
#include "registry/product.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "registry/config.h"

static bool as_redis; /* extended-redis-compatibility */
static sds redis_version;

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
    return as_redis ? redis_version : VALKEY_VERSION;
}

const char *productRedisVersion(void) {
    return redis_version;
}

/* Accepts three numbers, each of at most three digits. */
static bool productValidVersion(const char *version, const char **err) {
    unsigned number[3];
    char text[16];
    if (sscanf(version, "%3u.%3u.%3u", number, number + 1, number + 2) == 3) {
        snprintf(text, sizeof text, "%u.%u.%u", number[0], number[1], number[2]);
        if (strcmp(text, version) == 0) return true;
    }
    *err = "must be a version, such as 7.2.4";
    return false;
}

void productInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("extended-redis-compatibility", NULL, CONFIG_MODIFIABLE, &as_redis, false, NULL),
        CONFIG_STRING("reported-redis-version", NULL, CONFIG_MODIFIABLE, &redis_version, REDIS_VERSION,
                      productValidVersion, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
