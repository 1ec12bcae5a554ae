/* SPDX-License-Identifier: BSD-3-Clause */
/* warning_facts.h - the numbers that warnings are made from, read from this server. */
#pragma once

#include "web/warnings.h"
#include "web/web.h"

struct infoView;

/* Fills *facts from the sections of INFO in *info, which must stay open while the facts are used, and from
 * the recent samples. settings: the user may see directives. Texts belong to this module. */
void warningFactsRead(struct warningFacts *facts, struct infoView *info, bool settings);
void warningFactsUseSystemChecks(webSystemChecks *checks);
