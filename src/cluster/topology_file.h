/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_file.h - the text of nodes.conf: a line for each node, and one of epochs. Pure: text in, text out.
 *
 *     <id> <ip>:<port>@<bus>,<hostname>[,name=value]... <flags> <primary or -> <ping> <pong> <epoch> <link>
 *          [slots]
 *     vars currentEpoch N lastVoteEpoch M
 *
 * It is the format of Valkey 7 to 9 (and of CLUSTER NODES, whose lines have no names and values). */
#pragma once

#include "cluster/topology.h"

/* Into an empty topology. False: it is corrupt, and *err says where; the topology is to be cleared. now_ms:
 * the nodes are taken to be learnt then. `tls`: the port of the address is that of TLS (tls-cluster). */
bool topologyRead(struct topology *t, struct str text, bool tls, int64_t now_ms, sds *err);
/* Appended to s. Handshakes are left out. */
sds topologyText(sds s, const struct topology *t, bool tls);

/* May these bytes stand in the file as somebody's name? None that separates one thing from another there. */
bool topologyTextValid(struct str text);

/* For whom: the file; or a client of TLS or not, that came by IPv4 or IPv6, and is told what is announced for
 * such ones. */
enum nodeLineFor { LINE_FILE, LINE_TLS_FILE, LINE_CLIENT, LINE_TLS_CLIENT, LINE_CLIENT6, LINE_TLS_CLIENT6 };
/* One line, without its end, appended: of the file, or of CLUSTER NODES. */
sds nodeLine(sds s, const struct topology *t, const struct clusterNode *n, enum nodeLineFor who);
const char *nodeClientIp(const struct clusterNode *n, enum nodeLineFor who);
uint16_t nodeClientPort(const struct clusterNode *n, enum nodeLineFor who);
