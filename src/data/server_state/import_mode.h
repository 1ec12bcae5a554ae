/* SPDX-License-Identifier: BSD-3-Clause */
/* import_mode.h - while another server copies its data here (`import-mode`), that server decides what
 * expires.
 *
 * Keys past their expiry are kept, and nothing is evicted: above `maxmemory`, writes get OOM. A client that
 * copies declares this (CLIENT IMPORT-SOURCE ON, command/data_hooks.c) and sees such keys; for all others
 * they are absent. */
#pragma once

#include <stdbool.h>

extern bool import_mode;

void importModeInit(void); /* registers the directive */
