/* SPDX-License-Identifier: BSD-3-Clause */
/* restart.h - DEBUG RESTART and CRASH-AND-RECOVER: the server begins anew as the same process, with the
 * arguments, environment and directory that it was started with. */
#pragma once

void restartInit(int argc, char **argv); /* before anything changes the arguments or the directory */
void restartRegister(void);              /* the subcommands of DEBUG */
