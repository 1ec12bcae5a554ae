/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h - /api/stats: what the page for people shows, as JSON.
 *
 *     now       unix time, ms
 *     rights    what of the rest this user may see: keys, slow, clients
 *     info      sections of INFO, in lower case: fields and their values, numbers where they are some
 *     survey    seen, whole; types: [{type, keys, bytes, sizes}] (survey.h)
 *     largest   [{key, db, type, bytes}]
 *     hot       [{key, db, share}]: of the keys that commands name, how much is this one
 *     slow      [{id, time, usec, args, client, name}]
 *     clients   [{id, addr, name, lib, user, cmd, db, age, idle, commands, in, out, memory}]: of those with
 *               most commands
 *     slots     [{from, to, host, port, id, me}], in a cluster
 *
 * Names of keys are shown to who may run MEMORY USAGE on them, slow commands for COMMANDLOG GET, clients for
 * CLIENT LIST. */
#pragma once

#include "base/sds.h"

struct access;

sds statsJson(const struct access *access); /* the caller's; O(commands + clients) */
