/* SPDX-License-Identifier: BSD-3-Clause */
/* client_commands.h - the commands about connections: CLIENT, HELLO, RESET, SELECT, PING, ECHO, QUIT. */
#pragma once

void clientCommandsInit(void); /* directive, INFO field, and what client/ needs to know about commands */
