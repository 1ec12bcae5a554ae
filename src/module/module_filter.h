/* SPDX-License-Identifier: BSD-3-Clause */
/* module_filter.h - command filters, for requests that modules make themselves. */
#pragma once

struct client;
struct request;

/* What the filters make of it, looked up; free with requestRelease. NULL: they leave it as it is. */
struct request *moduleFilter(const struct client *c, const struct request *r);
