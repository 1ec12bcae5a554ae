/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - the check tools: other faces of the server binary, chosen by its name. They read files, and write
 * only where --fix says so. Exit code 0: all is well. */
#pragma once

#include <stdint.h>

int checkRdbMain(int argc, char **argv);
int checkAofMain(int argc, char **argv);
/* Checks the RDB image at the start of an open file, and reports as valkey-check-rdb does. Returns the offset
 * of what follows it, or -1 when it is not valid. The file's position is moved. */
int64_t checkRdbImage(const char *name, int fd);
