/* SPDX-License-Identifier: BSD-3-Clause */
/* permit.h - no, yes or local: the value of directives that allow dangerous commands (DEBUG, protected
 * directives of CONFIG SET, MODULE) to nobody, to all clients, or to those on this machine. */
#pragma once

#include <stdbool.h>

#include "registry/config.h"

struct client;

enum permit { PERMIT_NO, PERMIT_YES, PERMIT_LOCAL };
extern const struct configEnum permit_names[];

bool permitAllows(int permit, const struct client *c);
