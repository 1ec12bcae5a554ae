/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_file.h - the text of nodes.conf: one line for each node, and one with epochs. Text goes in and
 * comes out; no file is touched.
 *
 *     <id> <ip>:<port>@<bus>,<hostname>[,name=value]... <flags> <primary or -> <ping> <pong> <epoch> <link>
 *          [slots]
 *     vars currentEpoch N lastVoteEpoch M
 *
 * The format is that of Valkey 7 to 9. CLUSTER NODES uses it without the names and values. */
#pragma once

#include "cluster/topology.h"

/* Parses text into an empty topology. Returns false if it is corrupt: *err says where, and the caller clears
 * the topology. now_ms: the time at which the nodes count as learnt. tls: the port of an address is that of
 * TLS (tls-cluster). */
bool topologyParse(struct topology *t, struct str text, bool tls, int64_t now_ms, sds *err);
/* Appends the text to s. Nodes in handshake are left out. */
sds topologyFormat(sds s, const struct topology *t, bool tls);

/* Returns whether the file can hold these bytes as a name: they contain no separator of the format. */
bool topologyIsTextValid(struct str text);

/* The reader of a line: the file, or a client with or without TLS that connected over IPv4 or IPv6 and gets
 * what is announced for such clients. */
enum nodeLineAudience {
    LINE_FILE,
    LINE_TLS_FILE,
    LINE_CLIENT,
    LINE_TLS_CLIENT,
    LINE_CLIENT6,
    LINE_TLS_CLIENT6
};
/* Appends a line of the file or of CLUSTER NODES, without its end. */
sds nodeFormatLine(sds s, const struct topology *t, const struct clusterNode *n,
                   enum nodeLineAudience audience);
const char *nodeClientIp(const struct clusterNode *n, enum nodeLineAudience audience);
uint16_t nodeClientPort(const struct clusterNode *n, enum nodeLineAudience audience);
