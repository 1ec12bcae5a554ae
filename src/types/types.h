/* SPDX-License-Identifier: BSD-3-Clause */
/* types.h - the ids of the data types, for rooms that name a type in a lookup or a blocking call. They are
 * also what clients see in places such as RDB files' reports and DEBUG output, so they never change. */
#pragma once

enum { OBJ_STRING = 0, OBJ_LIST, OBJ_SET, OBJ_ZSET = 3, OBJ_HASH = 4, OBJ_MODULE, OBJ_STREAM = 6 };
