/* SPDX-License-Identifier: BSD-3-Clause */
/* restart.h - DEBUG RESTART and CRASH-AND-RECOVER: the server starts again in the same process, with its
 * original arguments, environment and directory. */
#pragma once

void restartInit(int argc, char **argv); /* before the arguments or the directory change */
void restartRegister(void);              /* the subcommands of DEBUG */
