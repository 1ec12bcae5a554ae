/* SPDX-License-Identifier: BSD-3-Clause */
/* module_filter.h - command filters for requests that modules make themselves. */
#pragma once

struct client;
struct request;

/* Returns what the filters make of the request, with its command looked up, to be freed with requestRelease,
 * or NULL if they do not change it. */
struct request *moduleFilterApply(const struct client *c, const struct request *r);
