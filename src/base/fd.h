/* SPDX-License-Identifier: BSD-3-Clause */
/* fd.h - what is done to a descriptor as a whole. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Writes all of it, however many calls that takes. False and errno: only a part was written, or nothing. For
 * files and pipes: a descriptor that does not block gives EAGAIN. */
bool fdWriteAll(int fd, struct str bytes);
