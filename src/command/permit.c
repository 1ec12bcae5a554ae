/* SPDX-License-Identifier: BSD-3-Clause */
/* permit.c - see permit.h. */
#include "command/permit.h"

#include "client/client.h"
#include "net/connection.h"

const struct configEnum permit_names[] = {
    {"no", PERMIT_NO}, {"yes", PERMIT_YES}, {"local", PERMIT_LOCAL}, {NULL, 0}};

bool permitAllows(int permit, const struct client *c) {
    return permit == PERMIT_YES || (permit == PERMIT_LOCAL && c->conn && connIsLocal(c->conn));
}
