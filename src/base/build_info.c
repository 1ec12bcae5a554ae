/* SPDX-License-Identifier: BSD-3-Clause */
/* build_info.c - which build this is. Part of version.h. The Makefile supplies the values and compiles this
 * file again when they change. */
#include "base/version.h"

#ifndef BUILD_COMMIT
#define BUILD_COMMIT   "00000000"
#define BUILD_MODIFIED 0
#define BUILD_ID       "0"
#endif

const char build_commit[] = BUILD_COMMIT;
const char build_id[] = BUILD_ID;
const int build_modified = BUILD_MODIFIED;
