/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_api.h - functions that modules share with each other, for INFO. */
#pragma once

#include "base/sds.h"

struct module;

/* Append names of modules, separated by |. */
sds sharedApiAppendUsers(sds s, const struct module *m);   /* modules that use functions of m */
sds sharedApiAppendSources(sds s, const struct module *m); /* modules whose functions m uses */
