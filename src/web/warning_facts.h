/* SPDX-License-Identifier: BSD-3-Clause */
/* warning_facts.h - the numbers that warnings are made from, read from this server. */
#pragma once

#include "web/warnings.h"

struct infoView;

/* Fills *facts from the sections of INFO in *info, which must stay open while the facts are used, and from
 * the recent samples. settings: the user may see directives. Texts belong to this module. */
void warningFactsRead(struct warningFacts *facts, struct infoView *info, bool settings);

/* Calls fn for each setting of the host that should be changed; a note is not urgent. The name is static, the
 * advice valid during the call. Has to be fast: a request waits for it. */
typedef void warningSystemFinding(void *priv, const char *name, const char *advice, bool note);
typedef void warningSystemChecks(warningSystemFinding *fn, void *priv);
void warningFactsUseSystemChecks(warningSystemChecks *checks);
