/* SPDX-License-Identifier: BSD-3-Clause */
/* bitops.h - what the bitmap commands share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* Parses a bit offset; with a width, "#n" is n times the width. Replies the error and returns false. */
bool bitopsOffset(struct client *c, struct str arg, unsigned width, uint64_t *offset);
