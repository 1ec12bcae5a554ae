/* SPDX-License-Identifier: BSD-3-Clause */
/* version.h - what this server reports about itself: the Valkey version whose interface it has, the Redis
 * version that clients check, and its own name and version, which are shown only where no program parses
 * them. */
#pragma once

#define VALKEY_VERSION       "9.2.0"
#define VALKEY_VERSION_NUM   0x00090200
#define REDIS_VERSION        "7.2.4"
#define VALKEY_RELEASE_STAGE "ga"
#define SERVER_NAME          "valkey"
#define PRODUCT_NAME         "Skipstone"
#define PRODUCT_VERSION      "0.9.0"

/* Set when the program is built (build_info.c). */
extern const char build_commit[]; /* the first digits of the commit; zeros outside of a git checkout */
extern const char build_id[];     /* hexadecimal; equal for the same commit and settings */
extern const int build_modified;  /* 1: the checkout had changes that are in no commit */
