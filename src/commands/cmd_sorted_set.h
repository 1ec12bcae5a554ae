/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_sorted_set.h - the sorted set commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsSortedSet[];

commandProc bzmpopCommand, bzpopmaxCommand, bzpopminCommand, zaddCommand, zcardCommand, zcountCommand,
    zdiffCommand, zdiffstoreCommand, zincrbyCommand, zinterCommand, zintercardCommand, zinterstoreCommand,
    zlexcountCommand, zmpopCommand, zmscoreCommand, zpopmaxCommand, zpopminCommand, zrandmemberCommand,
    zrangeCommand, zrangebylexCommand, zrangebyscoreCommand, zrangestoreCommand, zrankCommand, zremCommand,
    zremrangebylexCommand, zremrangebyrankCommand, zremrangebyscoreCommand, zrevrangeCommand,
    zrevrangebylexCommand, zrevrangebyscoreCommand, zrevrankCommand, zscanCommand, zscoreCommand,
    zunionCommand, zunionstoreCommand;
