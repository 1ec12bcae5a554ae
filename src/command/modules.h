/* modules.h - the modules that the server names when asked: MODULE LIST, HELLO. Those that are built in
 * register themselves; others cannot be loaded. */
#pragma once

struct client;

void moduleRegister(const char *name, int version, const char *path); /* texts that stay */
void moduleReplyList(struct client *c);                               /* an array of maps */
