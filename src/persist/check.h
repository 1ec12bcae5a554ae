/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - the check tools, which are the server binary under other names. They read files, and write only
 * when --fix or --truncate-to-timestamp is given. Exit code 0: the file is valid. */
#pragma once

#include <stdint.h>

int checkRdbMain(int argc, char **argv);
int checkAofMain(int argc, char **argv);
/* Checks the RDB image at the start of an open file and prints the report of valkey-check-rdb. Returns the
 * offset of what follows it, or -1 when it is not valid. Moves the file's position. */
int64_t checkRdbImage(const char *name, int fd);
