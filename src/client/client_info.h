/* SPDX-License-Identifier: BSD-3-Clause */
/* client_info.h - the line that describes a client: CLIENT LIST, CLIENT INFO, the log.
 *
 *     id=5 addr=127.0.0.1:40112 ... flags=N ... tot-cmds=17
 *
 * The fields and their order are fixed (client_info.c). A module that owns a part of the client registers the
 * fields about it; a field without a function is left out. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "client/client.h"

/* Appends the value of a field. */
typedef sds clientFieldFn(sds s, struct client *c);
/* The name is in the fixed list and has no function yet. */
void clientInfoField(const char *name, clientFieldFn *fn);
sds clientInfoNumber(sds s, int64_t v); /* for use in such functions */

/* Letters of the field `flags`. Most are bits of c->flags; for others a module registers a function that says
 * when they show. */
void clientInfoLetter(char letter, bool (*shows)(const struct client *c));
bool clientInfoIsLetter(char letter); /* is it a letter of Valkey's, used here or not? */
sds clientInfoFlags(sds s, struct client *c);
sds clientInfoCapa(sds s, struct client *c);
#define CLIENT_CAPA_LETTERS "r"

sds clientInfoLine(struct client *c, sds s); /* one line, without newline */

int64_t clientAgeSeconds(const struct client *c);  /* since it connected */
int64_t clientIdleSeconds(const struct client *c); /* since it last sent something */
