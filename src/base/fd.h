/* SPDX-License-Identifier: BSD-3-Clause */
/* fd.h - operations on a whole descriptor. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Writes all bytes, with as many calls as needed. False and errno: only a part was written, or nothing. For
 * files and pipes: a non-blocking descriptor gives EAGAIN. */
bool fdWriteAll(int fd, struct str bytes);
