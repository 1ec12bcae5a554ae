/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h - /api/stats: the data of the page for people, as JSON.
 *
 *     now       unix time, ms
 *     rights    which of the rest this user may see: keys, slow, clients
 *     info      sections of INFO in lower case: fields and their values, as numbers where possible
 *     survey    seen, whole; types: [{type, keys, bytes, sizes}] (survey.h)
 *     largest   [{key, db, type, bytes}]
 *     hot       [{key, db, share}]: the key's share of all keys in commands
 *     slow      [{id, time, usec, args, client, name}]
 *     clients   [{id, addr, name, lib, user, cmd, db, age, idle, commands, in, out, memory}]: those with
 *               the most commands
 *     latency   [{cmd, calls, p50, p99, p999, max, first, counts}] of the commands with the most calls since
 *               the start: µs; counts[i] calls took from 2^(first+i) ns up to twice that
 *     warnings  [{id, severity, text, docs}] (warnings.h); severity is error, warning or note
 *     shards    [{slots: [[first, last]], nodes: [{id, host, port, me, primary, health, offset}]}], in a
 *               cluster
 *     node_url  metrics-node-url
 *
 * Names of keys are shown to users who may run MEMORY USAGE on them, slow commands with COMMANDLOG GET,
 * clients with CLIENT LIST, shards with CLUSTER SHARDS. Warnings about settings and the host,
 * and node_url, are for those who may run CONFIG GET. */
#pragma once

#include "base/sds.h"

struct access;

sds statsMakeJson(const struct access *access); /* the caller frees it; O(commands + clients) */
