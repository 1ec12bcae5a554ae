/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - writing JSON. Commas come by themselves: jsonName and each value put one where the last thing was
 * a value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

/* Objects and arrays: '{' '}' '[' ']'. */
sds jsonOpen(sds s, char bracket);
sds jsonClose(sds s, char bracket);
sds jsonName(sds s, struct str name);
sds jsonNumber(sds s, double number); /* what is no number is null */
/* Bytes that are no UTF-8 become \xHH. */
sds jsonString(sds s, struct str text);
sds jsonBool(sds s, bool b);

/* name and value */
sds jsonNameNumber(sds s, const char *name, double number);
sds jsonNameString(sds s, const char *name, struct str text);
