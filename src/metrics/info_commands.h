/* SPDX-License-Identifier: BSD-3-Clause */
/* info_commands.h - INFO, and its sections about commands and errors. */
#pragma once

void infoCommandsInit(void); /* the sections commandstats and errorstats */
