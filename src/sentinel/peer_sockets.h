/* SPDX-License-Identifier: BSD-3-Clause */
/* peer_sockets.h - connections to the servers and Sentinels that are watched: connecting, TLS, requests out,
 * answers and messages in. Knows nothing of what they mean. */
#pragma once

#include "sentinel/supervisor.h"

void peerSocketsInit(void);

/* For struct supervisorEnv; the supervisor is `sentinel` (sentinel.h). What is sent while a connection is
 * on its way waits for it. */
bool peerConnect(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                 char *err, size_t errlen);
void peerClose(void *w, struct peerLink *link, enum channel ch);
void peerSend(void *w, struct peerLink *link, enum channel ch, int argc, const struct str *argv);
bool peerOwnIp(void *w, struct peerLink *link, char ip[HOST_IP_LEN]);
