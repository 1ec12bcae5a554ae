/* SPDX-License-Identifier: BSD-3-Clause */
/* types.h - the ids of the data types, for modules that name a type in a lookup or a blocking call. Clients
 * see them too, for instance in reports about RDB files and in DEBUG output, so they never change. */
#pragma once

enum {
    OBJ_STRING = 0,
    OBJ_LIST,
    OBJ_SET,
    OBJ_ZSET = 3,
    OBJ_HASH = 4,
    OBJ_MODULE,
    OBJ_STREAM = 6,
    OBJ_PATH_HASH = 7
};
