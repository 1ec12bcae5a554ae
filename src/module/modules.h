/* modules.h - the modules that the server names when asked: MODULE LIST, HELLO. Those that are built in
 * register themselves; others cannot be loaded. */
#pragma once

#include "client/client.h"

void moduleRegister(const char *name, int version, const char *path);
void moduleReplyList(struct client *c); /* an array of maps */
