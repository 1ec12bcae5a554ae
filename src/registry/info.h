/* SPDX-License-Identifier: BSD-3-Clause */
/* info.h - the report of INFO: each module adds its own fields to a section.
 *
 * Sections print in the order server, tls, clients, memory, persistence, threads, stats, replication, cpu,
 * modules, commandstats, errorstats, latencystats, cluster, cluster_info, scriptingengines, keyspace,
 * keysizes, hotkeys, sentinel, debug; within a section in the order of info_order.h. */
#pragma once

#include "base/sds.h"
#include "base/str.h"

/* Appends "field:value\r\n" lines. Use infoField. */
typedef sds infoFn(sds s);
void infoRegister(const char *section, infoFn *fn); /* the section must be one of the above */
/* Restricts the report to these sections. The default is all but `sentinel`. NULL ends the array. */
void infoRestrictSections(const char *const *names);
sds infoField(sds s, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* adds \r\n */
/* Appends a name, with _ for characters that would end the field. */
sds infoAppendName(sds s, const char *name);
/* Composes the report. sections: names, or default, all, everything; count 0: default. */
sds infoText(const struct str *sections, int count);
/* used_memory as it was before the last report began, since the report takes memory itself. */
extern size_t info_used_memory;
/* Adds sections that are created at run time, behind all others. fn gets the requested names, and appends
 * those sections that are its own, each with a title, and a blank line before it unless it is the first. */
typedef sds infoNamesFn(sds s, const struct str *names, int count);
void infoOnNames(infoNamesFn *fn);
