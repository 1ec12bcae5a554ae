/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_api.h - functions that modules have of each other, for INFO. */
#pragma once

#include "base/sds.h"

struct module;

/* Names of modules, separated by |. */
sds sharedApiUsers(sds s, const struct module *m);   /* who uses functions of m */
sds sharedApiSources(sds s, const struct module *m); /* whose functions m uses */
