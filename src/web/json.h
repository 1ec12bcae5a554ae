/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - writing JSON. jsonName and each value write a comma first if the last thing written
 * was a value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

/* Begin and end objects and arrays; bracket is one of { } [ ]. */
sds jsonOpen(sds s, char bracket);
sds jsonClose(sds s, char bracket);
sds jsonName(sds s, struct str name);
sds jsonNumber(sds s, double number); /* NaN and infinities become null */
/* Bytes that are not UTF-8 become \xHH. */
sds jsonString(sds s, struct str text);
sds jsonBool(sds s, bool b);

/* Write a name and a value. */
sds jsonNameNumber(sds s, const char *name, double number);
sds jsonNameString(sds s, const char *name, struct str text);
