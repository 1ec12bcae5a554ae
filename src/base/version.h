/* version.h - what we say we are: the level of Valkey whose interface this is, and the Redis level clients
 * test for. */
#pragma once

#define VALKEY_VERSION       "9.1.0"
#define VALKEY_VERSION_NUM   0x00090100
#define REDIS_VERSION        "7.2.4"
#define VALKEY_RELEASE_STAGE "dev"
#define SERVER_NAME          "valkey"
