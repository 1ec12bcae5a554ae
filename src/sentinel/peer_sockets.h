/* SPDX-License-Identifier: BSD-3-Clause */
/* peer_sockets.h - connections to watched servers and to Sentinels: connecting, TLS, sending requests,
 * reading replies and messages. It does not know what they mean. */
#pragma once

#include "sentinel/supervisor.h"

void peerSocketsInit(void);

/* Functions for struct supervisorEnv; the supervisor is `sentinel` (sentinel.h). What is sent during
 * connecting waits until the connection is established. */
bool peerConnect(void *ctx, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                 char *err, size_t errlen);
void peerClose(void *ctx, struct peerLink *link, enum channel ch);
void peerSend(void *ctx, struct peerLink *link, enum channel ch, int argc, const struct str *argv);
bool peerGetOwnIp(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]);
