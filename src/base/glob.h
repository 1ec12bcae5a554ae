/* SPDX-License-Identifier: BSD-3-Clause */
/* glob.h - glob-style patterns of KEYS, SCAN MATCH, CONFIG GET: * ? [abc] [^a] [a-z] \x. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Returns whether text matches. Linear in practice, as it only backtracks to the last '*': no
 * pattern takes exponential time. */
bool globMatch(struct str pattern, struct str text, bool nocase);
